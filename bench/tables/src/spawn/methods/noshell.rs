//! `libnoshell`'s own functions, loaded at run time so that `--noshell` can name any copy of the library.
#![allow(unsafe_code)]

use super::libc_calls::{closed, read_stream};
use super::{Context, last_error};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// `struct popen_noshell_pass_to_pclose`: the stream, and space for its other members.
#[repr(C, align(16))]
struct Passed([usize; 32]);

type Popen = unsafe extern "C" fn(
    *const c_char,
    *const *const c_char,
    *const c_char,
    *mut Passed,
    c_int,
) -> *mut libc::FILE;
type Pclose = unsafe extern "C" fn(*mut Passed) -> c_int;
type Spawn = unsafe extern "C" fn(*const *const c_char, *mut c_void) -> c_int;
type Wait = unsafe extern "C" fn(c_int) -> c_int;
type System = unsafe extern "C" fn(*const *const c_char) -> c_int;

/// The functions of an opened library, which is never closed.
pub(super) struct Library {
    popen: Popen,
    pclose: Pclose,
    system: System,
    spawn: Spawn,
    wait: Wait,
}

impl Library {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let name =
            CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path with a NUL byte".to_owned())?;
        // SAFETY: the library's constructors have no effect on this program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} cannot be loaded", path.display()));
        }
        let symbol = |name: &CStr| -> Result<*mut c_void, String> {
            // SAFETY: the handle is open and stays open.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() {
                return Err(format!("{} has no {}", path.display(), name.to_string_lossy()));
            }
            Ok(found)
        };
        // SAFETY: these are the signatures of noshell.h.
        unsafe {
            Ok(Self {
                popen: std::mem::transmute::<*mut c_void, Popen>(symbol(c"popen_noshell")?),
                pclose: std::mem::transmute::<*mut c_void, Pclose>(symbol(c"pclose_noshell")?),
                system: std::mem::transmute::<*mut c_void, System>(symbol(c"system_noshell")?),
                spawn: std::mem::transmute::<*mut c_void, Spawn>(symbol(c"spawn_noshell")?),
                wait: std::mem::transmute::<*mut c_void, Wait>(symbol(c"wait_noshell")?),
            })
        }
    }
}

/// `popen_noshell` with an argument vector, its stream read to the end, `pclose_noshell`.
pub(super) fn popen(context: &Context) -> Result<Duration, String> {
    let library = context.library.as_ref().map_err(Clone::clone)?;
    let mut passed = Passed([0; 32]);
    let argv = context.argv();
    let began = Instant::now();
    // SAFETY: the arguments are as noshell.h requires and outlive the call.
    let stream = unsafe {
        (library.popen)(
            context.path.as_ptr(),
            argv.as_ptr(),
            c"r".as_ptr(),
            &raw mut passed,
            0,
        )
    };
    let blocked = began.elapsed();
    if stream.is_null() {
        return Err(last_error("popen_noshell"));
    }
    read_stream(stream)?;
    // SAFETY: popen_noshell filled it, and it is closed once.
    closed(unsafe { (library.pclose)(&raw mut passed) }, "pclose_noshell")?;
    Ok(blocked)
}

/// `system_noshell` with an argument vector.
pub(super) fn system(context: &Context) -> Result<Duration, String> {
    let library = context.library.as_ref().map_err(Clone::clone)?;
    let argv = context.argv();
    let began = Instant::now();
    // SAFETY: the argument vector ends in a null pointer and outlives the call.
    let status = unsafe { (library.system)(argv.as_ptr()) };
    let blocked = began.elapsed();
    closed(status, "system_noshell")?;
    Ok(blocked)
}

/// `spawn_noshell` with an argument vector and no options, `wait_noshell`.
pub(super) fn spawn(context: &Context) -> Result<Duration, String> {
    let library = context.library.as_ref().map_err(Clone::clone)?;
    let argv = context.argv();
    let began = Instant::now();
    // SAFETY: the argument vector ends in a null pointer and outlives the call; no options may be null.
    let pidfd = unsafe { (library.spawn)(argv.as_ptr(), std::ptr::null_mut()) };
    let blocked = began.elapsed();
    if pidfd < 0 {
        return Err(last_error("spawn_noshell"));
    }
    // SAFETY: spawn_noshell returned the pidfd, and it is waited for once.
    closed(unsafe { (library.wait)(pidfd) }, "wait_noshell")?;
    Ok(blocked)
}
