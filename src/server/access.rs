//! How the bot and a subcommand recognise each other by the token of the state directory without sending it: while the bot is away, anybody
//! on this machine may listen on its port.
//!
//! The subcommand sends a nonce; the bot answers with the name of its present run and a proof that it has the token. The subcommand then
//! sends a pass that only this run accepts. Owns what both sides derive. Tests: below, `src/cli/running.rs`, `tests/stories/orders.rs`.

use crate::secret::Secret;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::net::SocketAddr;
use subtle::ConstantTimeEq;

/// Purpose of a proof; what is derived for one purpose is nothing for another.
const PROOF: &str = "caisson: a bot's proof, 1";
/// Purpose of a pass.
const PASS: &str = "caisson: a subcommand's pass, 1";
/// Length of a nonce in hexadecimal digits.
const LONG: usize = 64;

/// Who may give orders to this run of the bot.
pub struct OperatorAccess {
    token: Secret,
    run: String,
    pass: Secret,
}

impl OperatorAccess {
    /// Access by this token.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn new(token: Secret) -> Result<Self, String> {
        let run = nonce()?;
        let pass = pass(&token, &run);
        Ok(Self { token, run, pass })
    }

    /// Whether this is the token itself, or the pass of this run.
    pub(super) fn admits(&self, given: &str) -> bool {
        let given = given.as_bytes();
        bool::from(given.ct_eq(self.token.bytes()) | given.ct_eq(self.pass.bytes()))
    }

    /// The proof for who sent this nonce to the listener at `at`; none if it is no nonce.
    pub fn proof(&self, at: SocketAddr, nonce: &str) -> Option<BotProof> {
        let proven = || BotProof { run: self.run.clone(), proof: proof(&self.token, at, nonce, &self.run) };
        is_nonce(nonce).then(proven)
    }
}

/// What the bot answers to a nonce.
#[derive(Debug, Serialize, Deserialize)]
pub struct BotProof {
    /// Random name of this run of the bot.
    pub run: String,
    /// HMAC-SHA256 by the token over address, nonce and run, in hexadecimal.
    pub proof: String,
}

impl BotProof {
    /// The pass for the bot at `at` that answered this to `nonce`; none if it does not have the token.
    pub fn pass(&self, token: &Secret, at: SocketAddr, nonce: &str) -> Option<Secret> {
        let right = proof(token, at, nonce, &self.run);
        let proven = is_nonce(&self.run) && bool::from(self.proof.as_bytes().ct_eq(right.as_bytes()));
        proven.then(|| pass(token, &self.run))
    }
}

/// A new nonce.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn nonce() -> Result<String, String> {
    Secret::random().map(|random| random.expose().to_owned())
}

fn is_nonce(text: &str) -> bool {
    text.len() == LONG && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn proof(token: &Secret, at: SocketAddr, nonce: &str, run: &str) -> String {
    derived(token, &[PROOF, &at.to_string(), nonce, run])
}

fn pass(token: &Secret, run: &str) -> Secret {
    Secret::new(derived(token, &[PASS, run]))
}

fn derived(token: &Secret, parts: &[&str]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(token.bytes()).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part.as_bytes());
        mac.update(b"\n");
    }
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "127.0.0.1:8441";

    fn access(token: &str) -> OperatorAccess {
        OperatorAccess::new(Secret::new(token)).unwrap()
    }

    #[test]
    fn a_pass_is_for_who_has_the_token_and_for_one_run() {
        let (at, nonce, bot) = (AT.parse().unwrap(), nonce().unwrap(), access("token"));
        let pass = bot.proof(at, &nonce).unwrap().pass(&Secret::new("token"), at, &nonce).expect("proven");
        assert!(bot.admits(pass.expose()) && bot.admits("token"));
        assert!(!bot.admits("") && !bot.admits(&bot.run) && !access("token").admits(pass.expose()));
    }

    #[test]
    fn a_proof_is_of_the_token_the_address_the_nonce_and_the_run() {
        let (at, first, bot) = (AT.parse().unwrap(), nonce().unwrap(), access("token"));
        let token = Secret::new("token");
        let proof = bot.proof(at, &first).unwrap();
        assert!(access("another").proof(at, &first).unwrap().pass(&token, at, &first).is_none());
        assert!(proof.pass(&token, "127.0.0.1:8442".parse().unwrap(), &first).is_none());
        assert!(proof.pass(&token, at, &nonce().unwrap()).is_none());
        let other = BotProof { run: nonce().unwrap(), proof: proof.proof.clone() };
        assert!(other.pass(&token, at, &first).is_none() && proof.pass(&token, at, &first).is_some());
    }

    #[test]
    fn nothing_but_a_nonce_is_proven() {
        let at = AT.parse().unwrap();
        for text in ["", "7", &"g".repeat(LONG), &"7".repeat(LONG + 1)] {
            assert!(access("token").proof(at, text).is_none(), "{text}");
        }
    }
}
