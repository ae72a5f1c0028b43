//! Encryption of data that others may read and write, but only holders of the installation's key may decrypt or make.
//!
//! Owns the derivation of the sealing key from `mark.key` and the format: HKDF-SHA256 with a label, so that nothing made with one key
//! reveals the other; AES-256-GCM with a random nonce. The context of a text is authenticated with it, so that it cannot be used elsewhere.
//! Must not know where it is stored. Tests: below.

use super::Secret;
use aes_gcm::{AeadInPlace, Aes256Gcm, Key, KeyInit, Nonce, Tag};
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;

/// Purpose of the derived key; another purpose needs another label.
const LABEL: &[u8] = b"caisson: what the store holds sealed, 1";
/// First byte of a sealed text: the format of the rest.
const LAYOUT: u8 = 1;
const NONCE: usize = 12;
const TAG: usize = 16;

/// The key for sealed data in the store; it appears in no store, log or `Debug` output.
#[derive(Clone)]
pub struct SealingKey(Aes256Gcm);

/// Why a sealed text can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It is too short, or of a format that this version does not know.
    #[error("it is damaged, or was sealed by a newer version of caisson")]
    Layout,
    /// It was sealed with another key or for another context, or was changed; these cannot be distinguished.
    #[error(
        "it was sealed with another key than mark.key of this state directory, or changed by somebody who has none: copy mark.key from a host \
         that works; where the key is lost, `caisson repo add` seals the repository anew"
    )]
    Key,
}

impl SealingKey {
    /// The key for an installation's `mark.key`, the same on each host with a copy of that file.
    pub fn of(mark: &Secret) -> Self {
        let mut key = [0; 32];
        // 32 bytes are one block of the hash, so this length is valid.
        let expanded = Hkdf::<Sha256>::new(None, mark.expose().as_bytes()).expand(LABEL, &mut key);
        debug_assert!(expanded.is_ok());
        Self(Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(&key)))
    }

    /// Encrypts bytes for the context `about`, whose parts are authenticated with their lengths and not stored.
    ///
    /// # Errors
    /// When the operating system gives no random bytes, or the text is longer than 64 GiB.
    pub fn seal(&self, about: &[&[u8]], plain: &[u8]) -> Result<Vec<u8>, String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|e| format!("the operating system gives no random bytes: {e}"))?;
        let mut body = plain.to_vec();
        let tag = self.0.encrypt_in_place_detached(Nonce::from_slice(&nonce), &joined(about), &mut body);
        let tag = tag.map_err(|_| "the text is too long to be sealed".to_owned())?;
        Ok([&[LAYOUT][..], &nonce, &body, &tag].concat())
    }

    /// Decrypts what was sealed with this key for the same context.
    ///
    /// # Errors
    /// [`SealError`], without any of the text.
    pub fn open(&self, about: &[&[u8]], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (&layout, rest) = sealed.split_first().ok_or(SealError::Layout)?;
        if layout != LAYOUT || rest.len() < NONCE + TAG {
            return Err(SealError::Layout);
        }
        let (nonce, rest) = rest.split_at(NONCE);
        let (body, tag) = rest.split_at(rest.len() - TAG);
        let mut plain = body.to_vec();
        let opened = self.0.decrypt_in_place_detached(
            Nonce::from_slice(nonce),
            &joined(about),
            &mut plain,
            Tag::from_slice(tag),
        );
        opened.map_err(|_| SealError::Key)?;
        Ok(plain)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

/// The parts, each after its length, so that different lists never give the same bytes.
fn joined(about: &[&[u8]]) -> Vec<u8> {
    about.iter().flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: [&[u8]; 2] = [b"shop", b"1"];

    #[test]
    fn what_is_sealed_opens_with_the_same_key_for_the_same_purpose_alone() {
        let key = SealingKey::of(&Secret::new("one"));
        let sealed = key.seal(&ABOUT, b"hook secret").unwrap();
        assert_eq!(SealingKey::of(&Secret::new("one")).open(&ABOUT, &sealed).unwrap(), b"hook secret");
        assert_eq!(SealingKey::of(&Secret::new("two")).open(&ABOUT, &sealed), Err(SealError::Key));
        for elsewhere in [[&b"till"[..], b"1"], [b"shop", b"2"], [b"shop1", b""]] {
            assert_eq!(key.open(&elsewhere, &sealed), Err(SealError::Key), "{elsewhere:?}");
        }
        assert!(!sealed.windows(4).any(|part| part == b"hook"));
        assert_ne!(key.seal(&ABOUT, b"hook secret").unwrap(), sealed, "a nonce of its own each time");
    }

    #[test]
    fn no_changed_or_cut_byte_goes_unseen() {
        let key = SealingKey::of(&Secret::new("one"));
        let sealed = key.seal(&ABOUT, b"x").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let expected = if at == 0 { SealError::Layout } else { SealError::Key };
            assert_eq!(key.open(&ABOUT, &changed), Err(expected), "byte {at}");
            assert!(key.open(&ABOUT, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn debug_shows_nothing_and_another_label_is_another_key() {
        let mark = Secret::new("one");
        assert_eq!(format!("{:?}", SealingKey::of(&mark)), "SealingKey(…)");
        // The derived key differs from the mark used as a key.
        let raw = SealingKey(Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(&[b'o'; 32])));
        let sealed = SealingKey::of(&Secret::new("o".repeat(32))).seal(&ABOUT, b"x").unwrap();
        assert_eq!(raw.open(&ABOUT, &sealed), Err(SealError::Key));
    }
}
