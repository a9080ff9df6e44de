//! Target addresses of deliveries. Moves secrets out of them, because the API shows addresses.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::{Host, Position, Url};

use super::{BOT_TOKEN, CHAT_ID, THREAD_ID, URL};

/// Longest host name and longest label of one, in bytes.
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;
/// Longest value of one key, in bytes.
pub(super) const VALUE_MAX_BYTES: usize = 2_048;

/// Returns whether `text` is an absolute http or https address with a host.
pub(super) fn is_target(text: &str) -> bool {
    let plain = text.len() <= VALUE_MAX_BYTES && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    plain && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Returns why no receiver can exist at `text`, which must be valid for [`is_target`]: DNS cannot hold the name of
/// its host (RFC 1035, section 2.3.4), or its port is 0.
pub(super) fn why_unreachable(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    if url.port() == Some(0) {
        return Some("port 0 is not valid".to_owned());
    }
    let Some(Host::Domain(name)) = url.host() else { return None };
    let labels = name.strip_suffix('.').unwrap_or(name);
    let is_valid = labels.len() <= NAME_MAX_BYTES && labels.split('.').all(is_label);
    (!is_valid).then(|| format!("{name:?} cannot be the name of a host"))
}

/// Returns the host of an address, with its port if that is not the default of the scheme; `None` without a host.
pub fn host(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let host = &url[Position::BeforeHost..Position::AfterPort];
    (!host.is_empty()).then(|| host.to_owned())
}

fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let hyphens = label.starts_with('-') || label.ends_with('-');
    (1..=LABEL_MAX_BYTES).contains(&label.len()) && label.bytes().all(is_allowed) && !hyphens
}

/// Splits an address into the address without user name and password, and these as an `Authorization` header. The API
/// shows addresses but no headers.
pub(super) fn without_credentials(text: &str) -> (String, Option<String>) {
    let Ok(mut url) = Url::parse(text) else { return (text.to_owned(), None) };
    if url.username().is_empty() && url.password().is_none() {
        return (text.to_owned(), None);
    }
    let plain = |escaped: &str| percent_decode_str(escaped).collect::<Vec<u8>>();
    let pair = [plain(url.username()), b":".to_vec(), plain(url.password().unwrap_or_default())].concat();
    // Neither fails for an address with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    (url.into(), Some(format!("Basic {}", STANDARD.encode(pair))))
}

/// Moves token, chat and thread to their own keys if the `url` of a Telegram `config` is the full address of a bot.
/// Returns `None` if it is not.
pub(super) fn split_bot_url(config: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    let mut url = Url::parse(config.get(URL)?).ok()?;
    let segments: Vec<String> = url.path_segments()?.map(str::to_owned).collect();
    let at = segments.iter().position(|segment| segment.len() > BOT.len() && segment.starts_with(BOT))?;
    let mut split = config.clone();
    let token = percent_decode_str(&segments[at][BOT.len()..]).decode_utf8_lossy().into_owned();
    split.insert(BOT_TOKEN.into(), token);
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    url.path_segments_mut().ok()?.clear().extend(&segments[..at]);
    url.set_query(None);
    for (name, value) in pairs {
        match name.as_str() {
            "chat_id" => drop(split.insert(CHAT_ID.into(), value)),
            "message_thread_id" => drop(split.insert(THREAD_ID.into(), value)),
            _ => drop(url.query_pairs_mut().append_pair(&name, &value)),
        }
    }
    split.insert(URL.into(), url.into());
    Some(split)
}

/// Prefix of the path segment that contains the bot's token.
const BOT: &str = "bot";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_move_from_the_address_to_a_header() {
        let with = without_credentials;
        let (url, authorization) = with("https://me:p%40ss@h:8443/x?y=1");
        assert_eq!((url.as_str(), authorization.as_deref()), ("https://h:8443/x?y=1", Some("Basic bWU6cEBzcw==")));
        assert_eq!(with("http://h"), ("http://h".to_owned(), None));
        assert_eq!(with("http://only@h/").0, "http://h/");
    }

    #[test]
    fn the_host_of_an_address_has_no_credentials_and_no_default_port() {
        for (url, expected) in [
            ("https://me:secret@CI.example:8443/x?y=1", Some("ci.example:8443")),
            ("https://ci.example:443/x", Some("ci.example")),
            ("http://[::1]:9/", Some("[::1]:9")),
            ("not a url", None),
            ("mailto:a@b", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn invalid_host_names_and_port_0_are_refused() {
        let long = format!("http://{}.example/", "a".repeat(64));
        for bad in ["http://-/", "http://a..b/", "http://.a/", "http://a-.b/", "http://a*b/", "http://a:0/", &long] {
            assert!(is_target(bad) && why_unreachable(bad).is_some(), "{bad}");
        }
        for good in
            ["http://x/", "http://a_b.c./", "https://xn--bcher-kva.example/", "http://[::1]:9/", "http://1.2.3.4/"]
        {
            assert_eq!(why_unreachable(good), None, "{good}");
        }
    }

    #[test]
    fn a_bot_token_moves_from_the_address_to_its_setting() {
        let split = |url: &str| split_bot_url(&[(URL.to_owned(), url.to_owned()), (CHAT_ID.into(), "1".into())].into());
        let all = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(
            split("https://t.example/x/bot12:ab/sendMessage?chat_id=-7&message_thread_id=3&silent=1"),
            all(&[(URL, "https://t.example/x?silent=1"), (BOT_TOKEN, "12:ab"), (CHAT_ID, "-7"), (THREAD_ID, "3")])
        );
        assert_eq!(
            split("https://t.example/bot12:ab"),
            all(&[(URL, "https://t.example/"), (BOT_TOKEN, "12:ab"), (CHAT_ID, "1")])
        );
        assert_eq!(split("https://t.example/bot/x"), None);
    }
}
