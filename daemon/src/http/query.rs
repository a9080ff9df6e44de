//! Values in the query of a request, read as leniently as the API family reads them.

use super::error::ApiError;

/// The value of `name`; an empty one counts as absent.
pub(super) fn value(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
}

/// A yes or no.
pub(super) fn flag(query: Option<&str>, name: &str) -> Option<bool> {
    match value(query, name)?.as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        _ => Some(false),
    }
}

/// One of a few words; another one is refused.
pub(super) fn one_of<T: Copy>(query: Option<&str>, name: &str, words: &[(&str, T)]) -> Result<Option<T>, ApiError> {
    let Some(given) = value(query, name) else { return Ok(None) };
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
        return Ok(Some(*meaning));
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(ApiError::unprocessable(name, format!("[{name}]: is none of {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_flags() {
        let query = Some("q=a%20b&x=&yes=true&no=0&sort=up");
        assert_eq!(value(query, "q").as_deref(), Some("a b"));
        assert_eq!((value(query, "x"), flag(query, "none")), (None, None));
        assert_eq!((flag(query, "yes"), flag(query, "no")), (Some(true), Some(false)));
        assert_eq!(one_of(query, "sort", &[("up", 1)]).expect("known"), Some(1));
        assert_eq!(one_of(query, "sort", &[("down", 1)]).expect_err("unknown").message(), "[sort]: is none of down");
    }
}
