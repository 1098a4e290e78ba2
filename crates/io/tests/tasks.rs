//! Handles on tasks.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;

use io::{Config, Loop, Task};

/// Sets its flag when it is dropped.
struct Flag(Rc<Cell<bool>>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

fn on_a_loop<F: Future>(future: F) -> F::Output {
    Loop::new(Config::default()).unwrap().run(future)
}

#[test]
fn a_task_returns_its_output() {
    on_a_loop(async {
        let task = io::spawn(async {
            io::yield_now().await;
            42
        });
        assert!(!task.is_finished());
        assert_eq!(task.await, Some(42));
        let quick = io::spawn(async { "done" });
        io::yield_now().await;
        io::yield_now().await;
        assert!(quick.is_finished());
        assert_eq!(quick.await, Some("done"));
    });
}

#[test]
fn a_dropped_handle_aborts_its_task_at_once() {
    on_a_loop(async {
        let dropped = Rc::new(Cell::new(false));
        let flag = Flag(Rc::clone(&dropped));
        let task = io::spawn(async move {
            let _flag = flag;
            pending::<()>().await;
        });
        io::yield_now().await;
        assert!(!dropped.get());
        drop(task);
        assert!(dropped.get());
        // The slot goes to another task, which the old handle cannot touch.
        let next = io::spawn(async { 7 });
        assert_eq!(next.await, Some(7));
    });
}

#[test]
fn a_detached_task_runs_on() {
    on_a_loop(async {
        let ran = Rc::new(Cell::new(false));
        let flag = Flag(Rc::clone(&ran));
        io::spawn(async move {
            io::yield_now().await;
            drop(flag);
        })
        .detach();
        while !ran.get() {
            io::yield_now().await;
        }
    });
}

#[test]
fn a_task_may_drop_its_own_handle() {
    on_a_loop(async {
        let (reached, dropped) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let own: Rc<RefCell<Option<Task<()>>>> = Rc::default();
        let (inner, flag, beyond) = (Rc::clone(&own), Flag(Rc::clone(&dropped)), Rc::clone(&reached));
        let task = io::spawn(async move {
            let _flag = flag;
            inner.borrow_mut().take();
            io::yield_now().await;
            beyond.set(true);
        });
        *own.borrow_mut() = Some(task);
        while !dropped.get() {
            io::yield_now().await;
        }
        io::yield_now().await;
        assert!(!reached.get());
    });
}

#[test]
fn a_task_that_panics_has_no_output() {
    on_a_loop(async {
        let task = io::spawn(async { panic!("in a task, on purpose") });
        assert_eq!(task.await, None::<()>);
    });
}

#[test]
fn a_handle_outlives_its_loop() {
    let mut this = Loop::new(Config::default()).unwrap();
    let dropped = Rc::new(Cell::new(false));
    let flag = Flag(Rc::clone(&dropped));
    let mut task = None;
    this.run(async {
        task = Some(io::spawn(async move {
            let _flag = flag;
            pending::<()>().await;
        }));
    });
    let task = task.unwrap();
    assert!(!dropped.get());
    drop(this);
    assert!(dropped.get() && task.is_finished());
    drop(task);
}

#[test]
fn tasks_that_hold_each_other_end_with_their_loop() {
    let mut this = Loop::new(Config::default()).unwrap();
    let dropped: Vec<Rc<Cell<bool>>> = (0..3).map(|_| Rc::default()).collect();
    let flags: Vec<Flag> = dropped.iter().map(|flag| Flag(Rc::clone(flag))).collect();
    this.run(async {
        let mut inner: Option<Task<()>> = None;
        for flag in flags {
            let holds = inner.take();
            inner = Some(io::spawn(async move {
                let _both = (flag, holds);
                pending::<()>().await;
            }));
        }
        inner.unwrap().detach();
    });
    drop(this);
    assert!(dropped.iter().all(|flag| flag.get()));
}
