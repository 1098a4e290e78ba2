//! Random commands that know the grammar: mostly near what libnoshell runs itself, often just beyond it.
//!
//! **Invariant**: whatever comes out may be run for real. Programs are the children of the tests, files are in the working
//! directory, and nothing can call itself: there is no way to spell a function, a loop or a job that stays.

/// A generator of numbers (xorshift64*, Vigna 2016), the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn pick<'a>(&mut self, choices: &[&'a [u8]]) -> &'a [u8] {
        choices[self.below(choices.len())]
    }

    /// One of the usual choices so often in a hundred, or else one of all others.
    fn near<'a>(&mut self, usual: &[&'a [u8]], others: &[&'a [u8]], percent: usize) -> &'a [u8] {
        if self.chance(percent) {
            self.pick(usual)
        } else {
            self.pick(others)
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Pieces of words.
const TEXTS: &[&[u8]] = &[
    b"a", b"b", b"ab", b"x", b"one", b"in", b"if", b"0", b"1", b"2", b"9", b"10", b"-", b"--", b"-a", b"+",
    b".", b"..", b"./", b"=", b":", b",", b"%", b"@", b"^", b"!", b"]", b"a=b", b"A=1", b"_", b"in",
    b"plain", b"sub",
];
const SPECIAL: &[&[u8]] = &[
    b"*",
    b"?",
    b"[a]",
    b"[",
    b"[!a]",
    b"~",
    b"~/",
    b"{",
    b"}",
    b"{a,b}",
    b"#",
    b"$",
    b"$HOME",
    b"${A}",
    b"${A:-b}",
    b"$1",
    b"$?",
    b"$((1))",
    b"$(a)",
    b"`a`",
    b"\\",
    b"'",
    b"\"",
    b"$'a'",
    b"$\"a\"",
    b"\n",
    b"\t",
    b" ",
    b";",
    b"&&",
    b"||",
    b"|",
    b"(",
    b")",
    b"<",
    b">",
    b"<<a",
    b"&",
    b"\x01",
    b"\x7f",
    b"\x81",
    b"\x82",
    b"\x88",
    b"\xc3\xa9",
    b"\xff",
    b"\x0b",
    b"\r",
    b"\\\n",
];
const PROGRAMS: &[&[u8]] = &[
    b"args", b"args", b"a", b"b", b"copy", b"both", b"vars", b"code 3", b"die 15", b"./hello", b"./hash",
    b"nowhere",
];
const COMMANDS: &[&[u8]] = &[
    b"args",
    b"args",
    b"args",
    b"a",
    b"b",
    b"ab",
    b"copy",
    b"both",
    b"vars",
    b"code 3",
    b"die 15",
    b"./hello",
    b"./hash",
    b"sub/hello",
    b"./plain",
    b"./garbage",
    b"./lost",
    b"./blank",
    b"nowhere",
    b"./nowhere",
    b"sub",
    b"",
    b":",
    b"true",
    b"false",
    b"echo",
    b"printf",
    b"test",
    b"[",
    b"pwd",
    b"type",
    b"!",
    b"{",
    b"if",
    b"in",
    b"}",
    b"command args",
    b"exec args",
    b"eval args",
    b"cd sub",
    b"umask",
];
const NAMES: &[&[u8]] = &[
    b"A", b"B", b"_", b"a1", b"HOME", b"IFS", b"PWD", b"A1_", b"1A", b"A-", b"A+", b"", b"A[0]", b"PS1",
    b"LC_ALL", b"OPTIND",
];
const OPERATORS: &[&[u8]] = &[
    b">", b">", b">", b"<", b">>", b"<>", b">|", b">&", b"<&", b"<<", b"<<<", b"&>", b">>&", b"><", b"<<-",
];
/// All in the folder of the call, `null` being a link to the device: what is put behind a name makes another file, and that
/// of root must not lie in `/dev`.
const TARGETS: &[&[u8]] = &[
    b"out",
    b"in",
    b"a",
    b"null",
    b"null",
    b"1",
    b"2",
    b"0",
    b"-",
    b"3",
    b"sub",
    b"nowhere/x",
    b"1-",
    b"12",
    b"",
    b"'out'",
    b"\"a b\"",
    b"o\\ut",
];
const BLANKS: &[&[u8]] = &[b" ", b" ", b" ", b"  ", b"\t", b"\\\n", b" \\\n", b""];
const ENDS: &[&[u8]] = &[
    b"", b"", b"", b"", b" ", b"\n", b"\n\n", b" \n", b";", b" ;", b" ; a", b" && a", b" || a", b" | copy",
    b" # a", b"\n#", b"\na", b"\\", b" \\", b"; :",
];

/// The next command; never one with a NUL, and never one that defines a function or leaves a job behind.
pub fn command(random: &mut Random) -> Vec<u8> {
    loop {
        let text = if random.chance(10) {
            soup(random)
        } else {
            sentence(random)
        };
        if harmless(&text) {
            return text;
        }
    }
}

/// Assignments, redirections and words in their order, mostly.
fn sentence(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if random.chance(10) {
        text.extend(random.near(&[b" "], BLANKS, 75));
    }
    while random.chance(18) {
        if random.chance(60) {
            assignment(random, &mut text)
        } else {
            redirection(random, &mut text)
        }
        text.extend(random.near(&[b" "], BLANKS, 75));
    }
    text.extend(random.near(PROGRAMS, COMMANDS, 75));
    for _ in 0..random.below(5) {
        text.extend(random.near(&[b" "], BLANKS, 75));
        if random.chance(25) {
            redirection(random, &mut text)
        } else {
            word(random, &mut text)
        }
    }
    text.extend(random.near(&[b""], ENDS, 75));
    text
}

/// Bytes that mean something, in no order.
fn soup(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..=random.below(9) {
        let piece = match random.below(4) {
            0 => random.pick(TEXTS),
            1 => random.pick(BLANKS),
            2 => random.pick(OPERATORS),
            _ => random.pick(SPECIAL),
        };
        text.extend(piece);
    }
    text
}

fn assignment(random: &mut Random, text: &mut Vec<u8>) {
    text.extend(random.near(&[b"A", b"B", b"_x", b"a1"], NAMES, 75));
    text.push(b'=');
    if random.chance(80) {
        word(random, text);
    }
}

fn redirection(random: &mut Random, text: &mut Vec<u8>) {
    if random.chance(35) {
        text.extend(random.pick(&[b"1", b"2", b"0", b"3", b"9", b"10", b"a", b"\\1", b"''"]));
    }
    text.extend(random.near(&[b">", b"<", b">>", b">|", b"<>"], OPERATORS, 75));
    if random.chance(25) {
        text.extend(random.near(&[b" "], BLANKS, 75));
    }
    text.extend(random.near(&[b"out", b"in", b"a", b"null"], TARGETS, 75));
}

fn word(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        match random.below(12) {
            0..=5 => text.extend(random.pick(TEXTS)),
            6 => quoted(random, b'\'', text),
            7 | 8 => quoted(random, b'"', text),
            9 => {
                text.push(b'\\');
                text.extend(random.pick(SPECIAL));
            }
            10 => text.extend(random.near(TEXTS, SPECIAL, 75)),
            _ => text.extend(random.pick(&[b"''", b"\"\"", b"$", b"=", b"~", b"\\\n"])),
        }
    }
}

fn quoted(random: &mut Random, quote: u8, text: &mut Vec<u8>) {
    text.push(quote);
    for _ in 0..random.below(4) {
        let special = if quote == b'"' { 8 } else { 50 };
        let piece = random.near(TEXTS, SPECIAL, 100 - special);
        text.extend(piece);
    }
    if random.chance(97) {
        text.push(quote);
    }
}

/// A function may call itself for ever, and a job that stays may write into what is compared later.
fn harmless(text: &[u8]) -> bool {
    let bare: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !b" \t\n\\'\"".contains(byte))
        .collect();
    // The number of a process differs each time.
    let number = bare.windows(2).any(|pair| pair == b"$$");
    let function = bare.windows(2).any(|pair| pair == b"()");
    // What runs at the same time as something else writes, or dies of a broken pipe, when it happens to.
    let calm = without(&without(text, b" || a"), b" && a");
    let calm = without(&without(&without(&calm, b">|"), b">&"), b"<&");
    let job = calm.contains(&b'|') || calm.contains(&b'&');
    !function && !number && !job && !text.contains(&0)
}

fn without(text: &[u8], part: &[u8]) -> Vec<u8> {
    let mut rest = text;
    let mut left = Vec::new();
    while let Some(byte) = rest.first() {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None => {
                left.push(*byte);
                rest = &rest[1..];
            }
        }
    }
    left
}
