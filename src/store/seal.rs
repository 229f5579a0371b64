//! Secrets at rest: encrypted before they reach a column, bound to the place they were written to.
//!
//! XChaCha20-Poly1305 with a random nonce. The table, column and row are associated data, so that a
//! ciphertext copied into another row or column does not open there. Layout of a sealed value: one
//! byte version, one byte naming the key, 24 bytes nonce, then ciphertext with its tag.

use std::{fmt, fs, io, path::Path};

use base64::{Engine, engine::general_purpose as base64_engine};
use chacha20poly1305::{
    AeadCore, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, OsRng, Payload},
};
use sha2::{Digest, Sha256};

pub use crate::domain::secret::Secret;

const VERSION: u8 = 1;
const NONCE: usize = 24;

/// Where a sealed value stands: `Place { table: "channel", column: "sealed", row: &id.to_string() }`.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub table: &'a str,
    pub column: &'a str,
    pub row: &'a str,
}

/// Seals and opens. Several keys may be given for a rotation: the first seals, all of them open.
#[derive(Clone)]
pub struct Sealer {
    keys: Vec<(u8, XChaCha20Poly1305)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error(
        "{place} was sealed with another key than the one in use: give QUORATE_SECRET_KEY (or the key file in the data folder) the value it had, or enter the secret anew"
    )]
    OtherKey { place: String },
    #[error(
        "{place} cannot be opened: it was changed, or moved here from another row; enter the secret anew"
    )]
    Damaged { place: String },
    #[error("QUORATE_SECRET_KEY: {0}")]
    Key(String),
    #[error("{path}: {error}")]
    File { path: String, error: String },
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    /// From `QUORATE_SECRET_KEY`: 32 bytes as base64 (44 characters; also the URL alphabet, also
    /// without padding) or as hex (64). Several, separated by commas, during a rotation: the first
    /// seals.
    pub fn from_text(text: &str) -> Result<Self, SealError> {
        let keys =
            text.split(',').map(|part| parse_key(part.trim())).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            keys: keys
                .iter()
                .map(|key| (key_id(key), XChaCha20Poly1305::new(key.into())))
                .collect(),
        })
    }

    /// From the key file, which is made (0600, a fresh random key) if it is not there. Two processes
    /// that start at once agree on one key.
    pub fn from_file(path: &Path) -> Result<Self, SealError> {
        let wrong = |error: String| SealError::File { path: path.display().to_string(), error };
        match fs::read_to_string(path) {
            Ok(text) => Self::from_text(text.trim()).map_err(|e| wrong(e.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = XChaCha20Poly1305::generate_key(&mut OsRng);
                make_key_file(path, &base64_engine::STANDARD.encode(key))
                    .map_err(|e| wrong(e.to_string()))?;
                // Read back: if another process was first, its key counts.
                let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
                Self::from_text(text.trim()).map_err(|e| wrong(e.to_string()))
            }
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    pub fn seal(&self, place: Place<'_>, plain: &[u8]) -> Vec<u8> {
        let (id, cipher) = &self.keys[0];
        let nonce = XChaCha20Poly1305::generate_nonce(&mut OsRng);
        let aad = place.associated();
        let mut sealed = vec![VERSION, *id];
        sealed.extend_from_slice(&nonce);
        sealed.extend(
            cipher
                .encrypt(&nonce, Payload { msg: plain, aad: &aad })
                .expect("only a message of more than 256 GiB is refused"),
        );
        sealed
    }

    pub fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Secret<Vec<u8>>, SealError> {
        let damaged = || SealError::Damaged { place: place.to_string() };
        if sealed.len() < 2 + NONCE || sealed[0] != VERSION {
            return Err(damaged());
        }
        let mut known = self.keys.iter().filter(|(id, _)| *id == sealed[1]).peekable();
        if known.peek().is_none() {
            return Err(SealError::OtherKey { place: place.to_string() });
        }
        let aad = place.associated();
        let nonce = XNonce::from_slice(&sealed[2..2 + NONCE]);
        known
            .find_map(|(_, cipher)| {
                cipher.decrypt(nonce, Payload { msg: &sealed[2 + NONCE..], aad: &aad }).ok()
            })
            .map(Secret::new)
            .ok_or_else(damaged)
    }

    /// As [`Sealer::open`], for values that are text.
    pub fn open_text(&self, place: Place<'_>, sealed: &[u8]) -> Result<Secret<String>, SealError> {
        String::from_utf8(self.open(place, sealed)?.into_exposed())
            .map(Secret::new)
            .map_err(|_| SealError::Damaged { place: place.to_string() })
    }
}

impl Place<'_> {
    /// Lengths in front, so that no two places share their bytes.
    fn associated(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [self.table, self.column, self.row] {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret in {}.{} of {}", self.table, self.column, self.row)
    }
}

/// One byte of a hash: tells keys apart without telling anything about them.
fn key_id(key: &[u8; 32]) -> u8 {
    Sha256::digest([b"quorate key id".as_slice(), key].concat())[0]
}

fn parse_key(text: &str) -> Result<[u8; 32], SealError> {
    let decoded = if text.len() == 64 { hex::decode(text).ok() } else { None }.or_else(|| {
        let standard: String = text
            .trim_end_matches('=')
            .chars()
            .map(|c| match c {
                '-' => '+',
                '_' => '/',
                c => c,
            })
            .collect();
        base64_engine::STANDARD_NO_PAD.decode(standard).ok()
    });
    let Some(bytes) = decoded else {
        return Err(SealError::Key(
            "is neither base64 nor hex. Make one with: openssl rand -base64 32".into(),
        ));
    };
    let length = bytes.len();
    bytes.try_into().map_err(|_| {
        SealError::Key(format!(
            "holds {length} bytes, needed are 32. Make one with: openssl rand -base64 32"
        ))
    })
}

/// Writes beside and links into place: whoever links first wins, and nobody reads half a key.
fn make_key_file(path: &Path, text: &str) -> io::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const OTHER: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    const HERE: Place<'_> = Place { table: "channel", column: "sealed", row: "1" };

    #[test]
    fn what_was_sealed_opens_at_its_place_only() {
        let sealer = Sealer::from_text(KEY).unwrap();
        let sealed = sealer.seal(HERE, b"hunter2");
        assert!(!sealed.windows(7).any(|w| w == b"hunter2"));
        assert_eq!(sealer.open(HERE, &sealed).unwrap().expose(), b"hunter2");
        assert_eq!(
            Sealer::from_text(HEX).unwrap().open_text(HERE, &sealed).unwrap().expose(),
            "hunter2"
        );
        for elsewhere in [
            Place { row: "2", ..HERE },
            Place { column: "x", ..HERE },
            Place { table: "setting", ..HERE },
            Place { table: "channe", column: "lsealed", ..HERE },
        ] {
            assert!(matches!(sealer.open(elsewhere, &sealed), Err(SealError::Damaged { .. })));
        }
    }

    #[test]
    fn the_same_secret_never_looks_the_same_and_a_changed_byte_is_noticed() {
        let sealer = Sealer::from_text(KEY).unwrap();
        let sealed = sealer.seal(HERE, b"x");
        assert_ne!(sealed, sealer.seal(HERE, b"x"));
        for at in 2..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(
                matches!(sealer.open(HERE, &changed), Err(SealError::Damaged { .. })),
                "byte {at}"
            );
        }
        for short in 0..sealed.len() {
            assert!(sealer.open(HERE, &sealed[..short]).is_err());
        }
    }

    #[test]
    fn another_key_says_so_and_a_rotation_opens_both() {
        let old = Sealer::from_text(KEY).unwrap();
        let new = Sealer::from_text(OTHER).unwrap();
        let sealed = old.seal(HERE, b"x");
        let error = new.open(HERE, &sealed).unwrap_err();
        assert!(matches!(error, SealError::OtherKey { .. }));
        assert!(error.to_string().contains("channel.sealed of 1"), "{error}");
        assert!(error.to_string().contains("QUORATE_SECRET_KEY"), "{error}");
        let both = Sealer::from_text(&format!("{OTHER}, {KEY}")).unwrap();
        assert_eq!(both.open(HERE, &sealed).unwrap().expose(), b"x");
        assert_eq!(new.open(HERE, &both.seal(HERE, b"y")).unwrap().expose(), b"y");
    }

    #[test]
    fn keys_are_read_in_both_spellings_and_bad_ones_are_explained() {
        assert!(Sealer::from_text("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8").is_ok());
        for (text, says) in
            [("", "0 bytes"), ("c2hvcnQ=", "5 bytes"), ("!!", "neither base64 nor hex")]
        {
            let error = Sealer::from_text(text).unwrap_err().to_string();
            assert!(error.starts_with("QUORATE_SECRET_KEY: "), "{error}");
            assert!(error.contains(says) && error.contains("openssl rand"), "{error}");
        }
        assert_eq!(format!("{:?}", Sealer::from_text(KEY).unwrap()), "Sealer");
    }

    #[test]
    fn the_key_file_is_made_once_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("quorate-seal-{}", std::process::id()));
        let path = folder.join("secret.key");
        let _ = fs::remove_dir_all(&folder);
        let first = Sealer::from_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let sealed = first.seal(HERE, b"x");
        assert_eq!(Sealer::from_file(&path).unwrap().open(HERE, &sealed).unwrap().expose(), b"x");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the draft is gone");
        fs::write(&path, "nonsense").unwrap();
        assert!(Sealer::from_file(&path).unwrap_err().to_string().contains("secret.key"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
