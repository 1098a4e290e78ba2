//! A filter that has the kernel refuse system calls, for good.

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const HAS_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

/// Where the number of the call is, and the lower half of its first argument.
const NUMBER: u32 = 0;
const FIRST_ARGUMENT: u32 = 16;

fn stage(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    let code = code as u16;
    libc::sock_filter { code, jt, jf, k }
}

/// Has each of the calls fail with an error from now on, in this process and all that come of it.
pub(crate) fn refuse(calls: &[libc::c_long], errno: i32) {
    let mut filter = vec![stage(LOAD, 0, 0, NUMBER)];
    for (index, call) in calls.iter().enumerate() {
        let to_refusal = (calls.len() - index) as u8;
        filter.push(stage(EQUAL, to_refusal, 0, *call as u32));
    }
    filter.push(stage(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(stage(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    install(filter);
}

/// The same for a call whose first argument has a flag.
pub(crate) fn refuse_flag(call: libc::c_long, flag: i32, errno: i32) {
    install(vec![
        stage(LOAD, 0, 0, NUMBER),
        stage(EQUAL, 0, 3, call as u32),
        stage(LOAD, 0, 0, FIRST_ARGUMENT),
        stage(HAS_BIT, 0, 1, flag as u32),
        stage(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        stage(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]);
}

fn install(mut filter: Vec<libc::sock_filter>) {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program lives through the calls, and the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}
