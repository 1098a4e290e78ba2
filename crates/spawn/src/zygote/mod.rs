//! A zygote: a small process, made before the daemon gives up its rights, that starts processes for it afterwards.
//!
//! **Invariant:** the zygote lives as long as somebody may ask it something or be told something by it, and no longer.

mod fork;
mod line;
mod message;
mod server;
mod socket;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

pub(crate) use line::{News, ask_signal, hear};

use crate::descriptors::State;
use crate::plan::{self, Defaults, Pace};
use crate::process::Process;
use crate::stdio::Streams;
use crate::step::Step;
use crate::strings::Strings;
use crate::{Child, Command, Error, calls, reaper};

/// Bytes of a request up to which it is sent in the message itself.
const INLINE_MAX: usize = 64 << 10;
/// Bytes of a request; more than any kernel takes as arguments and environment.
const REQUEST_MAX: usize = 8 << 20;
/// The first byte of a message, which says where the request is: here, or in the file that is the last descriptor.
const INLINE: u8 = 0;
const IN_FILE: u8 = 1;

/// What a zygote may be asked.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Children at once; 1,000 by default. One more is refused with `EAGAIN`.
    pub children_max: usize,
    /// The programs that it starts, as paths that requests must give letter by letter; any program by default. Another one
    /// is refused with `EPERM`.
    pub programs: Option<Vec<PathBuf>>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            children_max: 1000,
            programs: None,
        }
    }
}

/// A process that starts processes for this one.
///
/// It has the rights, limits and namespaces that this process had when it was made, and gives them to what it starts,
/// unless a [`Command`] says otherwise. From this process as it is now come the environment, the working directory and the
/// descriptors. So a daemon can drop its rights, forbid itself `execve` by a filter, and still have helpers run; but whoever
/// takes over such a daemon can have run what the zygote's [`Rules`] allow.
///
/// Any number of threads may use it at once. When this process ends, so does the zygote; what it started runs on, as it
/// would without one.
#[derive(Debug)]
pub struct Zygote {
    socket: OwnedFd,
    process: Option<Process>,
}

impl Zygote {
    /// Makes one, by forking. This is among the first things that a program does: no thread may have been started.
    ///
    /// # Errors
    /// [`Error::ZygoteThreads`] when there are threads already.
    pub fn start(rules: &Rules) -> Result<Zygote, Error> {
        let (socket, theirs) = socket::pair().map_err(|source| Error::ZygoteSocket {
            operation: "socketpair",
            source,
        })?;
        let process = fork::start(theirs, rules)?;
        Ok(Zygote {
            socket,
            process: Some(process),
        })
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Has it start a process, and waits until that runs.
    ///
    /// All options are the command's own but one: of descriptors, the child has those that were named and the standard
    /// streams.
    ///
    /// # Errors
    /// As [`Command::spawn`], and [`Error::ZygoteGone`].
    pub fn spawn(&self, command: &Command) -> Result<Child, Error> {
        let mut requested = loop {
            match self.request(command) {
                Err(Error::ZygoteSocket { source, .. }) if source.kind() == ErrorKind::WouldBlock => {
                    self.await_socket(libc::POLLOUT)?;
                }
                result => break result?,
            }
        };
        loop {
            if let Some(answer) = requested.poll() {
                return answer;
            }
            let mut poll = [calls::poll_for(requested.as_fd(), libc::POLLIN)];
            calls::poll(&mut poll, None).map_err(|source| Error::ZygoteSocket {
                operation: "poll",
                source,
            })?;
        }
    }

    /// Asks it to start a process and does not wait for the answer; it comes to the [`Requested`].
    ///
    /// # Errors
    /// [`Error::ZygoteGone`]; an [`Error::ZygoteSocket`] that says `WouldBlock` when the zygote has more to do than its
    /// socket holds, and then nothing was asked; as [`Command::spawn`] for what fails in this process.
    pub fn request(&self, command: &Command) -> Result<Requested, Error> {
        let streams = plan::streams(command, Defaults::INHERIT, Pace::GoesOn)?;
        let failed = |operation| move |source| Error::ZygoteSocket { operation, source };
        let (line, theirs) = socket::pair().map_err(failed("socketpair"))?;
        let home = calls::open_working_directory().map_err(|source| {
            let about = " `.`".to_owned();
            command.failed(Step::Home, about, source)
        })?;

        let places: Vec<_> = streams
            .places
            .iter()
            .filter(|place| is_sent(place.source, place.state))
            .collect();
        let targets: Vec<i32> = places.iter().map(|place| place.target).collect();
        let mut fds = vec![theirs.as_raw_fd()];
        fds.extend(places.iter().map(|place| place.source));
        fds.push(home.as_raw_fd());
        fds.extend(command.options.cgroup.as_ref().map(AsRawFd::as_raw_fd));

        let mut environment = Strings::default();
        let built = command.environment.build(true, &mut environment);
        built.map_err(|_| {
            let source = io::Error::from_raw_os_error(libc::ENOMEM);
            command.failed(Step::Memory, String::new(), source)
        })?;
        let mut writer = message::Writer::default();
        message::write(command, &environment, &targets, &mut writer);
        self.send(&writer.0, fds)?;
        Ok(Requested {
            line,
            streams: Some(streams),
            program: command.program_name(),
        })
    }

    fn send(&self, request: &[u8], mut fds: Vec<RawFd>) -> Result<(), Error> {
        if request.len() > REQUEST_MAX {
            return Err(Error::ZygoteRequest {
                size: request.len(),
                max: REQUEST_MAX,
            });
        }
        let file;
        let message = if request.len() < INLINE_MAX {
            [&[INLINE], request].concat()
        } else {
            file = in_file(request).map_err(|source| Error::ZygoteSocket {
                operation: "memfd_create",
                source,
            })?;
            fds.push(file.as_raw_fd());
            vec![IN_FILE]
        };
        socket::send(self.socket.as_fd(), &message, &fds).map_err(|source| match source.raw_os_error() {
            Some(libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN) => Error::ZygoteGone,
            _ => Error::ZygoteSocket {
                operation: "sendmsg",
                source,
            },
        })
    }

    fn await_socket(&self, events: i16) -> Result<(), Error> {
        let mut poll = [calls::poll_for(self.socket.as_fd(), events)];
        let ready = calls::poll(&mut poll, None).map_err(|source| Error::ZygoteSocket {
            operation: "poll",
            source,
        });
        ready.map(drop)
    }
}

/// Whether what the child inherits is there to be inherited.
fn is_sent(source: i32, state: State) -> bool {
    match state {
        State::Named => true,
        State::Inherited => calls::descriptor_flags(source).is_some(),
        State::Untouched => {
            calls::descriptor_flags(source).is_some_and(|flags| flags & libc::FD_CLOEXEC == 0)
        }
    }
}

fn in_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = calls::memory_file(c"spawn request")?;
    file.write_all(bytes)?;
    Ok(file)
}

impl Drop for Zygote {
    /// Lets the zygote end, when nobody waits for a child of its any more.
    fn drop(&mut self) {
        calls::shutdown(&self.socket);
        if let Some(process) = self.process.take() {
            reaper::adopt(process, None);
        }
    }
}

/// A child that a zygote was asked to start.
///
/// It is a descriptor ([`AsFd`]), which becomes readable when the answer is there. Dropping it before kills the child, as
/// dropping a [`Child`] does.
#[derive(Debug)]
pub struct Requested {
    line: OwnedFd,
    /// Taken with the answer.
    streams: Option<Streams>,
    program: String,
}

impl Requested {
    /// The child, or what failed; `None` when the answer is not there yet, and after it was given.
    pub fn poll(&mut self) -> Option<Result<Child, Error>> {
        self.streams.as_ref()?;
        let heard = hear(&self.line);
        if heard
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        {
            return None;
        }
        let mut streams = self.streams.take()?;
        streams.close_theirs();
        Some(self.answer(heard).map(|process| Child::new(process, streams)))
    }

    fn answer(&mut self, heard: io::Result<News>) -> Result<Process, Error> {
        let failed = |operation| move |source| Error::ZygoteSocket { operation, source };
        match heard {
            Ok(News::Started { pid, pidfd }) => {
                // A number of its own: whoever polls this one may still do so when the child is polled.
                let line = self.line.try_clone().map_err(failed("fcntl"))?;
                Ok(Process::remote(pid, pidfd, line))
            }
            Ok(News::Failed { step, about, errno }) => Err(Error::Start {
                program: std::mem::take(&mut self.program),
                step,
                about,
                source: io::Error::from_raw_os_error(errno),
            }),
            Ok(News::Ended { .. }) => Err(Error::ZygoteGone),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Error::ZygoteGone),
            Err(source) => Err(failed("recvmsg")(source)),
        }
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        if self.streams.is_some() {
            // The zygote finds it when it has started the child. It fails if the zygote has ended, and all with it.
            let _ = ask_signal(&self.line, libc::SIGKILL);
        }
    }
}

impl AsFd for Requested {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
