//! The sources of a child's descriptors.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use crate::calls;
use crate::descriptors::{Mapping, State};

/// The source of a child's descriptor: for [`Command::stdin`](crate::Command::stdin) and its siblings, and for any other
/// number by [`Command::descriptor`](crate::Command::descriptor).
#[derive(Debug)]
pub struct Stdio(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    /// The default of a standard stream: inherited, if it is open here without `FD_CLOEXEC`.
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
    /// This process's descriptor of the same number; closed in the child if it is closed here.
    #[must_use]
    pub fn inherit() -> Stdio {
        Stdio(Kind::Inherit)
    }

    /// Closed. Many programs misbehave without their standard streams; [`null`](Stdio::null) is usually the better choice.
    #[must_use]
    pub fn closed() -> Stdio {
        Stdio(Kind::Closed)
    }

    /// `/dev/null`.
    #[must_use]
    pub fn null() -> Stdio {
        Stdio(Kind::Null)
    }

    /// A pipe; the [`Child`](crate::Child) handle has the other end. The child reads from descriptor 0 and writes to any
    /// other.
    #[must_use]
    pub fn piped() -> Stdio {
        Stdio(Kind::Pipe)
    }

    /// A file in memory that holds these bytes. Unlike a pipe, it needs no writer that could block.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Stdio {
        Stdio(Kind::Bytes(bytes.into()))
    }

    /// An empty file in memory for output; [`Child::take`](crate::Child::take) returns it. Only the child's `RLIMIT_FSIZE` and
    /// the available memory limit its size.
    #[must_use]
    pub fn memory() -> Stdio {
        Stdio(Kind::Memory)
    }

    /// A file for input, which this process opens when it starts the child.
    #[must_use]
    pub fn read(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Read(path.into()))
    }

    /// A file for output, created or truncated.
    #[must_use]
    pub fn write(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Write(path.into()))
    }

    /// A file for output at its end, created if it is missing.
    #[must_use]
    pub fn append(path: impl Into<PathBuf>) -> Stdio {
        Stdio(Kind::Append(path.into()))
    }

    /// A copy of the child's descriptor `target`: `stderr(Stdio::same_as(1))` is the shell's `2>&1`. That descriptor must not be
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
    /// The child reads the other end.
    Writer(PipeWriter),
    /// The child writes to the other end.
    Reader(PipeReader),
    /// The file that the child writes to, from its start. The child shares the file offset.
    Memory(File),
}

/// The descriptors of a child that is about to be made.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) mappings: Vec<Mapping>,
    /// The child's descriptors, closed here once it has its copies.
    theirs: Vec<OwnedFd>,
    /// The ends for the owner of the child.
    pub(crate) ends: Vec<(i32, End)>,
    /// The command may be dropped before the child is made, so its descriptors are duplicated.
    keeps: bool,
}

impl Streams {
    /// No streams yet. With `keeps`, descriptors that belong to the command are duplicated.
    pub(crate) fn new(keeps: bool) -> Streams {
        Streams {
            keeps,
            ..Streams::default()
        }
    }

    /// Opens the source of the child's descriptor `target`.
    pub(crate) fn open(&mut self, target: i32, kind: &Kind) -> io::Result<()> {
        let source = match kind {
            Kind::Closed => return Ok(()),
            Kind::Inherit | Kind::Untouched => {
                self.mappings.push(Mapping {
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
                .mappings
                .iter()
                .find(|mapping| mapping.target == *other)
                .map(|mapping| mapping.source)
                .ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?,
            Kind::Descriptor(fd) if self.keeps => self.keep(fd.try_clone()?)?,
            Kind::Descriptor(fd) => fd.as_raw_fd(),
            Kind::Pipe => self.pipe(target)?,
            Kind::Memory => {
                let file = calls::memory_file(c"spawn")?;
                let ours = file.try_clone()?;
                self.ends.push((target, End::Memory(ours)));
                self.keep(file.into())?
            }
            Kind::Bytes(bytes) => {
                let mut file = calls::memory_file(c"spawn")?;
                file.write_all(bytes)?;
                file.rewind()?;
                self.keep(file.into())?
            }
            Kind::Null => self.keep_file(OpenOptions::new().read(true).write(true), "/dev/null".as_ref())?,
            Kind::Read(path) => self.keep_file(OpenOptions::new().read(true), path)?,
            Kind::Write(path) => {
                self.keep_file(OpenOptions::new().write(true).create(true).truncate(true), path)?
            }
            Kind::Append(path) => self.keep_file(OpenOptions::new().append(true).create(true), path)?,
        };
        self.mappings.push(Mapping {
            target,
            source,
            state: State::Named,
        });
        Ok(())
    }

    /// Closes the child's descriptors here, once it has its own.
    pub(crate) fn close_theirs(&mut self) {
        self.theirs.clear();
    }

    /// The ends for the owner of the child, without the child's descriptors.
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
            self.keep(reader.into())
        } else {
            let reader = PipeReader::from(out_of_the_way(reader.into())?);
            self.ends.push((target, End::Reader(reader)));
            self.keep(writer.into())
        }
    }

    fn keep_file(&mut self, options: &OpenOptions, path: &std::path::Path) -> io::Result<i32> {
        self.keep(options.open(path)?.into())
    }

    fn keep(&mut self, fd: OwnedFd) -> io::Result<i32> {
        let fd = out_of_the_way(fd)?;
        let number = fd.as_raw_fd();
        self.theirs.push(fd);
        Ok(number)
    }
}

/// The descriptor, or a copy of it if it has the number of a standard stream. This process has closed its own then, and a child
/// that inherits the closed stream must not find this descriptor instead.
fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    // `try_clone` returns numbers from 3 on.
    fd.as_fd().try_clone_to_owned()
}
