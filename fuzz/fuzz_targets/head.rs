//! An HTTP request's head and a chunked body: what is let through is for the name it came for, and is written anew whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use router::proxy::head::{Chunks, find_end, judge};

fuzz_target!(|data: &[u8]| {
    if let Ok(Some(end)) = find_end(data) {
        assert!(end <= data.len());
        if let Ok(request) = judge(&data[..end], "good.test", 80) {
            let head = String::from_utf8_lossy(&request.head).to_lowercase();
            assert!(head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1, "{head:?}");
            assert_eq!(head.matches("\r\nhost: good.test\r\n").count(), 1, "{head:?}");
            // What we send is what we would let through again.
            assert!(judge(&request.head, "good.test", 80).is_ok(), "{head:?}");
        }
    }
    let mut chunks = Chunks::default();
    if let Ok((taken, ended)) = chunks.push(data) {
        assert!(taken <= data.len() && (ended || taken == data.len()));
    }
});
