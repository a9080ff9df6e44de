//! Replaces secrets in recorded requests and responses.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_proto::store::Hook;

use crate::model::hook_config;

/// The text that replaces a secret.
pub(super) const MASKED: &str = "******";
/// Shorter secrets are not replaced: they would match parts of ordinary text.
const SHORTEST: usize = 4;
/// Settings of hooks that are secrets.
const SECRET_SETTINGS: [&str; 2] = ["bot_token", "access_token"];

/// The secrets of one hook.
pub struct Mask {
    secrets: Vec<String>,
}

impl Mask {
    /// Collects the secrets of `hook`.
    pub fn of(hook: &Hook) -> Self {
        let settings = SECRET_SETTINGS.iter().filter_map(|key| hook.settings.get(*key).cloned());
        let mut secrets = vec![hook.secret.clone(), hook.old_secret.clone(), hook.authorization.clone()];
        // A receiver may return the token without its scheme.
        secrets.extend(hook.authorization.split_once(' ').map(|(_, token)| token.trim().to_owned()));
        secrets.extend(password(&hook.authorization));
        secrets.extend(settings);
        secrets.extend(secret_path(hook));
        secrets.retain(|secret| secret.len() >= SHORTEST);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// Replaces the secrets in `text`.
    pub fn text(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), MASKED) } else { text }
        };
        self.secrets.iter().fold(text.to_owned(), hide)
    }

    /// Replaces the secrets in `bytes`. Other bytes are unchanged.
    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.secrets.iter().fold(bytes, |bytes, secret| mask_secret(bytes, secret.as_bytes()))
    }

    /// Replaces the secrets in the value of a header. The values of credential headers are replaced completely.
    pub fn header(&self, name: &str, value: &str) -> String {
        let credentials = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
        if credentials.iter().any(|secret| name.eq_ignore_ascii_case(secret)) {
            return MASKED.to_owned();
        }
        self.text(value)
    }
}

/// Returns the path of the URL if it is the credential: chats without a token accept messages from everyone who has the
/// URL.
fn secret_path(hook: &Hook) -> Option<String> {
    let kind = hook_config::by_name(&hook.r#type).filter(|kind| !kind.native)?;
    let has_token = kind.keys.iter().any(|key| key.secret);
    let path = hook.url.split_once("://")?.1.split_once('/')?.1;
    (!has_token).then(|| path.to_owned())
}

fn mask_secret(bytes: Vec<u8>, secret: &[u8]) -> Vec<u8> {
    let find = |rest: &[u8]| rest.windows(secret.len()).position(|window| window == secret);
    let Some(mut at) = find(&bytes) else { return bytes };
    let (mut masked, mut rest) = (Vec::with_capacity(bytes.len()), &bytes[..]);
    loop {
        masked.extend_from_slice(&rest[..at]);
        masked.extend_from_slice(MASKED.as_bytes());
        rest = &rest[at + secret.len()..];
        match find(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    masked.extend_from_slice(rest);
    masked
}

/// Returns the decoded password of a Basic `Authorization` header.
fn password(authorization: &str) -> Option<String> {
    let (scheme, pair) = authorization.split_once(' ')?;
    let pair = scheme.eq_ignore_ascii_case("basic").then(|| BASE64.decode(pair.trim()).ok())??;
    Some(String::from_utf8(pair).ok()?.split_once(':')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_texts_bodies_and_headers() {
        let settings = [("bot_token".to_owned(), "12:bot".to_owned())].into();
        let hook = Hook { secret: "s3cr3t".into(), authorization: "Bearer abcdef".into(), settings, ..Hook::default() };
        let mask = Mask::of(&hook);
        assert_eq!(mask.text("https://x/12:bot/s3cr3t"), "https://x/******/******");
        assert_eq!(mask.bytes(b"you sent Bearer abcdef or abcdef".to_vec()), b"you sent ****** or ******");
        assert_eq!(mask.bytes(vec![0xff, 1]), [0xff, 1]);
        assert_eq!(mask.bytes(b"\xffs3cr3t\xfes3cr3t\xfd".to_vec()), b"\xff******\xfe******\xfd");
        assert_eq!(mask.header("AUTHORIZATION", "x"), MASKED);
        let basic = Hook { authorization: format!("Basic {}", BASE64.encode("u:p4ssword")), ..Hook::default() };
        assert_eq!(Mask::of(&basic).text("who are you, u:p4ssword?"), "who are you, u:******?");
        assert_eq!(Mask::of(&Hook { secret: "a".into(), ..Hook::default() }).text("banana"), "banana");
        for (kind, expected) in [("slack", "https://chat/******"), ("gitea", "https://chat/T/B")] {
            let hook = Hook { r#type: kind.into(), url: "https://chat/T/B?x".into(), ..Hook::default() };
            assert!(Mask::of(&hook).text("https://chat/T/B?x").starts_with(expected), "{kind}");
        }
    }
}
