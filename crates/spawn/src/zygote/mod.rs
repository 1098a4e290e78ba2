//! The zygote: a small process, forked before the daemon drops its privileges, that starts processes for it afterwards.
//!
//! **Invariant:** the zygote lives exactly as long as any connection to the daemon is open.

mod channel;
mod fork;
mod message;
mod server;
mod socket;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

pub(crate) use channel::{News, ask_signal, hear};

use crate::descriptors::State;
use crate::plan::{self, Defaults, Pace};
use crate::process::Process;
use crate::stage::Stage;
use crate::stdio::Streams;
use crate::strings::Strings;
use crate::{Child, Command, Error, calls, reaper};

/// The size of a request, in bytes, up to which it is sent in the message itself.
const INCHANNEL_MESSAGE_MAX: usize = 64 << 10;
/// The size limit of a request in bytes; more than the kernel's limit for arguments and environment.
const REQUEST_MAX: usize = 8 << 20;
/// The first byte of a message: the request is in this message, or in a file, which is the last descriptor.
const INLINE: u8 = 0;
const IN_FILE: u8 = 1;

/// The limits of a zygote.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The number of concurrent children; 1,000 by default. Further requests fail with `EAGAIN`.
    pub children_max: usize,
    /// The programs that it starts, compared byte by byte with the path in the request; any program by default. Requests for
    /// others fail with `EPERM`.
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

/// A helper process that starts processes for this one.
///
/// It keeps the privileges, limits and namespaces that this process had when it created the zygote, and its children inherit them
/// unless the [`Command`] says otherwise. They get the environment, the working directory and the descriptors of this process as it
/// is at the request. So a daemon can drop its privileges and forbid itself `execve` with a filter, and still run helpers. An
/// attacker who controls the daemon can run what the zygote's [`Rules`] allow.
///
/// Threads may share a zygote. It ends when this process ends; its children run on, as they would without a zygote.
#[derive(Debug)]
pub struct Zygote {
    socket: OwnedFd,
    process: Option<Process>,
}

impl Zygote {
    /// Forks the zygote. A program must do this early: no thread may have been started.
    ///
    /// # Errors
    /// [`Error::ZygoteThreads`] if this process has more than one thread.
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

    /// Its process ID.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Requests a process and waits until it executes its program.
    ///
    /// All options of the command apply except one: the child never inherits descriptors other than the standard streams and the
    /// named ones.
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

    /// Requests a process and returns at once; the [`PendingZygoteChild`] receives the answer.
    ///
    /// # Errors
    /// [`Error::ZygoteGone`]; [`Error::ZygoteSocket`] with `WouldBlock` if the zygote's queue is full, in which case nothing was
    /// requested; and those of [`Command::spawn`] for failures in this process.
    pub fn request(&self, command: &Command) -> Result<PendingZygoteChild, Error> {
        let streams = plan::streams(command, Defaults::INHERIT, Pace::GoesOn)?;
        let failed = |operation| move |source| Error::ZygoteSocket { operation, source };
        let (channel, theirs) = socket::pair().map_err(failed("socketpair"))?;
        let caller_directory = calls::open_working_directory().map_err(|source| {
            let about = " `.`".to_owned();
            command.failed(Stage::CallerDirectory, about, source)
        })?;

        let mappings: Vec<_> = streams
            .mappings
            .iter()
            .filter(|mapping| is_sent(mapping.source, mapping.state))
            .collect();
        let targets: Vec<i32> = mappings.iter().map(|mapping| mapping.target).collect();
        let mut fds = vec![theirs.as_raw_fd()];
        fds.extend(mappings.iter().map(|mapping| mapping.source));
        fds.push(caller_directory.as_raw_fd());
        fds.extend(command.options.cgroup.as_ref().map(AsRawFd::as_raw_fd));

        let mut environment = Strings::default();
        let built = command.environment.build(true, &mut environment);
        built.map_err(|_| {
            let source = io::Error::from_raw_os_error(libc::ENOMEM);
            command.failed(Stage::Memory, String::new(), source)
        })?;
        let mut writer = message::Writer::default();
        message::write(command, &environment, &targets, &mut writer);
        self.send(&writer.0, fds)?;
        Ok(PendingZygoteChild {
            channel,
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
        let message = if request.len() < INCHANNEL_MESSAGE_MAX {
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

/// Returns whether the descriptor to inherit is open.
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
    /// Closes the socket; the zygote ends once all channels are closed as well.
    fn drop(&mut self) {
        calls::shutdown(&self.socket);
        if let Some(process) = self.process.take() {
            reaper::adopt(process, None);
        }
    }
}

/// A child that was requested from a zygote.
///
/// Its descriptor ([`AsFd`]) becomes readable when the answer has arrived. Dropping it earlier kills the child, as dropping a
/// [`Child`] does.
#[derive(Debug)]
pub struct PendingZygoteChild {
    channel: OwnedFd,
    /// `None` once the answer was returned.
    streams: Option<Streams>,
    program: String,
}

impl PendingZygoteChild {
    /// Returns the child or the error; `None` before the answer has arrived and after it was returned.
    pub fn poll(&mut self) -> Option<Result<Child, Error>> {
        self.streams.as_ref()?;
        let heard = hear(&self.channel);
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
                // A separate descriptor number, because the caller may still poll this one while it polls the child.
                let channel = self.channel.try_clone().map_err(failed("fcntl"))?;
                Ok(Process::remote(pid, pidfd, channel))
            }
            Ok(News::Failed { stage, about, errno }) => Err(Error::Start {
                program: std::mem::take(&mut self.program),
                stage,
                about,
                source: io::Error::from_raw_os_error(errno),
            }),
            Ok(News::Ended { .. }) => Err(Error::ZygoteGone),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(Error::ZygoteGone),
            Err(source) => Err(failed("recvmsg")(source)),
        }
    }
}

impl Drop for PendingZygoteChild {
    fn drop(&mut self) {
        if self.streams.is_some() {
            // The zygote sees this when it has started the child. It fails if the zygote has ended.
            let _ = ask_signal(&self.channel, libc::SIGKILL);
        }
    }
}

impl AsFd for PendingZygoteChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
