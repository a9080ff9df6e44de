//! Headers of a delivery to a native receiver.

use farrier_proto::store::Hook;
use http::header::{HeaderName, HeaderValue};

use super::{
    request::{ACCEPT, AGENT, ATTEMPTS, CONTENT_TYPE, Sending},
    sign,
};
use crate::model::{hook_config, hook_event};

/// A header that goes out under one name or, in the same words, under those of several families.
#[derive(Clone, Debug)]
pub struct Header {
    /// The names; the first one stands for all of them in what is recorded.
    pub names: &'static [HeaderName],
    /// The value.
    pub value: HeaderValue,
}

impl Header {
    /// A header whose value may be anything; `None` when no header can hold it.
    pub(super) fn checked(names: &'static [HeaderName], text: &str) -> Option<Self> {
        Some(Self { names, value: HeaderValue::from_str(text).ok()? })
    }

    /// A header whose value is made of names, digits and the like.
    pub(super) fn plain(names: &'static [HeaderName], text: &str) -> Self {
        Self { names, value: HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("?")) }
    }

    /// Whether another origin than the hook's may see it after a redirect. Credentials, signatures and everything else
    /// that only the receiver is meant to know stay with the hook's own scheme, host and port.
    pub(super) fn crosses_origins(&self) -> bool {
        let harmless =
            [&DELIVERY[..], &EVENT, &EVENT_TYPE, &HOOK_ID, &TARGET_TYPE, &ATTEMPTS, &AGENT, &ACCEPT, &CONTENT_TYPE];
        harmless.contains(&self.names)
    }

    /// Whether it goes out under `name`.
    pub(super) fn is(&self, name: &HeaderName) -> bool {
        self.names.contains(name)
    }
}

/// All names of the header that is recorded under `first`.
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

/// Headers that families call differently.
static FAMILIES: [&[HeaderName]; 6] = [&DELIVERY, &EVENT, &EVENT_TYPE, &HOOK_ID, &TARGET_TYPE, &SIGNATURE];

/// What every delivery has: which it is, of what, by whom.
pub(super) fn identity(hook: &Hook, sending: &Sending) -> Vec<Header> {
    let event = &sending.delivery.event;
    let coarse = hook_event::by_name(event).and_then(|event| event.headers.first()).map_or(event.as_str(), |(_, c)| c);
    let mut all = Vec::with_capacity(16);
    all.push(Header::plain(&DELIVERY, &sending.uuid()));
    all.push(Header::plain(&EVENT, coarse));
    all.push(Header::plain(&EVENT_TYPE, event));
    all.push(Header::plain(&HOOK_ID, &hook.id.to_string()));
    all.push(Header::plain(&TARGET_TYPE, hook_config::scope_text(hook.scope())));
    all
}

/// Signatures over `text`, the JSON of the delivery, and, for secrets of that form, over `body` as
/// Standard Webhooks defines it. Without a secret there are none.
pub(super) fn signatures(hook: &Hook, sending: &Sending, text: &[u8], body: &[u8]) -> Vec<Header> {
    let mut all = Vec::new();
    if !hook.secret.is_empty() {
        let sha256 = sign::sha256(&hook.secret, text);
        all.push(Header::plain(&SIGNATURE, &sha256));
        all.push(Header::plain(&HUB_SIGNATURE, &format!("sha1={}", sign::sha1(&hook.secret, text))));
        all.push(Header::plain(&HUB_SIGNATURE_256, &format!("sha256={sha256}")));
    }
    let (id, seconds) = (sending.uuid(), sending.now_ms.div_euclid(1_000));
    // The secret before the last rotation signs beside the new one for a while.
    let old = (sending.now_ms < hook.old_secret_until_ms).then_some(&hook.old_secret);
    let secrets = [&hook.secret].into_iter().chain(old);
    let standard: Vec<String> = secrets.filter_map(|secret| sign::standard(secret, &id, seconds, body)).collect();
    if !standard.is_empty() {
        all.push(Header::plain(&STANDARD_ID, &id));
        all.push(Header::plain(&STANDARD_TIMESTAMP, &seconds.to_string()));
        all.push(Header::plain(&STANDARD_SIGNATURE, &standard.join(" ")));
    }
    all
}
