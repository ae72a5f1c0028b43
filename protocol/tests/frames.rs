//! Properties of the framing: what is written is read again, however it is split and whatever precedes it.

use bytes::Bytes;
use caisson_protocol::frame::{Decoder, Message, encode};
use caisson_protocol::runner::{FromRunner, Order};
use proptest::collection::vec;
use proptest::prelude::*;

const MAX: usize = 4096;

proptest! {
    #[test]
    fn frames_survive_any_cut(payloads in vec(vec(any::<u8>(), 0..600), 1..8), cut in 1_usize..97) {
        let wire: Vec<u8> = payloads.iter().flat_map(|payload| encode(payload)).collect();
        let mut decoder = Decoder::new(MAX);
        let seen: Vec<_> = wire.chunks(cut).flat_map(|part| decoder.push(part)).collect();
        let wanted: Vec<_> = payloads.into_iter().map(Ok).collect();
        prop_assert_eq!(seen, wanted);
    }

    #[test]
    fn the_next_frame_is_found_after_any_noise(noise in vec(any::<u8>(), 0..20_000), payload in vec(any::<u8>(), 0..600)) {
        let mut decoder = Decoder::new(MAX);
        for part in noise.chunks(333) {
            decoder.push(part);
            prop_assert!(decoder.pending() <= MAX + MAX / 100 + 16);
        }
        decoder.push(&[0]);
        prop_assert_eq!(decoder.push(&encode(&payload)), vec![Ok(payload)]);
    }

    #[test]
    fn one_flipped_bit_never_passes_as_another_payload(payload in vec(any::<u8>(), 1..300), at in any::<prop::sample::Index>(), bit in 0_u32..8) {
        let mut wire = encode(&payload);
        let at = at.index(wire.len() - 1);
        wire[at] ^= 1_u8 << bit;
        let mut decoder = Decoder::new(MAX);
        for frame in decoder.push(&wire).into_iter().flatten() {
            prop_assert_eq!(&frame, &payload);
        }
    }

    #[test]
    fn messages_from_noise_are_errors_not_panics(noise in vec(any::<u8>(), 0..300)) {
        let _ = Message::<Order>::from_payload(noise.clone());
        let _ = Message::<FromRunner>::from_payload(noise);
    }

    #[test]
    fn a_body_is_carried_unchanged(id in any::<u64>(), offset in any::<u64>(), body in vec(any::<u8>(), 0..600)) {
        let message = Message { head: FromRunner::Output { id, offset, last: false }, body: Bytes::from(body) };
        let payload = message.to_payload().expect("a payload");
        prop_assert_eq!(Message::from_payload(payload), Ok(message));
    }
}
