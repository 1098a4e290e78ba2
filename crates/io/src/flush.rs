//! Sending what lies in a loop's outbox.

use std::io::ErrorKind;

use crate::core::{Batched, Core, RETURNED, Returned};
use crate::{Error, eviction, readiness, sys};

/// Sends the outputs that wait, if there are any.
#[inline]
pub(crate) fn empty_outbox(core: &Core) {
    if !core.outbox.borrow().is_empty() {
        send_all(core);
    }
}

fn send_all(core: &Core) {
    let refused = core.outbox.borrow_mut().empty(|batched| {
        let returned = send(core, batched);
        core.sources
            .borrow_mut()
            .left(batched.token, returned.is_none(), core.timers.tick());
        returned
    });
    for (token, writer) in refused {
        readiness::signal(core, token, RETURNED);
        writer.into_iter().for_each(|writer| core.wake(writer));
    }
}

#[inline]
fn send(core: &Core, batched: &Batched) -> Option<Returned> {
    match sys::send(batched.fd, &batched.bytes) {
        Ok(count) if count == batched.bytes.len() => None,
        Ok(count) => Some(refused(core, batched.token, &batched.bytes[count..])),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Some(refused(core, batched.token, &batched.bytes))
        }
        Err(error) => Some(Returned::Failed(Error::system("send")(error))),
    }
}

#[cold]
fn refused(core: &Core, token: u64, bytes: &[u8]) -> Returned {
    let (held, _) = core.sources.borrow_mut().held(token);
    match eviction::hold(core, token, held + bytes.len()) {
        Ok(()) => Returned::Refused(bytes.to_vec()),
        Err(error) => Returned::Failed(error),
    }
}
