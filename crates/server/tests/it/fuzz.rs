//! Random conversations: valid ones with a few bytes changed. The server answers or hangs up; it never dies, and a
//! Sync that it understands is answered.

use crate::fixture::Fixture;
use crate::raw::Raw;
use crate::seeds::seeds;

/// Conversations per seed.
const CONVERSATIONS: usize = 300;

/// A small linear congruential generator (Knuth's MMIX constants): a run replays by its seed.
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number, less than `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// The bytes of a conversation of a few messages, each valid by itself.
fn conversation(random: &mut Random) -> Vec<u8> {
    let names = ["", "a", "b"];
    let texts =
        ["SELECT 1", "SELECT $1::int", "INSERT INTO t VALUES ($1, 'x')", "SELEC", "BEGIN", ""];
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(12) {
        let name = names[random.below(3)];
        let portal = names[random.below(3)];
        let text = texts[random.below(texts.len())];
        let (tag, body): (u8, Vec<u8>) = match random.below(9) {
            0 => (b'Q', format!("{text}\0").into()),
            1 | 2 => (b'P', format!("{name}\0{text}\0\0\0").into()),
            3 | 4 => {
                let count = random.below(2);
                let value: &[u8] = if count == 1 { b"\0\0\0\x017" } else { b"" };
                let head = format!("{portal}\0{name}\0\0\0\0").into_bytes();
                (b'B', [&head, [count as u8].as_slice(), value, b"\0\0"].concat())
            }
            5 => (b'D', format!("{}{name}\0", ['S', 'P'][random.below(2)]).into()),
            6 => (b'E', [portal.as_bytes(), b"\0\0\0\0", &[random.below(3) as u8]].concat()),
            7 => (b'C', format!("{}{name}\0", ['S', 'P'][random.below(2)]).into()),
            _ => ([b'S', b'H', b'd', b'c', b'f'][random.below(5)], Vec::new()),
        };
        bytes.push(tag);
        bytes.extend((body.len() as u32 + 4).to_be_bytes());
        bytes.extend(body);
    }
    bytes
}

fn mutate(random: &mut Random, bytes: &mut [u8]) {
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] = match random.below(3) {
            0 => 0,
            1 => 0xff,
            _ => random.below(256) as u8,
        };
    }
}

#[test]
fn random_conversations_hurt_nobody() {
    seeds("fuzz").for_each(converse);
}

fn converse(seed: u64) {
    let mut random = Random::new(seed);
    let fixture = Fixture::new();
    let mut witness = fixture.with_rows(1);
    for i in 0..CONVERSATIONS {
        let mut raw = fixture.connect();
        let mut bytes = conversation(&mut random);
        let is_valid = i % 3 == 0;
        if !is_valid {
            mutate(&mut random, &mut bytes);
        }
        raw.bytes(&bytes);
        if is_valid {
            finish(&mut raw);
        }
    }
    witness.run("SELECT 1");
    fixture.connect().run("SELECT 1");
}

/// A conversation of valid messages, however senseless, ends with as many answers as it has Syncs, Queries included; the
/// last Sync is ours.
fn finish(raw: &mut Raw) {
    raw.message(b'c', b"");
    raw.sync();
    raw.message(b'X', b"");
    let last = raw.until_closed().pop().expect("answers");
    assert_eq!(last.tag, b'Z', "the last Sync is answered");
}
