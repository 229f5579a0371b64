//! What every kind of check offers to the rest. A new kind implements this in its own file and gets one
//! arm in each of the two tables of [`Check`].

use std::collections::BTreeSet;

use serde_json::Value;

use super::secret::Secrets;
use super::{Check, Warning};
use crate::domain::Invalid;
use crate::domain::assertion::Assertion;
use crate::domain::redactor::Redactor;

pub(super) trait Kind {
    /// As in `kind`.
    fn name(&self) -> &'static str;

    /// The check as JSON, without fields that have their default. Placeholders stay placeholders.
    fn to_value(&self) -> Value;

    /// What is looked at, for people: without user info and secret parameters.
    fn target(&self) -> String;

    /// The host that is connected to: a name in wire form or an address.
    fn host(&self) -> String;

    /// The conditions as written, without the ones that hold by default.
    fn assertions(&self) -> &[Assertion];

    /// Conditions that hold unless the monitor says otherwise; they are judged and shown first.
    fn implied(&self) -> &[Assertion] {
        &[]
    }

    /// Names of all secrets that must be known before the check can run.
    fn secret_names(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The check with its secrets in place.
    fn with_secrets(&self, secrets: &Secrets) -> Result<Check, Invalid>;

    /// Puts placeholders where secrets were typed in, and gives those back.
    fn take_inline_secrets(&mut self) -> Secrets {
        Secrets::new()
    }

    /// Whether secrets that are stored for `old` would go to the same place as before.
    fn sends_secrets_where(&self, old: &Check) -> bool;

    /// Finds every secret of a filled check, in every form in which it may be echoed.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }

    /// What is allowed but says little.
    fn lint(&self) -> Vec<Warning> {
        Vec::new()
    }
}
