//! Garbage, the same in every run: random bytes, and almost valid requests.

use hikyaku_tests::{Daemon, Frame, GROWTH_MAX, MIB, Random};

/// Almost valid text: words of the protocol in random order.
fn nearly_text(random: &mut Random) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "get",
        "gets",
        "gat",
        "set",
        "add",
        "replace",
        "append",
        "prepend",
        "cas",
        "incr",
        "decr",
        "delete",
        "touch",
        "flush_all",
        "verbosity",
        "version",
        "stats",
        "items",
        "mg",
        "ms",
        "md",
        "ma",
        "me",
        "mn",
        "k",
        "key",
        "0",
        "1",
        "-1",
        "5",
        "100",
        "1000",
        "4294967296",
        "18446744073709551615",
        "99999999999999999999",
        "noreply",
        "v",
        "f",
        "t",
        "T0",
        "T-1",
        "N5",
        "R30",
        "I",
        "q",
        "k",
        "b",
        "Oabc",
        "C1",
        "E9",
        "MA",
        "MI",
        "D7",
        "S2",
        "Zm9v",
        "\x01",
        "\0",
        "\u{e9}",
        "",
    ];
    let mut out = Vec::new();
    for _ in 0..random.below(12) {
        out.extend(random.pick(WORDS).as_bytes());
        out.extend(random.pick(&[" ", " ", " ", " ", "  ", "\t", ""]).as_bytes());
    }
    out.extend(
        random
            .pick(&[
                "\r\n",
                "\r\n",
                "\r\n",
                "\n",
                "\r",
                "\r\nabcde\r\n",
                "\r\n1\r\n",
                "",
            ])
            .as_bytes(),
    );
    out
}

/// An almost valid frame: any opcode, and sometimes a wrong length.
fn nearly_binary(random: &mut Random) -> Vec<u8> {
    let (extras, key, value) = (random.below(24), random.below(12), random.below(40));
    let opcode = u8::try_from(random.below(0x24)).expect("it is small");
    let mut frame = Frame::new(
        opcode,
        &random.bytes(extras),
        &random.bytes(key),
        &random.bytes(value),
    );
    match random.below(12) {
        0 => frame.key_length = Some(u16::try_from(random.below(0x1_0000)).expect("16 bits")),
        1 => frame.extras_length = Some(u8::try_from(random.below(0x100)).expect("8 bits")),
        2 => frame.body_length = Some(u32::try_from(random.below(200)).expect("32 bits")),
        3 => frame.body_length = Some(u32::try_from(random.below(1 << 32)).expect("32 bits")),
        4 => frame.data_type = 1,
        _ => {}
    }
    frame.bytes()
}

/// Sends garbage on many connections while another thread reads and drops the replies.
fn bombard(daemon: &Daemon, mut make: impl FnMut(&mut Random) -> Vec<u8>) {
    let peak = daemon.memory_peak();
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut connection = daemon.connect();
        let mut writer = connection.twin();
        let garbage: Vec<u8> = (0..200).flat_map(|_| make(&mut random)).collect();
        let sender = std::thread::spawn(move || {
            // The daemon may close at any byte.
            let _ = writer.try_send(garbage);
            writer.finish();
        });
        connection.rest();
        sender.join().expect("it does not panic");
    }
    daemon.assert_serves();
    let grown = daemon.memory_peak() - peak;
    assert!(grown < 64 * MIB + GROWTH_MAX, "{} MiB", grown / MIB);
}

#[test]
fn random_bytes() {
    bombard(&Daemon::single_loop(), |random| {
        let count = random.below(300);
        random.bytes(count)
    });
}

#[test]
fn text_that_is_nearly_right() {
    bombard(&Daemon::single_loop(), nearly_text);
}

#[test]
fn binary_frames_that_are_nearly_right() {
    bombard(&Daemon::single_loop(), nearly_binary);
}

#[test]
fn dialects_mixed_on_one_connection() {
    bombard(&Daemon::single_loop(), |random| {
        if random.below(2) == 0 {
            nearly_text(random)
        } else {
            nearly_binary(random)
        }
    });
}
