//! Collecting a child's output within limits.

use std::io::{ErrorKind, PipeReader, Read};
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::calls::{self, PollFd};
use crate::plan::Defaults;
use crate::process::Process;
use crate::{Child, Command, Error};

/// Bytes per read: the capacity of a pipe.
const CHUNK: usize = 64 << 10;

/// The policy for output beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The process is killed, and [`Error::OutputLimit`] returned.
    Fails,
    /// The rest is read and discarded, and [`Output::truncated`] is set.
    CutOff,
}

/// Limits for collecting output.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Bytes per stream; 16 MiB by default.
    pub limit_bytes: usize,
    /// The policy beyond that limit; [`Excess::Fails`] by default.
    pub excess: Excess,
    /// Time until the process has ended and its streams are closed; unlimited by default. When it expires, the process gets
    /// `SIGTERM`, after the grace period `SIGKILL`, and the call returns [`Error::TimedOut`].
    pub timeout: Option<Duration>,
    /// Time between the two signals; 2 s by default.
    pub grace: Duration,
}

impl Default for Capture {
    fn default() -> Capture {
        Capture {
            limit_bytes: 16 << 20,
            excess: Excess::Fails,
            timeout: None,
            grace: Duration::from_secs(2),
        }
    }
}

/// How a process ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output, if that was a pipe.
    pub stdout: Vec<u8>,
    /// Its standard error, if that was a pipe.
    pub stderr: Vec<u8>,
    /// True if output beyond the limit was discarded.
    pub truncated: bool,
}

impl Command {
    /// Runs the program to its end and collects its output within the limits of [`Capture::default`]. By default, standard
    /// input is empty and the other two are pipes.
    ///
    /// # Errors
    /// As [`output_within`](Command::output_within).
    pub fn output(&self) -> Result<Output, Error> {
        self.output_within(&Capture::default())
    }

    /// Like [`output`](Command::output), with the given limits.
    ///
    /// # Errors
    /// As [`spawn`](Command::spawn) and [`Child::output`].
    pub fn output_within(&self, capture: &Capture) -> Result<Output, Error> {
        self.spawn_with(Defaults::CAPTURE)?.output(capture)
    }
}

impl Child {
    /// Waits until the process has ended and its pipes are closed, and returns their content.
    ///
    /// Standard input is closed first. A pipe may stay open longer than the process lives, if the process has started others
    /// that inherited it.
    ///
    /// # Errors
    /// [`Error::OutputLimit`], [`Error::TimedOut`], and those of [`wait`](Child::wait). The process has been reaped then.
    pub fn output(mut self, capture: &Capture) -> Result<Output, Error> {
        drop(self.stdin.take());
        let pid = self.id();
        let mut streams = [
            Stream::new("standard output", self.stdout.take()),
            Stream::new("standard error", self.stderr.take()),
        ];
        let deadline = capture.timeout.map(|after| Instant::now() + after);
        let collected = collect(&mut streams, capture, deadline, self.process());
        let collected = collected.and_then(|()| match deadline {
            None => self.process().wait_for_end(),
            Some(deadline) => self.process().wait_until(deadline)?.ok_or(Error::TimedOut {
                pid,
                after: capture.timeout.unwrap_or_default(),
            }),
        });
        let status = collected.map_err(|error| self.end_after(error, capture.grace))?;
        let truncated = streams.iter().any(|stream| stream.truncated);
        let [stdout, stderr] = streams.map(|stream| stream.bytes);
        Ok(Output {
            status,
            stdout,
            stderr,
            truncated,
        })
    }

    fn end_after(&mut self, error: Error, grace: Duration) -> Error {
        let grace = if matches!(error, Error::TimedOut { .. }) {
            grace
        } else {
            Duration::ZERO
        };
        // The first error is returned. If these calls fail as well, the drop kills and reaps.
        if grace.is_zero() {
            let _ = self.kill();
            let _ = self.wait();
        } else {
            let _ = self.terminate(grace);
        }
        error
    }
}

struct Stream {
    name: &'static str,
    pipe: Option<PipeReader>,
    bytes: Vec<u8>,
    truncated: bool,
}

impl Stream {
    fn new(name: &'static str, pipe: Option<PipeReader>) -> Stream {
        Stream {
            name,
            pipe,
            bytes: Vec::new(),
            truncated: false,
        }
    }

    fn poll(&self) -> PollFd {
        match &self.pipe {
            Some(pipe) => calls::poll_for(pipe.as_fd(), libc::POLLIN),
            // poll ignores negative numbers.
            None => PollFd {
                fd: -1,
                events: 0,
                revents: 0,
            },
        }
    }

    /// Reads once.
    fn read(&mut self, chunk: &mut [u8], capture: &Capture, process: &Process) -> Result<(), Error> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let count = match pipe.read(chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(process.failed("reading the output", error)),
        };
        if count == 0 {
            self.pipe = None;
        }
        let room = capture.limit_bytes - self.bytes.len();
        self.bytes.extend_from_slice(&chunk[..count.min(room)]);
        if count <= room {
            return Ok(());
        }
        self.truncated = true;
        match capture.excess {
            Excess::CutOff => Ok(()),
            Excess::Fails => Err(Error::OutputLimit {
                pid: process.pid(),
                stream: self.name,
                limit_bytes: capture.limit_bytes,
            }),
        }
    }
}

/// Reads all streams to their ends.
fn collect(
    streams: &mut [Stream; 2],
    capture: &Capture,
    deadline: Option<Instant>,
    process: &Process,
) -> Result<(), Error> {
    let mut chunk = vec![0; CHUNK];
    while streams.iter().any(|stream| stream.pipe.is_some()) {
        let mut polls = [streams[0].poll(), streams[1].poll()];
        let ready = calls::poll(&mut polls, deadline).map_err(|error| process.failed("poll", error))?;
        if !ready {
            return Err(Error::TimedOut {
                pid: process.pid(),
                after: capture.timeout.unwrap_or_default(),
            });
        }
        for (stream, poll) in streams.iter_mut().zip(&polls) {
            if poll.revents != 0 {
                stream.read(&mut chunk, capture, process)?;
            }
        }
    }
    Ok(())
}
