//! Authentication: SASL with the one mechanism PLAIN.

use std::sync::Arc;

use io::Output;
use wire::memcached::binary::{self, Request, Sasl, Status};

use super::{State, failure};
use crate::endpoint::Login;
use crate::operations::Exchange;
use crate::progress::{Next, Progress};

const MECHANISM: &[u8] = b"PLAIN";

/// The longest message of a client.
const MESSAGE_LENGTH_MAX: usize = 16 * 1024;

impl State {
    pub(super) fn sasl(
        &mut self,
        exchange: &Exchange<'_>,
        request: &Request<'_>,
        step: Sasl,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        let length = request.value_length as usize;
        let out = out.buffer();
        let refusal = if !exchange.endpoint.is_guarded() {
            Some(Status::UnknownCommand)
        } else {
            (length > MESSAGE_LENGTH_MAX).then_some(Status::OutOfMemory)
        };
        if let Some(status) = refusal {
            failure(request, status, out);
            self.swallow = length as u64;
            return Progress::Done(used);
        }
        let Some(message) = input[used..].get(..length) else {
            return Progress::Wait(used + length);
        };
        match step {
            Sasl::ListMechanisms => reply(request, MECHANISM, out),
            Sasl::Authenticate => {
                // A new attempt ends the old login until it succeeds.
                let login = authenticate(exchange, request.key, message);
                self.authenticated = login.is_some();
                match login {
                    Some(login) => {
                        reply(request, b"Authenticated", out);
                        return Progress::Stop(used + length, Next::LoggedIn(login));
                    }
                    None => failure(request, Status::AuthenticationFailed, out),
                }
            }
            // PLAIN has one step only.
            Sasl::Step => {
                exchange.counters.auth_cmds.add(1);
                exchange.counters.auth_errors.add(1);
                failure(request, Status::AuthenticationFailed, out);
            }
        }
        Progress::Done(used + length)
    }
}

fn reply(request: &Request<'_>, text: &[u8], out: &mut Vec<u8>) {
    binary::message(out, request.opcode, request.opaque, 0, Status::Success, &[], text);
}

/// The message of PLAIN is an identity to act for, a name and a password, with zeros between (RFC 4616).
fn authenticate(exchange: &Exchange<'_>, mechanism: &[u8], message: &[u8]) -> Option<Arc<Login>> {
    let mut parts = message.splitn(3, |&byte| byte == 0).skip(1);
    let (name, password) = (parts.next(), parts.next());
    match (mechanism == MECHANISM, name, password) {
        (true, Some(name), Some(password)) => exchange.log_in(name, password),
        _ => exchange.log_in(b"", b""),
    }
}
