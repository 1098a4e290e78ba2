//! A listener's share of a service: its users and their logins.
//!
//! ```text
//!   Endpoint ── users ◄── set_users (a reload)
//!      └─ logins: Weak<Login> ──revoke──► Login ──wakes──► the connection's task, which closes
//! ```
//!
//! **Invariant:** removing a user, or changing its password, revokes its logins and closes their connections, idle ones
//! included. Replacing the users and logging in exclude each other, so that no login is missed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::task::{Context, Poll, Waker};

use crate::service::Service;
use crate::users::Users;

/// A listener's share of a [`Service`]; several endpoints may share one service and have users of their own.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) service: Arc<Service>,
    users: RwLock<Option<Users>>,
    /// Set if clients must authenticate; requests read it without a lock.
    guarded: AtomicBool,
    logins: Mutex<Vec<Weak<Login>>>,
}

impl Endpoint {
    /// An endpoint of the service. Without users no client needs to authenticate.
    #[must_use]
    pub fn new(service: Arc<Service>, users: Option<Users>) -> Arc<Endpoint> {
        Arc::new(Endpoint {
            service,
            guarded: AtomicBool::new(users.is_some()),
            users: RwLock::new(users),
            logins: Mutex::default(),
        })
    }

    /// The service behind it.
    #[must_use]
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Replaces the users. Closes the connections of users who were removed or whose password changed, and returns their
    /// number; without users every connection stays.
    pub fn set_users(&self, users: Option<Users>) -> usize {
        let mut logins = self.logins();
        self.guarded.store(users.is_some(), Ordering::Relaxed);
        let mut revoked = 0;
        if let Some(users) = &users {
            logins.retain(|login| {
                let Some(login) = login.upgrade() else {
                    return false;
                };
                let stays = login.is_of(users);
                if !stays {
                    login.revoke();
                    revoked += 1;
                }
                stays
            });
        }
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = users;
        revoked
    }

    /// Returns true if clients must authenticate.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    /// A login of that user, if name and password are right.
    pub(crate) fn log_in(&self, name: &[u8], password: &[u8]) -> Option<Arc<Login>> {
        let mut logins = self.logins();
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        users.as_ref()?.check(name, password).then(|| {
            let login = Arc::new(Login {
                name: name.into(),
                password: password.into(),
                state: Mutex::default(),
            });
            if logins.len() == logins.capacity() {
                // Before the list grows, those who left make room.
                logins.retain(|login| login.strong_count() > 0);
            }
            logins.push(Arc::downgrade(&login));
            login
        })
    }

    fn logins(&self) -> MutexGuard<'_, Vec<Weak<Login>>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's login.
pub(crate) struct Login {
    name: Box<[u8]>,
    password: Box<[u8]>,
    state: Mutex<LoginState>,
}

#[derive(Debug, Default)]
struct LoginState {
    revoked: bool,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    fn is_of(&self, users: &Users) -> bool {
        users.check(&self.name, &self.password)
    }

    fn revoke(&self) {
        let mut state = self.state();
        state.revoked = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Ready when the login is revoked.
    pub(crate) fn poll_revoked(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.revoked {
            return Poll::Ready(());
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use kv::Store;

    use super::*;
    use crate::ServiceConfig;

    fn endpoint(users: &[u8]) -> Arc<Endpoint> {
        let (store, _) = Store::open("memory:?capacity=1MiB").unwrap();
        let service = Service::new(ServiceConfig::default(), Arc::new(store));
        Endpoint::new(service, Some(Users::parse(users).unwrap()))
    }

    fn is_revoked(login: &Login) -> bool {
        login
            .poll_revoked(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    #[test]
    fn logins_of_removed_users_are_revoked() {
        let endpoint = endpoint(b"ann:a\nbob:b\n");
        let [ann, bob] = [("ann", "a"), ("bob", "b")]
            .map(|(name, password)| endpoint.log_in(name.as_bytes(), password.as_bytes()).unwrap());
        assert!(endpoint.log_in(b"ann", b"b").is_none());
        assert_eq!(
            endpoint.set_users(Some(Users::parse(b"ann:a\nbob:new\n").unwrap())),
            1
        );
        assert!(!is_revoked(&ann) && is_revoked(&bob));
        assert_eq!(endpoint.set_users(None), 0);
        assert!(!endpoint.is_guarded() && !is_revoked(&ann));
        assert_eq!(endpoint.set_users(Some(Users::parse(b"cid:c\n").unwrap())), 1);
        assert!(is_revoked(&ann));
    }

    #[test]
    fn logins_that_ended_are_forgotten() {
        let endpoint = endpoint(b"ann:a\n");
        (0..1000).for_each(|_| drop(endpoint.log_in(b"ann", b"a").unwrap()));
        assert!(endpoint.logins().len() < 64);
    }
}
