//! Verifies that a delivery comes from the forge: HMAC-SHA256 over the raw body (`X-Hub-Signature-256: sha256=<hex>`). No body may be
//! parsed before. Tests: below, and `tests/fixtures.rs` over the recorded deliveries.

use crate::secret::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// Why a delivery is not verified.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum SignatureError {
    /// The header is not there, or has nothing after `sha256=`.
    #[error("no signature: send X-Hub-Signature-256 (the hook has no secret?)")]
    Missing,
    /// The header is not `sha256=` and 64 hexadecimal digits.
    #[error("the signature is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
    /// The signature was made with none of the valid secrets, or over another body.
    #[error("the signature does not match: the hook's secret is another one")]
    Mismatch,
    /// All given secrets are empty, or none was given.
    #[error("no secret is configured for this repository, so nothing can be verified")]
    NoSecret,
}

/// Checks the value of `X-Hub-Signature-256` against every valid secret (two while one is being replaced), in constant time.
/// An empty secret never verifies, because anybody can make its signature.
pub fn verify(secrets: &[Secret], header: Option<&str>, body: &[u8]) -> Result<(), SignatureError> {
    let digits = header.ok_or(SignatureError::Missing)?.strip_prefix("sha256=").ok_or(SignatureError::Malformed)?;
    if digits.is_empty() {
        return Err(SignatureError::Missing);
    }
    let mut given = [0u8; 32];
    hex::decode_to_slice(digits, &mut given).map_err(|_| SignatureError::Malformed)?;
    let mut usable = secrets.iter().filter(|s| !s.is_empty()).peekable();
    if usable.peek().is_none() {
        return Err(SignatureError::NoSecret);
    }
    // Every secret is tried, so that the time taken does not reveal which one matched.
    let matched = usable.fold(false, |found, secret| matches(secret, &given, body) | found);
    if matched { Ok(()) } else { Err(SignatureError::Mismatch) }
}

fn matches(secret: &Secret, given: &[u8; 32], body: &[u8]) -> bool {
    // HMAC accepts keys of any length; an error would count as no match.
    Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .is_ok_and(|mac| mac.chain_update(body).verify_slice(given).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(secret: &str, body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body);
        format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn a_right_signature_passes_under_either_secret() {
        let secrets = [Secret::new("new"), Secret::new("old")];
        for secret in ["new", "old"] {
            assert_eq!(verify(&secrets, Some(&sign(secret, b"{}")), b"{}"), Ok(()));
        }
        assert_eq!(verify(&secrets, Some(&sign("other", b"{}")), b"{}"), Err(SignatureError::Mismatch));
        assert_eq!(verify(&secrets, Some(&sign("new", b"{}")), b"{} "), Err(SignatureError::Mismatch));
    }

    #[test]
    fn an_empty_secret_never_verifies() {
        let header = sign("", b"{}");
        assert_eq!(verify(&[Secret::new("")], Some(&header), b"{}"), Err(SignatureError::NoSecret));
        assert_eq!(verify(&[], Some(&header), b"{}"), Err(SignatureError::NoSecret));
    }

    #[test]
    fn missing_and_malformed_are_told_apart() {
        let secrets = [Secret::new("s")];
        assert_eq!(verify(&secrets, None, b""), Err(SignatureError::Missing));
        assert_eq!(verify(&secrets, Some("sha256="), b""), Err(SignatureError::Missing));
        for bad in ["sha1=00", "sha256=zz", "sha256=00", "deadbeef"] {
            assert_eq!(verify(&secrets, Some(bad), b""), Err(SignatureError::Malformed), "{bad}");
        }
    }
}
