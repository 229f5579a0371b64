//! Passwords: argon2id, off the runtime's threads, a few at a time.

use std::sync::Arc;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::sync::Semaphore;

use super::error::{ApiError, ApiResult};
use crate::domain::{Invalid, secret::Secret};

/// Hashes and verifies. Each takes 19 MiB and some ten milliseconds, so only so many run at once.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// Verified when there is no such user, so that an answer takes as long as for one who is there.
    decoy: Arc<str>,
}

/// The hash of a password that nobody knows any more.
const DECOY: &str = "$argon2id$v=19$m=19456,t=2,p=1$vRCAqcp4h2MbC/tbg9bZEQ$EOu5x3H5uSHiI1UuXRDoZ3VFHRLuDFfrrGjVtFyoHIQ";

impl Default for Passwords {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(4)), decoy: DECOY.into() }
    }
}

impl Passwords {
    /// Refuses a password that is too short or absurdly long; the field is `password` unless named.
    pub fn check(field: &str, password: &str) -> Result<(), Invalid> {
        match password.chars().count() {
            0..=9 => Err(Invalid::new(field, "is too short: 10 characters at least")),
            10..=256 => Ok(()),
            _ => Err(Invalid::new(field, "is too long: 256 characters at most")),
        }
    }

    pub async fn hash(&self, password: String) -> ApiResult<String> {
        let password = Secret::new(password);
        self.run(move || {
            Argon2::default()
                .hash_password(password.expose().as_bytes())
                .map(|hash| hash.to_string())
                .map_err(|error| ApiError::Internal(anyhow::anyhow!("hashing a password: {error}")))
        })
        .await?
    }

    /// Whether the password is the one that was hashed. Without a hash it is not, and takes as long.
    pub async fn verify(&self, password: String, hash: Option<String>) -> ApiResult<bool> {
        let password = Secret::new(password);
        let decoy = self.decoy.clone();
        self.run(move || {
            let known = hash.is_some();
            let hash = hash.unwrap_or_else(|| decoy.to_string());
            let right = PasswordHash::new(&hash).is_ok_and(|hash| {
                Argon2::default().verify_password(password.expose().as_bytes(), &hash).is_ok()
            });
            known && right
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> ApiResult<T> {
        let turn = self.turns.clone().acquire_owned().await.map_err(anyhow::Error::from)?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|error| ApiError::Internal(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_of_somebody_known_is_right() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert!(passwords.verify("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("correct horsf".into(), Some(hash)).await.unwrap());
        assert!(!passwords.verify("anything".into(), None).await.unwrap());
        assert!(!passwords.verify("anything".into(), Some("not a hash".into())).await.unwrap());
    }

    #[test]
    fn the_decoy_costs_what_a_real_hash_costs() {
        let decoy = PasswordHash::new(DECOY).unwrap();
        let real = Argon2::default().hash_password(b"anything").unwrap();
        assert_eq!(decoy.params.to_string(), real.params.to_string());
        assert_eq!(decoy.algorithm, real.algorithm);
    }

    #[test]
    fn lengths_are_checked_in_characters() {
        assert!(Passwords::check("password", "äöüßäöüßä").is_err());
        assert!(Passwords::check("password", "äöüßäöüßäö").is_ok());
        assert!(Passwords::check("new", &"x".repeat(257)).is_err_and(|e| e.field == "new"));
    }
}
