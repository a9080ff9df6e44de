//! A text that `Debug` output does not contain.

use std::{fmt, ops::Deref};

/// A text that may be a secret, such as a new token that is copied.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Redacted(pub(crate) String);

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Deref for Redacted {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
