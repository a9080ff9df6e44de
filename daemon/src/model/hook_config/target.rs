//! Addresses that deliveries go to. What in them is a secret is taken out: addresses are shown.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::{BOT_TOKEN, CHAT_ID, THREAD_ID, URL};

/// Longest name of a host and longest part of one, bytes.
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;
/// Longest value of one key, bytes.
pub(super) const VALUE_MAX_BYTES: usize = 2_048;

/// An absolute http or https address with a host.
pub(super) fn is_target(text: &str) -> bool {
    let plain = text.len() <= VALUE_MAX_BYTES && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    plain && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Why no receiver can ever be at the address `text`, which [`is_target`]: its host is no name that DNS can hold
/// (RFC 1035, section 2.3.4), or its port is 0.
pub(super) fn impossible(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    if url.port() == Some(0) {
        return Some("port 0 cannot be connected to".to_owned());
    }
    let Some(Host::Domain(name)) = url.host() else { return None };
    let labels = name.strip_suffix('.').unwrap_or(name);
    let fits = labels.len() <= NAME_MAX_BYTES && labels.split('.').all(is_label);
    (!fits).then(|| format!("{name:?} cannot be the name of a host"))
}

fn is_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let hyphens = label.starts_with('-') || label.ends_with('-');
    (1..=LABEL_MAX_BYTES).contains(&label.len()) && label.bytes().all(fits) && !hyphens
}

/// The address without a name and a password in it, and these as a header: addresses are shown,
/// headers are not.
pub(super) fn without_credentials(text: &str) -> (String, Option<String>) {
    let Ok(mut url) = Url::parse(text) else { return (text.to_owned(), None) };
    if url.username().is_empty() && url.password().is_none() {
        return (text.to_owned(), None);
    }
    let plain = |escaped: &str| percent_decode_str(escaped).collect::<Vec<u8>>();
    let pair = [plain(url.username()), b":".to_vec(), plain(url.password().unwrap_or_default())].concat();
    // Neither fails where there is a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    (url.into(), Some(format!("Basic {}", STANDARD.encode(pair))))
}

/// A `config` for Telegram whose `url` is a bot's whole address, with token, chat and thread moved to
/// the keys that they have.
pub(super) fn without_bot(config: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    let mut url = Url::parse(config.get(URL)?).ok()?;
    let segments: Vec<String> = url.path_segments()?.map(str::to_owned).collect();
    let at = segments.iter().position(|segment| segment.len() > BOT.len() && segment.starts_with(BOT))?;
    let mut moved = config.clone();
    let token = percent_decode_str(&segments[at][BOT.len()..]).decode_utf8_lossy().into_owned();
    moved.insert(BOT_TOKEN.into(), token);
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    url.path_segments_mut().ok()?.clear().extend(&segments[..at]);
    url.set_query(None);
    for (name, value) in pairs {
        match name.as_str() {
            "chat_id" => drop(moved.insert(CHAT_ID.into(), value)),
            "message_thread_id" => drop(moved.insert(THREAD_ID.into(), value)),
            _ => drop(url.query_pairs_mut().append_pair(&name, &value)),
        }
    }
    moved.insert(URL.into(), url.into());
    Some(moved)
}

/// What the token of a bot stands behind.
const BOT: &str = "bot";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_a_target_move_to_where_nobody_sees_them() {
        let with = without_credentials;
        let (url, authorization) = with("https://me:p%40ss@h:8443/x?y=1");
        assert_eq!((url.as_str(), authorization.as_deref()), ("https://h:8443/x?y=1", Some("Basic bWU6cEBzcw==")));
        assert_eq!(with("http://h"), ("http://h".to_owned(), None));
        assert_eq!(with("http://only@h/").0, "http://h/");
    }

    #[test]
    fn hosts_that_no_name_server_can_know_are_impossible() {
        let long = format!("http://{}.example/", "a".repeat(64));
        for bad in ["http://-/", "http://a..b/", "http://.a/", "http://a-.b/", "http://a*b/", "http://a:0/", &long] {
            assert!(is_target(bad) && impossible(bad).is_some(), "{bad}");
        }
        for good in
            ["http://x/", "http://a_b.c./", "https://xn--bcher-kva.example/", "http://[::1]:9/", "http://1.2.3.4/"]
        {
            assert_eq!(impossible(good), None, "{good}");
        }
    }

    #[test]
    fn the_token_of_a_bot_moves_to_where_nobody_sees_it() {
        let moved = |url: &str| without_bot(&[(URL.to_owned(), url.to_owned()), (CHAT_ID.into(), "1".into())].into());
        let all = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(
            moved("https://t.example/x/bot12:ab/sendMessage?chat_id=-7&message_thread_id=3&silent=1"),
            all(&[(URL, "https://t.example/x?silent=1"), (BOT_TOKEN, "12:ab"), (CHAT_ID, "-7"), (THREAD_ID, "3")])
        );
        assert_eq!(
            moved("https://t.example/bot12:ab"),
            all(&[(URL, "https://t.example/"), (BOT_TOKEN, "12:ab"), (CHAT_ID, "1")])
        );
        assert_eq!(moved("https://t.example/bot/x"), None);
    }
}
