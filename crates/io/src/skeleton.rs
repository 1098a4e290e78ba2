use crate::tls::ClientTls;
use crate::*;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub struct Loop {
    _p: Rc<()>,
}
impl Loop {
    pub fn new(config: Config) -> Result<Loop, Error> {
        unimplemented!()
    }
    pub fn run<F: Future>(&mut self, future: F) -> F::Output {
        unimplemented!()
    }
    pub fn remote(&self) -> Remote {
        unimplemented!()
    }
}

pub struct Loops {
    _p: (),
}
impl Loops {
    pub fn start(config: Config) -> Result<Loops, Error> {
        unimplemented!()
    }
    pub fn listen<F, Fut>(
        &self,
        address: &Address,
        options: ListenOptions,
        handler: F,
    ) -> Result<Bound, Error>
    where
        F: Fn(Stream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        unimplemented!()
    }
    pub fn remote(&self, index: usize) -> Remote {
        unimplemented!()
    }
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        unimplemented!()
    }
    pub fn statistics(&self) -> Statistics {
        unimplemented!()
    }
    pub fn drain(&self) {
        unimplemented!()
    }
    pub fn stop(self, timeout: Duration) {
        unimplemented!()
    }
}

/// Sums over all loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    pub connections: u64,
    pub accepted: u64,
    pub refused: u64,
    pub held: u64,
    pub held_refused: u64,
    pub idle_ended: u64,
    pub panics: u64,
}

pub struct Bound {
    _p: (),
}
impl Bound {
    pub fn address(&self) -> &Address {
        unimplemented!()
    }
    pub fn connections(&self) -> usize {
        unimplemented!()
    }
    pub fn close(&self) {
        unimplemented!()
    }
}

#[derive(Clone)]
pub struct Remote {
    _p: (),
}
impl Remote {
    /// Runs `f` on the loop; false when it has ended or its mailbox is full.
    pub fn post(&self, f: impl FnOnce() + Send + 'static) -> bool {
        unimplemented!()
    }
}

pub fn spawn(future: impl Future<Output = ()> + 'static) {
    unimplemented!()
}
pub fn now() -> Instant {
    unimplemented!()
}
pub async fn sleep(duration: Duration) {
    unimplemented!()
}
/// None when `future` did not end in time.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    unimplemented!()
}
pub async fn yield_now() {
    unimplemented!()
}
pub fn at_turn_end(f: impl FnOnce() + 'static) {
    unimplemented!()
}
pub async fn offload<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    unimplemented!()
}
pub fn loop_index() -> usize {
    unimplemented!()
}
/// Raises the soft limit of open files to the hard one and answers it.
pub fn open_files_max() -> usize {
    unimplemented!()
}

pub struct Signals {
    _p: Rc<()>,
}
impl Signals {
    /// Blocks the signals in this thread and those it starts later: call it before `Loops::start`.
    pub fn block(signals: &[i32]) -> Result<(), Error> {
        unimplemented!()
    }
    pub fn new(signals: &[i32]) -> Result<Signals, Error> {
        unimplemented!()
    }
    pub async fn next(&mut self) -> i32 {
        unimplemented!()
    }
}

pub struct Listener {
    _p: Rc<()>,
}
impl Listener {
    pub fn bind(address: &Address, options: &ListenOptions) -> Result<Listener, Error> {
        unimplemented!()
    }
    pub fn address(&self) -> &Address {
        unimplemented!()
    }
    pub async fn accept(&mut self) -> Result<Stream, Error> {
        unimplemented!()
    }
}

pub struct Stream {
    _p: Rc<()>,
}
impl Stream {
    pub fn pair() -> (Stream, Stream) {
        unimplemented!()
    }
    pub async fn connect(address: &Address) -> Result<Stream, Error> {
        unimplemented!()
    }
    pub async fn connect_tls(address: &Address, tls: &ClientTls, server_name: &str) -> Result<Stream, Error> {
        unimplemented!()
    }
    pub fn turn<'a, F, T>(&'a mut self, f: F) -> impl Future<Output = Result<Turn, Error>> + 'a
    where
        F: FnOnce(&[u8], &mut Output) -> T + 'a,
        T: Into<Took> + 'a,
    {
        async move { unimplemented!() }
    }
    pub async fn read_exact(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        unimplemented!()
    }
    pub async fn discard(&mut self, bytes: u64) -> Result<(), Error> {
        unimplemented!()
    }
    pub async fn send(&mut self, piece: impl Into<Piece>) -> Result<(), Error> {
        unimplemented!()
    }
    pub async fn flush(&mut self) -> Result<(), Error> {
        unimplemented!()
    }
    pub async fn close(self) -> Result<(), Error> {
        unimplemented!()
    }
    pub fn peer(&self) -> Peer {
        unimplemented!()
    }
    pub fn local(&self) -> Peer {
        unimplemented!()
    }
    pub fn is_tls(&self) -> bool {
        unimplemented!()
    }
    pub fn alpn(&self) -> Option<&[u8]> {
        unimplemented!()
    }
    pub fn set_idle_timeout(&mut self, timeout: Duration) {
        unimplemented!()
    }
    /// Input bytes that lie here unconsumed.
    pub fn buffered(&self) -> usize {
        unimplemented!()
    }
    /// Ordered replies of this stream: at most `open_max` unfinished at once.
    pub fn replies(&mut self, open_max: usize) -> Replies {
        unimplemented!()
    }
    /// The same for a protocol whose replies carry ids: they leave as they finish.
    pub fn unordered(&mut self, open_max: usize) -> Unordered {
        unimplemented!()
    }
}

#[derive(Clone)]
pub struct Replies {
    _p: Rc<()>,
}
impl Replies {
    /// None while `open_max` are open: leave the request in the input; `turn` calls again when there is room.
    pub fn open(&self) -> Option<Reply> {
        unimplemented!()
    }
}
#[derive(Clone)]
pub struct Unordered {
    _p: Rc<()>,
}
impl Unordered {
    pub fn open(&self) -> Option<Reply> {
        unimplemented!()
    }
}
pub struct Reply {
    _p: Rc<()>,
}
impl Reply {
    pub fn write(&mut self, bytes: &[u8]) {
        unimplemented!()
    }
    pub fn with<R>(&mut self, f: impl FnOnce(&mut Output) -> R) -> R {
        unimplemented!()
    }
    /// Ends the connection after the replies before this one.
    pub fn abort(self) {
        unimplemented!()
    }
    /// A reply that can be finished by another thread.
    pub fn into_remote(self) -> RemoteReply {
        unimplemented!()
    }
}
pub struct RemoteReply {
    _p: (),
}
impl RemoteReply {
    pub fn write(&mut self, bytes: &[u8]) {
        unimplemented!()
    }
    pub fn abort(self) {
        unimplemented!()
    }
}
