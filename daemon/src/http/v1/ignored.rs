//! Reports the parts of a request that have no effect in a response header, so that nothing is dropped silently.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};

/// Response header that lists the unknown event names of a request.
pub(super) const EVENTS: HeaderName = HeaderName::from_static("x-farrier-ignored-events");
/// Response header that lists the settings of a request that the object does not have afterwards.
const SETTINGS: HeaderName = HeaderName::from_static("x-farrier-ignored-settings");
/// Longest value of these headers.
const MAX_BYTES: usize = 512;

/// Adds `header` with the names, if there are any, shortened to [`MAX_BYTES`].
pub(super) fn with_names<'a>(
    mut response: Response,
    header: HeaderName,
    names: impl IntoIterator<Item = &'a str>,
) -> Response {
    let plain = |c: char| if c.is_ascii_graphic() && c != ',' { c } else { '?' };
    let names: Vec<String> = names.into_iter().map(|name| name.chars().map(plain).collect()).collect();
    let text = names.join(", ");
    let text = text.get(..MAX_BYTES).unwrap_or(&text);
    if let Ok(value) = HeaderValue::from_str(text)
        && !text.is_empty()
    {
        response.headers_mut().insert(header, value);
    }
    response
}

/// Adds the header with the settings of `request` that `result`, the object afterwards, does not have. `null`, empty
/// texts and the fields in `applied`, which `result` does not show, are no such settings.
pub(super) fn with_settings(
    response: impl IntoResponse,
    request: &Map<String, Value>,
    result: &impl Serialize,
    applied: &[&str],
) -> Response {
    let result = serde_json::to_value(result).unwrap_or_default();
    let is_set = |value: &Value| !value.is_null() && value.as_str() != Some("");
    let ignored = request.iter().filter(|(name, value)| is_set(value) && result.get(name) != Some(value));
    let names = ignored.map(|(name, _)| name.as_str()).filter(|name| !applied.contains(name));
    with_names(response.into_response(), SETTINGS, names)
}
