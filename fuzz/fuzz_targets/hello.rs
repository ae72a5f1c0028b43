//! A TLS hello, however it is cut: the same verdict, bounded memory, and what is sent on is what came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use router::proxy::hello::{Hello, HelloError, HelloReader, MAX_WIRE};

fn read(bytes: &[u8], step: usize) -> Result<Option<Hello>, HelloError> {
    let mut reader = HelloReader::default();
    let mut end = Ok(None);
    for part in bytes.chunks(step) {
        end = reader.push(part);
        assert!(reader.wire().len() <= MAX_WIRE && bytes.starts_with(reader.wire()));
        if !matches!(end, Ok(None)) {
            break;
        }
    }
    end
}

fuzz_target!(|data: &[u8]| {
    let whole = read(data, data.len().max(1));
    let bytewise = read(data, 1);
    if let (Ok(Some(one)), Ok(Some(other))) = (&whole, &bytewise) {
        assert_eq!(one, other);
    }
    assert_eq!(matches!(whole, Ok(Some(_))), matches!(bytewise, Ok(Some(_))));
});
