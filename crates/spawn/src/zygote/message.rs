//! The encoding of requests from a daemon to its zygote.
//!
//! A request is a whole command: strings with their lengths and options in a fixed order. Both sides run the same program, so the
//! encoding has no version. Descriptors accompany the message in the order of their numbers in it.
//!
//! **Invariant:** reading arbitrary bytes returns a command or `None`, so that an attacker who controls the daemon does not control
//! the zygote's code.

use std::os::fd::OwnedFd;

use crate::command::{Mask, Options};
use crate::environment::Environment;
use crate::stdio::Kind;
use crate::strings::Strings;
use crate::{Capabilities, Command, Resource, SignalSet, Stdio};

/// Appends values to bytes.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(crate) fn numbers(&mut self, values: &[u64]) {
        values.iter().for_each(|value| self.number(*value));
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn option(&mut self, value: Option<u64>) {
        self.number(value.is_some().into());
        self.number(value.unwrap_or(0));
    }

    fn signed(&mut self, value: Option<i32>) {
        self.option(value.map(|value| value as u32 as u64));
    }

    fn strings<'a>(&mut self, count: usize, strings: impl Iterator<Item = &'a [u8]>) {
        self.number(count as u64);
        strings.for_each(|one| self.bytes(one));
    }
}

/// Reads values from bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*number))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.number()? != 0)
    }

    fn option(&mut self) -> Option<Option<u64>> {
        let (is_some, value) = (self.flag()?, self.number()?);
        Some(is_some.then_some(value))
    }

    fn signed(&mut self) -> Option<Option<i32>> {
        Some(self.option()?.map(|value| value as u32 as i32))
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // Each element takes bytes, so a wrong count is bounded by the message, not by memory.
        let count = self.number()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn strings(&mut self) -> Option<Strings> {
        let mut strings = Strings::default();
        for _ in 0..self.number()? {
            strings.push(&[self.bytes()?]);
        }
        Some(strings)
    }
}

/// Writes a command with the numbers of the child's descriptors and the given environment.
pub(crate) fn write(command: &Command, environment: &Strings, targets: &[i32], writer: &mut Writer) {
    writer.bytes(&command.program);
    writer.number(command.arg0.is_some().into());
    writer.bytes(command.arg0.as_deref().unwrap_or_default());
    writer.strings(command.arguments.len(), command.arguments.iter());
    writer.strings(environment.len(), environment.iter());
    writer.number(targets.len() as u64);
    targets
        .iter()
        .for_each(|target| writer.number(*target as u32 as u64));
    write_options(&command.options, writer);
}

fn write_options(options: &Options, writer: &mut Writer) {
    writer.number(options.directory.is_some().into());
    writer.bytes(options.directory.as_deref().unwrap_or_default());
    writer.option(options.umask.map(u64::from));
    writer.signed(options.nice);
    writer.number(options.limits.len() as u64);
    for (resource, soft, hard) in &options.limits {
        writer.numbers(&[u64::from(resource.0), *soft, *hard]);
    }
    writer.option(options.user.map(u64::from));
    writer.option(options.group.map(u64::from));
    writer.number(options.groups.is_some().into());
    let groups = options.groups.as_deref().unwrap_or_default();
    writer.number(groups.len() as u64);
    groups.iter().for_each(|group| writer.number(u64::from(*group)));
    writer.option(options.capabilities.map(Capabilities::bits));
    writer.number(options.no_new_privileges.into());
    writer.signed(options.parent_death_signal);
    writer.signed(options.process_group);
    writer.number(options.session.into());
    writer.signed(options.terminal);
    writer.number(match options.mask {
        Mask::Set(set) => set.bits(),
        Mask::Inherit => crate::sys::signal_mask(),
    });
    writer.number(options.default_signals.bits());
    writer.number(options.ignored_signals.bits());
    writer.number(options.cgroup.is_some().into());
    writer.number(options.shell_scripts.into());
}

/// Reads a command. Its descriptors come first, in the order of the targets, then the working directory and, if given, the
/// control group.
pub(crate) fn read(bytes: &[u8], fds: Vec<OwnedFd>) -> Option<Command> {
    let reader = &mut Reader(bytes);
    let mut fds = fds.into_iter();
    let program = reader.bytes()?.to_vec();
    let (has_arg0, arg0) = (reader.flag()?, reader.bytes()?);
    let mut command = Command {
        program,
        arg0: has_arg0.then(|| arg0.to_vec()),
        arguments: reader.strings()?,
        environment: Environment::given(reader.strings()?),
        standard: [0, 1, 2].map(|_| Some(Stdio(Kind::Closed))),
        descriptors: Vec::new(),
        options: Options::default(),
    };
    for target in reader.list(Reader::number)? {
        command.descriptor(target as u32 as i32, fds.next()?);
    }
    let has_cgroup = read_options(reader, &mut command.options)?;
    command.options.caller_directory = Some(fds.next()?);
    if has_cgroup {
        command.options.cgroup = Some(fds.next()?);
    }
    (reader.0.is_empty() && fds.next().is_none()).then_some(command)
}

/// Returns whether there is a control group.
fn read_options(reader: &mut Reader<'_>, options: &mut Options) -> Option<bool> {
    let id = |value: Option<u64>| value.map(|value| value as u32);
    let (has_directory, directory) = (reader.flag()?, reader.bytes()?);
    options.directory = has_directory.then(|| directory.to_vec());
    options.umask = id(reader.option()?);
    options.nice = reader.signed()?;
    options.limits = reader.list(|reader| {
        let resource = Resource(reader.number()? as u32);
        Some((resource, reader.number()?, reader.number()?))
    })?;
    options.user = id(reader.option()?);
    options.group = id(reader.option()?);
    let (has_groups, groups) = (
        reader.flag()?,
        reader.list(|reader| Some(reader.number()? as u32))?,
    );
    options.groups = has_groups.then_some(groups);
    options.capabilities = reader.option()?.map(Capabilities::from_bits);
    options.no_new_privileges = reader.flag()?;
    options.parent_death_signal = reader.signed()?;
    options.process_group = reader.signed()?;
    options.session = reader.flag()?;
    options.terminal = reader.signed()?;
    options.mask = Mask::Set(SignalSet::from_bits(reader.number()?));
    options.default_signals = SignalSet::from_bits(reader.number()?);
    options.ignored_signals = SignalSet::from_bits(reader.number()?);
    let has_cgroup = reader.flag()?;
    options.shell_scripts = reader.flag()?;
    Some(has_cgroup)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn written() -> (Vec<u8>, usize) {
        let mut command = Command::new("/bin/true");
        command
            .arg("a")
            .arg("")
            .arg0("b")
            .current_dir("/")
            .umask(0o77)
            .nice(-3);
        command
            .limit(Resource::CORE, 1, 2)
            .user(1)
            .group(2)
            .groups(&[3, 4]);
        command
            .ambient_capabilities(Capabilities::KILL)
            .no_new_privileges();
        command.parent_death_signal(9).process_group(0).new_session();
        command.signal_mask(SignalSet::ALL).shell_scripts(false);
        let mut environment = Strings::default();
        environment.push(&[b"A=B"]);
        let mut writer = Writer::default();
        write(&command, &environment, &[0, 7], &mut writer);
        (writer.0, 3)
    }

    fn fds(count: usize) -> Vec<OwnedFd> {
        (0..count)
            .map(|_| std::fs::File::open("/dev/null").unwrap().into())
            .collect()
    }

    #[test]
    fn a_command_comes_out_as_it_went_in() {
        let (bytes, count) = written();
        let command = read(&bytes, fds(count)).unwrap();
        let mut writer = Writer::default();
        let mut environment = Strings::default();
        command.environment.build(true, &mut environment).unwrap();
        write(&command, &environment, &[0, 7], &mut writer);
        assert!(writer.0 == bytes);
        assert_eq!(command.descriptors.len(), 1);
    }

    #[test]
    fn no_bytes_are_too_wrong_to_be_read() {
        let (bytes, count) = written();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length], fds(count)).is_none(), "{length}");
        }
        for wrong in [0, count - 1, count + 1] {
            assert!(read(&bytes, fds(wrong)).is_none(), "{wrong} descriptors");
        }
        // Any byte may have any value; reading only has to return.
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            for value in [0, 1, 0x7f, 0xff] {
                changed[at] = value;
                let _ = read(&changed, fds(count));
            }
        }
    }
}
