//! The task that accepts a listener's connections, within its limits, and places them on loops.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::core::{Core, Counters};
use crate::listener::{Listener, adopt};
use crate::loops::Siblings;
use crate::source::READABLE;
use crate::{Address, Error, ListenOptions, OnFull, Stream, sys};

/// Connections that are accepted before other tasks have their turn.
const ACCEPTS_PER_TURN: usize = 64;
/// How long a process without free descriptors lets connections wait in the kernel before it tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// What the parts of a listener share: its acceptors, its connections, and the handle on it.
pub(crate) struct Door {
    pub(crate) address: Address,
    pub(crate) options: ListenOptions,
    pub(crate) siblings: Arc<Siblings>,
    connections: AtomicUsize,
    closed: AtomicBool,
    /// Acceptors, to be told of the door's closing and of places that become free.
    acceptors: Mutex<Vec<Waker>>,
}

impl Door {
    pub(crate) fn new(address: Address, options: ListenOptions, siblings: Arc<Siblings>) -> Arc<Door> {
        let (connections, closed, acceptors) = Default::default();
        Arc::new(Door {
            address,
            options,
            siblings,
            connections,
            closed,
            acceptors,
        })
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.wake_acceptors();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn has_room(&self) -> bool {
        self.connections.load(Ordering::SeqCst) < self.options.connections_max
    }

    fn wake_acceptors(&self) {
        let mut acceptors = self.acceptors.lock().unwrap_or_else(PoisonError::into_inner);
        let wakers = std::mem::take(&mut *acceptors);
        drop(acceptors);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wait(&self, context: &Context<'_>) {
        let mut acceptors = self.acceptors.lock().unwrap_or_else(PoisonError::into_inner);
        if !acceptors.iter().any(|waker| waker.will_wake(context.waker())) {
            acceptors.push(context.waker().clone());
        }
    }
}

/// A place among a listener's connections and on a loop, held by each connection as long as it lives.
pub(crate) struct Place {
    door: Arc<Door>,
    /// Those of the loop, once it is known.
    counters: Option<Arc<Counters>>,
}

impl Place {
    /// Takes a place, if there is one.
    fn take(door: &Arc<Door>) -> Option<Place> {
        let before = door.connections.fetch_add(1, Ordering::SeqCst);
        if before >= door.options.connections_max {
            door.connections.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        Some(Place {
            door: Arc::clone(door),
            counters: None,
        })
    }

    fn on_loop(&mut self, index: usize) {
        let counters = &self.door.siblings.counters[index];
        Counters::add(&counters.connections);
        Counters::add(&counters.accepted);
        self.counters = Some(Arc::clone(counters));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let before = self.door.connections.fetch_sub(1, Ordering::SeqCst);
        if before >= self.door.options.connections_max {
            self.door.wake_acceptors();
        }
        if let Some(counters) = &self.counters {
            counters.connections.fetch_sub(1, Ordering::SeqCst);
            self.door.siblings.connection_ended();
        }
    }
}

/// Accepts connections until the door is closed. `handle` makes the future of a connection, on its loop.
pub(crate) async fn run<F, Fut>(listener: Listener, door: Arc<Door>, handle: Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut complained = false;
    while poll_fn(|context| poll_worthwhile(&listener, &door, context)).await {
        match accept_some(&listener, &door, &handle) {
            Ok(()) => complained = false,
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(address = %door.address, %error, "cannot accept connections for now");
                }
                crate::sleep(PAUSE).await;
            }
        }
        crate::yield_now().await;
    }
}

/// Waits until there may be a connection and a place for it; `false` when the door is closed.
fn poll_worthwhile(listener: &Listener, door: &Door, context: &mut Context<'_>) -> Poll<bool> {
    // First announced, then looked: who changes one of these wakes us after.
    door.wait(context);
    if door.is_closed() {
        return Poll::Ready(false);
    }
    let waits_for_place = door.options.on_full == OnFull::Wait && !door.has_room();
    if !waits_for_place && listener.source.bits() & READABLE != 0 {
        return Poll::Ready(true);
    }
    listener.source.wait(context, READABLE);
    Poll::Pending
}

fn accept_some<F, Fut>(listener: &Listener, door: &Arc<Door>, handle: &Arc<F>) -> io::Result<()>
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    for _ in 0..ACCEPTS_PER_TURN {
        // The place comes first: two loops that listen on one port cannot both accept the last connection.
        let place = Place::take(door);
        if door.is_closed() || (door.options.on_full == OnFull::Wait && place.is_none()) {
            return Ok(());
        }
        match (sys::accept(&listener.socket.fd), place) {
            (Ok(fd), Some(place)) => send_to_its_loop(fd, place, handle),
            (Ok(fd), None) => refuse(&fd, door),
            (Err(error), _) if error.kind() == ErrorKind::WouldBlock => {
                listener.source.clear(READABLE);
                return Ok(());
            }
            (Err(error), _) if is_of_the_listener(&error) => return Err(error),
            // This one connection failed before it was accepted; the next need not.
            (Err(_), _) => {}
        }
    }
    Ok(())
}

/// Whether accepting would fail again at once: there are no descriptors or no memory.
fn is_of_the_listener(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::EBADF,
        libc::EINVAL,
    ]
    .map(Some)
    .contains(&code)
}

/// Begins a connection on the loop with the fewest, or here when each loop listens for itself.
fn send_to_its_loop<F, Fut>(fd: OwnedFd, mut place: Place, handle: &Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let here = crate::loop_index();
    let siblings = Arc::clone(&place.door.siblings);
    let index = if place.door.options.reuse_port {
        here
    } else {
        siblings.least_loaded(here)
    };
    place.on_loop(index);
    if index == here {
        begin(fd, place, handle);
        return;
    }
    let handle = Arc::clone(handle);
    // A loop that has ended drops the mail, and the connection with it.
    siblings.remotes[index].post_unbounded(move || begin(fd, place, &handle));
}

fn refuse(fd: &OwnedFd, door: &Door) {
    Counters::add(&door.siblings.counters[crate::loop_index()].refused);
    if let (OnFull::Refuse(words), None) = (door.options.on_full, &door.options.tls) {
        // A new socket's buffer takes a few words; a peer that is gone already misses nothing.
        let _ = sys::send(fd.as_raw_fd(), words);
        let _ = sys::shutdown_write(fd);
    }
}

/// Begins a connection on this thread's loop.
fn begin<F, Fut>(fd: OwnedFd, place: Place, handle: &Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let core = Core::current();
    let door = Arc::clone(&place.door);
    let mut stream = match adopt(&core, fd) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "cannot serve a connection"),
    };
    stream.connection().set_place(place);
    if !door.options.idle_timeout.is_zero() {
        stream.set_idle_timeout(door.options.idle_timeout);
    }
    if door.options.tls.is_none() {
        core.spawn(handle(stream));
        return;
    }
    let handle = Arc::clone(handle);
    core.spawn(async move {
        match shake_hands(&mut stream, &door).await {
            Ok(()) => handle(stream).await,
            Err(error) => tracing::debug!(peer = %stream.peer(), %error, "TLS handshake failed"),
        }
    });
}

async fn shake_hands(stream: &mut Stream, door: &Door) -> Result<(), Error> {
    let Some(tls) = &door.options.tls else {
        return Ok(());
    };
    let patience = door.options.handshake_timeout;
    let shaken = stream.shake_hands_as_server(tls, patience).await;
    shaken.inspect_err(|_| tls.handshake_failed())
}
