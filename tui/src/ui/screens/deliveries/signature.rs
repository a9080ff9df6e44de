//! Checks the signature of a recorded request with a secret that the user types. The secret stays in the form.

use farrier_common::api::DeliveryDetail;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::ui::{
    form::{Field, Form},
    screens::{FormAction, FormKind},
};

/// The header with the HMAC-SHA256 of the JSON, and what precedes its hexadecimal digits.
const HEADER: &str = "x-hub-signature-256";
const PREFIX: &str = "sha256=";

/// A text and its HMAC-SHA256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedText {
    text: Vec<u8>,
    signature: Vec<u8>,
}

impl SignedText {
    /// Returns what the last request of a delivery signed, or why there is nothing to check.
    pub(super) fn of(detail: &DeliveryDetail) -> Result<Self, &'static str> {
        let header = detail.request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(HEADER));
        let Some((_, value)) = header else { return Err("the last request has no signature") };
        let signature = value.strip_prefix(PREFIX).and_then(|digits| hex::decode(digits).ok());
        let signature = signature.ok_or("the signature of the last request is not valid")?;
        let Some(body) = detail.request.body_bytes() else {
            return Err("the body was removed, or is too large to check");
        };
        let is_form = |(name, value): (&String, &String)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with("application/x-www-form-urlencoded")
        };
        if !detail.request.headers.iter().any(is_form) {
            return Ok(Self { text: body, signature });
        }
        // The signature of a form covers the JSON in it.
        let mut pairs = url::form_urlencoded::parse(&body);
        let payload = pairs.find(|(name, _)| name == "payload").map(|(_, json)| json.into_owned().into_bytes());
        Ok(Self { text: payload.ok_or("the form has no payload")?, signature })
    }

    /// Returns whether it was signed with `secret`.
    fn is_signed_with(&self, secret: &str) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
        mac.update(&self.text);
        mac.verify_slice(&self.signature).is_ok()
    }
}

/// Returns the form that asks for the secret. `delivery` names the delivery.
pub(super) fn form(delivery: &str, signed: SignedText) -> Form {
    let field = Field::secret("secret", "Secret").required().help("compared on this machine; not sent and not saved");
    let kind = FormKind::CheckSignature(std::sync::Arc::new(signed));
    Form::new(format!("Check the signature of {delivery}"), "Check", kind, vec![field])
}

/// Returns the result of a submitted form.
pub(in crate::ui::screens) fn check(signed: &SignedText, form: &Form) -> Result<FormAction, (&'static str, String)> {
    if signed.is_signed_with(form.text("secret")) {
        return Ok(FormAction::Report("The signature matches this secret".to_owned()));
    }
    Err(("secret", "does not match: the request was signed with another secret".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "{\n  \"ref\": \"refs/heads/main\",\n  \"total_commits\": 0\n}";
    const SIGNATURE: &str = "sha256=5b06496e108dcc0ef1bddd11d0b4a1a7b966a410abc458fb06e13efea8302b36";

    fn sent(content_type: &str, body: &str, signature: &str) -> DeliveryDetail {
        let mut detail = DeliveryDetail::default();
        detail.request.headers.insert("content-type".into(), content_type.into());
        detail.request.headers.insert("X-Hub-Signature-256".into(), signature.into());
        detail.request.body = Some(body.into());
        detail
    }

    #[test]
    fn the_signature_of_json_and_of_a_form_covers_the_json() {
        let form = "payload=%7B%0A++%22ref%22%3A+%22refs%2Fheads%2Fmain%22%2C%0A++%22total_commits%22%3A+0%0A%7D";
        for (content_type, body) in [("application/json", JSON), ("application/x-www-form-urlencoded", form)] {
            let signed = SignedText::of(&sent(content_type, body, SIGNATURE)).unwrap();
            assert!(signed.is_signed_with("s3cr3t"), "{content_type}");
            for wrong in ["", "s3cr3", "S3cr3t", " s3cr3t"] {
                assert!(!signed.is_signed_with(wrong), "{content_type} {wrong:?}");
            }
        }
    }

    #[test]
    fn requests_without_a_usable_signature_or_body_give_the_reason() {
        let why = |detail: &DeliveryDetail| SignedText::of(detail).unwrap_err();
        assert_eq!(why(&DeliveryDetail::default()), "the last request has no signature");
        for bad in ["", "sha256=", "sha1=00", "sha256=xy"] {
            let result = SignedText::of(&sent("application/json", JSON, bad));
            assert!(result.is_ok_and(|signed| !signed.is_signed_with("s3cr3t")) == (bad == "sha256="), "{bad}");
        }
        let mut expired = sent("application/json", JSON, SIGNATURE);
        expired.request.body = None;
        assert_eq!(why(&expired), "the body was removed, or is too large to check");
        let other = sent("application/x-www-form-urlencoded", "a=b", SIGNATURE);
        assert_eq!(why(&other), "the form has no payload");
    }
}
