//! Builds messages for chat services: a short description of the event in the format of each service.

mod summary;
#[cfg(test)]
mod tests;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use bytes::Bytes;
use farrier_proto::store::{Hook, RequestBody};
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use self::summary::Summary;
use super::{
    headers::Header,
    request::{AttemptContext, BuildError, CONTENT_TYPE, WebhookRequest, address, authorization},
};

/// Maximum lengths of texts in Discord, characters.
const DISCORD_TITLE: usize = 256;
const DISCORD_TEXT: usize = 4_096;
const DISCORD_NAME: usize = 80;
/// Maximum length of a Telegram message, characters.
const TELEGRAM_TEXT: usize = 4_096;
/// Maximum size of a Matrix event, bytes, with room for the fields that the server adds.
const MATRIX_BYTES: usize = 60_000;

/// Builds the request that sends the event to a chat service.
pub(super) fn message(hook: &Hook, attempt: &AttemptContext, json: &Bytes) -> Result<WebhookRequest, BuildError> {
    let event: Value = serde_json::from_slice(json)
        .map_err(|error| BuildError::Invalid(format!("the event's JSON cannot be read: {error}")))?;
    // A push without commits: a tag or a deleted branch, for which other events are sent.
    if attempt.delivery.event == "push" && event["commits"].as_array().is_none_or(Vec::is_empty) {
        return Err(BuildError::EventNotSupported);
    }
    let summary = Summary::of(&attempt.delivery.event, &event);
    let setting = |key: &str| hook.settings.get(key).map(String::as_str).unwrap_or_default();
    match hook.r#type.as_str() {
        "slack" => post(hook, &slack(&summary, &setting)),
        "discord" => post(hook, &discord(&summary, &setting)),
        "msteams" => post(hook, &msteams(&summary)),
        "telegram" => telegram(hook, &summary, &setting),
        "matrix" => matrix(attempt, &summary, &setting),
        other => Err(BuildError::Invalid(format!("the type {other:?} is not a chat service"))),
    }
}

fn post(hook: &Hook, body: &Value) -> Result<WebhookRequest, BuildError> {
    Ok(request(Method::POST, address(&hook.url)?, body))
}

fn request(method: Method, url: url::Url, body: &Value) -> WebhookRequest {
    let headers = vec![Header::plain(&CONTENT_TYPE, "application/json")];
    WebhookRequest { method, url, headers, body: body.to_string().into(), kind: RequestBody::Bytes }
}

fn slack<'a>(summary: &Summary, setting: &impl Fn(&str) -> &'a str) -> Value {
    let custom = setting("color");
    let color = if custom.is_empty() { format!("#{:06x}", summary.color) } else { custom.to_owned() };
    let link = |text: &str, url: &str| match url {
        "" => escaped(text),
        url => format!("<{url}|{}>", escaped(text)),
    };
    let lines: Vec<String> = summary.lines.iter().map(|line| link(&line.text, &line.url)).collect();
    let attachment = json!({
        "fallback": summary.title,
        "color": color,
        "title": "",
        "title_link": "",
        "text": lines.join("\n"),
    });
    json!({
        "channel": setting("channel").trim(),
        "text": link(&summary.title, &summary.url),
        "username": setting("username"),
        "icon_url": setting("icon_url"),
        "unfurl_links": 0,
        "link_names": 0,
        "attachments": if lines.is_empty() { Value::Null } else { json!([attachment]) },
    })
}

fn discord<'a>(summary: &Summary, setting: &impl Fn(&str) -> &'a str) -> Value {
    let lines: Vec<String> = summary.lines.iter().map(|line| markdown(&line.text, &line.url)).collect();
    let mut message = json!({
        "embeds": [{
            "title": cut(&summary.title, DISCORD_TITLE),
            "description": cut(&lines.join("\n"), DISCORD_TEXT),
            "url": summary.url,
            "color": summary.color,
            "author": { "name": summary.sender, "url": summary.sender_url, "icon_url": summary.avatar },
        }],
    });
    let (username, icon) = (setting("username"), setting("icon_url"));
    if !username.is_empty() {
        message["username"] = cut(username, DISCORD_NAME).into();
    }
    if !icon.is_empty() {
        message["avatar_url"] = icon.into();
    }
    message
}

fn msteams(summary: &Summary) -> Value {
    let lines: Vec<String> = summary.lines.iter().map(|line| markdown(&line.text, &line.url)).collect();
    json!({
        "@type": "MessageCard",
        "@context": "https://schema.org/extensions",
        "themeColor": format!("{:06x}", summary.color),
        "title": summary.title,
        "summary": summary.title,
        "sections": [{
            "activityTitle": summary.sender,
            "activitySubtitle": summary.sender,
            "activityImage": summary.avatar,
            "facts": [{ "name": "Repository:", "value": summary.repository }],
            "text": lines.join("\n\n"),
        }],
        "potentialAction": [{
            "@type": "OpenUri",
            "name": "View in farrier",
            "targets": [{ "os": "default", "uri": summary.url }],
        }],
    })
}

fn telegram<'a>(
    hook: &Hook,
    summary: &Summary,
    setting: &impl Fn(&str) -> &'a str,
) -> Result<WebhookRequest, BuildError> {
    let mut url = address(&hook.url)?;
    let token = setting("bot_token");
    if !token.is_empty() {
        url.path_segments_mut()
            .map_err(|()| BuildError::Invalid("the URL cannot have a path".into()))?
            .pop_if_empty()
            .push(&format!("bot{token}"))
            .push("sendMessage");
    }
    for (name, value) in [("chat_id", setting("chat_id")), ("message_thread_id", setting("thread_id"))] {
        if !value.is_empty() && !url.query_pairs().any(|(key, _)| key == name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let mut text = html(&summary.title, &summary.url);
    for line in &summary.lines {
        let line = html(&line.text, &line.url);
        if text.chars().count() + line.chars().count() + 1 > TELEGRAM_TEXT {
            break;
        }
        text = format!("{text}\n{line}");
    }
    let body = json!({ "text": text, "parse_mode": "HTML", "disable_web_page_preview": true });
    Ok(request(Method::POST, url, &body))
}

/// Builds a Matrix request. Matrix accepts a message with the same transaction id only once, so the id is derived
/// from the UUID of the delivery.
fn matrix<'a>(
    attempt: &AttemptContext,
    summary: &Summary,
    setting: &impl Fn(&str) -> &'a str,
) -> Result<WebhookRequest, BuildError> {
    let mut url = address(setting("homeserver_url"))?;
    let transaction = BASE64.encode(Sha256::digest(&attempt.delivery.uuid));
    url.path_segments_mut()
        .map_err(|()| BuildError::Invalid("the homeserver's URL cannot have a path".into()))?
        .pop_if_empty()
        .extend(["_matrix", "client", "v3", "rooms", setting("room_id"), "send", "m.room.message", &transaction]);
    let (mut plain, mut formatted) = (summary.title.clone(), html(&summary.title, &summary.url));
    for line in &summary.lines {
        if plain.len() + formatted.len() + line.text.len() * 3 + line.url.len() > MATRIX_BYTES {
            break;
        }
        plain = format!("{plain}\n{}", line.text);
        formatted = format!("{formatted}<br>{}", html(&line.text, &line.url));
    }
    let kind = if setting("message_type") == "2" { "m.text" } else { "m.notice" };
    let body = json!({
        "body": plain,
        "msgtype": kind,
        "format": "org.matrix.custom.html",
        "formatted_body": formatted,
    });
    let mut request = request(Method::PUT, url, &body);
    request.headers.push(authorization(&format!("Bearer {}", setting("access_token")))?);
    Ok(request)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn html(text: &str, url: &str) -> String {
    match url {
        "" => escaped(text),
        url => format!("<a href=\"{}\">{}</a>", escaped(url).replace('"', "&quot;"), escaped(text)),
    }
}

fn markdown(text: &str, url: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\[]()*_`~<>|".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
    }
    if url.is_empty() { plain } else { format!("[{plain}]({url})") }
}

/// Returns at most `most` characters of `text`.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((at, c)) if at + c.len_utf8() < text.len() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}
