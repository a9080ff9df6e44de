//! Headers of deliveries in the format of the Gitea API, GitHub and Standard Webhooks.

use farrier_proto::store::Hook;
use http::header::{HeaderName, HeaderValue};

use super::{
    request::{ACCEPT, AGENT, ATTEMPTS, AttemptContext, CONTENT_TYPE, REPLAYS},
    sign,
};
use crate::model::{hook_config, hook_event};

/// A header that is sent under one name, or with the same value under the names of several API families.
#[derive(Clone, Debug)]
pub struct Header {
    /// The names. The first one is used in recorded requests.
    pub names: &'static [HeaderName],
    /// The value.
    pub value: HeaderValue,
}

impl Header {
    /// Creates a header with any value; `None` if a header cannot contain it.
    pub(super) fn checked(names: &'static [HeaderName], text: &str) -> Option<Self> {
        Some(Self { names, value: HeaderValue::from_str(text).ok()? })
    }

    /// Creates a header from names, digits and similar text, which is always valid.
    pub(super) fn plain(names: &'static [HeaderName], text: &str) -> Self {
        Self { names, value: HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("?")) }
    }

    /// Returns whether the header may be sent to another origin after a redirect. Credentials, signatures and all
    /// other confidential headers are sent only to the hook's own scheme, host and port.
    pub(super) fn crosses_origins(&self) -> bool {
        let harmless = [
            &DELIVERY[..],
            &EVENT,
            &EVENT_TYPE,
            &HOOK_ID,
            &TARGET_TYPE,
            &ATTEMPTS,
            &REPLAYS,
            &AGENT,
            &ACCEPT,
            &CONTENT_TYPE,
        ];
        harmless.contains(&self.names)
    }

    /// Returns whether the header is a signature.
    pub(super) fn is_signature(&self) -> bool {
        self.is(&SIGNATURE[0]) || self.is(&STANDARD_SIGNATURE[0])
    }

    /// Returns whether the header is sent under `name`.
    pub(super) fn is(&self, name: &HeaderName) -> bool {
        self.names.contains(name)
    }
}

/// Returns all names of the header that is recorded under `first`.
pub fn names_of(first: &str) -> Option<&'static [HeaderName]> {
    FAMILIES.iter().find(|names| names[0].as_str() == first).copied()
}

macro_rules! names {
    ($($name:literal),*) => { [$(HeaderName::from_static($name)),*] };
}

static DELIVERY: [HeaderName; 4] =
    names!["x-gitea-delivery", "x-gogs-delivery", "x-github-delivery", "x-forgejo-delivery"];
static EVENT: [HeaderName; 4] = names!["x-gitea-event", "x-gogs-event", "x-github-event", "x-forgejo-event"];
static EVENT_TYPE: [HeaderName; 4] =
    names!["x-gitea-event-type", "x-gogs-event-type", "x-github-event-type", "x-forgejo-event-type"];
static HOOK_ID: [HeaderName; 2] = names!["x-gitea-hook-id", "x-github-hook-id"];
static TARGET_TYPE: [HeaderName; 2] =
    names!["x-gitea-hook-installation-target-type", "x-github-hook-installation-target-type"];
static SIGNATURE: [HeaderName; 3] = names!["x-gitea-signature", "x-gogs-signature", "x-forgejo-signature"];
static HUB_SIGNATURE: [HeaderName; 1] = names!["x-hub-signature"];
static HUB_SIGNATURE_256: [HeaderName; 1] = names!["x-hub-signature-256"];
static STANDARD_ID: [HeaderName; 1] = names!["webhook-id"];
static STANDARD_TIMESTAMP: [HeaderName; 1] = names!["webhook-timestamp"];
static STANDARD_SIGNATURE: [HeaderName; 1] = names!["webhook-signature"];

/// Headers with a different name in each API family.
static FAMILIES: [&[HeaderName]; 6] = [&DELIVERY, &EVENT, &EVENT_TYPE, &HOOK_ID, &TARGET_TYPE, &SIGNATURE];

/// Returns the headers that every delivery has: its UUID, its event, and its hook.
pub(super) fn identity(hook: &Hook, attempt: &AttemptContext) -> Vec<Header> {
    let event = &attempt.delivery.event;
    let coarse = hook_event::by_name(event).and_then(|event| event.headers.first()).map_or(event.as_str(), |(_, c)| c);
    let mut all = Vec::with_capacity(16);
    all.push(Header::plain(&DELIVERY, &attempt.uuid()));
    all.push(Header::plain(&EVENT, coarse));
    all.push(Header::plain(&EVENT_TYPE, event));
    all.push(Header::plain(&HOOK_ID, &hook.id.to_string()));
    all.push(Header::plain(&TARGET_TYPE, hook_config::scope_text(hook.scope())));
    all
}

/// Returns the signatures: over `text`, the JSON of the delivery, and, if the secret has the Standard Webhooks
/// format, over `body` as Standard Webhooks requires. Without a secret, there are no signatures.
pub(super) fn signatures(hook: &Hook, attempt: &AttemptContext, text: &[u8], body: &[u8]) -> Vec<Header> {
    let mut all = Vec::new();
    if !hook.secret.is_empty() {
        let sha256 = sign::sha256(&hook.secret, text);
        all.push(Header::plain(&SIGNATURE, &sha256));
        all.push(Header::plain(&HUB_SIGNATURE, &format!("sha1={}", sign::sha1(&hook.secret, text))));
        all.push(Header::plain(&HUB_SIGNATURE_256, &format!("sha256={sha256}")));
    }
    let (id, seconds) = (attempt.uuid(), attempt.now_ms.div_euclid(1_000));
    // For a limited time after a rotation, the delivery is also signed with the previous secret.
    let old = (attempt.now_ms < hook.old_secret_until_ms).then_some(&hook.old_secret);
    let secrets = [&hook.secret].into_iter().chain(old);
    let standard: Vec<String> = secrets.filter_map(|secret| sign::standard(secret, &id, seconds, body)).collect();
    if !standard.is_empty() {
        all.push(Header::plain(&STANDARD_ID, &id));
        all.push(Header::plain(&STANDARD_TIMESTAMP, &seconds.to_string()));
        all.push(Header::plain(&STANDARD_SIGNATURE, &standard.join(" ")));
    }
    all
}
