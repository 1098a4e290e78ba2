//! Random inputs, the same in every run.

/// The number of inputs per case, a power of two.
const INPUTS: usize = 4096;

/// The random numbers of Marsaglia's xorshift, multiplied.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number of random length.
    pub(crate) fn number(&mut self) -> u64 {
        let bits = self.next() % 64;
        self.next() >> bits
    }

    pub(crate) fn word(&mut self, length_max: u64) -> String {
        let length = 1 + self.next() % length_max;
        (0..length)
            .map(|_| char::from(b'a' + (self.next() % 26) as u8))
            .collect()
    }
}

/// The inputs of a case.
pub(crate) fn inputs<T>(make: impl Fn(&mut Random) -> T) -> Vec<T> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..INPUTS).map(|_| make(&mut random)).collect()
}

/// A request as a server logs it.
pub(crate) struct Request {
    pub(crate) address: [u8; 4],
    pub(crate) user: String,
    pub(crate) time: [u8; 3],
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) referer: String,
    pub(crate) agent: String,
}

pub(crate) fn request(random: &mut Random) -> Request {
    Request {
        address: (random.next() as u32).to_le_bytes(),
        user: random.word(8),
        time: [
            random.next() as u8 % 24,
            random.next() as u8 % 60,
            random.next() as u8 % 60,
        ],
        method: ["GET", "POST", "HEAD"][random.next() as usize % 3],
        path: random.word(30),
        status: [200, 206, 304, 404][random.next() as usize % 4],
        bytes: random.next() >> (40 + random.next() % 20),
        referer: random.word(20),
        agent: random.word(40),
    }
}

impl Request {
    /// The numbers of its address.
    pub(crate) fn octets(&self) -> [u32; 4] {
        self.address.map(u32::from)
    }
}

/// Numbers as programs show them: from 0 to a million, with a fraction.
pub(crate) fn double(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1u64 << 33) as f64
}
