//! Replays a delivery: the forms, the question before the request is sent, and its result.

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use farrier_common::api::{DeliveryDetail, ReplayedDelivery};

use super::short;
use crate::{
    output::{clean_lines, human_bytes},
    ui::{
        form::{Field, Form},
        layer::{Layer, TextView},
        net::{ReplayRequest, Request},
        redacted::Redacted,
        screens::{FormAction, FormKind},
    },
};

/// Longest part of a response body that is shown, characters.
const BODY_MAX_CHARS: usize = 4_000;
const URL: &str = "url";
const SECRET: &str = "secret";
const PAYLOAD: &str = "payload";

/// A delivery to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplaySource {
    guid: String,
    method: String,
    hook: i64,
    /// The URL of the last attempt, in which secrets are masked; empty without an attempt. The hook can have another
    /// one now.
    last_url: String,
    /// The stored payload as text, for the editor.
    payload: Redacted,
}

impl ReplaySource {
    pub(super) fn of(detail: &DeliveryDetail) -> Self {
        let method = if detail.request.method.is_empty() { "POST" } else { &detail.request.method };
        let delivery = &detail.delivery;
        let (guid, last_url) = (delivery.guid.clone(), detail.url.clone());
        let stored = &detail.request.payload;
        // A payload that has expired is null.
        let text = if stored.is_null() { Ok("{}".to_owned()) } else { serde_json::to_string_pretty(stored) };
        let payload = Redacted(text.unwrap_or_default() + "\n");
        Self { guid, method: method.to_owned(), hook: delivery.hook_id, last_url, payload }
    }
}

/// Returns the form for a replay of the stored payload to another URL.
pub(super) fn form(source: ReplaySource) -> Form {
    let url = Field::line(URL, "URL", "").required().checked(bad_url).help("receiver; it gets no secret of the hook");
    let title = format!("Replay {} to another URL", short(&source.guid));
    Form::new(title, "Replay", FormKind::Replay(Arc::new(source)), vec![url, secret()])
}

/// Returns the form for a replay with an edited payload.
pub(super) fn edit_form(source: ReplaySource) -> Form {
    let payload = Field::line(PAYLOAD, "Payload file", "")
        .help("file with a JSON object, or C-x to edit the stored payload with $VISUAL or $EDITOR");
    let url = Field::line(URL, "Other URL", "").checked(bad_url).help("empty: the URL of the hook");
    let title = format!("Replay {} with an edited payload", short(&source.guid));
    Form::new(title, "Replay", FormKind::Replay(Arc::new(source)), vec![payload, url, secret()])
}

/// Returns the stored payload and the field for a file, in the form for an edited payload.
pub(in crate::ui::screens) fn text_to_edit<'a>(
    source: &'a ReplaySource,
    form: &Form,
) -> Option<(&'static str, &'a Redacted)> {
    form.field(PAYLOAD).map(|_| (PAYLOAD, &source.payload))
}

/// Returns why a text is not a payload.
pub(in crate::ui::screens) fn bad_payload(text: &str) -> Option<String> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(_)) => None,
        Ok(_) => Some("the edited text is not a JSON object; C-x edits it again".to_owned()),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            Some(format!("the edited text is not JSON at line {line}, column {column}; C-x edits it again"))
        }
    }
}

fn secret() -> Field {
    Field::secret(SECRET, "Secret").help("signs the request to another URL; empty: not signed")
}

fn bad_url(text: &str) -> Option<String> {
    let is_http = url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    (!is_http).then(|| "must begin with http:// or https://".to_owned())
}

/// Returns the question before a replay is sent, or the name of an invalid field and the reason.
pub(in crate::ui::screens) fn ask(source: &ReplaySource, form: &Form) -> Result<FormAction, (&'static str, String)> {
    let given = |name| Some(form.text(name)).filter(|text| !text.is_empty());
    let (target, secret, payload) = (given(URL), given(SECRET), given(PAYLOAD));
    if target.is_none() && secret.is_some() {
        return Err((SECRET, "only for another URL; the hook signs its own requests".to_owned()));
    }
    let signature = match (target, secret) {
        (None, _) => "Signed with the secret of the hook, if it has one.",
        (Some(_), Some(_)) => "Signed with the typed secret.",
        (Some(_), None) => "Not signed.",
    };
    // The other form has no field for a file, and no text from the editor.
    let edited = form.edited().filter(|_| payload.is_none());
    let content = match (payload, edited) {
        (Some(file), _) => format!("Payload: {file}, edited."),
        (None, Some(text)) => match bad_payload(text) {
            Some(why) => return Err((PAYLOAD, why)),
            None => format!("Payload: edited, {}.", human_bytes(i64::try_from(text.len()).unwrap_or(i64::MAX))),
        },
        (None, None) if form.field(PAYLOAD).is_some() => {
            return Err((PAYLOAD, "required: the name of a file, or C-x for the editor".to_owned()));
        }
        (None, None) => "Payload: as stored.".to_owned(),
    };
    let shown = target.map_or_else(|| format!("to the URL of hook {}", source.hook), without_credentials);
    let mut lines = vec![format!("{} {shown}", source.method), content, signature.to_owned()];
    if target.is_none() && !source.last_url.is_empty() {
        lines.push(format!("The last attempt went to {}", source.last_url));
    }
    lines.push("The receiver gets a new UUID. The hook does not change.".to_owned());
    let request = ReplayRequest {
        guid: source.guid.clone(),
        target: target.map(|url| Redacted(url.to_owned())),
        secret: secret.map(|secret| Redacted(secret.to_owned())),
        payload_file: payload.map(PathBuf::from),
        payload: edited.cloned(),
    };
    let request = Request::Replay(Box::new(request));
    Ok(FormAction::Ask { title: format!("Replay delivery {}", short(&source.guid)), lines, verb: "Replay", request })
}

/// Returns a URL without user name and password.
fn without_credentials(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else { return String::new() };
    // Neither fails for a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// Returns the view of a result.
pub(super) fn result(replayed: &ReplayedDelivery) -> Layer {
    let signed = if replayed.signed { "signed" } else { "not signed" };
    let edited = if replayed.edited { ", edited" } else { "" };
    let outcome = if replayed.error.is_empty() { "The receiver accepted the request." } else { &replayed.error };
    let mut text = format!(
        "{outcome}\n\n{} {}\nUUID {}\n{signed}{edited}, {:.3} s\n",
        replayed.method, replayed.url, replayed.guid, replayed.duration
    );
    if replayed.status_code != 0 {
        let _ = writeln!(text, "\n{}", replayed.status_code);
        for (name, value) in &replayed.response.headers {
            let _ = writeln!(text, "{name}: {value}");
        }
        let body = &replayed.response.payload;
        let end = body.char_indices().nth(BODY_MAX_CHARS).map_or(body.len(), |(at, _)| at);
        let _ = write!(text, "\n{}", &body[..end]);
        if replayed.response.truncated || end < body.len() {
            text.push_str("\n(the response was longer)");
        }
    }
    let title = format!("Replay of {}", short(&replayed.replay_of));
    Layer::TextView(TextView::new(title, clean_lines(&text).into_owned()))
}
