//! Credentials. A token has no `Display`, its `Debug` output hides it, and its header is marked as sensitive.

use http::HeaderValue;

/// An access token, or the runtime token of a job.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

/// Why a token is invalid. The messages do not contain the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token is empty or only whitespace.
    #[error("the token is empty")]
    Empty,
    /// The token contains whitespace or other characters that are not allowed in a header.
    #[error("the token contains characters that are not allowed")]
    Characters,
}

impl Token {
    /// Creates a token from the content of a file or variable. Surrounding whitespace is removed.
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

    /// Returns the last four characters, to identify the token; `None` for a short token.
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
