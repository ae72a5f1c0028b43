//! git's listings as a quarantine container hands them out: an error or what stands there, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/git/listing.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod listing;

fuzz_target!(|data: &[u8]| {
    let _ = listing::parse_changes(data);
    let _ = listing::parse_entries(data);
    if let Ok(found) = listing::parse_batch(data) {
        assert!(found.iter().map(Vec::len).sum::<usize>() <= data.len());
    }
});
