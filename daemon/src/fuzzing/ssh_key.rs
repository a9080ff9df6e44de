//! Checks of public SSH keys.

use crate::model::ssh_key::{COMMENT_MAX_CHARS, PublicKey, TEXT_MAX_BYTES, fingerprint};

/// Checks public keys: an accepted key is written as one line, which parses to the same key.
pub fn ssh_key(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let key = match PublicKey::parse(text) {
        Ok(key) => key,
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            return;
        }
    };
    assert!(text.len() <= TEXT_MAX_BYTES && !text.contains("PRIVATE KEY-----"), "{text:?}");
    assert!(key.comment.chars().count() <= COMMENT_MAX_CHARS, "{text:?}");
    let line = key.line();
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert_eq!(PublicKey::parse(&line).as_ref(), Ok(&key), "{text:?} was written as {line:?}");
    let words = line.split(' ').collect::<Vec<_>>();
    assert!(words.len() >= 2 && !words[0].ends_with("-cert-v01@openssh.com") && words[0] != "ssh-dss", "{line:?}");
    assert_eq!(fingerprint(&key.blob).len(), "SHA256:".len() + 43);
}
