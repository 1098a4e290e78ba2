//! Looking ahead in the input: the items that the next requests need are noted, so that one fetch brings all of them.

use kv::{Engine, Need, Payload};
use wire::Parsed;
use wire::memcached::binary::{Operation, Request, StoreVerb};

use super::{State, delete, parse, rare, store};
use crate::operations::Exchange;
use crate::waits::{FETCH_MAX, Keys};

impl State {
    /// Notes what the next requests need; returns the number of bytes of their input.
    pub(crate) fn look_ahead(&self, exchange: &Exchange<'_>, input: &[u8]) -> usize {
        let (store, warm) = (exchange.store(), &exchange.waits().warm);
        let mut at = 0;
        while warm.wanted() < FETCH_MAX
            && at < input.len()
            && let Parsed::Done(Ok(request), used) = parse(exchange, &input[at..])
        {
            store.want(&store.key(request.key), need(&request), warm);
            at = at
                .saturating_add(used)
                .saturating_add(request.value_length as usize);
        }
        at.min(input.len())
    }

    /// Begins the conditional writes of requests whose items have been fetched. A request waits for its turn if an earlier one has
    /// the same key, or if a request before it is not about keys.
    pub(crate) fn begin_writes(&self, exchange: &Exchange<'_>, input: &[u8]) {
        if self.swallow > 0 {
            return;
        }
        let mut seen = Keys::default();
        let mut at = 0;
        // Nothing is said before a request's turn.
        let mut unsaid = Vec::new();
        while at < input.len()
            && let Parsed::Done(Ok(request), used) = parse(exchange, &input[at..])
            && let Some(value) = input[at + used..].get(..request.value_length as usize)
            && is_about_a_key(&request)
        {
            if seen.is_first(request.key) && need(&request) != Need::Nothing {
                begin(exchange, &request, value, &mut unsaid);
            }
            at += used + value.len();
        }
        debug_assert!(unsaid.is_empty(), "a write that begins has no reply");
    }
}

/// Begins what a request writes.
fn begin(exchange: &Exchange<'_>, request: &Request<'_>, value: &[u8], unsaid: &mut Vec<u8>) {
    match request.operation {
        Operation::Store { .. } | Operation::Concatenate(_) => {
            store::finish(exchange, request, Payload::Parts(&[value]), unsaid);
        }
        Operation::Delete => delete(exchange, request, unsaid),
        Operation::Arithmetic { .. } => rare::arithmetic(exchange, request, unsaid),
        _ => {}
    }
}

fn is_about_a_key(request: &Request<'_>) -> bool {
    matches!(
        request.operation,
        Operation::Get { .. }
            | Operation::GetAndTouch { .. }
            | Operation::Touch { .. }
            | Operation::Store { .. }
            | Operation::Concatenate(_)
            | Operation::Delete
            | Operation::Arithmetic { .. }
    )
}

fn need(request: &Request<'_>) -> Need {
    match request.operation {
        Operation::Get { .. } | Operation::GetAndTouch { .. } => Need::Value,
        Operation::Arithmetic { .. } | Operation::Concatenate(_) => Need::Value,
        Operation::Store {
            verb: StoreVerb::Set, ..
        } if request.cas == 0 => Need::Nothing,
        Operation::Store { .. } | Operation::Touch { .. } | Operation::Delete => Need::Facts,
        _ => Need::Nothing,
    }
}
