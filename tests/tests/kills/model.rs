//! The commands of one writer, the replies that they must get, and the items that they leave in the store.

use std::collections::BTreeMap;

use hikyaku_tests::Random;

/// Keys of each kind that a writer has.
const KEYS: usize = 10;
/// A value that has grown beyond this is replaced.
const VALUE_MAX: usize = 2000;

/// The items of a writer's keys.
pub(crate) type Items = BTreeMap<String, Item>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) value: Vec<u8>,
    pub(crate) flags: u32,
    /// `None` if the store has not told it yet.
    pub(crate) cas: Option<u64>,
    /// True if the item has an expiry, which is far away.
    pub(crate) expires: bool,
}

impl Item {
    /// Returns true if this may be the item that the store has.
    pub(crate) fn is(&self, seen: &Item) -> bool {
        let known = Item {
            cas: self.cas.or(seen.cas),
            ..self.clone()
        };
        known == *seen
    }
}

/// How a command stores its value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

impl Mode {
    fn flag(self) -> char {
        match self {
            Mode::Set => 'S',
            Mode::Add => 'E',
            Mode::Replace => 'R',
            Mode::Append => 'A',
            Mode::Prepend => 'P',
        }
    }
}

/// A command for one key.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    key: String,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Store {
        mode: Mode,
        value: Vec<u8>,
        flags: u32,
        expires: bool,
        /// Only if the item has this CAS.
        compare: Option<u64>,
    },
    Add(u64),
    Delete,
    Touch,
}

/// The beginning of the reply that a command must get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reply {
    /// It was done, and the reply may have the new CAS.
    Done,
    Missing,
    NotStored,
    Exists,
}

impl Reply {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reply::Done => "HD",
            Reply::Missing => "NF",
            Reply::NotStored => "NS",
            Reply::Exists => "EX",
        }
    }
}

impl Command {
    /// A random command of a writer that has stored these items.
    pub(crate) fn random(random: &mut Random, writer: usize, items: &Items, number: u64) -> Command {
        if random.below(3) == 0 {
            return Command::of_number(random, writer, number);
        }
        let key = format!("text-{writer}-{}", random.below(KEYS));
        let old = items.get(&key);
        let is_long = old.is_some_and(|old| old.value.len() > VALUE_MAX);
        let action = match random.below(10) {
            0 => Action::Delete,
            1 => Action::Touch,
            kind => Action::Store {
                mode: match kind {
                    2 if !is_long => Mode::Append,
                    3 if !is_long => Mode::Prepend,
                    4 => Mode::Add,
                    5 => Mode::Replace,
                    _ => Mode::Set,
                },
                value: value(random, writer, number),
                flags: u32::try_from(random.below(1000)).expect("it is small"),
                expires: random.below(4) == 0,
                compare: old.and_then(|old| old.cas).filter(|_| kind == 6),
            },
        };
        Command { key, action }
    }

    fn of_number(random: &mut Random, writer: usize, number: u64) -> Command {
        let action = match random.below(8) {
            0 => Action::Delete,
            1 => Action::Store {
                mode: Mode::Set,
                value: number.to_string().into_bytes(),
                flags: 0,
                expires: false,
                compare: None,
            },
            _ => Action::Add(1 + number % 1000),
        };
        let key = format!("number-{writer}-{}", random.below(KEYS));
        Command { key, action }
    }

    /// The command as it is sent.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let key = &self.key;
        match &self.action {
            Action::Store {
                mode,
                value,
                flags,
                expires,
                compare,
            } => {
                let expiry = if *expires { " T100000" } else { "" };
                let compare = compare.map_or_else(String::new, |cas| format!(" C{cas}"));
                let mode = mode.flag();
                let length = value.len();
                out.extend(format!("ms {key} {length} M{mode} F{flags} c{expiry}{compare}\r\n").bytes());
                out.extend(value);
                out.extend(b"\r\n");
            }
            Action::Add(delta) => out.extend(format!("ma {key} D{delta} c\r\n").bytes()),
            Action::Delete => out.extend(format!("md {key}\r\n").bytes()),
            Action::Touch => out.extend(format!("mg {key} T100000 c\r\n").bytes()),
        }
    }

    /// Does the command to the items, and returns the reply that the store must give.
    pub(crate) fn apply(&self, items: &mut Items) -> Reply {
        let Some(old) = items.get_mut(&self.key) else {
            return self.create(items);
        };
        match &self.action {
            Action::Store {
                compare: Some(cas), ..
            } if old.cas != Some(*cas) => return Reply::Exists,
            Action::Store { mode: Mode::Add, .. } => return Reply::NotStored,
            Action::Store { mode, value, .. } if matches!(mode, Mode::Append | Mode::Prepend) => {
                match mode {
                    Mode::Append => old.value.extend(value),
                    _ => drop(old.value.splice(..0, value.iter().copied())),
                }
                old.cas = None;
            }
            Action::Store { .. } => *old = self.item(),
            Action::Add(delta) => {
                let text = std::str::from_utf8(&old.value).expect("it is a number");
                let number: u64 = text.parse().expect("it is a number");
                old.value = (number + delta).to_string().into_bytes();
                old.cas = None;
            }
            Action::Delete => drop(items.remove(&self.key)),
            Action::Touch => old.expires = true,
        }
        Reply::Done
    }

    /// The same for a key without an item.
    fn create(&self, items: &mut Items) -> Reply {
        match &self.action {
            Action::Store {
                mode: Mode::Set | Mode::Add,
                compare: None,
                ..
            } => {
                items.insert(self.key.clone(), self.item());
                Reply::Done
            }
            Action::Store { compare: Some(_), .. } => Reply::Missing,
            Action::Store { .. } => Reply::NotStored,
            Action::Add(_) | Action::Delete | Action::Touch => Reply::Missing,
        }
    }

    fn item(&self) -> Item {
        let Action::Store {
            value,
            flags,
            expires,
            ..
        } = &self.action
        else {
            unreachable!("only values are stored");
        };
        Item {
            value: value.clone(),
            flags: *flags,
            cas: None,
            expires: *expires,
        }
    }

    /// The reply to a command that is told apart: `mg` misses with `EN`.
    pub(crate) fn reply_text(&self, reply: Reply) -> &'static str {
        match (&self.action, reply) {
            (Action::Touch, Reply::Missing) => "EN",
            _ => reply.text(),
        }
    }

    /// Notes the CAS that the store has told. Returns true if it is a new one.
    pub(crate) fn told(&self, cas: u64, items: &mut Items) -> bool {
        let Some(item) = items.get_mut(&self.key) else {
            return false;
        };
        let is_new = !matches!(self.action, Action::Touch);
        assert!(
            is_new || item.cas.is_none_or(|old| old == cas),
            "{} has another CAS after it was touched",
            self.key
        );
        item.cas = Some(cas);
        is_new
    }
}

/// A value that no other write has. Some are long, so that segments fill.
fn value(random: &mut Random, writer: usize, number: u64) -> Vec<u8> {
    let length = match random.below(40) {
        0 => random.below(3000),
        _ => random.below(200),
    };
    let mut value = format!("{writer}:{number}:").into_bytes();
    value.resize(
        value.len() + length,
        b'a' + u8::try_from(number % 26).expect("it is small"),
    );
    value
}

/// All keys of a writer.
pub(crate) fn keys(writer: usize) -> impl Iterator<Item = String> {
    let names = ["text", "number"].into_iter();
    names.flat_map(move |name| (0..KEYS).map(move |number| format!("{name}-{writer}-{number}")))
}
