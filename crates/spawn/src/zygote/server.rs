//! The zygote's loop: it serves requests and reports the ends of its children, until the daemon has closed all connections.
//!
//! **Invariant:** no input makes the zygote fail, block or exceed its limits: requests have a size limit, children a count limit, and a
//! daemon that does not read its channels gets no further messages on them.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;

use super::channel::{self, News};
use super::message;
use super::socket::{self, Message};
use super::{INCHANNEL_MESSAGE_MAX, INLINE, REQUEST_MAX, Rules};
use crate::calls::{self, PollFd};
use crate::process::Process;
use crate::stage::Stage;
use crate::{Child, Command, Error};

/// A child and its channel to the daemon.
struct ZygoteChild {
    process: Process,
    /// `None` once the daemon has closed its end.
    channel: Option<OwnedFd>,
}

/// Serves requests until the daemon has closed the socket and all channels.
pub(crate) fn serve(socket: OwnedFd, rules: &Rules) {
    let mut socket = Some(socket);
    let mut children: Vec<ZygoteChild> = Vec::new();
    // One byte more than the limit of a request, to detect longer ones.
    let mut buffer = vec![0; INCHANNEL_MESSAGE_MAX + 1];
    while socket.is_some() || children.iter().any(|child| child.channel.is_some()) {
        let mut polls = polls(socket.as_ref(), &children);
        if calls::poll(&mut polls, None).is_err() {
            // poll fails only for lack of memory, which may pass.
            continue;
        }
        let (ours, theirs) = polls.split_at(1);
        let mut polled = theirs.chunks_exact(2);
        children.retain_mut(|child| polled.next().is_none_or(|polls| serve_child(child, polls)));
        if ours[0].revents != 0
            && let Some(main) = &socket
            && !serve_one(main, &mut buffer, rules, &mut children)
        {
            socket = None;
        }
    }
}

fn polls(socket: Option<&OwnedFd>, children: &[ZygoteChild]) -> Vec<PollFd> {
    let entry = |fd: Option<&OwnedFd>| match fd {
        Some(fd) => calls::poll_for(fd.as_fd(), libc::POLLIN),
        None => PollFd {
            fd: -1,
            events: 0,
            revents: 0,
        },
    };
    let mut polls = vec![entry(socket)];
    for child in children {
        polls.push(calls::poll_for(child.process.as_fd(), libc::POLLIN));
        polls.push(entry(child.channel.as_ref()));
    }
    polls
}

/// Forwards signals and the final status; returns whether the process still exists.
fn serve_child(child: &mut ZygoteChild, polls: &[PollFd]) -> bool {
    if polls[1].revents != 0
        && let Some(channel) = &child.channel
    {
        match channel::asked_signal(channel) {
            // An invalid signal has no effect.
            Ok(signal) => drop(child.process.signal(signal)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => child.channel = None,
        }
    }
    if polls[0].revents == 0 {
        return true;
    }
    match child.process.wait(false) {
        Ok(None) => true,
        Ok(Some(status)) => {
            if let Some(channel) = &child.channel {
                let status = status.into_raw();
                // A daemon that has ended or does not read gets no report.
                let _ = channel::tell(channel, &News::Ended { status });
            }
            false
        }
        // It has ended without a status; the daemon sees the channel's end.
        Err(_) => false,
    }
}

/// Receives a request, if there is one; `false` if the daemon has closed the socket.
fn serve_one(socket: &OwnedFd, buffer: &mut [u8], rules: &Rules, children: &mut Vec<ZygoteChild>) -> bool {
    let message = match socket::receive(socket.as_fd(), buffer) {
        Ok(message) if message.length == 0 => return false,
        Ok(message) => message,
        Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory),
    };
    let Message {
        mut fds,
        is_cut,
        length,
    } = message;
    if fds.is_empty() {
        return true;
    }
    let channel = fds.remove(0);
    let started = if is_cut {
        Err(failure(Stage::Zygote, libc::EMFILE))
    } else {
        start(&buffer[..length], fds, rules, children.len())
    };
    match started {
        Err(news) => drop(channel::tell(&channel, &news)),
        Ok((process, pidfd)) => {
            let pid = process.pid() as i32;
            // If the daemon has ended meanwhile, its channel reports that.
            let _ = channel::tell(&channel, &News::Started { pid, pidfd });
            children.push(ZygoteChild {
                process,
                channel: Some(channel),
            });
        }
    }
    true
}

fn failure(stage: Stage, errno: i32) -> News {
    News::Failed {
        stage,
        about: String::new(),
        errno,
    }
}

fn start(
    request: &[u8],
    fds: Vec<OwnedFd>,
    rules: &Rules,
    children: usize,
) -> Result<(Process, OwnedFd), News> {
    if children >= rules.children_max {
        return Err(failure(Stage::Zygote, libc::EAGAIN));
    }
    let command = command(request, fds).map_err(|errno| failure(Stage::Zygote, errno))?;
    if !is_allowed(&command, rules) {
        return Err(failure(Stage::Zygote, libc::EPERM));
    }
    let child = command.spawn().map_err(|error| match error {
        Error::Start {
            stage, about, source, ..
        } => News::Failed {
            stage,
            about,
            errno: source.raw_os_error().unwrap_or(libc::EIO),
        },
        other => failure(Stage::Zygote, other.errno()),
    })?;
    let process = Child::into_process(child);
    let pidfd = process.as_fd().try_clone_to_owned();
    // Without a pidfd to pass on, the daemon would have no handle: dropping the process kills it.
    pidfd
        .map(|pidfd| (process, pidfd))
        .map_err(|error| failure(Stage::Zygote, error.raw_os_error().unwrap_or(libc::EMFILE)))
}

/// Reads the command from the message or from the file that it names.
fn command(request: &[u8], mut fds: Vec<OwnedFd>) -> Result<Command, i32> {
    let (kind, inline) = request.split_first().ok_or(libc::EPROTO)?;
    if *kind == INLINE {
        return message::read(inline, fds).ok_or(libc::EPROTO);
    }
    let file = File::from(fds.pop().ok_or(libc::EPROTO)?);
    let bytes = read_file(&file).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    message::read(&bytes, fds).ok_or(libc::EPROTO)
}

/// Reads a file in memory up to the limit of a request. The daemon may change its size meanwhile.
fn read_file(file: &File) -> io::Result<Vec<u8>> {
    // Reading anything else, such as a pipe, could block.
    if !calls::is_memory_file(file.as_fd()) {
        return Err(io::Error::from_raw_os_error(libc::EPROTO));
    }
    let size = file.metadata()?.len();
    if size > REQUEST_MAX as u64 {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn is_allowed(command: &Command, rules: &Rules) -> bool {
    let Some(programs) = &rules.programs else {
        return true;
    };
    programs
        .iter()
        .any(|path| path.as_os_str().as_bytes() == command.program)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{IN_FILE, Zygote};
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    /// The zygote's answer to a request of these bytes and descriptors.
    fn answer(socket: &OwnedFd, request: &[u8], others: &[&OwnedFd]) -> News {
        let (ours, theirs) = socket::pair().unwrap();
        let fds: Vec<_> = [&theirs].iter().chain(others).map(|fd| fd.as_raw_fd()).collect();
        socket::send(socket.as_fd(), request, &fds).unwrap();
        drop(theirs);
        calls::poll(&mut [calls::poll_for(ours.as_fd(), libc::POLLIN)], None).unwrap();
        channel::hear(&ours).unwrap()
    }

    fn file(size: u64) -> OwnedFd {
        let mut file = calls::memory_file(c"request").unwrap();
        file.write_all(b"nonsense").unwrap();
        file.set_len(size).unwrap();
        file.into()
    }

    #[test]
    fn no_request_is_too_wrong_to_be_answered() {
        let (ours, theirs) = socket::pair().unwrap();
        let server = std::thread::spawn(move || serve(theirs, &Rules::default()));
        let (pipe, _writer) = std::io::pipe().unwrap();
        let pipe = OwnedFd::from(pipe);
        let errno = |request: &[u8], others: &[&OwnedFd]| match answer(&ours, request, others) {
            News::Failed {
                stage: Stage::Zygote,
                errno,
                ..
            } => errno,
            other => panic!("{other:?}"),
        };
        assert_eq!(errno(&[INLINE], &[]), libc::EPROTO);
        assert_eq!(errno(&[IN_FILE], &[]), libc::EPROTO);
        assert_eq!(errno(&[77; 1000], &[]), libc::EPROTO);
        assert_eq!(errno(&[0xff; 60_000], &[&pipe]), libc::EPROTO);
        assert_eq!(errno(&[IN_FILE], &[&file(8)]), libc::EPROTO);
        assert_eq!(
            errno(&[IN_FILE], &[&pipe]),
            libc::EPROTO,
            "nobody waits for a pipe"
        );
        assert_eq!(errno(&[IN_FILE], &[&file(1 << 40)]), libc::E2BIG);
        assert_eq!(
            errno(&[0; INCHANNEL_MESSAGE_MAX + 100], &[]),
            libc::EMFILE,
            "it was cut"
        );
        // Without a channel there is no answer.
        socket::send(ours.as_fd(), &[INLINE], &[]).unwrap();
        let zygote = Zygote {
            socket: ours,
            process: None,
        };
        assert!(
            zygote
                .spawn(&Command::new("true"))
                .unwrap()
                .wait()
                .unwrap()
                .success()
        );
        drop(zygote);
        server.join().unwrap();
    }
}
