//! Classic and meta command lines.

use crate::vectors::{Random, vectors};
use crate::{describe, properties};
use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::text::{self, Cause, Command, Keys, LINE_LENGTH_MAX};

const CLASSIC: &str = include_str!("../vectors/memcached-text.txt");
const META: &str = include_str!("../vectors/memcached-meta.txt");

fn all() -> Vec<(Vec<u8>, String)> {
    [vectors(CLASSIC), vectors(META)].concat()
}

#[test]
fn lines_match_the_vectors() {
    for (line, expected) in all() {
        let Parsed::Done(result, used) = text::parse(&line) else {
            panic!("{} is incomplete", describe::escaped(&line));
        };
        assert_eq!(describe::text(&result), expected, "{}", describe::escaped(&line));
        assert_eq!(used, line.len(), "{}", describe::escaped(&line));
    }
}

#[test]
fn input_after_a_line_does_not_matter() {
    for (line, expected) in all() {
        for after in [b"\r\n".as_slice(), b"get x\r\n", b"\0\xff "] {
            let input = [line.as_slice(), after].concat();
            let Parsed::Done(result, used) = text::parse(&input) else {
                panic!()
            };
            assert_eq!((describe::text(&result), used), (expected.clone(), line.len()));
        }
    }
}

#[test]
fn every_truncation_asks_for_more() {
    for (line, _) in all()
        .into_iter()
        .filter(|(line, _)| line.len() <= LINE_LENGTH_MAX)
    {
        for end in 0..line.len() {
            assert_eq!(text::parse(&line[..end]), Parsed::More(end + 1));
        }
    }
}

#[test]
fn any_stream_reads_the_same_byte_by_byte() {
    let seeds: Vec<Vec<u8>> = all()
        .into_iter()
        .map(|(line, _)| line)
        .filter(|line| line.len() < 600)
        .collect();
    seeds.iter().for_each(|line| properties::text_stream(line));
    let mut random = Random::new(1);
    for _ in 0..4_000 {
        properties::text_stream(&random.mutated(&seeds));
    }
}

#[test]
fn credentials_read_the_same_byte_by_byte() {
    let seeds = [
        b"set x 0 0 7\r\nfoo bar\r\n".to_vec(),
        b"set x 0 0 0\r\n\r\n".to_vec(),
        b"get x\r\n".to_vec(),
    ];
    let mut random = Random::new(2);
    for _ in 0..2_000 {
        properties::authentication(&random.mutated(&seeds));
    }
}

/// A multi-get of any length is read in pieces, and its keys are those of the line.
#[test]
fn a_get_longer_than_any_buffer_is_read_in_pieces() {
    let expected: Vec<String> = (0..5000).map(|at| format!("key-{at:0>40}")).collect();
    let line = format!("gets {}\r\n", expected.join(" "));
    for window in [LINE_LENGTH_MAX + 1, 4096, 65_536] {
        let mut found = Vec::new();
        let mut collect =
            |keys: Keys<'_>| found.extend(keys.map(|key| String::from_utf8_lossy(key).into_owned()));
        let view = |start: usize| &line.as_bytes()[start..line.len().min(start + window)];
        let Parsed::Done(Ok(Command::Get(get)), mut at) = text::parse(view(0)) else {
            panic!()
        };
        assert!(!get.complete);
        collect(get.keys);
        loop {
            let Parsed::Done(Ok(run), used) = text::parse_keys(view(at)) else {
                panic!()
            };
            at += used;
            collect(run.keys);
            if run.complete {
                break;
            }
        }
        assert_eq!(at, line.len());
        assert_eq!(found, expected);
    }
}

#[test]
fn an_endless_key_is_refused_and_its_line_skipped() {
    let line = [b"get a ".as_slice(), &[b'k'; 3000]].concat();
    let Parsed::Done(Err(error), used) = text::parse(&line) else {
        panic!()
    };
    assert_eq!(
        (error.cause(), error.fatal(), error.skip_line(), used),
        (Cause::Format, false, true, line.len())
    );
    assert_eq!(text::skip_line(b"kkkk"), (4, false));
    assert_eq!(text::skip_line(b"kk\r\nversion\r\n"), (4, true));

    let Parsed::Done(Err(error), _) = text::parse_keys(&[b'k'; 252]) else {
        panic!()
    };
    assert!(error.skip_line());
    assert_eq!(text::parse_keys(&[b'k'; 251]), Parsed::More(252));
}

#[test]
fn any_other_endless_line_closes_without_a_word() {
    for start in [b"set ".as_slice(), b"mg ", b"getx ", b"  ", b""] {
        let line = [start, &[b'k'; 3000]].concat();
        assert_eq!(
            text::parse(&line[..LINE_LENGTH_MAX]),
            Parsed::More(LINE_LENGTH_MAX + 1)
        );
        let Parsed::Done(Err(error), _) = text::parse(&line) else {
            panic!()
        };
        assert_eq!(
            (error.cause(), error.fatal(), error.reply()),
            (Cause::LineTooLong, true, b"".as_slice())
        );
    }
}

#[test]
fn blocks_may_be_larger_where_items_may() {
    let length = |line: &[u8], max| match text::parse_within(line, max) {
        Parsed::Done(Ok(Command::Store(store)), _) => Some(store.length),
        Parsed::Done(Ok(Command::Meta(meta)), _) => Some(meta.length),
        _ => None,
    };
    for line in [b"set k 0 0 3000000000\r\n".as_slice(), b"ms k 3000000000\r\n"] {
        assert_eq!(length(line, text::LENGTH_MAX), None);
        assert_eq!(length(line, u64::MAX), Some(3_000_000_000));
    }
    // Beyond 32 bits a binary response could not tell of it.
    assert_eq!(length(b"set k 0 0 4294967295\r\n", u64::MAX), None);
    assert_eq!(length(b"set k 0 0 100\r\n", 99), None);
    assert_eq!(length(b"ms k 100\r\n", 99), None);
}

#[test]
fn the_first_key_is_known_to_be_alone() {
    let single = |line: &[u8]| match text::parse(line) {
        Parsed::Done(Ok(Command::Get(get)), _) => get.keys.single().map(<[u8]>::to_vec),
        _ => None,
    };
    assert_eq!(single(b"get a\r\n"), Some(b"a".to_vec()));
    assert_eq!(single(b"gat 0  a  \r\n"), Some(b"a".to_vec()));
    assert_eq!(single(b"get a b\r\n"), None);
}
