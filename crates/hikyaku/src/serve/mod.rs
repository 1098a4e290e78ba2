//! `hikyaku serve`: from a configuration to a daemon that answers, and back to nothing.
//!
//! ```text
//!   main thread                                    workers
//!   config ─► logs ─► signals blocked ─► loops ──► run
//!          ─► sockets bound ─► user
//!          ─► stores ─► listeners ───────────────► accept
//!          ─► banner
//!          ─► own loop: signals, housekeeping
//!          ─► drain ─────────────────────────────► answer what was asked, end
//!          ─► stores closed
//! ```
//!
//! **Invariant**: nothing is printed on standard output before every listener is open and the user is dropped to, so
//! `ready` means ready.
//!
//! **Invariant**: stores are opened by the user that the daemon became, never with more rights, and closed after the last reply.
//!
//! **Invariant**: signals are blocked before the first thread starts, so that only the main loop sees them.

mod banner;
mod certificates;
mod error;
mod listeners;
mod log;
mod notify;
mod reload;
mod stop;
mod stores;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use io::{Loop, Loops, Signals};

use crate::cli::Serve;
use crate::config::{self, Config};
use crate::{USAGE, fail, system};
use certificates::Certificates;
use error::Error;
use listeners::{Open, Opener};
use notify::{Manager, State};
use stores::Stores;

/// How old the figures may be that services tell of what happens below them.
const FIGURES: Duration = Duration::from_secs(1);

/// Runs the daemon until a signal or a client's `shutdown` ends it.
pub(crate) fn run(flags: &Serve) -> ExitCode {
    let config = match config::load(flags.config.as_deref(), &flags.flags) {
        Ok(config) => config,
        Err(faults) => {
            eprint!("{faults}");
            return ExitCode::from(USAGE);
        }
    };
    if let Err(text) = log::start(&flags.log) {
        eprintln!("{text}");
        return ExitCode::from(USAGE);
    }
    match main_loop() {
        Ok(mut main) => main.run(live(flags, &config)),
        Err(error) => fail(error),
    }
}

/// The main thread's own loop, and no other thread before the signals are blocked.
fn main_loop() -> Result<Loop, Error> {
    Signals::block(&stop::SIGNALS).map_err(Error::Loops)?;
    Loop::new(io::Config {
        workers: 1,
        ..io::Config::default()
    })
    .map_err(Error::Loops)
}

/// Everything that runs.
struct Daemon {
    loops: Loops,
    stores: Stores,
    certificates: Arc<Certificates>,
    open: Vec<Open>,
    signals: Signals,
}

/// Starts everything in the order of the picture above.
fn start(flags: &Serve, config: &Config) -> Result<Daemon, Error> {
    let signals = Signals::new(&stop::SIGNALS).map_err(Error::Loops)?;
    let workers = config.workers.unwrap_or_else(system::workers::auto);
    let loops = Loops::start(io::Config {
        workers,
        ..io::Config::default()
    })
    .map_err(Error::Loops)?;
    let certificates = Arc::default();
    let bound = listeners::bind(&loops, &certificates, config)?;
    if let Some(user) = &config.user {
        system::privileges::become_user(&user.value)?;
        tracing::info!(user = user.value, "became the user");
    }
    // Its files belong to the user, and what it reads from them has no more rights than the user.
    let stores = Stores::open(config)?;
    let debugtime = flags.debugtime;
    let opener = Opener {
        loops: &loops,
        stores: &stores,
        certificates: &certificates,
        debugtime,
    };
    let open = opener.open(bound)?;
    Ok(Daemon {
        loops,
        stores,
        certificates,
        open,
        signals,
    })
}

/// Starts, says so, and then follows the signals to the end.
async fn live(flags: &Serve, config: &Config) -> ExitCode {
    let manager = Manager::from_environment();
    let Daemon {
        loops,
        stores,
        certificates,
        open,
        mut signals,
    } = match start(flags, config) {
        Ok(daemon) => daemon,
        Err(error) => return fail(error),
    };
    say(&banner::text(open.iter().map(|open| open.bound.address())));
    manager.tell(State::Ready);
    io::spawn(stores.clone().keep()).detach();
    loop {
        match io::timeout(FIGURES, signals.next()).await {
            Some(stop::RELOAD) => {
                manager.tell(State::Reloading);
                reload::run(flags, config, &open, &stores, &certificates);
                manager.tell(State::Ready);
            }
            Some(_) => break,
            None => tell_refused(&loops, &open),
        }
    }
    manager.tell(State::Stopping);
    stop::run(loops, &open, stores, signals).await
}

/// The loops refuse connections before a service sees them; its `stats` should know all the same.
fn tell_refused(loops: &Loops, open: &[Open]) {
    let refused = loops.statistics().refused;
    for open in open {
        open.endpoint.service().set_rejected(refused);
    }
}

/// Prints the banner. Nobody may be reading; the daemon serves all the same.
fn say(banner: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(banner.as_bytes()).and_then(|()| out.flush()) {
        tracing::debug!(%error, "the banner was not written");
    }
}
