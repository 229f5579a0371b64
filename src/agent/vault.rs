//! Encryption of what the agent keeps on disk: results, and assignments with their secrets. The key
//! comes from the agent's token, so that a copied folder is worth nothing without it.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use sha2::Sha256;

use crate::domain::secret::Secret;

/// Bytes that sealing adds: nonce and tag.
pub const OVERHEAD: usize = NONCE + 16;
const NONCE: usize = 24;

/// Seals and opens records with one agent's key.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
    key_id: [u8; 8],
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(vault)")
    }
}

impl Vault {
    pub fn new(token: &Secret<String>) -> Self {
        let root = Hkdf::<Sha256>::new(Some(b"quorate agent disk"), token.expose().as_bytes());
        let mut key = [0; 32];
        let mut key_id = [0; 8];
        root.expand(b"records", &mut key).expect("32 bytes are a valid length");
        root.expand(b"key id", &mut key_id).expect("8 bytes are a valid length");
        Self { cipher: XChaCha20Poly1305::new(&Key::from(key)), key_id }
    }

    /// Tells files of this token from files of another; says nothing about the key.
    pub fn key_id(&self) -> [u8; 8] {
        self.key_id
    }

    /// Nonce, ciphertext and tag. `place` is where the record belongs: it opens nowhere else.
    pub fn seal(&self, place: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE];
        rand::fill(&mut nonce);
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: place })
            .expect("encrypting into memory fails beyond 256 GiB only");
        [&nonce[..], &sealed].concat()
    }

    /// What was sealed, or nothing if it was damaged, moved, or sealed with another key.
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place }).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_opens_in_its_place_with_its_key_and_undamaged() {
        let vault = Vault::new(&Secret::from("one"));
        let sealed = vault.seal(b"here", b"secret");
        assert_eq!(sealed.len(), 6 + OVERHEAD);
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_eq!(vault.open(b"here", &sealed).as_deref(), Some(&b"secret"[..]));
        assert_eq!(vault.open(b"there", &sealed), None);
        assert_eq!(Vault::new(&Secret::from("two")).open(b"here", &sealed), None);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(vault.open(b"here", &damaged), None);
            assert_eq!(vault.open(b"here", &sealed[..at]), None);
        }
        assert_ne!(Vault::new(&Secret::from("two")).key_id(), vault.key_id());
    }
}
