//! Whatever bytes come, in whatever pieces: no panic, bounded memory, and the next good frame is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::frame::{Decoder, encode};

const MAX: usize = 1024;

fuzz_target!(|data: &[u8]| {
    let (cut, noise) = data.split_first().map_or((1, data), |(first, rest)| (usize::from(*first) + 1, rest));
    let mut decoder = Decoder::new(MAX);
    for piece in noise.chunks(cut) {
        for payload in decoder.push(piece).into_iter().flatten() {
            assert!(payload.len() <= MAX);
        }
        assert!(decoder.pending() <= MAX + MAX / 100 + 16);
    }
    decoder.push(&[0]);
    let payload = &noise[..noise.len().min(MAX)];
    assert_eq!(decoder.push(&encode(payload)), [Ok(payload.to_vec())]);
});
