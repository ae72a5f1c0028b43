//! Ids of calls as servers of the OpenAI-compatible wire take them.
//!
//! Owns: their length and letters. OpenAI's server takes 40 characters, and a conversation that another server began may have longer ones
//! (vLLM's `chatcmpl-tool-…` has 46); Mistral's takes nine letters and digits. Must not: change one that is taken, for results name it.
//! Tests: below, and `tests/providers/gateways.rs`.

use sha2::{Digest, Sha256};

use super::wire;

/// The longest id that OpenAI's server takes.
const LONGEST: usize = 40;
/// The length of each id that Mistral's server takes.
const NINE: usize = 9;

/// Whether a refusal, in lower case, asks for ids of nine letters and digits.
pub(super) fn asks_for_nine(refusal: &str) -> bool {
    refusal.contains("tool call id") && refusal.contains("length of 9")
}

/// An id as it is sent with its call and with its result; `nine`: the server takes nine letters and digits.
pub(super) fn id(of: &str, nine: bool) -> String {
    let whole = wire::token(of);
    let hash = || hex::encode(Sha256::digest(of));
    match nine {
        true if whole.len() == NINE && whole.bytes().all(|byte| byte.is_ascii_alphanumeric()) => whole,
        true => hash()[..NINE].to_owned(),
        false if whole.len() <= LONGEST => whole,
        false => format!("{}_{}", &whole[..LONGEST - 13], &hash()[..12]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_takes_stays_and_anything_else_becomes_an_id_of_its_own() {
        let long = |end: &str| format!("chatcmpl-tool-0123456789abcdef0123456789abcde{end}");
        let (one, two) = (id(&long("1"), false), id(&long("2"), false));
        assert_eq!((one.len(), one.starts_with("chatcmpl-tool-"), one == two), (LONGEST, true, false), "{one}");
        assert_eq!((id("call_1_0", false), id("aB3xK9mP2", true)), ("call_1_0".into(), "aB3xK9mP2".into()));
        let nine = id("call_1_0", true);
        assert!(nine.len() == NINE && nine.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nine}");
        assert_ne!(nine, id("call_1_1", true));
    }
}
