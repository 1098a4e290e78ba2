//! A filter that has the kernel refuse system calls, for good.

/// Has each of the calls fail with an error from now on, in this process and all that come of it.
pub(crate) fn refuse(calls: &[libc::c_long], errno: i32) {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = vec![step(load, 0, 0, 0)];
    for (index, call) in calls.iter().enumerate() {
        let to_refusal = (calls.len() - index) as u8;
        filter.push(step(equal, to_refusal, 0, *call as u32));
    }
    filter.push(step(answer, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
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
