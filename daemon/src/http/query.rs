//! Reads query parameters as leniently as Gitea-family APIs do.

use super::error::ApiError;
use crate::{clock::Millis, service::Error};

/// Longest value of a filter, in bytes.
const FILTER_MAX_BYTES: usize = 512;
/// Maximum number of characters of an unknown value in an error message.
const VALUE_MAX_CHARS: usize = 50;

/// Returns the value of `name`, or `None` if it is absent or empty.
pub(super) fn value(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
}

/// Returns the value of `name`, or `None` if it is absent. Refuses an empty value: the request would apply to more
/// objects than its sender may expect.
pub(super) fn filled(query: Option<&str>, name: &str) -> Result<Option<String>, ApiError> {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let value = pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if value.as_ref().is_some_and(String::is_empty) {
        return Err(ApiError::unprocessable(name, format!("[{name}]: must not be empty; leave the parameter out")));
    }
    Ok(value)
}

/// Returns the value of the filter `name`; empty if it is absent. Refuses long values.
pub(super) fn short(query: Option<&str>, name: &str) -> Result<String, ApiError> {
    match value(query, name) {
        Some(text) if text.len() > FILTER_MAX_BYTES => {
            let reason = format!("[{name}]: is longer than {FILTER_MAX_BYTES} bytes");
            Err(ApiError::unprocessable(name, reason))
        }
        text => Ok(text.unwrap_or_default()),
    }
}

/// Returns the words in the filter `name` in lower case. Refuses long values.
pub(super) fn words(query: Option<&str>, name: &str) -> Result<Vec<String>, ApiError> {
    Ok(short(query, name)?.split_whitespace().map(str::to_lowercase).collect())
}

/// Returns the boolean `name`. Unknown words are `false`.
pub(super) fn flag(query: Option<&str>, name: &str) -> Option<bool> {
    match value(query, name)?.as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        _ => Some(false),
    }
}

/// Returns the meaning of the word in `name`. Refuses words that are not in `words`.
pub(super) fn one_of<T: Copy>(query: Option<&str>, name: &str, words: &[(&str, T)]) -> Result<Option<T>, ApiError> {
    let Some(given) = value(query, name) else { return Ok(None) };
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
        return Ok(Some(*meaning));
    }
    Err(unknown(name, &given, words))
}

/// Returns the meanings of the comma-separated words in `name`, which may be repeated. Refuses words that are not in
/// `words`.
pub(super) fn several_of<T: Copy>(query: Option<&str>, name: &str, words: &[(&str, T)]) -> Result<Vec<T>, ApiError> {
    let mut meanings = Vec::new();
    for (_, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).filter(|(key, _)| key == name) {
        for given in value.split(',').map(str::trim).filter(|given| !given.is_empty()) {
            let meaning = words.iter().find(|(word, _)| *word == given);
            meanings.push(meaning.ok_or_else(|| unknown(name, given, words))?.1);
        }
    }
    Ok(meanings)
}

fn unknown<T>(name: &str, given: &str, words: &[(&str, T)]) -> ApiError {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let given: String = given.chars().take(VALUE_MAX_CHARS).collect();
    ApiError::unprocessable(name, format!("[{name}]: {given:?} is not one of {}", known.join(", ")))
}

/// Returns the whole number `name`. Refuses other values.
pub(super) fn number(query: Option<&str>, name: &str) -> Result<Option<u64>, ApiError> {
    let Some(text) = value(query, name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ApiError::unprocessable(name, format!("[{name}]: must be a number"))),
    }
}

/// Parses a time in RFC 3339 or in seconds since the epoch.
pub(super) fn time(field: &'static str, text: &str) -> Result<Millis, ApiError> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Ok(seconds.saturating_mul(1_000));
    }
    let timestamp =
        text.parse::<jiff::Timestamp>().map_err(|_| Error::invalid(field, "is not a time in RFC 3339 format"))?;
    Ok(timestamp.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_lower_case_and_long_values_are_refused() {
        let none: Vec<String> = Vec::new();
        for (query, expected) in [
            ("q=%20Ab%20%20c%00%0a", vec!["ab".to_owned(), "c\0".to_owned()]),
            ("q=%20", none.clone()),
            ("q=", none.clone()),
            ("", none),
        ] {
            assert_eq!(words(Some(query), "q").expect("words"), expected, "{query}");
        }
        assert_eq!(words(Some(&format!("q={}", "x".repeat(512))), "q").expect("words").len(), 1);
        let error = words(Some(&format!("q={}", "x".repeat(513))), "q").expect_err("too long");
        assert_eq!(error.message(), "[q]: is longer than 512 bytes");
    }

    #[test]
    fn values_flags_and_choices_are_parsed() {
        let query = Some("q=a%20b&x=&yes=true&no=0&sort=up");
        assert_eq!(value(query, "q").as_deref(), Some("a b"));
        assert_eq!((value(query, "x"), flag(query, "none")), (None, None));
        assert_eq!(filled(query, "q").expect("filled").as_deref(), Some("a b"));
        assert_eq!(filled(query, "none").expect("absent"), None);
        assert!(filled(query, "x").is_err());
        assert_eq!((flag(query, "yes"), flag(query, "no")), (Some(true), Some(false)));
        assert_eq!(one_of(query, "sort", &[("up", 1)]).expect("known"), Some(1));
        assert_eq!(
            one_of(query, "sort", &[("down", 1)]).expect_err("unknown").message(),
            "[sort]: \"up\" is not one of down"
        );
    }
}
