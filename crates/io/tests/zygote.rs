//! A loop whose daemon may not execute anything, and has a zygote do it. Alone in its process: zygotes come before threads.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use io::{Config, Descriptor, Exchange, Loop, Stream};
use spawn::{Child, Command, PendingZygoteChild, Rules, Stdio, Zygote};

async fn run(zygote: &Zygote, command: &Command) -> Result<(Vec<u8>, Option<i32>), spawn::Error> {
    let mut requested = Descriptor::new(zygote.request(command)?).unwrap();
    let answer = |it: &mut PendingZygoteChild| it.poll().transpose();
    let mut child = requested.when_readable(answer).await?;
    let mut from = Stream::pipe(child.stdout.take().unwrap()).unwrap();
    let mut all = Vec::new();
    let mut keep = |input: &[u8]| {
        all.extend_from_slice(input);
        input.len()
    };
    while let Ok(Exchange::Open) = from.exchange(|input, _| keep(input)).await {}
    let mut child = Descriptor::new(child).unwrap();
    let status = child.when_readable(Child::try_wait).await?;
    Ok((all, status.code()))
}

fn main() {
    let zygote = std::rc::Rc::new(Zygote::start(&Rules::default()).unwrap());
    let mut one = Loop::new(Config::default()).unwrap();
    one.run(async {
        let (done, count) = (std::rc::Rc::new(std::cell::Cell::new(0)), 20);
        for number in 0..count {
            let (zygote, done) = (zygote.clone(), done.clone());
            io::spawn(async move {
                let mut command = Command::new("sh");
                command
                    .args(["-c", &format!("echo {number}; exit {number}")])
                    .stdout(Stdio::piped());
                let (output, status) = run(&zygote, &command).await.unwrap();
                assert_eq!(
                    (output, status),
                    (format!("{number}\n").into_bytes(), Some(number))
                );
                done.set(done.get() + 1);
            })
            .detach();
        }
        let all = async {
            while done.get() < count {
                io::sleep(Duration::from_millis(1)).await;
            }
        };
        io::timeout(Duration::from_secs(60), all)
            .await
            .expect("it takes no minute");
        let error = run(&zygote, Command::new("/no/such/program").stdout(Stdio::piped())).await;
        assert_eq!(error.unwrap_err().errno(), libc::ENOENT);
    });
}
