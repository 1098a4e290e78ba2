//! Whatever can be polled: a process, a timer, a socket of another library's.
//!
//! **Invariant:** the kernel forgets a descriptor no later than we do. It would not by itself: to it, a registration lives
//! as long as any copy of the descriptor, in any process.

use std::future::poll_fn;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::task::Poll;

use crate::core::{Core, READABLE};
use crate::source::Source;
use crate::{Error, sys};

/// A value with a descriptor that a task of this loop waits for.
///
/// The loop knows nothing of what it is; who has it does the reading. A process, for one, is a pidfd, which becomes
/// readable when the process ends:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut one = io::Loop::new(io::Config::default())?;
/// let status = one.run(async {
///     let mut starting = io::Descriptor::new(spawn::Command::new("true").start()?)?;
///     let child = starting.when_readable(|it| it.poll().transpose()).await?;
///     let status = io::Descriptor::new(child)?.when_readable(spawn::Child::try_wait).await?;
///     Ok::<_, Box<dyn std::error::Error>>(status)
/// })?;
/// assert!(status.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Descriptor<T> {
    // Dropped before what it is about is.
    registration: Registration,
    inner: T,
}

impl<T: AsFd> Descriptor<T> {
    /// Takes what has a descriptor, and keeps the same one as long as it is here. It is not made non-blocking: who calls
    /// [`when_readable`](Descriptor::when_readable) reads in a way that does not wait.
    ///
    /// # Errors
    /// If the descriptor cannot be polled, such as that of an ordinary file, or memory is exhausted.
    ///
    /// # Panics
    /// When no loop runs on this thread.
    pub fn new(inner: T) -> Result<Descriptor<T>, Error> {
        let source = Source::register(&Core::current(), inner.as_fd())?;
        let fd = inner.as_fd().as_raw_fd();
        let registration = Registration { source, fd };
        Ok(Descriptor { registration, inner })
    }

    /// Calls `look` at once, and each time that the descriptor has become readable, until it answers other than
    /// `Ok(None)`.
    ///
    /// The loop learns only that something *became* readable. So `look` has to take all there is, or to find something.
    ///
    /// # Errors
    /// Those of `look`.
    pub async fn when_readable<F, R, E>(&mut self, mut look: F) -> Result<R, E>
    where
        F: FnMut(&mut T) -> Result<Option<R>, E>,
    {
        let source = &self.registration.source;
        poll_fn(|context| {
            // Before the look: an event that comes while it looks must not be forgotten.
            source.clear(READABLE);
            if let Some(found) = look(&mut self.inner).transpose() {
                return Poll::Ready(found);
            }
            source.wait(context, READABLE);
            Poll::Pending
        })
        .await
    }

    /// Gives back what it took.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// That the loop's kernel side watches a descriptor.
#[derive(Debug)]
struct Registration {
    source: Source,
    fd: RawFd,
}

impl Drop for Registration {
    fn drop(&mut self) {
        // It fails if the descriptor was closed, contrary to what is asked of it: then nothing watches this number.
        let _ = sys::epoll_remove(&self.source.core.epoll, self.fd);
    }
}
