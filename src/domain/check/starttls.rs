//! From plain text to TLS on the same connection.

use crate::domain::Invalid;
use crate::domain::fields::Fields;

/// Whose way of asking for TLS is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starttls {
    Smtp,
    Imap,
    Pop3,
    Ftp,
    Postgres,
}

impl Starttls {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Smtp, "smtp"),
        (Self::Imap, "imap"),
        (Self::Pop3, "pop3"),
        (Self::Ftp, "ftp"),
        (Self::Postgres, "postgres"),
    ];

    /// Reads the field `starttls`.
    pub(super) fn read(fields: &mut Fields) -> Result<Option<Self>, Invalid> {
        let Some(name) = fields.string("starttls")? else { return Ok(None) };
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(protocol, _)| Some(*protocol)).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            Invalid::given(
                "starttls",
                &name,
                &format!("is not known; known are {}", known.join(", ")),
            )
        })
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}
