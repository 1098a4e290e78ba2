//! Handles on tasks: awaiting a task's output, aborting it, or letting it run alone.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::core::Core;
use crate::task::TaskId;

/// Runs a task on this thread's loop. Dropping the handle aborts the task; [`detach`](Task::detach) lets it run.
///
/// # Panics
/// If no loop runs on this thread.
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + 'static,
{
    let core = Core::current();
    let state = Rc::new(RefCell::new(State::Running(None)));
    let end = End(Rc::clone(&state));
    let id = core.spawn(async move {
        let end = end;
        let output = future.await;
        end.set(State::Done(output));
    });
    Task {
        id,
        core: Some(core),
        state,
    }
}

/// A task of this thread's loop. Awaiting it returns the task's output, or `None` if the task panicked or its loop has
/// ended. Dropping it aborts the task: its future is dropped at once, or, if the task drops its own handle, when it next
/// waits.
#[must_use = "dropping a task aborts it; `detach` lets it run"]
pub struct Task<T> {
    id: TaskId,
    /// `None` once detached.
    core: Option<Rc<Core>>,
    state: Rc<RefCell<State<T>>>,
}

enum State<T> {
    /// With the waker of the task that awaits it.
    Running(Option<Waker>),
    Done(T),
    /// The output was taken, or there is none.
    Ended,
}

/// Notes the end of a task whose future is dropped before it is ready.
struct End<T>(Rc<RefCell<State<T>>>);

impl<T> End<T> {
    fn set(&self, end: State<T>) {
        let before = self.0.replace(end);
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        if matches!(*self.0.borrow(), State::Running(_)) {
            self.set(State::Ended);
        }
    }
}

impl<T> Task<T> {
    /// Lets the task run to its end, whatever becomes of this handle.
    pub fn detach(mut self) {
        self.core = None;
    }

    /// True once the task has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(*self.state.borrow(), State::Running(_))
    }
}

impl<T> Future for Task<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let state = &mut *self.state.borrow_mut();
        match state {
            State::Running(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            State::Done(_) | State::Ended => match std::mem::replace(state, State::Ended) {
                State::Done(output) => Poll::Ready(Some(output)),
                _ => Poll::Ready(None),
            },
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        // A task that has ended may have left its slot to another.
        if let Some(core) = self.core.take().filter(|_| !self.is_finished()) {
            core.abort(self.id);
        }
    }
}

impl<T> std::fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
