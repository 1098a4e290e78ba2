//! What the commands in the input will need, noted so that all of it is fetched at once.
//!
//! **Invariant:** looking ahead executes nothing; a command that it does not know is fetched for when its turn comes.

use kv::{Engine, Need};
use wire::Parsed;
use wire::memcached::meta::{Meta, MetaVerb, Mode};
use wire::memcached::text::{self, Command, StoreVerb};

use super::{Pause, State, meta, parse};
use crate::operations::Exchange;
use crate::waits::FETCH_MAX;

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
