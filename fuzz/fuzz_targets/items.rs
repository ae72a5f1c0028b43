//! Outputs of tools, as code under review prints them: no panic, few items of a bounded size, each inside the workspace.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/text/escape.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod escape;
#[path = "../../src/sandbox/items/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the bot uses more of it")]
mod items;
/// As much of the bot's module as the readers use.
mod text {
    pub use super::escape::{cut, is_hidden};
}

fuzz_target!(|data: &[u8]| {
    let found = items::read(&String::from_utf8_lossy(data));
    assert!(found.len() <= items::MOST);
    for item in &found {
        assert!(item.message.chars().count() <= 600, "{item:?}");
        assert!(item.line.is_none() || item.file.is_some(), "{item:?}");
        assert!(
            item.file.as_deref().is_none_or(|file| !file.starts_with('/') && file.split('/').all(|part| part != ".."))
        );
    }
    assert!(items::difference(&found, &found).new.is_empty());
});
