//! A value that must not be read by accident.

use std::fmt;

/// Holds a secret. It cannot be printed (`Debug` says `[secret]`, there is no `Display`) and cannot be
/// serialised, so that no log line, error or answer can carry it by accident; [`Secret::expose`] is
/// the one way in, and easy to search for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the one call that needs it.
    pub fn expose(&self) -> &T {
        &self.0
    }

    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl From<&str> for Secret<String> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_cannot_be_printed() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "[secret] Some(\n    [secret],\n)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
