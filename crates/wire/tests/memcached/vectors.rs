//! Vectors in files, and streams made of them.

/// Bytes from the notation of the vectors: `\r \n \t \\ \xNN`, and `{N*text}` for a text N times over.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some((count, repeated, after)) = repetition(rest) {
            out.extend_from_slice(&unescaped(repeated).repeat(count));
            rest = after;
            continue;
        }
        let (bytes, used) = if next == '\\' {
            escape(rest)
        } else {
            (next.to_string().into_bytes(), next.len_utf8())
        };
        out.extend_from_slice(&bytes);
        rest = &rest[used..];
    }
    out
}

fn repetition(text: &str) -> Option<(usize, &str, &str)> {
    let (inside, after) = text.strip_prefix('{')?.split_once('}')?;
    let (count, repeated) = inside.split_once('*')?;
    Some((count.parse().ok()?, repeated, after))
}

fn escape(text: &str) -> (Vec<u8>, usize) {
    match text.as_bytes()[1] {
        b'r' => (vec![b'\r'], 2),
        b'n' => (vec![b'\n'], 2),
        b't' => (vec![b'\t'], 2),
        b'x' => (
            vec![u8::from_str_radix(&text[2..4], 16).expect("two hexadecimal digits")],
            4,
        ),
        other => (vec![other], 2),
    }
}

/// The vectors of a file: pairs of lines, `> input` and `= what it is`. Others are comments.
pub(crate) fn vectors(text: &str) -> Vec<(Vec<u8>, String)> {
    let mut out = Vec::new();
    let mut input = None;
    for line in text.lines() {
        if let Some(bytes) = line.strip_prefix("> ") {
            input = Some(unescaped(bytes));
        } else if let Some(expected) = line.strip_prefix("= ") {
            let expected = String::from_utf8(unescape_repetitions(expected)).expect("printable");
            out.push((input.take().expect("an input before its meaning"), expected));
        }
    }
    assert!(!out.is_empty());
    out
}

/// Expected texts are in escaped notation already; only repetitions are to be written out.
fn unescape_repetitions(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some((count, repeated, after)) = repetition(rest) {
            out.extend_from_slice(&repeated.as_bytes().repeat(count));
            rest = after;
        } else {
            out.extend_from_slice(next.to_string().as_bytes());
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// A stream made of others, with a few bytes changed, dropped or added.
    pub(crate) fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        const LIKELY: &[u8] = b" \r\n\t-0129:\x00\x01\x80\x81\xffakzvTO";
        let mut stream: Vec<u8> = (0..=self.below(4))
            .flat_map(|_| seeds[self.below(seeds.len())].clone())
            .collect();
        for _ in 0..self.below(6) {
            if stream.is_empty() {
                break;
            }
            let at = self.below(stream.len());
            let byte = LIKELY[self.below(LIKELY.len())];
            match self.below(4) {
                0 => stream[at] = byte,
                1 => stream.insert(at, byte),
                2 => drop(stream.remove(at)),
                _ => stream.truncate(at),
            }
        }
        stream
    }
}
