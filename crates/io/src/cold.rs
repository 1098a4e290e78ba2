//! Files that are not in the page cache: found before a loop would wait for the device, and read on a lane of their own.
//!
//! ```text
//!   write_file ──> resident? ── yes ──> sendfile, only as far as the pages are there
//!                     └─ no ──> source not writable; lane reads the range ──> source writable, sendfile
//! ```
//!
//! A stream that waits for a file looks to the rest of the loop like one whose socket is full.
//!
//! **Invariant:** a range is sent only after the probe has found it, or the lane has read it. Pages that are evicted in
//! between cost the loop a read; nothing else does.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use crate::core::WRITABLE;
use crate::counters::Counters;
use crate::offload::Offload;
use crate::source::Source;
use crate::{readiness, sys};

/// Threads that read cold files, and reads that wait for one of them.
const THREADS: usize = 4;
const QUEUE_MAX: usize = 1024;
/// Bytes that one read of the lane brings in.
const FETCH: u64 = 1 << 20;
/// Bytes that the lane asks the device for at once: the least that kernels accept as readahead.
const CHUNK: usize = 128 << 10;
/// Bytes of one page.
const PAGE: u64 = 4096;
/// Pages that are probed one by one; of a longer range every sixteenth is.
const PROBES: u64 = 16;

fn lane() -> &'static Offload {
    static LANE: OnceLock<Offload> = OnceLock::new();
    LANE.get_or_init(|| Offload::new("cold-files", THREADS, QUEUE_MAX))
}

/// The state of one stream's file that is read by the lane.
#[derive(Default)]
pub(crate) struct Cold {
    /// Boxed, since few streams have one.
    fetch: RefCell<Option<Box<Fetch>>>,
}

struct Fetch {
    /// The file and the range that the lane reads.
    inode: *const File,
    start: u64,
    end: u64,
    done: Rc<Cell<bool>>,
}

impl Cold {
    /// How many of the next `most` bytes of a file's range can be sent without waiting for the device; 0 if the lane reads
    /// the beginning of the range now. The source then becomes writable when it is there.
    pub(crate) fn ready(
        &self,
        source: &Source,
        file: &Arc<File>,
        offset: u64,
        length: u64,
        most: u64,
    ) -> u64 {
        let most = most.min(length);
        let mut fetch = self.fetch.borrow_mut();
        if let Some(last) = &*fetch {
            if !last.done.get() {
                source.clear(WRITABLE);
                return 0;
            }
            if last.inode == Arc::as_ptr(file) && (last.start..last.end).contains(&offset) {
                return most.min(last.end - offset);
            }
        }
        *fetch = None;
        let resident = resident(file, offset, most);
        if resident == 0 && most > 0 {
            *fetch = Some(Box::new(start(source, file, offset, length)));
            source.clear(WRITABLE);
        }
        resident
    }
}

/// Has the lane read the beginning of a range.
fn start(source: &Source, file: &Arc<File>, offset: u64, length: u64) -> Fetch {
    let length = length.min(FETCH);
    let (done, token) = (Rc::new(Cell::new(false)), source.token());
    let (finished, core, shared) = (Rc::clone(&done), Rc::clone(&source.core), Arc::clone(file));
    Counters::add(&core.counters.cold_reads);
    source.core.spawn(async move {
        // The lane is never closed.
        let _ = lane().run(move || read(&shared, offset, length)).await;
        finished.set(true);
        readiness::signal(&core, token, WRITABLE);
    });
    Fetch {
        inode: Arc::as_ptr(file),
        start: offset,
        end: offset + length,
        done,
    }
}

/// Brings a range into the page cache. An error is found again, and reported, by who sends the range.
fn read(file: &File, offset: u64, length: u64) {
    let mut scratch = vec![0; CHUNK];
    let mut done = 0;
    while done < length {
        let most = scratch.len().min((length - done) as usize);
        // Read ahead by a plain read, the kernel would mark a page at which the loop's `sendfile` starts the next device read.
        sys::will_need(file.as_fd(), offset + done, most as u64);
        match file.read_at(&mut scratch[..most], offset + done) {
            Ok(count @ 1..) => done += count as u64,
            _ => return,
        }
    }
}

/// How many bytes from `offset` on are in the page cache, at most `length`.
///
/// `mincore` sees every page, but only of files that the process may write; of others it claims all. `preadv2` with
/// `RWF_NOWAIT` tells the truth for one page per call, but of a page that is missing the kernel begins to read the file
/// ahead. So a range has to pass both, `mincore` first.
fn resident(file: &File, offset: u64, length: u64) -> u64 {
    let end = offset + length;
    let first = offset / PAGE;
    let pages = end.div_ceil(PAGE) - first;
    let stride = if pages <= PROBES { 1 } else { PROBES };
    let limit = sys::cached_pages(file.as_fd(), first * PAGE, pages);
    let mut page = 0;
    while page < limit {
        let position = offset.max((first + page) * PAGE);
        if !sys::is_cached(file.as_fd(), position) {
            break;
        }
        page += stride;
    }
    // A page that was skipped counts only if a later one was found.
    let found = if page >= limit {
        limit
    } else {
        page.saturating_sub(stride - 1)
    };
    ((first + found) * PAGE).min(end).saturating_sub(offset)
}
