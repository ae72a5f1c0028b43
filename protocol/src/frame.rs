//! Frames whose beginning can be found again after damage.
//!
//! A frame is `COBS(payload ++ CRC-32 of the payload, little endian) ++ 0x00`. The zero byte occurs nowhere else, so a reader that starts
//! in the middle (a host that attaches after another died while writing) skips to the next zero. A damaged or too long frame is reported
//! and skipped without affecting its neighbours.
//!
//! Memory is bounded: the decoder holds at most one frame of the size it was made for.
//! An empty frame (two zeros in a row) is no error: a writer may send a zero to end what another began.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that the checksum adds to a payload.
const CHECK: usize = 4;
/// Bytes before a message's head that hold its length.
const HEAD_LEN: usize = 4;

/// Why a frame was skipped, or a message could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// The payload is longer than the reader or the writer accepts.
    #[error("a frame is longer than {max} bytes")]
    TooLong {
        /// Longest payload that is accepted, in bytes.
        max: usize,
    },
    /// The COBS encoding is broken, the frame is shorter than its CRC-32, or the CRC-32 does not match; the text says
    /// which.
    #[error("a frame is damaged: {0}")]
    Damaged(&'static str),
    /// The payload is no message: its head is missing, cut off or not the expected JSON, or a head can't be written;
    /// the text says which.
    #[error("a message is malformed: {0}")]
    Malformed(String),
}

/// The most bytes that a payload of this length takes as a frame, delimiter included.
const fn encoded_len(payload: usize) -> usize {
    let body = payload + CHECK;
    body + body / 254 + 2
}

/// One frame, delimiter included.
pub fn encode(payload: &[u8]) -> Vec<u8> {
    let mut checked = Vec::with_capacity(payload.len() + CHECK);
    checked.extend_from_slice(payload);
    checked.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let mut out = vec![0; encoded_len(payload.len())];
    let used = cobs::encode(&checked, &mut out);
    out.truncate(used);
    out.push(0);
    out
}

/// Collects bytes and returns whole payloads.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    max: usize,
    /// The frame that is being read is already too long, so the rest up to its delimiter is skipped.
    skipping: bool,
}

impl Decoder {
    /// A decoder of payloads of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), max, skipping: false }
    }

    /// Every frame that `bytes` completes, in order; one `Err` for each that had to be skipped.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<Vec<u8>, BadFrame>> {
        let mut done = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == 0) {
            self.take(&rest[..end], &mut done);
            rest = &rest[end + 1..];
            if !self.skipping && !self.buffer.is_empty() {
                done.push(open(std::mem::take(&mut self.buffer), self.max));
            }
            self.skipping = false;
        }
        self.take(rest, &mut done);
        done
    }

    /// Bytes held for a frame that has not ended yet.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self, part: &[u8], done: &mut Vec<Result<Vec<u8>, BadFrame>>) {
        if self.skipping {
            return;
        }
        // The delimiter never enters the buffer, hence one byte less.
        if self.buffer.len() + part.len() > encoded_len(self.max) - 1 {
            self.buffer = Vec::new();
            self.skipping = true;
            done.push(Err(BadFrame::TooLong { max: self.max }));
            return;
        }
        self.buffer.extend_from_slice(part);
    }
}

/// The payload of one frame without its delimiter.
fn open(mut frame: Vec<u8>, max: usize) -> Result<Vec<u8>, BadFrame> {
    let len = cobs::decode_in_place(&mut frame).map_err(|_| BadFrame::Damaged("its encoding is broken"))?;
    let Some(body) = len.checked_sub(CHECK) else {
        return Err(BadFrame::Damaged("it is shorter than its check sum"));
    };
    let check = crc32fast::hash(&frame[..body]).to_le_bytes();
    if frame[body..len] != check {
        return Err(BadFrame::Damaged("its check sum is wrong"));
    }
    if body > max {
        return Err(BadFrame::TooLong { max });
    }
    frame.truncate(body);
    Ok(frame)
}

/// A payload with a typed head and a raw body: `u32 LE length of the head ++ JSON head ++ body`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<T> {
    /// The typed part, sent as JSON.
    pub head: T,
    /// The raw bytes after the head; empty if there are none.
    pub body: Bytes,
}

impl<T> Message<T> {
    /// A message without a body.
    pub fn bare(head: T) -> Self {
        Self { head, body: Bytes::new() }
    }
}

impl<T: Serialize> Message<T> {
    /// The payload: what `encode` takes.
    ///
    /// # Errors
    /// `Malformed` if the head can't be written as JSON.
    pub fn to_payload(&self) -> Result<Vec<u8>, BadFrame> {
        let mut payload = vec![0; HEAD_LEN];
        serde_json::to_writer(&mut payload, &self.head).map_err(|error| BadFrame::Malformed(error.to_string()))?;
        let head = u32::try_from(payload.len() - HEAD_LEN)
            .map_err(|_| BadFrame::Malformed("its head is longer than 4 GiB".to_owned()))?;
        payload[..HEAD_LEN].copy_from_slice(&head.to_le_bytes());
        payload.extend_from_slice(&self.body);
        Ok(payload)
    }

    /// The frame, delimiter included, if its payload is at most `max` bytes.
    ///
    /// # Errors
    /// `TooLong` above `max`, `Malformed` if the head can't be written.
    pub fn to_frame(&self, max: usize) -> Result<Vec<u8>, BadFrame> {
        let payload = self.to_payload()?;
        if payload.len() > max {
            return Err(BadFrame::TooLong { max });
        }
        Ok(encode(&payload))
    }
}

impl<T: DeserializeOwned> Message<T> {
    /// # Errors
    /// `Malformed` if the head's length points outside the payload or the head isn't a `T`.
    pub fn from_payload(payload: Vec<u8>) -> Result<Self, BadFrame> {
        let payload = Bytes::from(payload);
        let Some(length) = payload.first_chunk::<HEAD_LEN>() else {
            return Err(BadFrame::Malformed("it has no head".to_owned()));
        };
        let end = HEAD_LEN.saturating_add(u32::from_le_bytes(*length) as usize);
        let Some(head) = payload.get(HEAD_LEN..end) else {
            return Err(BadFrame::Malformed("its head is longer than itself".to_owned()));
        };
        let head = serde_json::from_slice(head).map_err(|error| BadFrame::Malformed(error.to_string()))?;
        Ok(Self { head, body: payload.slice(end..) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(decoder: &mut Decoder, bytes: &[u8]) -> Vec<Vec<u8>> {
        decoder.push(bytes).into_iter().map(|frame| frame.expect("a good frame")).collect()
    }

    #[test]
    fn a_frame_comes_back_byte_by_byte() {
        let mut decoder = Decoder::new(64);
        let frame = encode(b"a\0b\0\0c");
        let mut seen = Vec::new();
        for byte in frame {
            seen.extend(good(&mut decoder, &[byte]));
        }
        assert_eq!(seen, [b"a\0b\0\0c".to_vec()]);
    }

    #[test]
    fn a_frame_holds_no_zero_but_its_last_byte() {
        let frame = encode(&[0; 600]);
        assert_eq!(frame.iter().position(|&byte| byte == 0), Some(frame.len() - 1));
    }

    #[test]
    fn empty_frames_mean_nothing_and_an_empty_payload_is_a_frame() {
        let mut decoder = Decoder::new(64);
        assert!(decoder.push(&[0, 0, 0]).is_empty());
        assert_eq!(good(&mut decoder, &encode(b"")), [Vec::<u8>::new()]);
    }

    #[test]
    fn a_damaged_frame_is_skipped_alone() {
        let mut decoder = Decoder::new(64);
        let mut bytes = encode(b"first");
        bytes[2] ^= 0x10;
        bytes.extend(encode(b"second"));
        let seen = decoder.push(&bytes);
        assert!(matches!(seen[0], Err(BadFrame::Damaged(_))));
        assert_eq!(seen[1], Ok(b"second".to_vec()));
    }

    #[test]
    fn a_half_written_frame_ends_at_the_next_zero() {
        let mut decoder = Decoder::new(64);
        let half = encode(b"a host died while it wrote this");
        assert!(decoder.push(&half[..9]).is_empty());
        let mut next = vec![0];
        next.extend(encode(b"hello"));
        let seen = decoder.push(&next);
        assert!(seen[0].is_err());
        assert_eq!(seen[1], Ok(b"hello".to_vec()));
    }

    #[test]
    fn the_longest_frame_passes_and_one_byte_more_does_not() {
        let mut decoder = Decoder::new(1000);
        assert_eq!(good(&mut decoder, &encode(&[7; 1000])), [vec![7; 1000]]);
        for long in [1001, 1004, 1100] {
            let seen = decoder.push(&encode(&vec![7; long]));
            assert_eq!(seen, [Err(BadFrame::TooLong { max: 1000 })]);
        }
        assert_eq!(good(&mut decoder, &encode(b"on")), [b"on".to_vec()]);
    }

    #[test]
    fn an_endless_frame_costs_no_memory() {
        let mut decoder = Decoder::new(1000);
        for _ in 0..1000 {
            decoder.push(&[1; 4096]);
            assert!(decoder.pending() <= encoded_len(1000));
        }
    }

    #[test]
    fn a_message_keeps_its_head_and_its_body() {
        let message = Message { head: ("run".to_owned(), 7_u64), body: Bytes::from_static(b"\0raw") };
        let payload = message.to_payload().expect("a payload");
        assert_eq!(Message::from_payload(payload), Ok(message));
    }

    #[test]
    fn a_message_with_a_lying_length_is_refused() {
        for payload in [vec![], vec![9, 0], vec![255, 255, 255, 255, b'1'], vec![1, 0, 0, 0, b'{']] {
            assert!(Message::<u64>::from_payload(payload).is_err());
        }
    }
}
