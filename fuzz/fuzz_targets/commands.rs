//! What people write in issues and comments: no panic, words of a bounded length, no command where all of it is quoted.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/command/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the bot uses more of it")]
mod command;
#[path = "../../src/text/credentials.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod credentials;
#[path = "../../src/text/escape.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod escape;
#[path = "../../src/text/host.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod host;
#[path = "../../src/text/markdown.rs"]
#[allow(dead_code, reason = "the bot uses more of it")]
mod markdown;
/// As much of the bot's module as the commands use.
mod text {
    pub use super::host::host_name;
}

/// The most that a command's words may have, in characters.
const MOST: usize = 16_000;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let parsed = command::parse(&text, "u7");
    assert_eq!(parsed.plain, parsed.commands.is_empty());
    for found in &parsed.commands {
        if let Some((_, words, _)) = found.verb.begins() {
            assert!(words.chars().count() <= MOST);
        }
    }
    let own = command::OwnNames::from([("deploy".to_owned(), Ok(domain::TaskKind::Fix))]);
    assert_eq!(command::parse_with(&text, "u7", &own).commands.len(), parsed.commands.len());
    assert!(command::without_names(&text).len() <= text.len());
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    assert!(command::parse(&quoted, "u7").plain || text.contains('\r'));
});
