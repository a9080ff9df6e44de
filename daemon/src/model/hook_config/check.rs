//! Whether a `config` can be used. The order of checks and the texts of refusals are the API family's.

use std::collections::BTreeMap;

use super::{
    BOT_TOKEN, CA_PEM, CERTIFICATE, CHANNEL, CHAT_ID, CONTENT_TYPE, FOLLOW_REDIRECTS, HOMESERVER_URL, HookType,
    ICON_URL, IS_SYSTEM, MESSAGE_TYPE, SECRET, TIMEOUT_SECS, URL,
    target::{self, VALUE_MAX_BYTES, is_target},
};

/// Where Telegram is unless `url` says otherwise.
const TELEGRAM: &str = "https://api.telegram.org";
/// Longest list of certificates, bytes.
const CA_MAX_BYTES: usize = 65_536;
const TIMEOUT_MAX_SECS: u64 = 60;
/// Longest name of a channel, bytes.
const CHANNEL_MAX_BYTES: usize = 80;

/// Why a hook is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The input cannot be used.
    Unusable(String),
    /// The same; the API family answers this one with 400.
    Bad(String),
}

/// A `config` that can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Target of deliveries, without credentials.
    pub url: String,
    /// What credentials in the target come to as the header `Authorization`.
    pub authorization: Option<String>,
    /// Deliveries are forms.
    pub form: bool,
    /// What signs deliveries; empty: nothing.
    pub secret: String,
    /// Whether it says that it is a system hook; `None`: it says nothing.
    pub system: Option<bool>,
    /// What else its type understands.
    pub settings: BTreeMap<String, String>,
}

/// Checks the whole `config` of a hook. Unknown keys are left out.
pub fn check(kind: &HookType, config: &BTreeMap<String, String>) -> Result<Checked, Refusal> {
    let moved = if kind.name == "telegram" { target::without_bot(config) } else { None };
    let config = moved.as_ref().unwrap_or(config);
    let refused = |text: String| Err(Refusal::Unusable(text));
    let missing = |name: &str| Err(Refusal::Unusable(format!("Missing config option: {name}")));
    let value = |name: &str| config.get(name).map(String::as_str);
    let Some(url) = value(URL).or_else(|| default_url(kind, config)) else { return missing(URL) };
    let Some(content_type) = value(CONTENT_TYPE) else { return missing(CONTENT_TYPE) };
    if !matches!(content_type, "json" | "form") {
        return refused("Invalid content type".into());
    }
    if !is_target(url) {
        return refused("Invalid url".into());
    }
    if let Some(reason) = target::impossible(url) {
        return refused(format!("Invalid url: {reason}"));
    }
    let system = match value(IS_SYSTEM).unwrap_or_default() {
        "" => None,
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => return refused("Invalid is_system_webhook value".into()),
    };
    let settings: BTreeMap<String, String> = config
        .iter()
        .filter(|(name, value)| kind.setting(name).is_some() && !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(needed) = kind.keys.iter().find(|key| key.needed && !settings.contains_key(key.name)) {
        return missing(needed.name);
    }
    let secret = value(SECRET).unwrap_or_default();
    for (name, value) in settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([(SECRET, secret)])
    {
        check_setting(kind, name, value)?;
    }
    let (url, authorization) = target::without_credentials(url);
    let form = content_type == "form";
    Ok(Checked { url, authorization, form, secret: secret.to_owned(), system, settings })
}

/// Where a type that has another key for it goes.
fn default_url<'a>(kind: &HookType, config: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let given = |name: &str| config.get(name).filter(|value| !value.is_empty()).map(String::as_str);
    match kind.name {
        "matrix" => given(HOMESERVER_URL),
        "telegram" => given(BOT_TOKEN).and(given(CHAT_ID)).map(|_| TELEGRAM),
        _ => None,
    }
}

fn check_setting(kind: &HookType, name: &str, value: &str) -> Result<(), Refusal> {
    let invalid = |what: &str| Err(Refusal::Unusable(format!("Invalid {name}: {what}")));
    let max = if name == CA_PEM { CA_MAX_BYTES } else { VALUE_MAX_BYTES };
    if value.len() > max {
        return invalid(&format!("longer than {max} bytes"));
    }
    match name {
        CHANNEL if kind.name == "slack" && !is_channel(value.trim()) => {
            Err(Refusal::Bad("Invalid slack channel name".into()))
        }
        HOMESERVER_URL | ICON_URL if !is_target(value) => invalid("an absolute http or https address is needed"),
        MESSAGE_TYPE if !matches!(value, "1" | "2") => invalid("1 or 2 is needed"),
        TIMEOUT_SECS if !value.parse().is_ok_and(|secs| (1..=TIMEOUT_MAX_SECS).contains(&secs)) => {
            invalid("1 to 60 seconds are possible")
        }
        FOLLOW_REDIRECTS if !matches!(value, "true" | "false") => invalid("true or false is needed"),
        CERTIFICATE if !is_fingerprint(value) => invalid("64 hexadecimal digits are needed"),
        CA_PEM if !value.contains("-----BEGIN CERTIFICATE-----") => invalid("there is no certificate in it"),
        BOT_TOKEN if value.contains(['/', '?', '#']) => invalid("a token has no such characters"),
        _ => Ok(()),
    }
}

fn is_channel(name: &str) -> bool {
    let name = name.strip_prefix('#').unwrap_or(name);
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=CHANNEL_MAX_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

fn is_fingerprint(text: &str) -> bool {
    let digits = || text.bytes().filter(|byte| *byte != b':');
    digits().count() == 64 && digits().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{super::by_name, *};

    fn config(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn asked(kind: &str, pairs: &[(&str, &str)]) -> Result<Checked, Refusal> {
        check(by_name(kind).expect(kind), &config(pairs))
    }

    const GOOD: [(&str, &str); 2] = [(URL, "http://h/x"), (CONTENT_TYPE, "json")];

    #[test]
    fn the_first_problem_is_reported_in_the_api_familys_words() {
        for (pairs, expected) in [
            (&[][..], "Missing config option: url"),
            (&[(CONTENT_TYPE, "xml")], "Missing config option: url"),
            (&[(URL, "nope")], "Missing config option: content_type"),
            (&[(URL, "nope"), (CONTENT_TYPE, "xml")], "Invalid content type"),
            (&[(URL, "nope"), (CONTENT_TYPE, "json")], "Invalid url"),
            (&[(URL, ""), (CONTENT_TYPE, "json")], "Invalid url"),
            (&[(URL, "ftp://h/"), (CONTENT_TYPE, "json")], "Invalid url"),
            (&[(URL, "http://h:x/"), (CONTENT_TYPE, "json")], "Invalid url"),
            (&[(URL, "http:///"), (CONTENT_TYPE, "json")], "Invalid url"),
            (&[(URL, "http://h/a\nb"), (CONTENT_TYPE, "json")], "Invalid url"),
        ] {
            assert_eq!(asked("gitea", pairs), Err(Refusal::Unusable(expected.into())), "{pairs:?}");
        }
    }

    #[test]
    fn booleans_are_accepted_in_all_their_spellings() {
        for (word, expected) in
            [("true", Some(true)), ("1", Some(true)), ("T", Some(true)), ("", None), ("False", Some(false))]
        {
            let pairs = [GOOD[0], GOOD[1], (IS_SYSTEM, word)];
            assert_eq!(asked("gitea", &pairs).expect(word).system, expected);
        }
        let pairs = [GOOD[0], GOOD[1], (IS_SYSTEM, "maybe")];
        assert_eq!(asked("gitea", &pairs), Err(Refusal::Unusable("Invalid is_system_webhook value".into())));
    }

    #[test]
    fn chats_have_what_they_need_to_deliver() {
        let with = |pairs: &[(&'static str, &'static str)]| [&GOOD, pairs].concat();
        let missing = |name: &str| Err(Refusal::Unusable(format!("Missing config option: {name}")));
        assert_eq!(asked("slack", &GOOD), missing(CHANNEL));
        let channel = |name| asked("slack", &with(&[(CHANNEL, name)]));
        assert_eq!(channel("A b"), Err(Refusal::Bad("Invalid slack channel name".into())));
        assert_eq!(channel("#dev_ops-1").expect("good").settings, config(&[(CHANNEL, "#dev_ops-1")]));
        assert_eq!(asked("matrix", &GOOD), missing(HOMESERVER_URL));
        let telegram = asked("telegram", &[(CONTENT_TYPE, "json"), (BOT_TOKEN, "1:a"), (CHAT_ID, "2")]);
        assert_eq!(telegram.expect("good").url, TELEGRAM);
        assert_eq!(asked("telegram", &[(CONTENT_TYPE, "json"), (BOT_TOKEN, "1:a")]), missing(URL));
        assert!(asked("discord", &with(&[("unknown", "x")])).expect("good").settings.is_empty());
    }

    const FINGERPRINT: &str = "aabb:ccdd:0011:2233:4455:6677:8899:aabb:ccdd:eeff:0011:2233:4455:6677:8899:aabb";

    #[test]
    fn further_keys_are_bounded() {
        for (name, bad, good) in [
            (TIMEOUT_SECS, "61", "60"),
            (TIMEOUT_SECS, "-1", "1"),
            (FOLLOW_REDIRECTS, "yes", "true"),
            (CERTIFICATE, "ab", FINGERPRINT),
            (CA_PEM, "x", "-----BEGIN CERTIFICATE-----\n"),
            (SECRET, "x".repeat(3_000).as_str(), "s"),
        ] {
            let with = |value: &str| {
                let mut all = config(&GOOD);
                all.insert(name.into(), value.into());
                check(by_name("gitea").expect("known"), &all)
            };
            assert!(matches!(with(bad), Err(Refusal::Unusable(_))), "{name} {bad}");
            assert!(with(good).is_ok(), "{name} {good}");
        }
    }
}
