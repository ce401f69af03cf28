//! What a client says: frames and their fields, borrowed from the input buffer.

use engine::types::{Error, Result, SqlState};

use super::{LARGE_MESSAGE_LIMIT, SMALL_MESSAGE_LIMIT};

/// Bytes of a message's head: the tag and the length.
pub const HEAD: usize = 5;

/// A complete message at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The first byte.
    pub tag: u8,
    /// Bytes of the body, without tag and length.
    pub body: usize,
}

impl Frame {
    /// Bytes in all.
    pub fn bytes(self) -> usize {
        HEAD + self.body
    }
}

/// The message that `input` starts with; `None` while it is incomplete. A length that cannot be is a fault that
/// ends the connection, since nobody knows where the next message starts.
pub fn frame(input: &[u8]) -> Result<Option<Frame>> {
    let Some(Frame { tag, body }) = declared(input) else {
        return Ok(None);
    };
    let Some(limit) = length_limit(tag) else {
        return Err(violation(format!("invalid frontend message type {tag}")));
    };
    if body.checked_add(4).is_none_or(|length| length > limit) {
        return Err(violation("invalid message length"));
    }
    let frame = Frame { tag, body };
    Ok((input.len() >= frame.bytes()).then_some(frame))
}

/// What the head of the first message says, be it there as a whole or not. A length that is too short is the longest of all.
pub fn declared(input: &[u8]) -> Option<Frame> {
    let [tag, length @ ..] = *input.first_chunk::<HEAD>()?;
    let body = (u32::from_be_bytes(length) as usize).checked_sub(4);
    Some(Frame { tag, body: body.unwrap_or(u32::MAX as usize) })
}

/// The longest message of that kind; `None` for kinds that do not exist.
fn length_limit(tag: u8) -> Option<usize> {
    match tag {
        b'Q' | b'P' | b'B' | b'd' | b'F' => Some(LARGE_MESSAGE_LIMIT),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' | b'p' => Some(SMALL_MESSAGE_LIMIT),
        _ => None,
    }
}

/// A message that breaks the protocol.
pub fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

/// Reads the fields of one message's body.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of a body.
    pub fn new(body: &'a [u8]) -> Fields<'a> {
        Fields { rest: body }
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| violation(SHORT_OF_DATA))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| violation(SHORT_OF_DATA))?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A count: 16 bits without a sign, since a statement may have 65,535 parameters.
    pub fn count(&mut self) -> Result<usize> {
        self.array().map(|bytes| usize::from(u16::from_be_bytes(bytes)))
    }

    /// 32 bits with a sign.
    pub fn int32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// 32 bits without a sign.
    pub fn uint32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A value with its length before it; -1 is NULL.
    pub fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.int32()? {
            -1 => Ok(None),
            length if length < 0 => Err(violation("invalid argument size in bind message")),
            length => self.bytes(length as usize).map(Some),
        }
    }

    /// A string that ends with a zero byte, as UTF-8.
    pub fn string(&mut self) -> Result<&'a str> {
        let end =
            memchr::memchr(0, self.rest).ok_or_else(|| violation("invalid string in message"))?;
        let text = utf8(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// Asserts the end of the message.
    pub fn end(&self) -> Result<()> {
        match self.rest {
            [] => Ok(()),
            _ => Err(violation("invalid message format")),
        }
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// What a message lacks that ends too early.
pub const SHORT_OF_DATA: &str = "insufficient data left in message";

/// Text from a client: UTF-8 without zero bytes (22021 otherwise).
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let broken = &bytes[fault.valid_up_to()..];
        invalid_bytes(&broken[..sql::text::sequence_length(broken[0]).min(broken.len())])
    })?;
    match memchr::memchr(0, bytes) {
        None => Ok(text),
        Some(_) => Err(invalid_bytes(&[0])),
    }
}

fn invalid_bytes(bytes: &[u8]) -> Error {
    let mut message = String::from("invalid byte sequence for encoding \"UTF8\":");
    for byte in bytes {
        message.push_str(&format!(" 0x{byte:02x}"));
    }
    Error::new(SqlState::InvalidByteSequence, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(tag: u8, length: i32) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend(length.to_be_bytes());
        bytes
    }

    #[test]
    fn frames_wait_for_all_their_bytes() {
        let mut input = head(b'Q', 7);
        assert_eq!(frame(&input), Ok(None));
        input.extend(b"ab\0");
        assert_eq!(frame(&input), Ok(Some(Frame { tag: b'Q', body: 3 })));
        assert_eq!(frame(&input[..4]), Ok(None));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused_before_any_byte_of_the_body() {
        for length in [-1, 0, 3, i32::MIN, i32::MAX, 0x4000_0000] {
            let fault = frame(&head(b'Q', length)).expect_err("refused");
            assert_eq!(fault.state, SqlState::ProtocolViolation, "{length}");
        }
        assert!(frame(&head(b'S', 10_001)).is_err());
        assert!(frame(&head(b'd', 10_001)).is_ok());
        assert!(frame(&head(0, 4)).is_err());
    }

    #[test]
    fn fields_never_read_past_the_end() {
        let mut fields = Fields::new(&[0, 0, 0, 9, b'x']);
        assert!(fields.value().is_err());
        assert!(Fields::new(b"no end").string().is_err());
        assert!(Fields::new(&[0]).count().is_err());
        assert_eq!(Fields::new(&[255, 255]).count(), Ok(65_535));
        assert_eq!(Fields::new(&(-1i32).to_be_bytes()).value(), Ok(None));
        assert!(Fields::new(&(-2i32).to_be_bytes()).value().is_err());
    }

    #[test]
    fn text_is_utf8_without_zero_bytes() {
        assert_eq!(utf8("grüß".as_bytes()), Ok("grüß"));
        let fault = utf8(b"a\xc3(").expect_err("refused");
        assert_eq!(fault.state, SqlState::InvalidByteSequence);
        assert_eq!(utf8(b"a\0b").expect_err("refused").message, invalid_bytes(&[0]).message);
    }
}
