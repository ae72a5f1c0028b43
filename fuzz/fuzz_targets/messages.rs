//! Whatever a payload holds: an error or a message that says the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::frame::Message;
use protocol::runner::{FromRunner, Order};

fuzz_target!(|data: &[u8]| {
    if let Ok(message) = Message::<FromRunner>::from_payload(data.to_vec()) {
        let again = message.to_payload().expect("a payload");
        assert_eq!(Message::from_payload(again), Ok(message));
    }
    if let Ok(message) = Message::<Order>::from_payload(data.to_vec()) {
        let again = message.to_payload().expect("a payload");
        assert_eq!(Message::from_payload(again), Ok(message));
    }
});
