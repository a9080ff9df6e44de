//! What a hook may be told: its types, the keys of its `config`, and why something is refused.
//!
//! The order of checks and the texts of refusals are the API family's. Pure.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::Url;

/// A type of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookType {
    /// The word of the API.
    pub name: &'static str,
    /// Deliveries hold the event as it is; others hold a message made of it.
    pub native: bool,
    /// Keys of `config` beside those that all types have.
    pub keys: &'static [ConfigKey],
}

/// A key of a hook's `config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey {
    /// The key.
    pub name: &'static str,
    /// Without it nothing can be delivered.
    pub needed: bool,
    /// Goes in and never comes out.
    pub secret: bool,
    /// What it is.
    pub about: &'static str,
}

const fn key(name: &'static str, about: &'static str) -> ConfigKey {
    ConfigKey { name, needed: false, secret: false, about }
}

const fn needed(name: &'static str, about: &'static str) -> ConfigKey {
    ConfigKey { name, needed: true, secret: false, about }
}

const NO_KEYS: &[ConfigKey] = &[];

/// Every type. One that could not deliver is not here.
pub const TYPES: &[HookType] = &[
    HookType { name: "farrier", native: true, keys: NO_KEYS },
    HookType { name: "gitea", native: true, keys: NO_KEYS },
    HookType { name: "forgejo", native: true, keys: NO_KEYS },
    HookType { name: "gogs", native: true, keys: NO_KEYS },
    HookType {
        name: "slack",
        native: false,
        keys: &[
            needed(CHANNEL, "where messages go"),
            key(USERNAME, "who they seem to come from"),
            key(ICON_URL, "picture beside them"),
            key("color", "colour beside them"),
        ],
    },
    HookType {
        name: "discord",
        native: false,
        keys: &[key(USERNAME, "who messages seem to come from"), key(ICON_URL, "picture beside them")],
    },
    HookType { name: "msteams", native: false, keys: NO_KEYS },
    HookType {
        name: "telegram",
        native: false,
        keys: &[
            ConfigKey { secret: true, ..key(BOT_TOKEN, "token of the bot; with it, url is the server's base address") },
            key(CHAT_ID, "chat that messages go to"),
            key("thread_id", "thread in it"),
        ],
    },
    HookType {
        name: "matrix",
        native: false,
        keys: &[
            needed(HOMESERVER_URL, "base address of the server"),
            needed("room_id", "room that messages go to"),
            ConfigKey { secret: true, ..needed("access_token", "token of the account that writes") },
            key(MESSAGE_TYPE, "1: a notice, 2: a text"),
        ],
    },
];

/// Keys that every type has.
pub const COMMON_KEYS: &[ConfigKey] = &[
    needed(URL, "where deliveries go"),
    needed(CONTENT_TYPE, "json or form"),
    ConfigKey { secret: true, ..key(SECRET, "signs deliveries; whsec_… as Standard Webhooks do, too") },
    key(IS_SYSTEM, "of an administrators' hook: true for all repositories, false for a copy in each new one"),
    key(CA_PEM, "certificates in PEM that the receiver's is checked against, in place of the usual ones"),
    key(CERTIFICATE, "SHA-256 of the receiver's one good certificate, in hexadecimal"),
    key(TIMEOUT_SECS, "longest attempt, 1 to 60 seconds"),
    key(FOLLOW_REDIRECTS, "true: follow redirects that keep method and body"),
];

/// Target of deliveries.
pub const URL: &str = "url";
/// Form of deliveries.
pub const CONTENT_TYPE: &str = "content_type";
/// What signs deliveries.
pub const SECRET: &str = "secret";
/// Which kind of administrators' hook it is.
pub const IS_SYSTEM: &str = "is_system_webhook";
/// Certificates that the receiver's is checked against.
pub const CA_PEM: &str = "ca_pem";
/// Fingerprint of the receiver's one good certificate.
pub const CERTIFICATE: &str = "certificate_sha256";
/// Longest attempt.
pub const TIMEOUT_SECS: &str = "timeout_secs";
/// Whether redirects are followed.
pub const FOLLOW_REDIRECTS: &str = "follow_redirects";
/// Where messages of a chat go.
pub const CHANNEL: &str = "channel";
/// Whom messages of a chat come from.
pub const USERNAME: &str = "username";
/// The picture beside messages of a chat.
pub const ICON_URL: &str = "icon_url";
/// What a Telegram bot signs in with.
pub const BOT_TOKEN: &str = "bot_token";
/// A chat of Telegram.
pub const CHAT_ID: &str = "chat_id";
/// A server of Matrix.
pub const HOMESERVER_URL: &str = "homeserver_url";
/// The kind of a message in Matrix.
pub const MESSAGE_TYPE: &str = "message_type";

/// Where Telegram is unless `url` says otherwise.
const TELEGRAM: &str = "https://api.telegram.org";
/// Longest value of one key, bytes.
const VALUE_MAX_BYTES: usize = 2_048;
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

/// The type with this name.
pub fn by_name(name: &str) -> Option<&'static HookType> {
    TYPES.iter().find(|kind| kind.name == name)
}

impl HookType {
    /// A key that this type understands beside the first four of all types.
    pub fn setting(&self, name: &str) -> Option<&'static ConfigKey> {
        let common = COMMON_KEYS.iter().filter(|key| ![URL, CONTENT_TYPE, SECRET, IS_SYSTEM].contains(&key.name));
        self.keys.iter().chain(common).find(|key| key.name == name)
    }

    /// Whether the value of `name` never comes out.
    pub fn is_secret(&self, name: &str) -> bool {
        name == SECRET || self.setting(name).is_some_and(|key| key.secret)
    }
}

/// Checks the whole `config` of a hook. Unknown keys are left out.
pub fn check(kind: &HookType, config: &BTreeMap<String, String>) -> Result<Checked, Refusal> {
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
    let (url, authorization) = without_credentials(url);
    let form = content_type == "form";
    Ok(Checked { url, authorization, form, secret: secret.to_owned(), system, settings })
}

/// The address without a name and a password in it, and these as a header: addresses are shown,
/// headers are not.
fn without_credentials(text: &str) -> (String, Option<String>) {
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

/// Where a type that has another key for it goes.
fn default_url<'a>(kind: &HookType, config: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let given = |name: &str| config.get(name).filter(|value| !value.is_empty()).map(String::as_str);
    match kind.name {
        "matrix" => given(HOMESERVER_URL),
        "telegram" => given(BOT_TOKEN).and(given(CHAT_ID)).map(|_| TELEGRAM),
        _ => None,
    }
}

/// An absolute http or https address with a host.
fn is_target(text: &str) -> bool {
    let plain = text.len() <= VALUE_MAX_BYTES && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    plain && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
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
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn asked(kind: &str, pairs: &[(&str, &str)]) -> Result<Checked, Refusal> {
        check(by_name(kind).expect(kind), &config(pairs))
    }

    const GOOD: [(&str, &str); 2] = [(URL, "http://h/x"), (CONTENT_TYPE, "json")];

    #[test]
    fn check_5_the_first_problem_is_named_in_the_words_of_the_family() {
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
    fn check_2_words_for_yes_and_no() {
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

    #[test]
    fn credentials_in_a_target_move_to_where_nobody_sees_them() {
        let with = |url: &str| {
            let checked = asked("gitea", &[(URL, url), (CONTENT_TYPE, "json")]).expect(url);
            (checked.url, checked.authorization)
        };
        let (url, authorization) = with("https://me:p%40ss@h:8443/x?y=1");
        assert_eq!((url.as_str(), authorization.as_deref()), ("https://h:8443/x?y=1", Some("Basic bWU6cEBzcw==")));
        assert_eq!(with("http://h"), ("http://h".to_owned(), None));
        assert_eq!(with("http://only@h/").0, "http://h/");
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
