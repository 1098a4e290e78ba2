//! The socket between a daemon and its zygote about one child: each child has its own, so nobody has to sort answers.
//!
//! ```text
//!   daemon                                zygote
//!     │ ─ main socket: a command, the line's other end, descriptors ─> │
//!     │ <─ line: Started(pid) with a pidfd, or Failed(step, errno) ─── │
//!     │ ── line: Signal(n) ──────────────────────────────────────────> │
//!     │ <─ line: Ended(status), and the line is closed ─────────────── │
//! ```
//!
//! **Invariant:** a message has at most [`LINE_MAX`] bytes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::message::{Reader, Writer};
use super::socket;
use crate::step::Step;

/// Bytes of a message on a line. What a failure is about is cut to fit.
const LINE_MAX: usize = 8 << 10;

/// What the zygote says about a child.
#[derive(Debug)]
pub(crate) enum News {
    Started { pid: i32, pidfd: OwnedFd },
    Failed { step: Step, about: String, errno: i32 },
    Ended { status: i32 },
}

const STARTED: u64 = 0;
const FAILED: u64 = 1;
const ENDED: u64 = 2;

pub(crate) fn tell(line: &OwnedFd, news: &News) -> io::Result<()> {
    let mut writer = Writer::default();
    let mut fds = Vec::new();
    match news {
        News::Started { pid, pidfd } => {
            writer.numbers(&[STARTED, *pid as u64]);
            fds.push(pidfd.as_raw_fd());
        }
        News::Failed { step, about, errno } => {
            writer.numbers(&[FAILED, *step as u64, *errno as u64]);
            let length = about.len().min(LINE_MAX / 2);
            writer.bytes(&about.as_bytes()[..length]);
        }
        News::Ended { status } => {
            writer.numbers(&[ENDED, *status as u64]);
        }
    }
    socket::send(line.as_fd(), &writer.0, &fds)
}

/// What has come: news, `WouldBlock` when there are none, and `UnexpectedEof` when the zygote has gone.
pub(crate) fn hear(line: &OwnedFd) -> io::Result<News> {
    let mut buffer = [0; LINE_MAX];
    let message = socket::receive(line.as_fd(), &mut buffer)?;
    if message.length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // A child whose pidfd did not fit into our table of descriptors cannot be held.
    let is_cut = message.is_cut;
    parse(&buffer[..message.length], message.fds).ok_or_else(|| {
        let errno = if is_cut { libc::EMFILE } else { libc::EPROTO };
        io::Error::from_raw_os_error(errno)
    })
}

fn parse(bytes: &[u8], fds: Vec<OwnedFd>) -> Option<News> {
    let mut reader = Reader(bytes);
    match reader.number()? {
        STARTED => Some(News::Started {
            pid: reader.number()? as i32,
            pidfd: fds.into_iter().next()?,
        }),
        FAILED => Some(News::Failed {
            step: Step::from_number(reader.number()? as u32)?,
            errno: reader.number()? as i32,
            about: String::from_utf8_lossy(reader.bytes()?).into_owned(),
        }),
        ENDED => Some(News::Ended {
            status: reader.number()? as i32,
        }),
        _ => None,
    }
}

/// Asks for a signal.
pub(crate) fn ask_signal(line: &OwnedFd, signal: i32) -> io::Result<()> {
    socket::send(line.as_fd(), &signal.to_ne_bytes(), &[])
}

/// The signal that was asked for: `WouldBlock` when none was, `UnexpectedEof` when the daemon has closed the line.
pub(crate) fn asked_signal(line: &OwnedFd) -> io::Result<i32> {
    let mut buffer = [0; 4];
    match socket::receive(line.as_fd(), &mut buffer)?.length {
        4 => Ok(i32::from_ne_bytes(buffer)),
        // Whatever else it is, it is no daemon of ours.
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
