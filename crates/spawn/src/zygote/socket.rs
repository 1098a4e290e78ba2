//! Messages with descriptors over `SOCK_SEQPACKET`: each arrives whole, in order, or not at all.
#![allow(unsafe_code)]

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::calls::retry;

/// The kernel's limit of descriptors per message.
pub(crate) const DESCRIPTORS_MAX: usize = 253;

/// Room for as many descriptors as a message has, and the header before them.
#[repr(C, align(8))]
struct Control([u8; 16 + DESCRIPTORS_MAX * 4 + 4]);

/// A pair of connected sockets.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two descriptors.
    retry(|| unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) as isize })?;
    // SAFETY: the call has just made both, so nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Sends a message, or fails with `WouldBlock` if the socket's buffer is full.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    if fds.len() > DESCRIPTORS_MAX {
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    let mut control = Control([0; 16 + DESCRIPTORS_MAX * 4 + 4]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all zeroes is a valid header that names no memory.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !fds.is_empty() {
        let size = mem::size_of_val(fds);
        header.msg_control = (&raw mut control).cast();
        // SAFETY: these two only compute; `control` has room for `DESCRIPTORS_MAX`, which `fds` does not exceed, and the
        // first header of it is within. The kernel refuses invalid descriptors.
        unsafe {
            header.msg_controllen = libc::CMSG_SPACE(size as u32) as _;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(size as u32) as _;
            ptr::copy_nonoverlapping(fds.as_ptr().cast::<u8>(), libc::CMSG_DATA(first), size);
        }
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `header` names `bytes` and `control`, which live through the call and are only read.
    retry(|| unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) }).map(drop)
}

/// A received message.
#[derive(Debug)]
pub(crate) struct Message {
    /// Its size in bytes; zero if the peer has closed the connection.
    pub(crate) length: usize,
    pub(crate) fds: Vec<OwnedFd>,
    /// Bytes or descriptors were lost because they did not fit.
    pub(crate) is_cut: bool,
}

/// Receives a message, or fails with `WouldBlock` if there is none.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Message> {
    let mut control = Control([0; 16 + DESCRIPTORS_MAX * 4 + 4]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeroes is a valid header that names no memory.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = size_of::<Control>() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: `header` names `buffer` and `control`, which are ours alone and which the kernel writes within their sizes.
    let mut receive = || retry(|| unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) });
    let length = match receive() {
        // The peer closed without reading all of our messages; the kernel reports that once, before its messages.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => receive()?,
        result => result?,
    };
    Ok(Message {
        length,
        // SAFETY: the kernel has just filled the header and what it names.
        fds: unsafe { descriptors(&header) },
        is_cut: header.msg_flags & (libc::MSG_CTRUNC | libc::MSG_TRUNC) != 0,
    })
}

/// Takes the descriptors out of a message.
///
/// # Safety
/// The kernel has filled the header and its control data, and this is called once.
unsafe fn descriptors(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the macros walk over what the kernel wrote. Each descriptor of `SCM_RIGHTS` is new and only here.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(header);
        while !next.is_null() {
            if (*next).cmsg_level == libc::SOL_SOCKET && (*next).cmsg_type == libc::SCM_RIGHTS {
                let size = (*next).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(next).cast::<RawFd>();
                for index in 0..size / size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(first.add(index).read_unaligned()));
                }
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    fds
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_was_sent_arrives_although_the_sender_read_nothing() {
        let (a, b) = pair().unwrap();
        send(a.as_fd(), b"unread", &[]).unwrap();
        send(b.as_fd(), b"last words", &[]).unwrap();
        drop(b);
        let mut buffer = [0; 16];
        assert_eq!(receive(a.as_fd(), &mut buffer).unwrap().length, 10);
        assert_eq!(receive(a.as_fd(), &mut buffer).unwrap().length, 0);
    }

    #[test]
    fn messages_arrive_whole_and_with_their_descriptors() {
        let (a, b) = pair().unwrap();
        let many = vec![a.as_raw_fd(); DESCRIPTORS_MAX];
        send(a.as_fd(), b"first", &[]).unwrap();
        send(a.as_fd(), b"second", &many).unwrap();
        assert!(send(a.as_fd(), b"", &[a.as_raw_fd(); DESCRIPTORS_MAX + 1]).is_err());
        let mut buffer = [0; 16];
        let first = receive(b.as_fd(), &mut buffer).unwrap();
        assert_eq!(
            (&buffer[..first.length], first.fds.len()),
            (b"first".as_slice(), 0)
        );
        let second = receive(b.as_fd(), &mut buffer).unwrap();
        assert_eq!((second.fds.len(), second.is_cut), (DESCRIPTORS_MAX, false));
        assert_eq!(
            receive(b.as_fd(), &mut buffer).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        send(a.as_fd(), &[0; 17], &[]).unwrap();
        assert!(receive(b.as_fd(), &mut buffer).unwrap().is_cut);
    }
}
