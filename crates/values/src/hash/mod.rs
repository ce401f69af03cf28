//! PostgreSQL's hash numbers: in comes a value, out go the 32 bits of `hashint4` and its kin or the 64 of their extended forms, bit for bit
//! (on processors whose bytes begin with the least significant). What partitions and hash joins of PostgreSQL hang on; what equality hangs
//! on here are the canonical keys of the types.
//!
//! The function is Bob Jenkins' lookup3 (2006).

mod kernels;
mod value;

pub(crate) use kernels::KERNELS;
pub use value::{of_f64, of_i64, of_numeric};

/// What is hashed: the state of three words.
struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(length: usize, seed: u64) -> Self {
        let start = 0x9E37_79B9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
        let mut state = Self { a: start, b: start, c: start };
        if seed != 0 {
            state.a = state.a.wrapping_add((seed >> 32) as u32);
            state.b = state.b.wrapping_add(seed as u32);
            state.mix();
        }
        state
    }

    fn add(&mut self, a: u32, b: u32, c: u32) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let turn = |x: &mut u32, y: &mut u32, z: &mut u32, bits: u32| {
            *x = x.wrapping_sub(*z) ^ z.rotate_left(bits);
            *z = z.wrapping_add(*y);
        };
        let Self { a, b, c } = self;
        turn(a, b, c, 4);
        turn(b, c, a, 6);
        turn(c, a, b, 8);
        turn(a, b, c, 16);
        turn(b, c, a, 19);
        turn(c, a, b, 4);
    }

    fn finish(mut self) -> Self {
        let turn = |x: &mut u32, y: u32, bits: u32| {
            *x = (*x ^ y).wrapping_sub(y.rotate_left(bits));
        };
        let Self { a, b, c } = &mut self;
        turn(c, *b, 14);
        turn(a, *c, 11);
        turn(b, *a, 25);
        turn(c, *b, 16);
        turn(a, *c, 4);
        turn(b, *a, 14);
        turn(c, *b, 24);
        self
    }

    fn wide(self) -> u64 {
        (u64::from(self.b) << 32) | u64::from(self.c)
    }
}

fn state_of_bytes(bytes: &[u8], seed: u64) -> State {
    let mut state = State::new(bytes.len(), seed);
    let (blocks, rest) = bytes.as_chunks::<12>();
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
    for block in blocks {
        state.add(word(&block[..4]), word(&block[4..8]), word(&block[8..]));
        state.mix();
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    // The lowest byte of the last word is the length's.
    state.add(word(&last[..4]), word(&last[4..8]), word(&last[8..]) << 8);
    state.finish()
}

/// The hash of bytes.
pub fn of_bytes(bytes: &[u8]) -> u32 {
    state_of_bytes(bytes, 0).c
}

/// The extended hash of bytes.
pub fn of_bytes_extended(bytes: &[u8], seed: u64) -> u64 {
    state_of_bytes(bytes, seed).wide()
}

fn state_of_u32(value: u32, seed: u64) -> State {
    let mut state = State::new(4, seed);
    state.a = state.a.wrapping_add(value);
    state.finish()
}

/// The hash of a word.
pub fn of_u32(value: u32) -> u32 {
    state_of_u32(value, 0).c
}

/// The extended hash of a word.
pub fn of_u32_extended(value: u32, seed: u64) -> u64 {
    state_of_u32(value, seed).wide()
}
