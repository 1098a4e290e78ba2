//! Looking ahead in the input: the items that the next commands need are noted, so that one fetch brings all of them.
//!
//! Writes that depend on an item take a second round to another machine. Once items were fetched, those of all commands begin at once.
//!
//! **Invariant:** looking ahead executes nothing; a command that it does not know is fetched for when its turn comes.

use kv::{Engine, Need, Payload};
use wire::Parsed;
use wire::memcached::meta::{Meta, MetaVerb, Mode};
use wire::memcached::text::{self, Command, StoreVerb};

use super::{Pause, State, execute_simple, meta, meta_store, parse, store};
use crate::operations::Exchange;
use crate::waits::{FETCH_MAX, Keys};

impl State {
    /// Notes what the next commands need; returns the number of bytes of their input.
    pub(crate) fn look_ahead(&self, exchange: &Exchange<'_>, input: &[u8]) -> usize {
        let mut at = 0;
        if let Pause::Keys { .. } = self.pause {
            let Parsed::Done(Ok(run), used) = text::parse_keys(input) else {
                return 0;
            };
            run.keys.for_each(|key| want(exchange, key, Need::Value));
            at = used;
            if !run.complete {
                return at;
            }
        }
        while exchange.waits().warm.wanted() < FETCH_MAX
            && at < input.len()
            && let Parsed::Done(Ok(command), used) = parse(exchange, &input[at..])
        {
            at = at.saturating_add(used).saturating_add(note(exchange, &command));
        }
        at.min(input.len())
    }

    /// Begins the conditional writes of commands whose items have been fetched.
    pub(crate) fn begin_writes(&self, exchange: &Exchange<'_>, input: &[u8]) {
        // Otherwise the input begins within a command.
        if let Pause::Nothing = self.pause {
            begin_writes(exchange, input);
        }
    }
}

/// Begins the conditional writes of commands whose items have been fetched. A command waits for its turn if an earlier one has the
/// same key, or if a command before it is not about keys.
pub(super) fn begin_writes(exchange: &Exchange<'_>, input: &[u8]) {
    let mut seen = Keys::default();
    let mut at = 0;
    // Nothing is said before a command's turn.
    let mut unsaid = Vec::new();
    while at < input.len()
        && let Parsed::Done(Ok(command), used) = parse(exchange, &input[at..])
        && let Some(block) = begin(exchange, &command, &input[at + used..], &mut seen, &mut unsaid)
    {
        at = at.saturating_add(used).saturating_add(block);
    }
    debug_assert!(unsaid.is_empty(), "a write that begins has no reply");
}

/// Begins what a command writes; returns the length of its data block, or nothing if no command behind it may begin.
fn begin(
    exchange: &Exchange<'_>,
    command: &Command<'_>,
    behind: &[u8],
    seen: &mut Keys,
    unsaid: &mut Vec<u8>,
) -> Option<usize> {
    match command {
        Command::Get(get) => get.keys.into_iter().for_each(|key| {
            seen.is_first(key);
        }),
        Command::Delete(delete) if seen.is_first(delete.key) => execute_simple(exchange, command, unsaid),
        Command::Touch(touch) if seen.is_first(touch.key) => execute_simple(exchange, command, unsaid),
        Command::Arithmetic(count) if seen.is_first(count.key) => execute_simple(exchange, command, unsaid),
        Command::Delete(_) | Command::Touch(_) | Command::Arithmetic(_) => {}
        Command::Store(store) => {
            let (value, _) = store::split(behind, store.length).filter(is_whole)?;
            if seen.is_first(store.key) && store.verb != StoreVerb::Set {
                let value = [value];
                store::finish(exchange, store, Payload::Parts(&value), true, unsaid);
            }
            return Some(block(store.length));
        }
        Command::Meta(command) => {
            let mut scratch = None;
            let is_first = seen.is_first(meta::key_of(command, &mut scratch));
            match command.verb {
                MetaVerb::Set => {
                    let (value, _) = store::split(behind, command.length).filter(is_whole)?;
                    if is_first && need(command) != Need::Nothing {
                        let value = [value];
                        let value = Payload::Parts(&value);
                        meta_store::finish(exchange, command, value, true, unsaid);
                    }
                    return Some(block(command.length));
                }
                MetaVerb::Delete | MetaVerb::Arithmetic if is_first => {
                    meta::execute(exchange, command, unsaid)
                }
                _ => {}
            }
        }
        _ => return None,
    }
    Some(0)
}

/// Notes what a command needs; returns the length of its data block.
fn note(exchange: &Exchange<'_>, command: &Command<'_>) -> usize {
    match command {
        Command::Get(get) => get
            .keys
            .into_iter()
            .for_each(|key| want(exchange, key, Need::Value)),
        Command::Delete(command) => want(exchange, command.key, Need::Facts),
        Command::Touch(command) => want(exchange, command.key, Need::Facts),
        Command::Arithmetic(command) => want(exchange, command.key, Need::Value),
        Command::Store(command) => {
            match command.verb {
                StoreVerb::Set => {}
                StoreVerb::Append | StoreVerb::Prepend => want(exchange, command.key, Need::Value),
                StoreVerb::Add | StoreVerb::Replace | StoreVerb::Cas => {
                    want(exchange, command.key, Need::Facts);
                }
            }
            return block(command.length);
        }
        Command::Meta(command) => {
            let mut scratch = None;
            want(exchange, meta::key_of(command, &mut scratch), need(command));
            if command.verb == MetaVerb::Set {
                return block(command.length);
            }
        }
        _ => {}
    }
    0
}

/// Returns true if a value is followed by the end of its line.
fn is_whole((_, end): &(&[u8], &[u8])) -> bool {
    *end == b"\r\n"
}

fn need(command: &Meta<'_>) -> Need {
    match command.verb {
        MetaVerb::Get => meta::need(command),
        MetaVerb::NoOp => Need::Nothing,
        MetaVerb::Arithmetic => Need::Value,
        MetaVerb::Delete | MetaVerb::Debug => Need::Facts,
        MetaVerb::Set => match command.mode {
            Mode::Set if !command.has(b'C') => Need::Nothing,
            Mode::Append | Mode::Prepend => Need::Value,
            _ => Need::Facts,
        },
    }
}

fn want(exchange: &Exchange<'_>, key: &[u8], need: Need) {
    let store = exchange.store();
    store.want(&store.key(key), need, &exchange.waits().warm);
}

/// Bytes of a value and its line end.
fn block(length: u64) -> usize {
    usize::try_from(length).map_or(usize::MAX, |length| length.saturating_add(2))
}
