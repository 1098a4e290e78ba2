//! The calling thread's use of the processor.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// How much less than others a thread asks for that works in the background; 19 is the least that the system knows.
const NICENESS: libc::c_int = 10;

/// The time that this thread has had the processor.
pub(crate) fn time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    debug_assert_eq!(status, 0, "every Linux has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Lets other threads go first. It is a wish: where the system refuses, the thread stays as it is.
pub(crate) fn be_nice() {
    // SAFETY: the call takes no pointers. On Linux, 0 names the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// The time that this thread was ready to run and had no processor.
#[derive(Debug)]
pub(crate) struct Queued(Option<File>);

impl Queued {
    /// The clock of the calling thread, to be read by any thread.
    pub(crate) fn new() -> Queued {
        Queued(File::open("/proc/thread-self/schedstat").ok())
    }

    /// The time until now; zero if the system does not tell.
    pub(crate) fn time(&self) -> Duration {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let second = read.and_then(|length| {
            let text = std::str::from_utf8(text.get(..length)?).ok()?;
            text.split_ascii_whitespace().nth(1)?.parse().ok()
        });
        Duration::from_nanos(second.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn computing_takes_processor_time_and_resting_does_not() {
        let queued = Queued::new();
        let (began, before, waited) = (Instant::now(), time(), queued.time());
        std::thread::park_timeout(Duration::from_millis(20));
        let rested = time() - before;
        while time() - before < Duration::from_millis(20) {}
        let used = time() - before;
        assert!(began.elapsed() >= used + (queued.time() - waited));
        assert!(rested < Duration::from_millis(20), "{rested:?}");
    }
}
