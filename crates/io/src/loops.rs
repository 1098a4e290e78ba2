//! Several loops, a thread each, and what listens on them.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::accept::{self, Acceptor};
use crate::core::Core;
use crate::counters::Counters;
use crate::listen::{BoundSockets, Listen};
use crate::listener::Listener;
use crate::mailbox::Remote;
use crate::siblings::Siblings;
use crate::socket::Socket;
use crate::sync::lock;
use crate::{Address, Config, Error, ListenOptions, Loop, Stream, readiness, sys};

/// Loops on threads of their own. Dropping it stops them at once.
pub struct Loops {
    siblings: Arc<Siblings>,
    acceptors: Mutex<Vec<Arc<Acceptor>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Loops {
    /// Starts [`Config::workers`] loops.
    ///
    /// # Errors
    /// When the kernel has no descriptors or threads left, or a processor to be pinned to does not exist.
    pub fn start(config: Config) -> Result<Loops, Error> {
        let workers = config.workers.max(1);
        let counters: Vec<Arc<Counters>> = (0..workers).map(|_| Arc::default()).collect();
        let (made, loops_made) = mpsc::channel();
        let (go, mut threads) = (Vec::new(), Vec::new());
        let mut go = go;
        for (index, counters) in counters.iter().enumerate() {
            let (config, counters, made) = (config.clone(), Arc::clone(counters), made.clone());
            let (sender, receiver) = mpsc::channel();
            go.push(sender);
            let body = move || run_thread(config, index, counters, &made, &receiver);
            let thread = thread::Builder::new().name(format!("loop-{index}")).spawn(body);
            threads.push(thread.map_err(Error::system("thread"))?);
        }
        drop(made);
        let mut remotes = Vec::new();
        for _ in 0..workers {
            // A thread that could not even answer has panicked.
            remotes.push(loops_made.recv().map_err(|_| Error::LoopEnded)??);
        }
        remotes.sort_by_key(|&(index, _)| index);
        let remotes = remotes.into_iter().map(|(_, remote)| remote).collect();
        let siblings = Arc::new(Siblings::new(remotes, counters));
        for sender in go {
            // A thread that no longer listens has ended, which mail to it will show.
            let _ = sender.send(Arc::clone(&siblings));
        }
        Ok(Loops {
            siblings,
            acceptors: Mutex::default(),
            threads,
        })
    }

    /// Binds an address without accepting connections, which wait in the kernel until [`listen`](Loops::listen) is given the
    /// sockets: for a server that needs privileges to bind, and drops them before it opens what its handlers need.
    ///
    /// # Errors
    /// [`Error::Bind`].
    pub fn bind(&self, on: impl Into<Listen>, options: &ListenOptions) -> Result<BoundSockets, Error> {
        let (sockets, reuse_port) = self.sockets(on.into(), options)?;
        Ok(BoundSockets { sockets, reuse_port })
    }

    /// Listens on an address, or on sockets that were handed over, and runs `handler` for each connection on the loop where
    /// it was placed.
    ///
    /// # Errors
    /// [`Error::Bind`].
    pub fn listen<F, Fut>(
        &self,
        on: impl Into<Listen>,
        options: ListenOptions,
        handler: F,
    ) -> Result<Bound, Error>
    where
        F: Fn(Stream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let (sockets, reuse_port) = self.sockets(on.into(), &options)?;
        let options = ListenOptions {
            reuse_port,
            ..options
        };
        let address = sockets[0].address.clone();
        let acceptor = Acceptor::new(address, options, Arc::clone(&self.siblings), &sockets);
        let mut acceptors = lock(&self.acceptors);
        let first_loop = if reuse_port { 0 } else { acceptors.len() };
        acceptors.push(Arc::clone(&acceptor));
        drop(acceptors);
        let handler = Arc::new(handler);
        for (index, socket) in sockets.into_iter().enumerate() {
            let (acceptor, handler) = (Arc::clone(&acceptor), Arc::clone(&handler));
            let remote = &self.siblings.remotes[(first_loop + index) % self.len()];
            if !remote.post_unbounded(move || open(socket, acceptor, handler)) {
                return Err(Error::LoopEnded);
            }
        }
        Ok(Bound { acceptor })
    }

    /// The sockets to listen on, at least one, and whether each loop has one of its own.
    fn sockets(&self, on: Listen, options: &ListenOptions) -> Result<(Vec<Arc<Socket>>, bool), Error> {
        let sockets: Result<Vec<Socket>, Error> = match on {
            Listen::Bound(bound) => return Ok((bound.sockets, bound.reuse_port)),
            Listen::Sockets(handed) if handed.is_empty() => Err(Error::ListenerClosed),
            Listen::Sockets(handed) => handed.into_iter().map(Socket::inherited).collect(),
            Listen::Bind(address) => {
                let options = ListenOptions {
                    reuse_port: options.reuse_port && matches!(address, Address::Tcp(_)),
                    ..options.clone()
                };
                let mut sockets = vec![Socket::bind(&address, &options)?];
                let more = if options.reuse_port { self.len() - 1 } else { 0 };
                let address = sockets[0].address.clone();
                for _ in 0..more {
                    sockets.push(Socket::bind(&address, &options)?);
                }
                Ok(sockets)
            }
        };
        let sockets: Vec<Arc<Socket>> = sockets?.into_iter().map(Arc::new).collect();
        // The kernel spreads connections over the sockets of one port; with fewer of them than loops we place each.
        let reuse_port = sockets.len() >= self.len() && self.len() > 1;
        Ok((sockets, reuse_port))
    }

    /// A handle on one of the loops.
    ///
    /// # Panics
    /// If `index` is not less than [`len`](Loops::len).
    #[must_use]
    pub fn remote(&self, index: usize) -> Remote {
        self.siblings.remotes[index].clone()
    }

    /// How many loops there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always at least one loop")]
    pub fn len(&self) -> usize {
        self.siblings.remotes.len()
    }

    /// The counters of all loops together.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut sum = Statistics::default();
        for counters in &self.siblings.counters {
            sum.connections += counters.connections.load(Ordering::Relaxed);
            sum.accepted += counters.accepted.load(Ordering::Relaxed);
            sum.refused += counters.refused.load(Ordering::Relaxed);
            sum.held += counters.held.load(Ordering::Relaxed);
            sum.held_refused += counters.held_refused.load(Ordering::Relaxed);
            sum.idle_ended += counters.idle_ended.load(Ordering::Relaxed);
            sum.panics += counters.panics.load(Ordering::Relaxed);
            sum.cold_reads += counters.cold_reads.load(Ordering::Relaxed);
        }
        sum
    }

    /// Accepts no more connections, and has every stream's `exchange` return [`Exchange::Draining`](crate::Exchange::Draining) as soon
    /// as no part of a request is held, no reply is unsent and nothing more has come.
    pub fn drain(&self) {
        self.siblings.begin_drain();
        for acceptor in lock(&self.acceptors).drain(..) {
            acceptor.close();
        }
        for remote in &self.siblings.remotes {
            remote.post_unbounded(|| {
                let core = Core::current();
                core.draining.set(true);
                core.any_drain.set(true);
                readiness::wake_all(&core);
                let later = Rc::clone(&core);
                core.spawn(async move {
                    crate::sleep(accept::FIRST_REQUEST).await;
                    later.drains_new.set(true);
                    readiness::wake_all(&later);
                });
            });
        }
    }

    /// Drains, waits until all connections have ended or the time is over, ends the rest, and joins the threads. Must
    /// not be called on one of the loops.
    pub fn stop(self, timeout: Duration) {
        self.drain();
        self.siblings.wait_for_quiet(timeout);
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.siblings.stop();
        for thread in self.threads.drain(..) {
            // The panic of a loop's thread has been printed already.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Loops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loops")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

type Made = mpsc::Sender<Result<(usize, Remote), Error>>;

/// The life of a loop's thread.
fn run_thread(
    config: Config,
    index: usize,
    counters: Arc<Counters>,
    made: &Made,
    go: &mpsc::Receiver<Arc<Siblings>>,
) {
    let result = pin(&config, index).and_then(|()| Loop::with_counters(config, index, counters));
    let mut this = match result {
        Ok(this) => this,
        Err(error) => return drop(made.send(Err(error))),
    };
    // Nobody waits for the answer when another loop could not be made; nor will anybody say go.
    let _ = made.send(Ok((index, this.remote())));
    if let Ok(siblings) = go.recv() {
        this.run(poll_fn(|context| siblings.poll_stopped(context.waker())));
    }
}

fn pin(config: &Config, index: usize) -> Result<(), Error> {
    match config.cpus.as_deref() {
        None | Some([]) => Ok(()),
        Some(cpus) => sys::pin_to(cpus[index % cpus.len()]).map_err(Error::system("sched_setaffinity")),
    }
}

/// Begins to accept on this thread's loop.
fn open<F, Fut>(socket: Arc<Socket>, acceptor: Arc<Acceptor>, handler: Arc<F>)
where
    F: Fn(Stream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let core = Core::current();
    match Listener::new(&core, socket, &acceptor.options) {
        Ok(listener) => {
            core.spawn(accept::run(listener, acceptor, handler));
        }
        Err(error) => tracing::error!(address = %acceptor.address, %error, "cannot listen"),
    }
}

/// Counters of all loops of a [`Loops`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections that are open.
    pub connections: u64,
    /// Connections that were accepted, ever.
    pub accepted: u64,
    /// Connections that were turned away because a listener was full.
    pub refused: u64,
    /// Bytes that connections hold for partial requests and unsent replies.
    pub held: u64,
    /// Times that a connection would have held too much and was ended.
    pub held_refused: u64,
    /// Connections that ended because nothing came or went.
    pub idle_ended: u64,
    /// Panics that ended a task.
    pub panics: u64,
    /// Ranges of files that were not in the page cache and were read by the lane for cold files.
    pub cold_reads: u64,
}

/// An address that is listened on. Dropping it changes nothing; [`close`](Bound::close) ends it.
pub struct Bound {
    acceptor: Arc<Acceptor>,
}

impl Bound {
    /// Where it listens: with the port that the kernel chose, if it was to choose.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.acceptor.address
    }

    /// How many of its connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }

    /// Accepts no more connections; those that are open live on. Connections that the kernel has completed already are
    /// accepted first, within the limits, unless the sockets were handed over: then their new owner accepts them.
    pub fn close(&self) {
        self.acceptor.close();
    }

    /// Copies of the listening sockets for another process, which passes them to [`Loops::listen`]. Both processes accept
    /// connections until this one closes or drains its listener. The file of a Unix socket is left in place.
    ///
    /// # Errors
    /// [`Error::ListenerClosed`], and if there are no descriptors left.
    pub fn sockets(&self) -> Result<Vec<OwnedFd>, Error> {
        self.acceptor.hand_over()
    }

    /// Closes the listener and drains its connections, as [`Loops::drain`] does for all.
    pub fn drain(&self) {
        self.acceptor.drain();
    }
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound")
            .field("address", self.address())
            .finish_non_exhaustive()
    }
}
