//! Builds the request of one attempt from a hook, a delivery and the JSON of the event.

use bytes::Bytes;
use farrier_proto::store::{Delivery, Hook, RequestBody};
use http::{Method, header, header::HeaderName};
use serde_json::Value;
use url::{Url, form_urlencoded};
use uuid::Uuid;

use super::{chat, headers, headers::Header};
use crate::{
    clock::Millis,
    model::{
        hook_config,
        ref_name::{self, RefKind},
    },
};

/// Value of the `User-Agent` header.
const USER_AGENT: &str = concat!("farrier/", env!("CARGO_PKG_VERSION"));

/// A header of every delivery. A farrier daemon that receives it refuses the request, so that no loop occurs.
pub const ATTEMPT: HeaderName = HeaderName::from_static("x-farrier-attempt");

/// A header of replays. Its value says whether the payload is the stored one (`original`) or was changed by an operator
/// (`edited`).
pub const REPLAY: HeaderName = HeaderName::from_static("x-farrier-replay");

pub(super) static REPLAYS: [HeaderName; 1] = [REPLAY];
pub(super) static ATTEMPTS: [HeaderName; 1] = [ATTEMPT];
pub(super) static AGENT: [HeaderName; 1] = [header::USER_AGENT];
pub(super) static ACCEPT: [HeaderName; 1] = [header::ACCEPT];
pub(super) static AUTHORIZATION: [HeaderName; 1] = [header::AUTHORIZATION];
pub(super) static CONTENT_TYPE: [HeaderName; 1] = [header::CONTENT_TYPE];

/// The delivery and the number of an attempt, as input for its request.
#[derive(Clone, Copy, Debug)]
pub struct AttemptContext<'a> {
    /// The delivery.
    pub delivery: &'a Delivery,
    /// Number of the attempt, from 1.
    pub number: u32,
    /// The current time.
    pub now_ms: Millis,
}

impl AttemptContext<'_> {
    /// Returns the UUID that all attempts of the delivery share.
    pub(super) fn uuid(&self) -> String {
        uuid_text(&self.delivery.uuid)
    }
}

/// Formats the UUID of a delivery.
pub fn uuid_text(bytes: &[u8]) -> String {
    Uuid::from_slice(bytes).unwrap_or_default().to_string()
}

/// A request to a receiver.
#[derive(Clone, Debug)]
pub struct WebhookRequest {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// The headers except `Host` and `Content-Length`.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Bytes,
    /// How the body was built.
    pub kind: RequestBody,
}

impl WebhookRequest {
    /// Returns whether the request has a signature.
    pub fn is_signed(&self) -> bool {
        self.headers.iter().any(Header::is_signature)
    }
}

/// Why no request can be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The hook type has no message for this event.
    EventNotSupported,
    /// The settings of the hook or the event are not valid.
    Invalid(String),
}

/// Builds the request of an attempt. `json` is the payload for native hooks.
pub fn build(hook: &Hook, attempt: &AttemptContext, json: &Bytes) -> Result<WebhookRequest, BuildError> {
    let request = if is_native(hook)? {
        native(hook, attempt, body_kind(hook, attempt), json)?
    } else {
        chat::message(hook, attempt, json)?
    };
    with_common_headers(hook, attempt, request)
}

/// Builds the request of a replay. `edited` replaces the JSON that native hooks receive, or the message that a chat
/// receives, byte for byte.
pub fn build_replay(
    hook: &Hook,
    attempt: &AttemptContext,
    json: &Bytes,
    edited: Option<&Bytes>,
) -> Result<WebhookRequest, BuildError> {
    let mut request = match edited {
        None => build(hook, attempt, json)?,
        Some(edited) if is_native(hook)? => {
            let kind = if hook.form { RequestBody::Form } else { RequestBody::Json };
            with_common_headers(hook, attempt, native(hook, attempt, kind, edited)?)?
        }
        Some(edited) => WebhookRequest { body: edited.clone(), ..build(hook, attempt, json)? },
    };
    let word = if edited.is_some() { "edited" } else { "original" };
    request.headers.push(Header::plain(&REPLAYS, word));
    Ok(request)
}

/// Returns whether the hook receives the event itself, and not a chat message.
fn is_native(hook: &Hook) -> Result<bool, BuildError> {
    let unknown = || BuildError::Invalid(format!("the type {:?} is unknown", hook.r#type));
    hook_config::by_name(&hook.r#type).map(|kind| kind.native).ok_or_else(unknown)
}

/// Adds the headers that do not depend on the hook's type.
fn with_common_headers(
    hook: &Hook,
    attempt: &AttemptContext,
    mut request: WebhookRequest,
) -> Result<WebhookRequest, BuildError> {
    request.headers.push(Header::plain(&ATTEMPTS, &attempt.number.to_string()));
    request.headers.push(Header::plain(&AGENT, USER_AGENT));
    request.headers.push(Header::plain(&ACCEPT, "*/*"));
    if !hook.authorization.is_empty() && !request.headers.iter().any(|header| header.is(&header::AUTHORIZATION)) {
        request.headers.push(authorization(&hook.authorization)?);
    }
    Ok(request)
}

/// Builds the `Authorization` header.
pub(super) fn authorization(text: &str) -> Result<Header, BuildError> {
    let invalid = || BuildError::Invalid("the authorization is not valid as the value of a header".to_owned());
    Header::checked(&AUTHORIZATION, text).ok_or_else(invalid)
}

fn native(
    hook: &Hook,
    attempt: &AttemptContext,
    kind: RequestBody,
    json: &Bytes,
) -> Result<WebhookRequest, BuildError> {
    let (text, body) = native_body(kind, json);
    let content_type = if hook.form { "application/x-www-form-urlencoded" } else { "application/json" };
    let mut headers = headers::identity(hook, attempt);
    headers.extend(headers::signatures(hook, attempt, &text, &body));
    headers.push(Header::plain(&CONTENT_TYPE, content_type));
    Ok(WebhookRequest { method: Method::POST, url: address(&hook.url)?, headers, body, kind })
}

/// Returns how the body of a native delivery is built. Receivers of the types `gitea` and `gogs` get short names
/// of created and deleted refs; all others get full names, as in the event.
fn body_kind(hook: &Hook, attempt: &AttemptContext) -> RequestBody {
    let has_short_refs = matches!(hook.r#type.as_str(), "gitea" | "gogs");
    let short = has_short_refs && matches!(attempt.delivery.event.as_str(), "create" | "delete");
    match (hook.form, short) {
        (false, false) => RequestBody::Json,
        (false, true) => RequestBody::ShortRef,
        (true, false) => RequestBody::Form,
        (true, true) => RequestBody::FormShortRef,
    }
}

/// Returns the JSON of a native delivery and the body that contains it, built from the JSON of the event. The
/// same function builds the body to send and the body that is shown afterwards.
pub fn native_body(kind: RequestBody, json: &Bytes) -> (Bytes, Bytes) {
    let short = matches!(kind, RequestBody::ShortRef | RequestBody::FormShortRef);
    let text = if short { with_short_ref(json) } else { json.clone() };
    if !matches!(kind, RequestBody::Form | RequestBody::FormShortRef) {
        return (text.clone(), text);
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    let body = form.append_pair("payload", &String::from_utf8_lossy(&text)).finish();
    (text, Bytes::from(body))
}

fn with_short_ref(json: &Bytes) -> Bytes {
    let Ok(mut value) = serde_json::from_slice::<Value>(json) else { return json.clone() };
    if let Some(Value::String(name)) = value.get_mut("ref") {
        *name = short_ref(name).to_owned();
    }
    serde_json::to_vec(&value).map_or_else(|_| json.clone(), Bytes::from)
}

/// Returns the short name of a branch or tag; other refs keep their full name.
pub(super) fn short_ref(name: &str) -> &str {
    match ref_name::kind(name) {
        RefKind::Branch(short) | RefKind::Tag(short) => short,
        RefKind::Other => name,
    }
}

/// Parses the URL of a receiver, which was validated when the hook was saved.
pub(super) fn address(text: &str) -> Result<Url, BuildError> {
    Url::parse(text).map_err(|error| BuildError::Invalid(format!("the URL is not valid: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"{\n  \"ref\": \"refs/heads/main\",\n  \"total_commits\": 0\n}";

    fn hook(kind: &str) -> Hook {
        Hook {
            id: 7,
            r#type: kind.into(),
            url: "http://h:81/a?b=c".into(),
            secret: "s3cr3t".into(),
            authorization: "Bearer x".into(),
            ..Hook::default()
        }
    }

    fn built(hook: &Hook, event: &str) -> WebhookRequest {
        let delivery = Delivery { uuid: vec![0x11; 16], event: event.into(), ..Delivery::default() };
        let attempt = AttemptContext { delivery: &delivery, number: 2, now_ms: 1_700_000_000_500 };
        build(hook, &attempt, &Bytes::from_static(BODY)).expect("a request")
    }

    fn value<'a>(request: &'a WebhookRequest, name: &str) -> Option<&'a str> {
        let header = request.headers.iter().find(|header| header.names.iter().any(|other| other.as_str() == name));
        header.map(|header| header.value.to_str().expect("text"))
    }

    #[test]
    fn a_json_delivery_sends_the_payload_unchanged() {
        let sent = built(&hook("gitea"), "push");
        assert_eq!(sent.body, BODY);
        assert_eq!(value(&sent, "content-type"), Some("application/json"));
        let uuid = "11111111-1111-1111-1111-111111111111";
        for family in ["gitea", "gogs", "github", "forgejo"] {
            assert_eq!(value(&sent, &format!("x-{family}-delivery")), Some(uuid));
            assert_eq!(value(&sent, &format!("x-{family}-event")), Some("push"));
        }
        assert_eq!((value(&sent, "x-gitea-hook-id"), value(&sent, "x-farrier-attempt")), (Some("7"), Some("2")));
        assert_eq!(value(&sent, "authorization"), Some("Bearer x"));
        let signature = "5b06496e108dcc0ef1bddd11d0b4a1a7b966a410abc458fb06e13efea8302b36";
        assert_eq!(value(&sent, "x-gitea-signature"), Some(signature));
        assert_eq!(value(&sent, "x-hub-signature-256"), Some(format!("sha256={signature}").as_str()));
        assert_eq!(value(&sent, "x-hub-signature"), Some("sha1=5480fe4a0a2ba1beb4ca90f989d7685f735a0bfb"));
        assert_eq!(value(&sent, "webhook-signature"), None);
    }

    #[test]
    fn the_signature_of_a_form_covers_its_json() {
        let sent = built(&Hook { form: true, ..hook("gogs") }, "push");
        let form = "payload=%7B%0A++%22ref%22%3A+%22refs%2Fheads%2Fmain%22%2C%0A++%22total_commits%22%3A+0%0A%7D";
        assert_eq!(sent.body, form);
        assert_eq!(value(&sent, "content-type"), Some("application/x-www-form-urlencoded"));
        assert_eq!(value(&sent, "x-gitea-signature"), value(&built(&hook("gogs"), "push"), "x-gitea-signature"));
    }

    #[test]
    fn a_hook_without_a_secret_sends_no_signature() {
        let sent = built(&Hook { secret: String::new(), ..hook("gitea") }, "push");
        assert!(
            sent.headers.iter().all(|header| !header.names[0].as_str().contains("signature")),
            "{:?}",
            sent.headers
        );
    }

    #[test]
    fn both_secrets_sign_during_the_grace_period() {
        let hook = Hook {
            secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into(),
            old_secret: "whsec_AAAA".into(),
            old_secret_until_ms: 1_700_000_000_501,
            ..hook("gitea")
        };
        let both = built(&hook, "push");
        assert_eq!(value(&both, "webhook-signature").expect("signed").split(' ').count(), 2);
        let after = built(&Hook { old_secret_until_ms: 1_700_000_000_500, ..hook }, "push");
        let one = value(&after, "webhook-signature").expect("signed");
        assert!(value(&both, "webhook-signature").expect("signed").starts_with(one) && !one.contains(' '));
        assert_eq!(value(&after, "webhook-timestamp"), Some("1700000000"));
    }

    #[test]
    fn the_ref_format_of_create_events_depends_on_the_hook_type() {
        for (kind, event, expected) in [
            ("gitea", "create", "main"),
            ("gogs", "create", "main"),
            ("gogs", "delete", "main"),
            ("forgejo", "create", "refs/heads/main"),
            ("gitea", "push", "refs/heads/main"),
        ] {
            let json: Value = serde_json::from_slice(&built(&hook(kind), event).body).expect("JSON");
            assert_eq!(json["ref"], expected, "{kind} {event}");
        }
    }

    #[test]
    fn a_replay_says_whether_its_payload_was_edited() {
        let edited = Bytes::from_static(b"{ \"ref\":\"refs/heads/other\" }");
        let delivery = Delivery { uuid: vec![0x22; 16], event: "create".into(), ..Delivery::default() };
        let attempt = AttemptContext { delivery: &delivery, number: 1, now_ms: 1_700_000_000_500 };
        let json = Bytes::from_static(BODY);
        let replay = |hook: &Hook, edited| build_replay(hook, &attempt, &json, edited).expect("a request");
        let same = replay(&hook("gitea"), None);
        assert_eq!((same.body.clone(), value(&same, "x-farrier-replay")), (built_body("gitea"), Some("original")));
        let changed = replay(&hook("gitea"), Some(&edited));
        assert_eq!((&changed.body, value(&changed, "x-farrier-replay")), (&edited, Some("edited")));
        assert_ne!(value(&changed, "x-gitea-signature"), value(&same, "x-gitea-signature"));
        assert!(changed.is_signed());
        let form = replay(&Hook { form: true, secret: String::new(), ..hook("gitea") }, Some(&edited));
        assert_eq!(form.body, "payload=%7B+%22ref%22%3A%22refs%2Fheads%2Fother%22+%7D");
        assert!(!form.is_signed());
        assert_eq!(replay(&hook("slack"), Some(&edited)).body, edited);
    }

    fn built_body(kind: &str) -> Bytes {
        built(&hook(kind), "create").body
    }

    #[test]
    fn no_header_contains_the_secret() {
        use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
        for secret in ["s3cr3t", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            let sent = built(&Hook { secret: secret.into(), ..hook("gitea") }, "push");
            for form in [secret.to_owned(), hex::encode(secret), BASE64.encode(secret)] {
                assert!(
                    sent.headers.iter().all(|header| !header.value.to_str().expect("text").contains(&form)),
                    "{:?}",
                    sent.headers
                );
            }
        }
    }
}
