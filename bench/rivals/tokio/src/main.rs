//! Answers lines with tokio's `current_thread` runtime, written as its documentation writes servers: one task per
//! connection, with a buffer for its input and one for its output.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The default capacity of `tokio::io::BufReader` and `BufWriter` (`DEFAULT_BUF_SIZE`) and of
/// `tokio_util::codec::Framed` (`INITIAL_CAPACITY`).
const BUFFER_SIZE: usize = 8 * 1024;

fn main() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(serve())
}

async fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening {}", listener.local_addr()?);
    let reply: &'static [u8] = reply().leak();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // The task ends with its connection, for any reason.
            let _ = answer(stream, reply).await;
        });
    }
}

async fn answer(mut stream: TcpStream, reply: &'static [u8]) -> std::io::Result<()> {
    let mut input = Vec::with_capacity(BUFFER_SIZE);
    let mut output = Vec::with_capacity(BUFFER_SIZE);
    while stream.read_buf(&mut input).await? > 0 {
        let mut used = 0;
        while let Some(end) = memchr::memchr(b'\n', &input[used..]) {
            output.extend_from_slice(reply);
            used += end + 1;
        }
        input.drain(..used);
        stream.write_all(&output).await?;
        output.clear();
    }
    Ok(())
}

/// The bytes of every reply: as many as `--reply` says.
fn reply() -> Vec<u8> {
    let size = std::env::args()
        .skip_while(|argument| argument != "--reply")
        .nth(1);
    vec![b'r'; size.and_then(|size| size.parse().ok()).unwrap_or(400)]
}
