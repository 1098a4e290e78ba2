//! The client of one connection to a server: it writes requests and checks replies.

use super::dialect::{self, Head};
use super::items::Items;
use super::{Mix, Protocol};
use crate::client::{self, Stage, Taken, Workload};
use crate::random::{Random, Ranks};
use crate::tally::Tally;
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest number of sets in one write while a server is filled, and the number of bytes that ends such a write.
const FILL_BATCH: usize = 64;
const FILL_BYTES: usize = 64 * 1024;
/// 2^64 divided by the golden ratio, which is far from every short cycle.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The load of a whole run, shared by all connections.
#[derive(Debug)]
pub(crate) struct Load {
    items: Items,
    ranks: Ranks,
    /// The distance from the item of one rank to the item of the next.
    stride: u64,
    mix: Mix,
}

/// The state of one connection.
pub(crate) struct Client {
    load: Arc<Load>,
    protocol: Protocol,
    random: Random,
    stage: Stage,
    /// The next item that this connection stores while filling, and the distance between two of them.
    fill: u64,
    count: u64,
    /// Requests without a reply, oldest first.
    pending: VecDeque<Pending>,
    /// Items whose get missed, to be set with the next write.
    missed: VecDeque<u64>,
    /// The incomplete value.
    value: Option<Value>,
    /// Scratch: the items of a get, and keys as they are written.
    wanted: Vec<u64>,
    keys: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    /// The item; of a get of many, the first.
    item: u64,
    /// The number of keys of a get without a reply so far; `None` for a set.
    unseen: Option<usize>,
}

/// The rest of an incomplete value and its frame.
#[derive(Debug, Clone, Copy)]
struct Value {
    item: Option<u64>,
    offset: u64,
    length: u64,
    frame: usize,
    last: bool,
    wrong: bool,
}

impl Workload for Arc<Load> {
    type Client = Client;

    fn client(&self, server: usize, index: usize, count: usize) -> Client {
        Client {
            load: self.clone(),
            protocol: match server {
                0 => self.mix.protocol,
                _ => self.mix.vs_protocol,
            },
            random: Random::new(crate::random::mix(
                self.mix.seed ^ (index as u64).wrapping_mul(STRIDE),
            )),
            stage: Stage::Run,
            fill: index as u64,
            count: count as u64,
            pending: VecDeque::new(),
            missed: VecDeque::new(),
            value: None,
            wanted: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl Load {
    pub(crate) fn new(items: Items, skew: f64, mix: Mix) -> Load {
        let (ranks, stride) = (Ranks::new(items.count(), skew), stride(items.count()));
        Load {
            items,
            ranks,
            stride,
            mix,
        }
    }

    /// The next item. Ranks are spread over the items, so frequent keys are not adjacent.
    fn pick(&self, random: &mut Random) -> u64 {
        let rank = self.ranks.sample(random);
        (u128::from(rank) * u128::from(self.stride) % u128::from(self.items.count())) as u64
    }
}

/// A stride that visits each number below `count` once, in no visible order.
fn stride(count: u64) -> u64 {
    (STRIDE % count..)
        .find(|stride| coprime(*stride, count))
        .unwrap_or(1)
}

fn coprime(mut one: u64, mut other: u64) -> bool {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one == 1
}

impl client::Client for Client {
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    fn request(&mut self, out: &mut Vec<u8>) -> usize {
        match self.stage {
            Stage::Fill => self.store_next(out),
            Stage::Run => self.mixed(out),
        }
        self.pending.len()
    }

    fn reply(&mut self, input: &[u8], tally: &mut Tally) -> Result<Taken, String> {
        let mut taken = Taken::default();
        loop {
            if self.value.is_some() && !self.pass_value(input, &mut taken, tally) {
                return Ok(taken);
            }
            let Some((head, used)) = dialect::head(self.protocol, &input[taken.bytes..])? else {
                return Ok(taken);
            };
            taken.bytes += used;
            taken.requests += usize::from(self.head(head, tally)?);
        }
    }
}

impl Client {
    /// Appends sets of the next items of this connection's share.
    fn store_next(&mut self, out: &mut Vec<u8>) {
        while self.fill < self.load.items.count() && self.pending.len() < FILL_BATCH && out.len() < FILL_BYTES
        {
            self.set(self.fill, out);
            self.fill += self.count;
        }
    }

    /// Appends one write of the load: sets of missed items, then the mixture of gets and sets.
    fn mixed(&mut self, out: &mut Vec<u8>) {
        while let Some(item) = self.missed.pop_front() {
            self.set(item, out);
        }
        for _ in 0..self.load.mix.depth {
            if self.random.below(100) < u64::from(self.load.mix.gets) {
                self.get(out);
            } else {
                let item = self.load.pick(&mut self.random);
                self.set(item, out);
            }
        }
    }

    fn get(&mut self, out: &mut Vec<u8>) {
        let Client {
            load,
            protocol,
            random,
            wanted,
            keys,
            pending,
            ..
        } = self;
        wanted.clear();
        wanted.extend((0..load.mix.multiget).map(|_| load.pick(random)));
        dialect::get(*protocol, &load.items, wanted, keys, out);
        pending.push_back(Pending {
            item: wanted[0],
            unseen: Some(wanted.len()),
        });
    }

    fn set(&mut self, item: u64, out: &mut Vec<u8>) {
        dialect::set(self.protocol, &self.load.items, item, &mut self.keys, out);
        self.pending.push_back(Pending { item, unseen: None });
    }

    /// Skips or checks the available part of a value. Returns true if the value is complete.
    fn pass_value(&mut self, input: &[u8], taken: &mut Taken, tally: &mut Tally) -> bool {
        let Some(value) = &mut self.value else { return true };
        let rest = &input[taken.bytes..];
        let body = (value.length - value.offset).min(rest.len() as u64) as usize;
        if let (true, Some(item)) = (self.load.mix.verify, value.item) {
            value.wrong |= !self
                .load
                .items
                .is_value(item, value.offset as usize, &rest[..body]);
        }
        value.offset += body as u64;
        let frame = (rest.len() - body).min(value.frame);
        value.frame -= frame;
        taken.bytes += body + frame;
        if value.offset < value.length || value.frame > 0 {
            return false;
        }
        let Value { last, wrong, .. } = *value;
        self.value = None;
        tally.hits += 1;
        tally.wrong += u64::from(wrong);
        if let Some(Pending {
            unseen: Some(unseen), ..
        }) = self.pending.front_mut()
        {
            *unseen = unseen.saturating_sub(1);
        }
        if last {
            self.finish(tally);
            taken.requests += 1;
        }
        true
    }

    /// Counts a head. Returns true if it ends a request.
    fn head(&mut self, head: Head<'_>, tally: &mut Tally) -> Result<bool, String> {
        let Some(oldest) = self.pending.front().copied() else {
            return Err(format!("a reply without a request: {head:?}"));
        };
        match (head, oldest.unseen) {
            (
                Head::Value {
                    key,
                    length,
                    frame,
                    last,
                },
                Some(_),
            ) => {
                let verify = self.load.mix.verify;
                let item = match key {
                    Some(key) if verify => self.load.items.of_key(key),
                    _ => Some(oldest.item),
                };
                let wrong = verify && (item.is_none() || length != self.load.items.value_size() as u64);
                self.value = Some(Value {
                    item,
                    offset: 0,
                    length,
                    frame,
                    last,
                    wrong,
                });
                return Ok(false);
            }
            (Head::End, Some(_)) | (Head::Stored, None) => self.finish(tally),
            (Head::Failed(text), _) => {
                tally.error(text);
                self.pending.pop_front();
            }
            (head, _) => return Err(format!("the answer to another request: {head:?}")),
        }
        Ok(true)
    }

    /// The oldest request is answered.
    fn finish(&mut self, tally: &mut Tally) {
        let Some(Pending { item, unseen }) = self.pending.pop_front() else {
            return;
        };
        let Some(unseen) = unseen else {
            tally.keys += 1;
            return;
        };
        tally.keys += self.load.mix.multiget as u64;
        tally.misses += unseen as u64;
        if unseen > 0 && self.load.mix.fill_on_miss {
            self.missed.push_back(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client as _;

    fn client(change: impl FnOnce(&mut Mix)) -> Client {
        let mut mix = Mix {
            protocol: Protocol::Text,
            vs_protocol: Protocol::Resp,
            depth: 1,
            gets: 100,
            multiget: 1,
            fill_on_miss: false,
            verify: true,
            seed: 1,
        };
        change(&mut mix);
        let items = Items::new(10, 12, 20).expect("fits");
        Arc::new(Load::new(items, 0.0, mix)).client(0, 0, 1)
    }

    /// The text reply of a server that has every item.
    fn answer(client: &Client, request: &[u8]) -> Vec<u8> {
        let mut reply = Vec::new();
        for key in String::from_utf8_lossy(request).trim_end().split(' ').skip(1) {
            let item = client.load.items.of_key(key.as_bytes()).expect("a key of ours");
            reply.extend_from_slice(format!("VALUE {key} 0 20\r\n").as_bytes());
            client.load.items.value(item, &mut reply);
            reply.extend_from_slice(b"\r\n");
        }
        reply.extend_from_slice(b"END\r\n");
        reply
    }

    /// Feeds a reply in pieces, as a connection does: unused bytes are fed again.
    fn feed(client: &mut Client, reply: &[u8], piece: usize, tally: &mut Tally) -> usize {
        let (mut held, mut requests) = (Vec::new(), 0);
        for piece in reply.chunks(piece) {
            held.extend_from_slice(piece);
            let taken = client.reply(&held, tally).expect("a reply");
            held.drain(..taken.bytes);
            requests += taken.requests;
        }
        assert!(held.is_empty());
        requests
    }

    #[test]
    fn replies_in_any_pieces_count_the_same() {
        for piece in [1, 2, 3, 7, 1000] {
            let mut client = client(|mix| mix.multiget = 3);
            let (mut out, mut tally) = (Vec::new(), Tally::new());
            assert_eq!(client.request(&mut out), 1);
            let reply = answer(&client, &out);
            assert_eq!(feed(&mut client, &reply, piece, &mut tally), 1);
            assert_eq!((tally.hits, tally.misses, tally.keys, tally.wrong), (3, 0, 3, 0));
        }
    }

    #[test]
    fn a_wrong_value_is_noticed() {
        let mut client = client(|_| ());
        let (mut out, mut tally) = (Vec::new(), Tally::new());
        client.request(&mut out);
        let mut reply = answer(&client, &out);
        let at = reply.len() - 10;
        reply[at] ^= 1;
        feed(&mut client, &reply, 5, &mut tally);
        assert_eq!(tally.wrong, 1);
        out.clear();
        client.request(&mut out);
        feed(
            &mut client,
            b"VALUE hi0000000001 0 2\r\nxx\r\nEND\r\n",
            100,
            &mut tally,
        );
        assert_eq!(tally.wrong, 2);
    }

    #[test]
    fn a_miss_is_set_with_the_next_write() {
        let mut client = client(|mix| mix.fill_on_miss = true);
        let (mut out, mut tally) = (Vec::new(), Tally::new());
        client.request(&mut out);
        let key = out[4..16].to_vec();
        assert_eq!(feed(&mut client, b"END\r\n", 100, &mut tally), 1);
        assert_eq!((tally.hits, tally.misses), (0, 1));
        out.clear();
        assert_eq!(client.request(&mut out), 2);
        assert_eq!((&out[..4], &out[4..16]), (&b"set "[..], &key[..]));
        assert_eq!(feed(&mut client, b"STORED\r\nEND\r\n", 100, &mut tally), 2);
    }

    #[test]
    fn filling_stores_every_item_once() {
        let load = client(|_| ()).load;
        let mut seen = Vec::new();
        for index in 0..3 {
            let mut client = load.client(0, index, 3);
            client.enter(Stage::Fill);
            let (mut out, mut tally) = (Vec::new(), Tally::new());
            let count = client.request(&mut out);
            let text = String::from_utf8_lossy(&out).into_owned();
            seen.extend(
                text.split("\r\n")
                    .filter(|line| line.starts_with("set "))
                    .map(|line| line[4..16].to_string()),
            );
            feed(&mut client, &b"STORED\r\n".repeat(count), 100, &mut tally);
            assert_eq!(client.request(&mut out), 0, "nothing left");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 10);
    }

    #[test]
    fn errors_are_counted_and_nonsense_ends_the_run() {
        let mut client = client(|_| ());
        let (mut out, mut tally) = (Vec::new(), Tally::new());
        client.request(&mut out);
        assert_eq!(feed(&mut client, b"SERVER_ERROR busy\r\n", 100, &mut tally), 1);
        assert_eq!(
            (tally.errors, tally.first_error.as_deref()),
            (1, Some("SERVER_ERROR busy"))
        );
        client.request(&mut out);
        assert!(
            client.reply(b"STORED\r\n", &mut tally).is_err(),
            "no get is answered so"
        );
        assert!(client.reply(b"HTTP/1.1 400\r\n", &mut tally).is_err());
    }

    #[test]
    fn spreading_ranks_keeps_them_apart() {
        for count in [1, 2, 10, 97, 1000] {
            let stride = stride(count);
            let mut spread: Vec<u64> = (0..count).map(|rank| rank * stride % count).collect();
            spread.sort_unstable();
            assert!(spread.iter().copied().eq(0..count), "{count}");
        }
    }
}
