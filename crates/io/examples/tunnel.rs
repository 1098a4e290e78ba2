//! A full-duplex proxy: `cargo run --release --example tunnel -- 127.0.0.1:8000 127.0.0.1:11211` hands the bytes of each
//! connection to a connection of its own to the upstream server, and back.
//!
//! Each direction goes on while the other is blocked, and ends by itself: the end of one side's stream is handed on, and
//! what comes the other way still arrives. A few connections to the upstream server are opened ahead of their clients, so
//! that a client does not wait for a handshake; one that has ended meanwhile is not used.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use io::{
    Address, Config, Error, ListenOptions, Liveness, Loop, Loops, ReadHalf, Signals, Stream, WriteHalf,
};

/// Connections at once, each with one to the upstream server.
const CONNECTIONS_MAX: usize = 10_000;
/// An idle tunnel is closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that are opened ahead.
const SPARE_MAX: usize = 2;

/// Connections to the upstream server that no client uses yet. A loop has one pool, which no other loop touches.
struct Pool {
    upstream: Arc<Address>,
    spare: RefCell<Vec<Stream>>,
}

impl Pool {
    fn new(upstream: Arc<Address>) -> Rc<Pool> {
        let spare = RefCell::default();
        Rc::new(Pool { upstream, spare })
    }

    /// A connection for one client: one that was opened ahead and has not ended, or else a new one.
    async fn take(self: &Rc<Pool>) -> Result<Stream, Error> {
        let fit = std::iter::from_fn(|| self.spare.borrow_mut().pop())
            .find_map(|mut spare| (spare.liveness() != Liveness::Ended).then_some(spare));
        let stream = match fit {
            Some(spare) => spare,
            None => self.connect().await?,
        };
        io::spawn(Rc::clone(self).refill()).detach();
        Ok(stream)
    }

    async fn connect(&self) -> Result<Stream, Error> {
        let connecting = Stream::connect(&self.upstream);
        let late = || Error::Connect {
            address: self.upstream.to_string(),
            source: std::io::ErrorKind::TimedOut.into(),
        };
        let mut stream = io::timeout(CONNECT_TIMEOUT, connecting)
            .await
            .unwrap_or_else(|| Err(late()))?;
        stream.set_idle_timeout(IDLE_TIMEOUT);
        Ok(stream)
    }

    async fn refill(self: Rc<Pool>) {
        while self.spare.borrow().len() < SPARE_MAX {
            match self.connect().await {
                Ok(stream) => self.spare.borrow_mut().push(stream),
                // The next client tries for itself, and tells.
                Err(_) => return,
            }
        }
        self.spare.borrow_mut().truncate(SPARE_MAX);
    }
}

/// Hands on one direction, and its end.
async fn one_way(mut from: ReadHalf, mut to: WriteHalf) -> Result<(), Error> {
    from.relay(&mut to).await?;
    to.shutdown().await
}

async fn tunnel(client: Stream, pool: Rc<Pool>) -> Result<(), Error> {
    let upstream = pool.take().await?;
    let (from_client, to_client) = client.split();
    let (from_upstream, to_upstream) = upstream.split();
    io::try_join(
        one_way(from_client, to_upstream),
        one_way(from_upstream, to_client),
    )
    .await?;
    Ok(())
}

thread_local! {
    static POOL: RefCell<Option<Rc<Pool>>> = const { RefCell::new(None) };
}

async fn serve(client: Stream, upstream: Arc<Address>) {
    let pool = POOL.with_borrow_mut(|pool| Rc::clone(pool.get_or_insert_with(|| Pool::new(upstream))));
    let peer = client.peer();
    match tunnel(client, pool).await {
        Err(error) if !error.is_disconnect() => eprintln!("{peer}: {error}"),
        _ => {}
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, upstream] = arguments.as_slice() else {
        return Err("usage: tunnel LISTEN UPSTREAM".into());
    };
    let (listen, upstream): (Address, Address) = (listen.parse()?, upstream.parse()?);
    let _ = io::open_files_max();
    Signals::block(&[libc::SIGINT, libc::SIGTERM])?;
    let loops = Loops::start(Config {
        workers: 1,
        ..Config::default()
    })?;
    let options = ListenOptions {
        connections_max: CONNECTIONS_MAX,
        idle_timeout: IDLE_TIMEOUT,
        ..ListenOptions::default()
    };
    let upstream = Arc::new(upstream);
    let bound = loops.listen(&listen, options, move |client| {
        serve(client, Arc::clone(&upstream))
    })?;
    println!("listening {}", bound.address());

    Loop::new(Config::default())?.run(async {
        Signals::new(&[libc::SIGINT, libc::SIGTERM])?.next().await;
        Ok::<_, io::Error>(())
    })?;
    Ok(())
}
