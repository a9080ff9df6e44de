//! Computes the signatures of deliveries.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::Sha256;

/// Prefix of a Standard Webhooks secret. The key in base64 follows.
const STANDARD: &str = "whsec_";

/// Returns the HMAC-SHA256 of `text` in hexadecimal.
pub(super) fn sha256(secret: &str, text: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(text);
    hex::encode(mac.finalize().into_bytes())
}

/// Returns the HMAC-SHA1 of `text` in hexadecimal, for receivers that support no other.
pub(super) fn sha1(secret: &str, text: &[u8]) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(text);
    hex::encode(mac.finalize().into_bytes())
}

/// Returns the Standard Webhooks signature; `None` if the secret does not have the Standard Webhooks format.
/// Its libraries would decode such a secret to other bytes.
pub(super) fn standard(secret: &str, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let key = BASE64.decode(secret.strip_prefix(STANDARD)?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"{\n  \"ref\": \"refs/heads/main\",\n  \"total_commits\": 0\n}";
    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn signatures_match_the_published_test_vectors() {
        assert_eq!(BODY.len(), 52);
        assert_eq!(sha256("s3cr3t", BODY), "5b06496e108dcc0ef1bddd11d0b4a1a7b966a410abc458fb06e13efea8302b36");
        assert_eq!(sha1("s3cr3t", BODY), "5480fe4a0a2ba1beb4ca90f989d7685f735a0bfb");
        let signed = standard(KEY, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        let signed = standard(KEY, "1b4e28ba-2fa1-11d2-883f-0016d3cca427", 1_700_000_000, BODY);
        assert_eq!(signed.as_deref(), Some("v1,iWzUGDjtwjIvAP9Cmli4Kryrrk9VK9rqyehYFZIf6ig="));
    }

    #[test]
    fn only_whsec_secrets_make_a_standard_webhooks_signature() {
        for secret in ["s3cr3t", "whsec_", "whsec_???"] {
            let signed = standard(secret, "a", 1, b"");
            assert_eq!(signed.is_some(), secret == "whsec_", "{secret}");
        }
    }
}
