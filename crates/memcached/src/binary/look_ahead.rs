//! What the requests in the input will need, noted so that all of it is fetched at once.

use kv::{Engine, Need};
use wire::Parsed;
use wire::memcached::binary::{Operation, Request, StoreVerb};

use super::{State, parse};
use crate::operations::Exchange;
use crate::waits::FETCH_MAX;

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
