//! Where a stream of the child comes from or goes to.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use crate::calls;
use crate::descriptors::{Place, State};

/// What a descriptor of the child is: for [`Command::stdin`](crate::Command::stdin) and its siblings, and for any other
/// number by [`Command::descriptor`](crate::Command::descriptor).
#[derive(Debug)]
pub struct Stdio(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    /// A standard stream of which nothing was said: inherited if it is open and not to be closed by `execve`.
    Untouched,
    Inherit,
    Closed,
    Null,
    Pipe,
    Bytes(Vec<u8>),
    Memory,
    Read(PathBuf),
    Write(PathBuf),
    Append(PathBuf),
    SameAs(i32),
    Descriptor(OwnedFd),
}

impl Stdio {
    /// What this process has at the same number; nothing, if nothing is open there.
    #[must_use]
    pub fn inherit() -> Stdio {
        Stdio(Kind::Inherit)
    }

    /// Nothing at all. Programs may behave strangely without their standard streams; [`null`](Stdio::null) is what is
    /// meant mostly.
    #[must_use]
    pub fn closed() -> Stdio {
        Stdio(Kind::Closed)
    }

    /// `/dev/null`.
    #[must_use]
    pub fn null() -> Stdio {
        Stdio(Kind::Null)
    }

    /// A pipe, of which the [`Child`](crate::Child) has the other end. The child reads from number 0 and writes to any
    /// other.
    #[must_use]
    pub fn piped() -> Stdio {
        Stdio(Kind::Pipe)
    }

    /// These bytes, to be read, from a file in memory: nobody has to feed a pipe, so nobody can be stuck doing it.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Stdio {
        Stdio(Kind::Bytes(bytes.into()))
    }

    /// An empty file in memory, to be written; [`Child::take`](crate::Child::take) has it. It has no bound but the
    /// child's `RLIMIT_FSIZE` and the memory there is.
    #[must_use]
    pub fn memory() -> Stdio {
        Stdio(Kind::Memory)
    }

    /// A file, to be read, which this process opens when the child is started.
    #[must_use]
    pub fn read(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Read(path.into()))
    }

    /// A file, made if missing and emptied if not, to be written.
    #[must_use]
    pub fn write(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Write(path.into()))
    }

    /// A file, made if missing, to be appended to.
    #[must_use]
    pub fn append(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Append(path.into()))
    }

    /// What the child's other descriptor is: `stderr(Stdio::same_as(1))` is the shell's `2>&1`. The other one must not be
    /// of this kind itself.
    #[must_use]
    pub fn same_as(target: i32) -> Stdio {
        Stdio(Kind::SameAs(target))
    }
}

impl<T: Into<OwnedFd>> From<T> for Stdio {
    /// An open file, pipe or socket. It stays open in this process until the [`Command`](crate::Command) is dropped.
    fn from(descriptor: T) -> Stdio {
        Stdio(Kind::Descriptor(descriptor.into()))
    }
}

/// Our end of a descriptor of the child.
#[derive(Debug)]
pub enum End {
    /// The child reads what is written here.
    Writer(PipeWriter),
    /// What the child writes comes here.
    Reader(PipeReader),
    /// What the child writes lies here, from the start; the offset is shared with the child.
    Memory(File),
}

/// The descriptors of a child that is about to be made.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) places: Vec<Place>,
    /// Open here only until the child has them.
    theirs: Vec<OwnedFd>,
    /// Ours for good.
    pub(crate) ends: Vec<(i32, End)>,
    /// Whether the command may be dropped before the child is made, and its descriptors with it.
    keeps: bool,
}

impl Streams {
    /// No streams yet. What `keeps` has copies of descriptors that belong to a command.
    pub(crate) fn new(keeps: bool) -> Streams {
        Streams {
            keeps,
            ..Streams::default()
        }
    }

    /// Opens what descriptor `target` of the child is to be.
    pub(crate) fn open(&mut self, target: i32, kind: &Kind) -> io::Result<()> {
        let source = match kind {
            Kind::Closed => return Ok(()),
            Kind::Inherit | Kind::Untouched => {
                self.places.push(Place {
                    target,
                    source: target,
                    state: match kind {
                        Kind::Inherit => State::Inherited,
                        _ => State::Untouched,
                    },
                });
                return Ok(());
            }
            Kind::SameAs(other) => self
                .places
                .iter()
                .find(|place| place.target == *other)
                .map(|place| place.source)
                .ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?,
            Kind::Descriptor(fd) if self.keeps => self.lend(fd.try_clone()?)?,
            Kind::Descriptor(fd) => fd.as_raw_fd(),
            Kind::Pipe => self.pipe(target)?,
            Kind::Memory => {
                let file = calls::memory_file(c"spawn")?;
                let ours = file.try_clone()?;
                self.ends.push((target, End::Memory(ours)));
                self.lend(file.into())?
            }
            Kind::Bytes(bytes) => {
                let mut file = calls::memory_file(c"spawn")?;
                file.write_all(bytes)?;
                file.rewind()?;
                self.lend(file.into())?
            }
            Kind::Null => self.lend_file(OpenOptions::new().read(true).write(true), "/dev/null".as_ref())?,
            Kind::Read(path) => self.lend_file(OpenOptions::new().read(true), path)?,
            Kind::Write(path) => {
                self.lend_file(OpenOptions::new().write(true).create(true).truncate(true), path)?
            }
            Kind::Append(path) => self.lend_file(OpenOptions::new().append(true).create(true), path)?,
        };
        self.places.push(Place {
            target,
            source,
            state: State::Named,
        });
        Ok(())
    }

    /// The child has them.
    pub(crate) fn close_theirs(&mut self) {
        self.theirs.clear();
    }

    /// What is ours for good, without what is the child's.
    pub(crate) fn take_ends(&mut self) -> Streams {
        Streams {
            ends: std::mem::take(&mut self.ends),
            ..Streams::default()
        }
    }

    fn pipe(&mut self, target: i32) -> io::Result<i32> {
        let (reader, writer) = io::pipe()?;
        if target == 0 {
            let writer = PipeWriter::from(out_of_the_way(writer.into())?);
            self.ends.push((target, End::Writer(writer)));
            self.lend(reader.into())
        } else {
            let reader = PipeReader::from(out_of_the_way(reader.into())?);
            self.ends.push((target, End::Reader(reader)));
            self.lend(writer.into())
        }
    }

    fn lend_file(&mut self, options: &OpenOptions, path: &std::path::Path) -> io::Result<i32> {
        self.lend(options.open(path)?.into())
    }

    fn lend(&mut self, fd: OwnedFd) -> io::Result<i32> {
        let fd = out_of_the_way(fd)?;
        let number = fd.as_raw_fd();
        self.theirs.push(fd);
        Ok(number)
    }
}

/// The descriptor, or a copy of it if it has the number of a standard stream: this process has closed its own then, and
/// a child that inherits "nothing" must not find one of ours there.
fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    // `try_clone` makes numbers from 3 on.
    fd.as_fd().try_clone_to_owned()
}
