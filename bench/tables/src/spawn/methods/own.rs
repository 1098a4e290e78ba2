//! Our `spawn`: synchronous, asynchronous, and by a zygote.

use super::{Context, raw::said, succeeded, timed};
use spawn::{Child, Command, PendingChild, Rules, Spawner, Zygote};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// `Command::spawn`, then `wait`.
pub(super) fn sync(context: &Context) -> Result<Duration, String> {
    start_and_wait(&Command::new(&context.child))
}

/// `Command::status`, which blocks its caller until the child has ended, and wakes it once.
pub(super) fn status(context: &Context) -> Result<Duration, String> {
    let (status, blocked) = timed(|| Command::new(&context.child).status())?;
    succeeded(status).map(|()| blocked)
}

/// Starts a command and waits for its success.
pub(super) fn start_and_wait(command: &Command) -> Result<Duration, String> {
    let (child, blocked) = timed(|| command.spawn())?;
    finish(child)?;
    Ok(blocked)
}

/// `Command::output`, which blocks its caller until the child has ended.
pub(super) fn output(context: &Context) -> Result<Duration, String> {
    let (output, blocked) = timed(|| Command::new(&context.child).output())?;
    said(&output.stdout)?;
    Ok(blocked)
}

/// `Command::start`, which does not wait for the child.
pub(super) fn asynchronous(context: &Context) -> Result<Duration, String> {
    away(&Command::new(&context.child), Command::start)
}

/// `Spawner::start`, which does not wait even for the clone.
pub(super) fn starter(context: &Context) -> Result<Duration, String> {
    let mut current = context.starter.borrow_mut();
    let starter = match &mut *current {
        Some(starter) => starter,
        none => none.insert(Spawner::new().map_err(|error| error.to_string())?),
    };
    away(&Command::new(&context.child), |command| starter.start(command))
}

/// Measures how long a loop's thread is blocked: the wall-clock time of the call. Later work would be events of the
/// loop, and does not count.
fn away(
    command: &Command,
    start: impl FnOnce(&Command) -> Result<PendingChild, spawn::Error>,
) -> Result<Duration, String> {
    let (starting, blocked) = timed(|| start(command))?;
    finish(starting.wait().map_err(|error| error.to_string())?)?;
    Ok(blocked)
}

fn finish(mut child: Child) -> Result<(), String> {
    succeeded(child.wait().map_err(|error| error.to_string())?)
}

/// Zygotes started before the parent touched its memory, one per round: the CPU time of a zygote and of its children is
/// visible only after it has ended.
pub(super) struct Zygotes {
    waiting: RefCell<Vec<Zygote>>,
    current: RefCell<Option<Zygote>>,
}

impl Zygotes {
    pub(super) fn start(count: usize) -> Result<Self, String> {
        let start = |_| Zygote::start(&Rules::default()).map_err(|error| error.to_string());
        Ok(Self {
            waiting: RefCell::new((0..count).map(start).collect::<Result<_, _>>()?),
            current: RefCell::new(None),
        })
    }

    /// Ends the zygote of this round and waits for it.
    pub(super) fn settle(&self) {
        let Some(zygote) = self.current.take() else { return };
        let process = zygote.id().map(|id| format!("/proc/{id}"));
        drop(zygote);
        while process
            .as_ref()
            .is_some_and(|process| Path::new(process).exists())
        {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// `Zygote::request`, which does not wait for the child.
pub(super) fn zygote(context: &Context) -> Result<Duration, String> {
    let mut current = context.zygotes.current.borrow_mut();
    if current.is_none() {
        *current = context.zygotes.waiting.borrow_mut().pop();
    }
    let zygote = current.as_ref().ok_or("there is no zygote left for this round")?;
    let command = Command::new(&context.child);
    let (mut requested, blocked) = timed(|| zygote.request(&command))?;
    loop {
        if let Some(answer) = requested.poll() {
            finish(answer.map_err(|error| error.to_string())?)?;
            return Ok(blocked);
        }
        super::super::sys::await_readable(&requested).map_err(|error| format!("poll: {error}"))?;
    }
}
