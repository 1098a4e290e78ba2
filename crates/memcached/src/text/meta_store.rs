//! `ms`.

use io::Output;
use kv::{Engine, Payload, StoreError};
use wire::memcached::meta::{self, Meta, Status};
use wire::memcached::text;

use super::meta::key_of;
use super::store::split;
use super::{State, fail, is_large, upload};
use crate::operations::Exchange;
use crate::operations::write::{Mode, Write, Written};
use crate::progress::{Next, Progress};

impl State {
    /// Executes `ms`, whose line took `used` bytes, if its value is there.
    pub(super) fn meta_store(
        &mut self,
        exchange: &Exchange<'_>,
        command: &Meta<'_>,
        input: &[u8],
        used: usize,
        out: &mut Output,
    ) -> Progress {
        let block = &input[used..];
        if let Some((value, end)) = split(block, command.length) {
            let parts = [value];
            finish(
                exchange,
                command,
                Payload::Parts(&parts),
                end == b"\r\n",
                out.buffer(),
            );
            return Progress::Done(used + value.len() + end.len());
        }
        let mut scratch = None;
        let key = key_of(command, &mut scratch);
        if let Some(written) = exchange.refuse(key, mode(command), true, command.length) {
            refuse(out.buffer(), written);
            self.swallow(command.length + 2);
            return Progress::Stop(used, Next::Exchange);
        }
        match is_large(exchange, command.length) {
            true => upload(&input[..used], command.length, used),
            false => Progress::Wait(used + command.length as usize + 2),
        }
    }
}

/// Stores a value that is there.
pub(super) fn finish(
    exchange: &Exchange<'_>,
    command: &Meta<'_>,
    value: Payload<'_>,
    whole: bool,
    out: &mut Vec<u8>,
) {
    if !whole {
        // Errors are told even to those who asked for quiet.
        return out.extend_from_slice(text::BAD_DATA_CHUNK);
    }
    let mut scratch = None;
    let key = exchange.store().key(key_of(command, &mut scratch));
    let mode = mode(command);
    let write = Write {
        flags: command.client_flags(),
        expiry: exchange.expiry(command.exptime().unwrap_or(0)),
        compare: command.cas().unwrap_or(0),
        // Memcached takes 0 as no wish, here and not in the other commands.
        cas: command.cas_new().filter(|cas| *cas != 0),
        allow_stale: command.has(b'I') && mode == Mode::Cas,
        vivify: command.vivify().map(|exptime| exchange.expiry(exptime)),
        forget: true,
        ..Write::new(mode, value)
    };
    let length = value.len();
    match exchange.write(&key, &write) {
        Written::Stored { .. } if command.quiet() => {}
        Written::Stored { cas, length } => reply(command, Status::Hd, key.bytes(), cas, length, out),
        Written::NotStored => reply(command, Status::Ns, key.bytes(), 0, length, out),
        Written::Exists => reply(command, Status::Ex, key.bytes(), 0, length, out),
        Written::NotFound => reply(command, Status::Nf, key.bytes(), 0, length, out),
        written => refuse(out, written),
    }
}

/// Answers a command whose value the store has no memory to receive.
pub(super) fn no_room(exchange: &Exchange<'_>, command: &Meta<'_>, error: StoreError, out: &mut Vec<u8>) {
    let mut scratch = None;
    let key = exchange.store().key(key_of(command, &mut scratch));
    refuse(out, exchange.refused_at_start(&key, true, error.into()));
}

/// A cas makes a set or a replace conditional; the other modes compare it by themselves.
fn mode(command: &Meta<'_>) -> Mode {
    match command.mode {
        meta::Mode::Set | meta::Mode::Replace if command.has(b'C') => Mode::Cas,
        meta::Mode::Set => Mode::Set,
        meta::Mode::Add => Mode::Add,
        meta::Mode::Append => Mode::Append,
        meta::Mode::Prepend => Mode::Prepend,
        meta::Mode::Replace => Mode::Replace,
    }
}

fn reply(command: &Meta<'_>, status: Status, key: &[u8], cas: u64, length: u64, out: &mut Vec<u8>) {
    meta::status(out, status);
    for flag in command.flags() {
        match flag.name {
            b'O' => meta::token(out, flag.token),
            b'k' => meta::key(out, key, command.key_binary()),
            b'c' => meta::number(out, b'c', cas),
            b's' => meta::number(out, b's', length),
            _ => {}
        }
    }
    meta::end(out);
}

/// Appends why a value was not stored; errors are told even to those who asked for quiet.
fn refuse(out: &mut Vec<u8>, written: Written) {
    match written {
        Written::TooLarge => out.extend_from_slice(text::TOO_LARGE),
        Written::Failed(failure) => fail(out, false, failure),
        _ => out.extend_from_slice(text::OUT_OF_MEMORY),
    }
}
