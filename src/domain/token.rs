//! Keys that open doors: API, agents' and shippers' tokens, sign-ins, one-time links. 32 random bytes with a
//! prefix that says what they are; only the SHA-256 is ever stored, so a copy of the database opens
//! nothing. (A slow hash is for passwords, which people choose; nobody guesses 256 random bits.)

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::secret::Secret;

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// `qrt_`: the API, in somebody's name.
    Api,
    /// `qra_`: one agent's link, nothing else.
    Agent,
    /// `qrf_`: one fleet's logs and events, to send and nothing else.
    Shipper,
    /// `qro_`: one failover group's feed, to read and nothing else.
    Failover,
    /// `qrh_`: the address that one job calls, nothing else.
    Heartbeat,
    /// `qrs_`: a sign-in, in a cookie.
    Session,
    /// `qrl_`: a one-time link.
    Link,
}

impl KeyKind {
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Api => "qrt_",
            Self::Agent => "qra_",
            Self::Shipper => "qrf_",
            Self::Failover => "qro_",
            Self::Heartbeat => "qrh_",
            Self::Session => "qrs_",
            Self::Link => "qrl_",
        }
    }

    /// The key as its owner gets it.
    pub fn key(self, random: [u8; 32]) -> Secret<String> {
        Secret::new(format!("{}{}", self.prefix(), BASE64_URL_SAFE_NO_PAD.encode(random)))
    }

    /// What is stored and looked up, or none for a text that cannot be such a key.
    pub fn hash(self, key: &str) -> Option<[u8; 32]> {
        let secret = key.strip_prefix(self.prefix())?;
        let random = BASE64_URL_SAFE_NO_PAD.decode(secret).ok()?;
        (random.len() == 32).then(|| Sha256::digest(key.as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_hash_and_by_its_kind_only() {
        let key = KeyKind::Api.key([7; 32]);
        assert!(key.expose().starts_with("qrt_"));
        let hash = KeyKind::Api.hash(key.expose()).unwrap();
        assert_eq!(KeyKind::Api.hash(key.expose()), Some(hash));
        assert_ne!(KeyKind::Api.hash(KeyKind::Api.key([8; 32]).expose()), Some(hash));
        assert_eq!(KeyKind::Agent.hash(key.expose()), None);
        for wrong in ["", "qrt_", "qrt_AAAA", "qrt_!", "Bearer x"] {
            assert_eq!(KeyKind::Api.hash(wrong), None, "{wrong}");
        }
    }
}
