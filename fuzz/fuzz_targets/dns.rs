//! DNS queries of a sandbox and answers of the upstream: no panic, and every answer of ours can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use router::dns::wire::{NXDOMAIN, answer, parse_answer, parse_query};
use std::net::Ipv4Addr;

fuzz_target!(|data: &[u8]| {
    if let Ok(query) = parse_query(data) {
        assert!(query.name.len() <= 253);
        assert!(query.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.?".contains(&b)));
        let said = answer(&query, 0, Some(Ipv4Addr::new(198, 18, 0, 1)), 5);
        assert_eq!(said[..2], query.id.to_be_bytes());
        let denied = answer(&query, NXDOMAIN, None, 5);
        assert!(denied.len() <= said.len());
    }
    let id = data.first_chunk::<2>().map_or(0, |id| u16::from_be_bytes(*id));
    let _ = parse_answer(data, id, "good.test");
});
