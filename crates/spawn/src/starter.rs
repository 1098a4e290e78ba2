//! A thread that makes processes for an event loop, which is kept no longer than handing an order over takes.
//!
//! ```text
//!   loop ── start(command): all that can be decided, opened or copied is ──> Order ── queue ──> thread: clone
//!        <── Starting: a descriptor, readable when it is known whether the program runs ──────────┘
//! ```
//!
//! Making a process takes the kernel 20 µs, and at times 150: on its way it may do what was put off for later, such as
//! freeing what hundreds of ended processes have left. And a thread that is woken mostly runs at once, before the one that
//! woke it, if they share a processor. So this one is `SCHED_BATCH`: then it is not what the kernel interrupts others for.
//! Its children are not.
//!
//! **Invariant:** every order that was handed over is carried out, or cancelled by who gave it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::order::{Materials, Order};
use crate::plan::Pace;
use crate::starting::Starting;
use crate::step::Step;
use crate::{Command, Error, calls};

/// The thread needs little: it makes system calls.
const STACK_SIZE: usize = 128 << 10;

/// A thread that makes processes, so that the one that wants them goes on at once: some 7 µs, a 50th of a millisecond at
/// worst, where [`Command::start`] takes 20 and at worst 150.
///
/// Have one for the process, or one a loop; it may be shared. **What a thread has for itself, the children have from this
/// one**: it is made with the user, capabilities, namespaces, filters, niceness and processors of the thread that calls
/// [`new`](Starter::new), and does not change with it. So make it when these are what children shall have, and before a
/// filter that kills for `sched_setscheduler`; filters that refuse that call do no harm but to latency. The parent-death
/// signal comes when it is dropped or the process ends.
///
/// Of what a process has as a whole, such as the working directory, the file mode mask and descriptors that are inherited, the
/// children have what is there when they are made, an instant after [`start`](Starter::start) has returned. The environment
/// and descriptors of the [`Command`] are those of the call.
///
/// Dropping it does not wait: orders are carried out, then the thread ends. After `fork`, the child has no such thread, and
/// makes another.
///
/// ```
/// # fn main() -> Result<(), spawn::Error> {
/// let starter = spawn::Starter::new()?;
/// let starting = starter.start(&spawn::Command::new("true"))?;
/// // A loop waits until `starting` is readable, and asks its `poll`.
/// assert!(starting.wait()?.wait()?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Starter {
    orders: Sender<Arc<Order>>,
    /// The process that has the thread.
    pid: u32,
}

impl Starter {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Starter`] when there is no memory or number for a thread.
    pub fn new() -> Result<Starter, Error> {
        let (orders, received) = mpsc::channel();
        let builder = thread::Builder::new()
            .name("spawn-starter".into())
            .stack_size(STACK_SIZE);
        let signals = calls::Blocked::all();
        let thread = builder.spawn(move || run(&received));
        drop(signals);
        thread.map_err(|source| Error::Starter { source })?;
        Ok(Starter {
            orders,
            pid: std::process::id(),
        })
    }

    /// Has the thread start the process, and waits for nothing.
    ///
    /// # Errors
    /// [`Error::Start`] for what failed already: opening files, pipes and copies of descriptors; `ESRCH` at
    /// [`Step::Starter`] in a process that was forked from the thread's. All else is told by the [`Starting`].
    pub fn start(&self, command: &Command) -> Result<Starting, Error> {
        if std::process::id() != self.pid {
            return Err(command.failed(Step::Starter, String::new(), gone()));
        }
        let (lent, known, tie) = command.lend(Pace::Later)?;
        let cgroup = command.options.cgroup.as_ref();
        let cgroup = cgroup
            .map(|directory| directory.try_clone())
            .transpose()
            .map_err(|source| command.failed(Step::Cgroup, String::new(), source))?;
        let order = Arc::new(Order::new(Materials { lent, cgroup, tie }));
        match self.orders.send(Arc::clone(&order)) {
            Ok(()) => Ok(Starting::ordered(order, known)),
            Err(_) => Err(command.failed(Step::Starter, String::new(), gone())),
        }
    }
}

fn gone() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::ESRCH)
}

fn run(orders: &Receiver<Arc<Order>>) {
    let batch = calls::become_batch();
    for order in orders {
        order.carry_out(batch);
    }
}
