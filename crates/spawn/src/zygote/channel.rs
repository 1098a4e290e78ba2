//! The channel between a daemon and its zygote for one child: a socket per child, so messages need no sorting.
//!
//! ```text
//!   daemon                                zygote
//!     │ ─ main socket: a command, the channel's other end, descriptors ─> │
//!     │ <─ channel: Started(pid) with a pidfd, or Failed(stage, errno) ─── │
//!     │ ── channel: Signal(n) ──────────────────────────────────────────> │
//!     │ <─ channel: Ended(status), and the channel is closed ─────────────── │
//! ```
//!
//! **Invariant:** a message has at most [`CHANNEL_MESSAGE_MAX`] bytes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::message::{Reader, Writer};
use super::socket;
use crate::stage::Stage;

/// The size limit of a message in bytes. The subject of an error is truncated to fit.
const CHANNEL_MESSAGE_MAX: usize = 8 << 10;

/// A message from the zygote about a child.
#[derive(Debug)]
pub(crate) enum News {
    Started { pid: i32, pidfd: OwnedFd },
    Failed { stage: Stage, about: String, errno: i32 },
    Ended { status: i32 },
}

const STARTED: u64 = 0;
const FAILED: u64 = 1;
const ENDED: u64 = 2;

pub(crate) fn tell(channel: &OwnedFd, news: &News) -> io::Result<()> {
    let mut writer = Writer::default();
    let mut fds = Vec::new();
    match news {
        News::Started { pid, pidfd } => {
            writer.numbers(&[STARTED, *pid as u64]);
            fds.push(pidfd.as_raw_fd());
        }
        News::Failed { stage, about, errno } => {
            writer.numbers(&[FAILED, *stage as u64, *errno as u64]);
            let length = about.len().min(CHANNEL_MESSAGE_MAX / 2);
            writer.bytes(&about.as_bytes()[..length]);
        }
        News::Ended { status } => {
            writer.numbers(&[ENDED, *status as u64]);
        }
    }
    socket::send(channel.as_fd(), &writer.0, &fds)
}

/// Receives a message: `WouldBlock` if there is none, `UnexpectedEof` if the zygote has ended.
pub(crate) fn hear(channel: &OwnedFd) -> io::Result<News> {
    let mut buffer = [0; CHANNEL_MESSAGE_MAX];
    let message = socket::receive(channel.as_fd(), &mut buffer)?;
    if message.length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // Without room for its pidfd in our descriptor table, there is no handle for the child.
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
            stage: Stage::from_number(reader.number()? as u32)?,
            errno: reader.number()? as i32,
            about: String::from_utf8_lossy(reader.bytes()?).into_owned(),
        }),
        ENDED => Some(News::Ended {
            status: reader.number()? as i32,
        }),
        _ => None,
    }
}

/// Requests a signal.
pub(crate) fn ask_signal(channel: &OwnedFd, signal: i32) -> io::Result<()> {
    socket::send(channel.as_fd(), &signal.to_ne_bytes(), &[])
}

/// Receives a requested signal: `WouldBlock` if there is none, `UnexpectedEof` if the daemon has closed the channel.
pub(crate) fn asked_signal(channel: &OwnedFd) -> io::Result<i32> {
    let mut buffer = [0; 4];
    match socket::receive(channel.as_fd(), &mut buffer)?.length {
        4 => Ok(i32::from_ne_bytes(buffer)),
        // Not a message of this protocol.
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
