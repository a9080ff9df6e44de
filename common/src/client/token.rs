//! Credentials.
//!
//! Owns the one value that must never be shown. It has no `Display`, its `Debug` says nothing, and
//! the header made of it is marked sensitive.

use http::HeaderValue;

/// An access token or the runtime token of a job.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

/// Why a text cannot be a token. The text itself is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Nothing but blanks.
    #[error("the token is empty")]
    Empty,
    /// Blanks, line breaks or bytes that no header may hold.
    #[error("the token holds characters that no token has")]
    Characters,
}

impl Token {
    /// Takes a token as it stands in a file or a variable; blanks around it are dropped.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| TokenError::Characters)?;
        header.set_sensitive(true);
        Ok(Self(header))
    }

    /// Its last four characters, to tell it from others; none of one that is short.
    pub fn ending(&self) -> Option<&str> {
        let text = self.0.to_str().ok()?;
        text.get(text.len().checked_sub(4)?..).filter(|_| text.len() >= 32)
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_trimmed_and_never_shown() {
        let token = Token::new(" s3cret\n").unwrap();
        assert_eq!(token.header(), "Bearer s3cret");
        assert!(token.header().is_sensitive());
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(token.ending(), None);
        assert_eq!(Token::new(&"9f2c".repeat(10)).unwrap().ending(), Some("9f2c"));
    }

    #[test]
    fn characters_that_a_header_cannot_contain_are_refused() {
        assert_eq!(Token::new(" \n"), Err(TokenError::Empty));
        for bad in ["a b", "a\nb", "é", "a\u{7f}"] {
            assert_eq!(Token::new(bad), Err(TokenError::Characters), "{bad:?}");
        }
    }
}
