//! Reads responses: checks the status, decodes JSON, and converts refusals to errors.
//!
//! Limits how much of a response is read into memory, and converts the four error formats of the daemon (REST
//! object, Twirp object, block-blob XML, plain text) to [`ClientError::Status`].

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use serde::{Deserialize, de::DeserializeOwned};

use super::{Answer, Chunks, ClientError};

/// Limit of a JSON response, bytes. Much larger than a page of the largest objects.
const JSON_MAX_BYTES: usize = 16 << 20;
/// Limit of a text and of an error, bytes.
const TEXT_MAX_BYTES: usize = 64 << 10;
const MESSAGE_MAX_CHARS: usize = 500;

/// Converts a response with a status other than 2xx to an error.
pub(super) async fn successful(answer: Answer) -> Result<Answer, ClientError> {
    if answer.status().is_success() { Ok(answer) } else { Err(status_error(answer).await) }
}

/// Reads a JSON body.
pub(super) async fn json<T: DeserializeOwned>(answer: Answer) -> Result<T, ClientError> {
    let mut chunks = Chunks::new(answer.into_body());
    let text = read(&mut chunks, JSON_MAX_BYTES).await?;
    serde_json::from_slice(&text).map_err(|source| ClientError::Decode { source })
}

/// Reads a short text.
pub(super) async fn text(answer: Answer) -> Result<String, ClientError> {
    let text = read(&mut Chunks::new(answer.into_body()), TEXT_MAX_BYTES).await?;
    String::from_utf8(text.into()).map_err(|_| ClientError::Answer { what: "it is not UTF-8" })
}

/// Reads a body to its end so that the connection can be reused.
pub(super) async fn drain(answer: Answer) -> Result<(), ClientError> {
    let mut chunks = Chunks::new(answer.into_body());
    read(&mut chunks, JSON_MAX_BYTES).await.map(drop)
}

/// Converts an error response. If the body cannot be read, the error has only the status.
pub(super) async fn status_error(answer: Answer) -> ClientError {
    let (head, body) = answer.into_parts();
    let text = read(&mut Chunks::new(body), TEXT_MAX_BYTES).await.unwrap_or_default();
    let fields = parse_error(&head.headers, &text);
    let retry_after = head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    ClientError::Status {
        status: head.status,
        message: fields.message,
        code: fields.code,
        request_id: fields.request_id,
        retry_after_secs: retry_after,
    }
}

async fn read(chunks: &mut Chunks, max: usize) -> Result<Bytes, ClientError> {
    let mut all = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if all.len() + chunk.len() > max {
            return Err(ClientError::Answer { what: "it is too large" });
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all.freeze())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ErrorFields {
    message: String,
    code: Option<String>,
    request_id: Option<String>,
}

/// An error object. REST errors have `message`, Twirp errors `msg`. Fields of other types are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorObject {
    message: serde_json::Value,
    msg: serde_json::Value,
    code: serde_json::Value,
    request_id: serde_json::Value,
}

fn parse_error(headers: &HeaderMap, body: &[u8]) -> ErrorFields {
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let text = String::from_utf8_lossy(body);
    let fields = if let Ok(object) = serde_json::from_slice::<ErrorObject>(body) {
        let string = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        ErrorFields {
            message: string(&object.message).or_else(|| string(&object.msg)).unwrap_or_default(),
            code: string(&object.code),
            request_id: string(&object.request_id),
        }
    } else if text.trim_start().starts_with('<') {
        ErrorFields {
            message: element(&text, "Message").unwrap_or_default(),
            code: element(&text, "Code"),
            request_id: None,
        }
    } else {
        ErrorFields { message: text.lines().next().unwrap_or_default().trim().to_owned(), ..ErrorFields::default() }
    };
    ErrorFields {
        message: fields.message.chars().take(MESSAGE_MAX_CHARS).collect(),
        code: fields.code.or_else(|| header("x-ms-error-code")),
        request_id: fields.request_id.or_else(|| header("x-request-id")).or_else(|| header("x-ms-request-id")),
    }
}

/// Returns the text of the first element with this name. Error documents have two levels and no attributes, so
/// an XML parser is not necessary.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    Some(plain.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> (String, Option<String>, Option<String>) {
        let ErrorFields { message, code, request_id } = parse_error(&HeaderMap::new(), body.as_bytes());
        (message, code, request_id)
    }

    #[test]
    fn every_error_format_of_the_daemon_is_parsed() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            parsed(r#"{"message":"taken","url":"u","code":"repo_exists","request_id":"r9"}"#),
            ("taken".into(), some("repo_exists"), some("r9"))
        );
        assert_eq!(parsed(r#"{"code":"not_found","msg":"no such"}"#), ("no such".into(), some("not_found"), None));
        assert_eq!(
            parsed(
                "<?xml version=\"1.0\"?><Error><Code>InvalidBlockList</Code><Message>a &lt; b &amp;lt;</Message></Error>"
            ),
            ("a < b &lt;".into(), some("InvalidBlockList"), None)
        );
        assert_eq!(parsed("Not Found\nmore"), ("Not Found".into(), None, None));
        for invalid in ["", "{", "[]", "null", "<html>", r#"{"message":7}"#] {
            let (message, code, id) = parsed(invalid);
            assert!(message.len() < 10 && code.is_none() && id.is_none(), "{invalid}");
        }
    }

    #[test]
    fn the_request_id_is_also_read_from_the_headers() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-request-id"),
            http::HeaderValue::from_static("r7"),
        )]);
        assert_eq!(parse_error(&headers, b"").request_id.as_deref(), Some("r7"));
    }
}
