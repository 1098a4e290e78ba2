//! The tasks that accept a listener's connections, within its limits, and place each on a loop.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::core::{Core, READABLE};
use crate::counters::Counters;
use crate::listener::{Listener, adopt};
use crate::permit::{Connections, Permit};
use crate::siblings::Siblings;
use crate::socket::Socket;
use crate::sync::lock;
use crate::{Address, Error, ListenOptions, OnFull, Stream, readiness, sys};

/// Connections accepted before other tasks run.
const ACCEPTS_PER_TURN: usize = 64;
/// How long the acceptor pauses when the process has no free descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a drain waits for the first request of a connection that has just begun.
pub(crate) const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// State shared by the tasks of one listener and its [`Bound`](crate::Bound).
pub(crate) struct Acceptor {
    pub(crate) address: Address,
    pub(crate) options: ListenOptions,
    connections: Arc<Connections>,
    /// The listening sockets, as long as they are open.
    sockets: Mutex<Vec<Weak<Socket>>>,
    handed_over: AtomicBool,
    closed: AtomicBool,
}

impl Acceptor {
    pub(crate) fn new(
        address: Address,
        options: ListenOptions,
        siblings: Arc<Siblings>,
        sockets: &[Arc<Socket>],
    ) -> Arc<Acceptor> {
        let connections = Connections::new(options.connections_max, siblings);
        Arc::new(Acceptor {
            address,
            options,
            connections: Arc::new(connections),
            sockets: Mutex::new(sockets.iter().map(Arc::downgrade).collect()),
            handed_over: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.open()
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.connections.wake();
    }

    /// Closes the listener and has its connections end as soon as each is idle.
    pub(crate) fn drain(&self) {
        self.close();
        self.connections.drain();
        for remote in &self.connections.siblings.remotes {
            let connections = Arc::clone(&self.connections);
            remote.post_unbounded(move || {
                let core = Core::current();
                core.any_drain.set(true);
                readiness::wake_all(&core);
                let later = Rc::clone(&core);
                core.spawn(async move {
                    crate::sleep(FIRST_REQUEST).await;
                    connections.drain_new();
                    readiness::wake_all(&later);
                });
            });
        }
    }

    /// Copies of the listening sockets for another process, which from now on accepts what waits when this one closes.
    pub(crate) fn hand_over(&self) -> Result<Vec<OwnedFd>, Error> {
        let sockets = lock(&self.sockets);
        let copy = |socket: &Weak<Socket>| {
            let socket = socket.upgrade().ok_or(Error::ListenerClosed)?;
            socket.hand_over().map_err(Error::system("dup"))
        };
        let copies = sockets.iter().map(copy).collect::<Result<_, _>>()?;
        self.handed_over.store(true, Ordering::SeqCst);
        Ok(copies)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// True if the limits leave no room for another connection.
    fn must_wait(&self) -> bool {
        self.options.on_full == OnFull::Wait && !self.connections.has_room()
    }
}

/// Accepts connections until the listener is closed. `handle` makes the future of a connection, on its loop.
pub(crate) async fn run<F, Fut>(listener: Listener, acceptor: Arc<Acceptor>, handle: Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let mut warned = false;
    while poll_fn(|context| poll_acceptable(&listener, &acceptor, context)).await {
        match accept_some(&listener, &acceptor, &handle) {
            Ok(_) => warned = false,
            Err(error) => {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!(address = %acceptor.address, %error, "cannot accept connections; trying again");
                }
                crate::sleep(PAUSE).await;
            }
        }
        crate::yield_now().await;
    }
    // Closing a listening socket resets the connections in its backlog, unless a successor shares it.
    while !acceptor.handed_over.load(Ordering::SeqCst)
        && accept_some(&listener, &acceptor, &handle).unwrap_or(false)
    {
        crate::yield_now().await;
    }
}

/// Waits until there may be a connection and room for it; `false` once the listener is closed.
fn poll_acceptable(listener: &Listener, acceptor: &Acceptor, context: &mut Context<'_>) -> Poll<bool> {
    // Registers before it checks, so that no change in between is missed.
    acceptor.connections.wait(context);
    if acceptor.is_closed() {
        return Poll::Ready(false);
    }
    if !acceptor.must_wait() && listener.source.bits() & READABLE != 0 {
        return Poll::Ready(true);
    }
    listener.source.wait(context, READABLE);
    Poll::Pending
}

/// Accepts connections within the limits; returns whether there may be more.
fn accept_some<F, Fut>(listener: &Listener, acceptor: &Arc<Acceptor>, handle: &Arc<F>) -> io::Result<bool>
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    for _ in 0..ACCEPTS_PER_TURN {
        // Permits come first: two loops that listen on one port cannot both accept the last connection.
        let permit = Permit::take(&acceptor.connections);
        if acceptor.options.on_full == OnFull::Wait && permit.is_none() {
            return Ok(false);
        }
        match (sys::accept(&listener.socket.fd), permit) {
            (Ok(fd), Some(mut permit)) => {
                permit.handshake = acceptor.options.tls.as_ref().map(|tls| tls.handshake_permit());
                place(fd, permit, acceptor, handle);
            }
            (Ok(fd), None) => refuse(&fd, acceptor),
            (Err(error), _) if error.kind() == ErrorKind::WouldBlock => {
                listener.source.clear(READABLE);
                return Ok(false);
            }
            (Err(error), _) if affects_listener(&error) => return Err(error),
            // This connection failed before it was accepted; the next one may not have.
            (Err(_), _) => {}
        }
    }
    Ok(true)
}

/// True if the next call would fail for the same reason, such as a lack of descriptors or memory.
fn affects_listener(error: &io::Error) -> bool {
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

/// Starts a connection on the loop that has the fewest, or on this one if each loop listens for itself.
fn place<F, Fut>(fd: OwnedFd, mut permit: Permit, acceptor: &Arc<Acceptor>, handle: &Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let here = crate::loop_index();
    let siblings = &acceptor.connections.siblings;
    let index = if acceptor.options.reuse_port {
        here
    } else {
        siblings.least_loaded(here)
    };
    permit.on_loop(index);
    if index == here {
        start(fd, permit, acceptor, handle);
        return;
    }
    let (acceptor, handle) = (Arc::clone(acceptor), Arc::clone(handle));
    // A loop that has ended drops the mail, and the connection with it.
    siblings.remotes[index].post_unbounded(move || start(fd, permit, &acceptor, &handle));
}

fn refuse(fd: &OwnedFd, acceptor: &Acceptor) {
    Counters::add(&acceptor.connections.siblings.counters[crate::loop_index()].refused);
    if let (OnFull::Refuse(words), None) = (acceptor.options.on_full, &acceptor.options.tls) {
        // The buffer of a new socket has room for a few words; a peer that has left already misses nothing.
        let _ = sys::send(fd.as_raw_fd(), words);
        let _ = sys::shutdown_write(fd);
    }
}

/// Starts a connection on this thread's loop.
fn start<F, Fut>(fd: OwnedFd, permit: Permit, acceptor: &Acceptor, handle: &Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let core = Core::current();
    let idle_timeout = acceptor.options.idle_timeout;
    let mut stream = match adopt(&core, fd) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "cannot serve a connection"),
    };
    let is_last = acceptor.is_closed();
    let token = stream.connection().wire.source.token();
    let handshake = permit.handshake.as_ref();
    if handshake.is_some_and(|handshake| !handshake.place(&core, token)) {
        return;
    }
    stream.connection().set_permit(permit);
    if is_last {
        // A request may have arrived that no event has told of yet; it is read before the connection is found idle.
        stream.connection().wire.source.set(READABLE);
    }
    if !idle_timeout.is_zero() {
        stream.set_idle_timeout(idle_timeout);
    }
    core.spawn(handle(stream));
}
