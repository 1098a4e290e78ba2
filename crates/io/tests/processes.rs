//! Processes on a loop: started without being waited for, their pipes streams, their ends awaited.
#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;
use std::time::Duration;

use io::{Config, Descriptor, Exchange, Loop, Stream};
use spawn::{Child, Command, PendingChild, Spawner, Stdio};

fn on_a_loop<T>(test: impl AsyncFnOnce() -> T) -> T {
    Loop::new(Config::default()).unwrap().run(async {
        io::timeout(Duration::from_secs(60), test())
            .await
            .expect("it takes no minute")
    })
}

/// The thread that makes the processes of all loops here.
static SPAWNER: LazyLock<Spawner> = LazyLock::new(|| Spawner::new().unwrap());

async fn start(command: &Command) -> Result<Child, spawn::Error> {
    known(SPAWNER.start(command)?).await
}

async fn known(starting: PendingChild) -> Result<Child, spawn::Error> {
    let mut starting = Descriptor::new(starting).unwrap();
    starting.when_readable(|it| it.poll().transpose()).await
}

async fn ended(child: Child) -> std::process::ExitStatus {
    let mut child = Descriptor::new(child).unwrap();
    child.when_readable(Child::try_wait).await.unwrap()
}

async fn read_to_end(stream: &mut Stream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut keep = |input: &[u8]| {
        all.extend_from_slice(input);
        input.len()
    };
    while let Ok(Exchange::Open) = stream.exchange(|input, _| keep(input)).await {}
    all
}

#[test]
fn what_goes_into_a_filter_comes_out_of_it() {
    on_a_loop(async || {
        let mut command = Command::new("tr");
        command
            .args(["a-z", "A-Z"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = start(&command).await.unwrap();
        let mut to = Stream::pipe(child.stdin.take().unwrap()).unwrap();
        let mut from = Stream::pipe(child.stdout.take().unwrap()).unwrap();
        // More than both pipes hold: who writes first and reads then would wait for ever.
        let sent = b"hikyaku ".repeat(64 << 10);
        let expected = sent.to_ascii_uppercase();
        io::spawn(async move {
            to.send(sent).await.unwrap();
            to.close().await.unwrap();
        })
        .detach();
        assert!(read_to_end(&mut from).await == expected);
        assert!(ended(child).await.success());
    });
}

#[test]
fn a_program_that_is_missing_is_told_without_waiting() {
    on_a_loop(async || {
        let command = Command::new("/no/such/program");
        // By a thread, and on the loop itself.
        for starting in [SPAWNER.start(&command), command.start()] {
            let error = known(starting.unwrap()).await.unwrap_err();
            assert_eq!(
                (error.stage(), error.errno()),
                (Some(spawn::Stage::Exec), libc::ENOENT)
            );
        }
    });
}

#[test]
fn many_processes_run_at_once_and_each_end_is_seen() {
    on_a_loop(async || {
        let (done, count) = (std::rc::Rc::new(std::cell::Cell::new(0)), 50);
        for status in 0..count {
            let done = std::rc::Rc::clone(&done);
            io::spawn(async move {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("exit {status}")]);
                let child = start(&command).await.unwrap();
                assert_eq!(ended(child).await.code(), Some(status));
                done.set(done.get() + 1);
            })
            .detach();
        }
        while done.get() < count {
            io::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_descriptor_that_was_let_go_can_be_taken_again() {
    on_a_loop(async || {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped());
        let mut child = start(&command).await.unwrap();
        // The kernel would answer `EEXIST` if it still knew the first one.
        for _ in 0..3 {
            child = Descriptor::new(child).unwrap().into_inner();
        }
        drop(child.stdin.take());
        assert!(ended(child).await.success());
    });
}

#[test]
fn nobody_reads_a_pipe_and_the_writer_is_told() {
    on_a_loop(async || {
        let mut command = Command::new("true");
        command.stdin(Stdio::piped());
        let mut child = start(&command).await.unwrap();
        let mut to = Stream::pipe(child.stdin.take().unwrap()).unwrap();
        ended(child).await;
        // A child that another test is starting may have a copy of the end that is read, until it runs its program.
        let error = loop {
            match to.send(b"?".to_vec()).await {
                Ok(()) => io::yield_now().await,
                Err(error) => break error,
            }
        };
        assert!(error.is_disconnect(), "{error}");
    });
}

#[test]
fn an_ordinary_file_is_refused() {
    on_a_loop(async || {
        let file = std::fs::File::open("/etc/passwd").unwrap();
        assert!(Descriptor::new(file).is_err());
    });
}
