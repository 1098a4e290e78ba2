//! What the zygote does: it waits for commands and for the ends of its children, until nobody is left to tell of them.
//!
//! **Invariant:** nothing that comes over a socket makes it fail, wait or grow beyond its bounds: a request has a size, the
//! children a number, and a daemon that does not read its lines gets nothing more on them.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;

use super::line::{self, News};
use super::message;
use super::socket::{self, Message};
use super::{INLINE, INLINE_MAX, REQUEST_MAX, Rules};
use crate::calls::{self, PollFd};
use crate::process::Process;
use crate::step::Step;
use crate::{Child, Command, Error};

/// A child and the daemon's end of it.
struct Ward {
    process: Process,
    /// Gone when the daemon has closed its end.
    line: Option<OwnedFd>,
}

/// Serves until the daemon has closed the socket and all lines.
pub(crate) fn serve(socket: OwnedFd, rules: &Rules) {
    let mut socket = Some(socket);
    let mut wards: Vec<Ward> = Vec::new();
    // One byte more than a request may have, so that a longer one is seen to be cut.
    let mut buffer = vec![0; INLINE_MAX + 1];
    while socket.is_some() || wards.iter().any(|ward| ward.line.is_some()) {
        let mut polls = polls(socket.as_ref(), &wards);
        if calls::poll(&mut polls, None).is_err() {
            // For want of memory, which may pass.
            continue;
        }
        let (ours, theirs) = polls.split_at(1);
        let mut attended = theirs.chunks_exact(2);
        wards.retain_mut(|ward| attended.next().is_none_or(|polls| attend(ward, polls)));
        if ours[0].revents != 0
            && let Some(main) = &socket
            && !serve_one(main, &mut buffer, rules, &mut wards)
        {
            socket = None;
        }
    }
}

fn polls(socket: Option<&OwnedFd>, wards: &[Ward]) -> Vec<PollFd> {
    let entry = |fd: Option<&OwnedFd>| match fd {
        Some(fd) => calls::poll_for(fd.as_fd(), libc::POLLIN),
        None => PollFd {
            fd: -1,
            events: 0,
            revents: 0,
        },
    };
    let mut polls = vec![entry(socket)];
    for ward in wards {
        polls.push(calls::poll_for(ward.process.as_fd(), libc::POLLIN));
        polls.push(entry(ward.line.as_ref()));
    }
    polls
}

/// Passes signals on, and the status when it comes; answers whether the process is still there.
fn attend(ward: &mut Ward, polls: &[PollFd]) -> bool {
    if polls[1].revents != 0
        && let Some(line) = &ward.line
    {
        match line::asked_signal(line) {
            // Who asks for a wrong signal learns that nothing happened.
            Ok(signal) => drop(ward.process.signal(signal)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => ward.line = None,
        }
    }
    if polls[0].revents == 0 {
        return true;
    }
    match ward.process.wait(false) {
        Ok(None) => true,
        Ok(Some(status)) => {
            if let Some(line) = &ward.line {
                let status = status.into_raw();
                // A daemon that has gone, or does not read, is not told.
                let _ = line::tell(line, &News::Ended { status });
            }
            false
        }
        // It has ended without a status, and the daemon learns as much by the end of the line.
        Err(_) => false,
    }
}

/// Takes a request, if there is one; `false` when the daemon has closed the socket.
fn serve_one(socket: &OwnedFd, buffer: &mut [u8], rules: &Rules, wards: &mut Vec<Ward>) -> bool {
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
    let line = fds.remove(0);
    let started = if is_cut {
        Err(failure(Step::Zygote, libc::EMFILE))
    } else {
        start(&buffer[..length], fds, rules, wards.len())
    };
    match started {
        Err(news) => drop(line::tell(&line, &news)),
        Ok((process, pidfd)) => {
            let pid = process.pid() as i32;
            // A daemon that has gone meanwhile is noticed by its line.
            let _ = line::tell(&line, &News::Started { pid, pidfd });
            wards.push(Ward {
                process,
                line: Some(line),
            });
        }
    }
    true
}

fn failure(step: Step, errno: i32) -> News {
    News::Failed {
        step,
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
        return Err(failure(Step::Zygote, libc::EAGAIN));
    }
    let command = command(request, fds).map_err(|errno| failure(Step::Zygote, errno))?;
    if !is_allowed(&command, rules) {
        return Err(failure(Step::Zygote, libc::EPERM));
    }
    let child = command.spawn().map_err(|error| match error {
        Error::Start {
            step, about, source, ..
        } => News::Failed {
            step,
            about,
            errno: source.raw_os_error().unwrap_or(libc::EIO),
        },
        other => failure(Step::Zygote, other.errno()),
    })?;
    let process = Child::into_process(child);
    let pidfd = process.as_fd().try_clone_to_owned();
    // Without a pidfd to pass on there is nothing to hold it by: the process is dropped, which kills it.
    pidfd
        .map(|pidfd| (process, pidfd))
        .map_err(|error| failure(Step::Zygote, error.raw_os_error().unwrap_or(libc::EMFILE)))
}

/// Reads the command, out of the message or out of the file that it names.
fn command(request: &[u8], mut fds: Vec<OwnedFd>) -> Result<Command, i32> {
    let (kind, inline) = request.split_first().ok_or(libc::EPROTO)?;
    if *kind == INLINE {
        return message::read(inline, fds).ok_or(libc::EPROTO);
    }
    let file = File::from(fds.pop().ok_or(libc::EPROTO)?);
    let bytes = read_file(&file).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    message::read(&bytes, fds).ok_or(libc::EPROTO)
}

/// Reads a file in memory as far as a request may go; its size may change under us, and then it is read as it was.
fn read_file(file: &File) -> io::Result<Vec<u8>> {
    // Of anything else, a pipe say, reading could wait.
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

    /// What the zygote says to a request of these bytes and descriptors.
    fn answer(socket: &OwnedFd, request: &[u8], others: &[&OwnedFd]) -> News {
        let (ours, theirs) = socket::pair().unwrap();
        let fds: Vec<_> = [&theirs].iter().chain(others).map(|fd| fd.as_raw_fd()).collect();
        socket::send(socket.as_fd(), request, &fds).unwrap();
        drop(theirs);
        calls::poll(&mut [calls::poll_for(ours.as_fd(), libc::POLLIN)], None).unwrap();
        line::hear(&ours).unwrap()
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
                step: Step::Zygote,
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
        assert_eq!(errno(&[0; INLINE_MAX + 100], &[]), libc::EMFILE, "it was cut");
        // Without a line there is nobody to answer.
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
