//! Gives up root once everything that needs it is done.
//!
//! The C library's calls are used, not the kernel's: they change every thread of the process, and the loops are
//! threads that already run.
//!
//! **Invariant**: after [`become_user`] succeeded, no call can bring the old identity back.

use nix::unistd::{Gid, Uid, User, getresgid, getresuid, initgroups, setgid, setuid};

/// Why the process is still who it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no user {0:?}; create it (useradd --system {0}) or name another")]
    Unknown(String),
    #[error(
        "cannot become {user:?} without being root; start as root, or leave user out and let systemd choose it"
    )]
    NotRoot { user: String },
    #[error(
        "cannot become {user:?}: {call} failed ({source}); the daemon needs the capabilities SETUID and SETGID for that"
    )]
    Refused {
        user: String,
        call: &'static str,
        source: nix::Error,
    },
    #[error(
        "became {user:?}, but could become root again; this kernel or container keeps privileges, leave user out"
    )]
    Kept { user: String },
}

/// Looks the user up.
///
/// # Errors
/// [`Error::Unknown`].
pub(crate) fn find(name: &str) -> Result<User, Error> {
    let found = User::from_name(name).ok().flatten();
    found.ok_or_else(|| Error::Unknown(name.to_owned()))
}

/// Becomes the user for good: its groups, its group, its id.
pub(crate) fn become_user(name: &str) -> Result<(), Error> {
    let found = find(name)?;
    if is(found.uid, found.gid) {
        return Ok(());
    }
    if !Uid::effective().is_root() {
        return Err(Error::NotRoot {
            user: name.to_owned(),
        });
    }
    let refused = |call| {
        move |source| Error::Refused {
            user: name.to_owned(),
            call,
            source,
        }
    };
    let c_name = std::ffi::CString::new(name).map_err(|_| Error::Unknown(name.to_owned()))?;
    initgroups(&c_name, found.gid).map_err(refused("initgroups"))?;
    setgid(found.gid).map_err(refused("setgid"))?;
    setuid(found.uid).map_err(refused("setuid"))?;
    let returned = !found.uid.is_root() && setuid(Uid::from_raw(0)).is_ok();
    if returned || !is(found.uid, found.gid) {
        return Err(Error::Kept {
            user: name.to_owned(),
        });
    }
    Ok(())
}

/// Whether real, effective and saved ids are all these.
fn is(uid: Uid, gid: Gid) -> bool {
    let users = getresuid().is_ok_and(|ids| [ids.real, ids.effective, ids.saved].iter().all(|id| *id == uid));
    let groups =
        getresgid().is_ok_and(|ids| [ids.real, ids.effective, ids.saved].iter().all(|id| *id == gid));
    users && groups
}

#[cfg(test)]
mod tests {
    use super::{Error, become_user};
    use nix::unistd::{Uid, User};

    #[test]
    fn an_unknown_user_is_named() {
        let error = become_user("no-such-user-here").expect_err("there is no such user");
        assert!(
            matches!(&error, Error::Unknown(name) if name == "no-such-user-here"),
            "{error}"
        );
    }

    #[test]
    fn becoming_oneself_needs_nothing() {
        let me = User::from_uid(Uid::current())
            .expect("passwd can be read")
            .expect("this user has a name");
        become_user(&me.name).expect("nothing changes");
    }
}
