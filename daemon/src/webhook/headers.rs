//! Headers of a delivery to a native receiver.

use farrier_proto::store::{Hook, HookScope};
use http::header::HeaderName;

use super::{request::Sending, sign};
use crate::model::hook_event;

/// Families that receivers of this kind of hook belong to.
const FAMILIES: [&str; 4] = ["gitea", "gogs", "github", "forgejo"];

/// A header's name and value.
pub(super) type Header = (HeaderName, String);

fn header(name: &str, value: impl Into<String>) -> Header {
    (HeaderName::from_bytes(name.as_bytes()).expect("names here are plain"), value.into())
}

/// What every delivery has: which it is, of what, by whom, and how often it was tried.
pub(super) fn identity(hook: &Hook, sending: &Sending) -> Vec<Header> {
    let event = &sending.delivery.event;
    let coarse = hook_event::by_name(event).and_then(|event| event.headers.first()).map_or(event.as_str(), |(_, c)| c);
    let mut all = Vec::with_capacity(32);
    for family in FAMILIES {
        all.push(header(&format!("x-{family}-delivery"), sending.uuid()));
        all.push(header(&format!("x-{family}-event"), coarse));
        all.push(header(&format!("x-{family}-event-type"), event));
    }
    for family in ["gitea", "github"] {
        all.push(header(&format!("x-{family}-hook-id"), hook.id.to_string()));
        all.push(header(&format!("x-{family}-hook-installation-target-type"), target_type(hook.scope())));
    }
    all
}

/// Signatures over `text`, the JSON of the delivery, and, for secrets of that form, over `body` as
/// Standard Webhooks defines it. Without a secret there are none.
pub(super) fn signatures(hook: &Hook, sending: &Sending, text: &[u8], body: &[u8]) -> Vec<Header> {
    let mut all = Vec::new();
    if !hook.secret.is_empty() {
        let sha256 = sign::sha256(&hook.secret, text);
        for family in ["gitea", "gogs", "forgejo"] {
            all.push(header(&format!("x-{family}-signature"), sha256.as_str()));
        }
        all.push(header("x-hub-signature", format!("sha1={}", sign::sha1(&hook.secret, text))));
        all.push(header("x-hub-signature-256", format!("sha256={sha256}")));
    }
    let (id, seconds) = (sending.uuid(), sending.now_ms.div_euclid(1_000));
    // The secret before the last rotation signs beside the new one for a while.
    let old = (sending.now_ms < hook.old_secret_until_ms).then_some(&hook.old_secret);
    let secrets = [&hook.secret].into_iter().chain(old);
    let standard: Vec<String> = secrets.filter_map(|secret| sign::standard(secret, &id, seconds, body)).collect();
    if !standard.is_empty() {
        all.push(header("webhook-id", id));
        all.push(header("webhook-timestamp", seconds.to_string()));
        all.push(header("webhook-signature", standard.join(" ")));
    }
    all
}

fn target_type(scope: HookScope) -> &'static str {
    match scope {
        HookScope::Unspecified | HookScope::System => "system",
        HookScope::Default => "default",
        HookScope::Repository => "repository",
        HookScope::Org => "organization",
        HookScope::User => "user",
    }
}
