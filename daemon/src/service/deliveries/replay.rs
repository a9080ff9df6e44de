//! Replays: an operator sends a delivery once to another URL, or with another payload, and gets the result.
//!
//! A replay is one bounded request that its caller waits for. It is recorded in the audit log before it is sent, and
//! nowhere else: the deliveries, the queue and the health of the hook stay as they are.

use bytes::Bytes;
use farrier_proto::store::Hook;
use serde_json::{Map, Value};

use super::history::{self, DeliveryScope};
use crate::{
    delivery::{DeliveryError, PreparedReplay, ReplayError, SentReplay},
    model::{
        hook_config::{self, CA_PEM, CERTIFICATE, FOLLOW_REDIRECTS},
        revision::Revision,
    },
    service::{
        Context, Error,
        audit::{self, Action, Entry, Object},
        hooks,
    },
    shares::{Holder, RequestMemory},
};

/// What a replay changes.
#[derive(Clone, Default)]
pub struct ReplayOptions {
    /// The receiver. `None`: that of the hook.
    pub url: Option<String>,
    /// Signs the request to another receiver. `None`: it is not signed.
    pub secret: Option<String>,
    /// The JSON that the receiver gets. `None`: the stored payload.
    pub payload: Option<String>,
}

/// A replay that was sent.
#[derive(Clone, Debug)]
pub struct ReplayedDelivery {
    /// The UUID of the replayed delivery.
    pub original: Vec<u8>,
    /// The name of the event.
    pub event: String,
    /// Whether the payload was edited.
    pub is_edited: bool,
    /// The request and its result.
    pub sent: SentReplay,
}

/// Replays a delivery of a hook in `scope`, and waits for the response of the receiver, at most as long as the time
/// limit of the hook. The replay counts to `holder`, and its body to `memory`.
pub async fn replay(
    context: &Context,
    (holder, memory): (Holder, Option<&RequestMemory>),
    scope: DeliveryScope,
    text: &str,
    options: ReplayOptions,
) -> Result<ReplayedDelivery, Error> {
    hooks::enabled(context)?;
    let snapshot = context.store.read().await?;
    let row = history::find(&snapshot, scope, text).await?;
    let hook = crate::store::hooks::get(&snapshot, row.hook_id).await?.ok_or_else(history::hook_deleted)?;
    let object = Object::hook(&snapshot, &hook).await?;
    drop(snapshot);
    let (hook_id, revision) = (hook.id, Revision::of_hook(&hook));
    let edited = options.payload.map(|text| checked_payload(context, text)).transpose()?;
    let hook = match options.url {
        Some(url) => with_other_receiver(hook, &url, options.secret.unwrap_or_default())?,
        None => with_own_receiver(hook, options.secret.as_deref(), edited.is_some())?,
    };
    let _share = context.work.replays.take(holder)?;
    let (id, original, event) = (row.id, row.uuid.clone(), row.event.clone());
    let replay = PreparedReplay::prepare(context, row, hook, edited.as_ref()).await?;
    // Reading the commits of a push takes time. As for attempts, nothing is sent to the old URL of a changed hook.
    let current = crate::store::hooks::get(&context.store.read().await?, hook_id).await?;
    if current.map(|current| Revision::of_hook(&current)) != Some(revision) {
        return Err(Error::Conflict { reason: "the hook was changed at the same time; try again".into() });
    }
    if let Some(memory) = memory {
        memory.grow(replay.body_bytes())?;
    }
    let entry = Entry::new(Action::DeliveryReplay, object)
        .url("url", "", replay.url())
        .created()
        .set("delivery_id", id)
        .set("edited", edited.is_some())
        .set("signed", replay.is_signed());
    audit::record_before(context, entry).await?;
    Ok(ReplayedDelivery { original, event, is_edited: edited.is_some(), sent: replay.send(context).await })
}

impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Delivery(DeliveryError::Store(source)) => source.into(),
            ReplayError::Delivery(DeliveryError::Git(source)) => source.into(),
            ReplayError::Delivery(DeliveryError::Copy(source)) => source.into(),
            ReplayError::PayloadForgotten => history::payload_removed(),
            ReplayError::EventNotSupported | ReplayError::Invalid(_) => Self::Unusable { reason: error.to_string() },
        }
    }
}

/// Checks that the text is a JSON object that is not larger than a payload.
fn checked_payload(context: &Context, text: String) -> Result<Bytes, Error> {
    let limit = context.config.webhook.max_payload_bytes;
    if text.len() > limit {
        return Err(Error::TooLarge { limit: limit as u64 });
    }
    match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(_) => Ok(text.into()),
        Err(error) => Err(Error::invalid("payload", format!("must be a JSON object: {error}"))),
    }
}

/// Returns the hook for a replay to its own receiver, with its secret and its credentials.
fn with_own_receiver(hook: Hook, secret: Option<&str>, is_edited: bool) -> Result<Hook, Error> {
    if secret.is_some() {
        let reason = "requests to the hook's own URL are signed with the hook's secret; leave it out, or give url";
        return Err(Error::invalid("secret", reason));
    }
    if !is_edited {
        let reason = "give the URL of another receiver, or payload; to send the same to the hook's own URL, redeliver";
        return Err(Error::invalid("url", reason));
    }
    history::require_active(&hook)?;
    Ok(hook)
}

/// Returns the hook for a replay to another receiver. Everything that only the hook's own receiver may get or may
/// decide is removed: secrets, credentials, trusted certificates, and redirects.
fn with_other_receiver(hook: Hook, url: &str, secret: String) -> Result<Hook, Error> {
    let kind = hook_config::by_name(&hook.r#type);
    if kind.is_some_and(|kind| kind.keys.iter().any(|key| key.secret)) {
        let kind = &hook.r#type;
        let reason =
            format!("the messages of {kind} hooks contain credentials and are sent only to the hook's own URL");
        return Err(Error::invalid("url", reason));
    }
    let (url, authorization) = hook_config::receiver(url)?;
    hook_config::check_secret(&secret)?;
    if !secret.is_empty() && kind.is_some_and(|kind| !kind.native) {
        return Err(Error::invalid(
            "secret",
            format!("messages of {} hooks are not signed; leave it out", hook.r#type),
        ));
    }
    let mut settings = hook.settings;
    settings.retain(|name, _| ![CA_PEM, CERTIFICATE, FOLLOW_REDIRECTS].contains(&name.as_str()));
    Ok(Hook {
        url,
        secret,
        authorization: authorization.unwrap_or_default(),
        old_secret: String::new(),
        old_secret_until_ms: 0,
        settings,
        ..hook
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(kind: &str) -> Hook {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = [setting(CA_PEM, "x"), setting(FOLLOW_REDIRECTS, "true"), setting("timeout_secs", "7")];
        Hook {
            r#type: kind.into(),
            active: true,
            url: "http://own/".into(),
            secret: "s3cr3t".into(),
            old_secret: "0ld".into(),
            old_secret_until_ms: i64::MAX,
            authorization: "Bearer x".into(),
            settings: settings.into(),
            ..Hook::default()
        }
    }

    #[test]
    fn another_receiver_gets_no_secret_of_the_hook() {
        let other = with_other_receiver(hook("gitea"), "https://me:pw@other/x", String::new()).expect("valid");
        assert_eq!((other.url.as_str(), other.authorization.as_str()), ("https://other/x", "Basic bWU6cHc="));
        assert_eq!((other.secret, other.old_secret, other.old_secret_until_ms), (String::new(), String::new(), 0));
        assert_eq!(other.settings.keys().collect::<Vec<_>>(), ["timeout_secs"]);
        let signed = with_other_receiver(hook("gitea"), "https://other/", "mine".into()).expect("valid");
        assert_eq!((signed.secret.as_str(), signed.authorization.as_str()), ("mine", ""));
        for kind in ["telegram", "matrix"] {
            assert!(with_other_receiver(hook(kind), "https://other/", String::new()).is_err(), "{kind}");
        }
        for kind in ["slack", "discord", "msteams"] {
            assert!(with_other_receiver(hook(kind), "https://other/", String::new()).is_ok(), "{kind}");
            assert!(with_other_receiver(hook(kind), "https://other/", "mine".into()).is_err(), "{kind} is not signed");
        }
        for url in ["", "ftp://h/", "http://h:0/", "http:///", "x"] {
            assert!(with_other_receiver(hook("gitea"), url, String::new()).is_err(), "{url}");
        }
        assert!(with_other_receiver(hook("gitea"), "https://other/", "x".repeat(3_000)).is_err());
    }

    #[test]
    fn the_own_receiver_needs_an_edited_payload_and_no_other_secret() {
        assert!(with_own_receiver(hook("gitea"), None, false).is_err());
        assert!(with_own_receiver(hook("gitea"), Some("mine"), true).is_err());
        assert!(with_own_receiver(Hook { active: false, ..hook("gitea") }, None, true).is_err());
        assert_eq!(with_own_receiver(hook("gitea"), None, true).expect("valid"), hook("gitea"));
    }
}
