//! Validates the `config` of a hook. The order of checks and the error texts are those of the API family.

use std::collections::BTreeMap;

use super::{
    BOT_TOKEN, CA_PEM, CERTIFICATE, CHANNEL, CHAT_ID, CONTENT_TYPE, FOLLOW_REDIRECTS, HOMESERVER_URL, HookType,
    ICON_URL, IS_SYSTEM, MESSAGE_TYPE, SECRET, TIMEOUT_SECS, URL,
    target::{self, VALUE_MAX_BYTES, is_target},
};

/// The default target of Telegram hooks.
const TELEGRAM: &str = "https://api.telegram.org";
/// Longest list of certificates, in bytes.
const CA_MAX_BYTES: usize = 65_536;
const TIMEOUT_MAX_SECS: u64 = 60;
/// Longest name of a channel, in bytes.
const CHANNEL_MAX_BYTES: usize = 80;

/// Why a `config` is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The input is invalid.
    Invalid(String),
    /// The input is invalid, and the API family answers this error with 400 instead of 422.
    InvalidWith400(String),
}

/// A valid `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedConfig {
    /// Target of deliveries, without credentials.
    pub url: String,
    /// Value of the header `Authorization`, if the target contained credentials.
    pub authorization: Option<String>,
    /// Whether deliveries are sent as forms.
    pub form: bool,
    /// The key that signs deliveries. Empty: they are not signed.
    pub secret: String,
    /// Whether it is a system hook. `None`: the `config` does not say.
    pub system: Option<bool>,
    /// The other settings of the hook's type.
    pub settings: BTreeMap<String, String>,
}

/// Checks the whole `config` of a hook. Ignores unknown keys.
pub fn check(kind: &HookType, config: &BTreeMap<String, String>) -> Result<CheckedConfig, ConfigError> {
    let split = if kind.name == "telegram" { target::split_bot_url(config) } else { None };
    let config = split.as_ref().unwrap_or(config);
    let refused = |text: String| Err(ConfigError::Invalid(text));
    let missing = |name: &str| Err(ConfigError::Invalid(format!("Missing config option: {name}")));
    let value = |name: &str| config.get(name).map(String::as_str);
    let Some(url) = value(URL).or_else(|| default_url(kind, config)) else { return missing(URL) };
    let Some(content_type) = value(CONTENT_TYPE) else { return missing(CONTENT_TYPE) };
    if !matches!(content_type, "json" | "form") {
        return refused("Invalid content type".into());
    }
    let (url, authorization) = receiver(url)?;
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
    if let Some(required) = kind.keys.iter().find(|key| key.required && !settings.contains_key(key.name)) {
        return missing(required.name);
    }
    let secret = value(SECRET).unwrap_or_default();
    for (name, value) in settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([(SECRET, secret)])
    {
        check_setting(kind, name, value)?;
    }
    let form = content_type == "form";
    Ok(CheckedConfig { url, authorization, form, secret: secret.to_owned(), system, settings })
}

/// Checks the URL of a receiver. Returns it without user name and password, and these as the value of the header
/// `Authorization`.
pub fn receiver(url: &str) -> Result<(String, Option<String>), ConfigError> {
    if !is_target(url) {
        return Err(ConfigError::Invalid("Invalid url".into()));
    }
    if let Some(reason) = target::why_unreachable(url) {
        return Err(ConfigError::Invalid(format!("Invalid url: {reason}")));
    }
    Ok(target::without_credentials(url))
}

/// Checks a secret that signs deliveries.
pub fn check_secret(secret: &str) -> Result<(), ConfigError> {
    if secret.len() > VALUE_MAX_BYTES {
        return Err(ConfigError::Invalid(format!("Invalid {SECRET}: longer than {VALUE_MAX_BYTES} bytes")));
    }
    Ok(())
}

/// Returns the default target of types that have one.
fn default_url<'a>(kind: &HookType, config: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let given = |name: &str| config.get(name).filter(|value| !value.is_empty()).map(String::as_str);
    match kind.name {
        "matrix" => given(HOMESERVER_URL),
        "telegram" => given(BOT_TOKEN).and(given(CHAT_ID)).map(|_| TELEGRAM),
        _ => None,
    }
}

fn check_setting(kind: &HookType, name: &str, value: &str) -> Result<(), ConfigError> {
    let invalid = |what: &str| Err(ConfigError::Invalid(format!("Invalid {name}: {what}")));
    let max = if name == CA_PEM { CA_MAX_BYTES } else { VALUE_MAX_BYTES };
    if value.len() > max {
        return invalid(&format!("longer than {max} bytes"));
    }
    match name {
        CHANNEL if kind.name == "slack" && !is_channel(value.trim()) => {
            Err(ConfigError::InvalidWith400("Invalid slack channel name".into()))
        }
        HOMESERVER_URL | ICON_URL if !is_target(value) => invalid("must be an absolute http or https address"),
        MESSAGE_TYPE if !matches!(value, "1" | "2") => invalid("must be 1 or 2"),
        TIMEOUT_SECS if !value.parse().is_ok_and(|secs| (1..=TIMEOUT_MAX_SECS).contains(&secs)) => {
            invalid("must be 1 to 60 seconds")
        }
        FOLLOW_REDIRECTS if !matches!(value, "true" | "false") => invalid("must be true or false"),
        CERTIFICATE if !is_fingerprint(value) => invalid("must be 64 hexadecimal digits"),
        CA_PEM if !value.contains("-----BEGIN CERTIFICATE-----") => invalid("must contain a PEM certificate"),
        BOT_TOKEN if value.contains(['/', '?', '#']) => invalid("must not contain /, ? or #"),
        _ => Ok(()),
    }
}

fn is_channel(name: &str) -> bool {
    let name = name.strip_prefix('#').unwrap_or(name);
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=CHANNEL_MAX_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
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

    fn checked(kind: &str, pairs: &[(&str, &str)]) -> Result<CheckedConfig, ConfigError> {
        check(by_name(kind).expect(kind), &config(pairs))
    }

    const GOOD: [(&str, &str); 2] = [(URL, "http://h/x"), (CONTENT_TYPE, "json")];

    #[test]
    fn the_first_problem_is_reported_with_the_text_of_the_api_family() {
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
            assert_eq!(checked("gitea", pairs), Err(ConfigError::Invalid(expected.into())), "{pairs:?}");
        }
    }

    #[test]
    fn booleans_are_accepted_in_all_their_spellings() {
        for (word, expected) in
            [("true", Some(true)), ("1", Some(true)), ("T", Some(true)), ("", None), ("False", Some(false))]
        {
            let pairs = [GOOD[0], GOOD[1], (IS_SYSTEM, word)];
            assert_eq!(checked("gitea", &pairs).expect(word).system, expected);
        }
        let pairs = [GOOD[0], GOOD[1], (IS_SYSTEM, "maybe")];
        assert_eq!(checked("gitea", &pairs), Err(ConfigError::Invalid("Invalid is_system_webhook value".into())));
    }

    #[test]
    fn chat_hooks_require_the_settings_of_their_type() {
        let with = |pairs: &[(&'static str, &'static str)]| [&GOOD, pairs].concat();
        let missing = |name: &str| Err(ConfigError::Invalid(format!("Missing config option: {name}")));
        assert_eq!(checked("slack", &GOOD), missing(CHANNEL));
        let channel = |name| checked("slack", &with(&[(CHANNEL, name)]));
        assert_eq!(channel("A b"), Err(ConfigError::InvalidWith400("Invalid slack channel name".into())));
        assert_eq!(channel("#dev_ops-1").expect("good").settings, config(&[(CHANNEL, "#dev_ops-1")]));
        assert_eq!(checked("matrix", &GOOD), missing(HOMESERVER_URL));
        let telegram = checked("telegram", &[(CONTENT_TYPE, "json"), (BOT_TOKEN, "1:a"), (CHAT_ID, "2")]);
        assert_eq!(telegram.expect("good").url, TELEGRAM);
        assert_eq!(checked("telegram", &[(CONTENT_TYPE, "json"), (BOT_TOKEN, "1:a")]), missing(URL));
        assert!(checked("discord", &with(&[("unknown", "x")])).expect("good").settings.is_empty());
    }

    const FINGERPRINT: &str = "aabb:ccdd:0011:2233:4455:6677:8899:aabb:ccdd:eeff:0011:2233:4455:6677:8899:aabb";

    #[test]
    fn values_of_optional_keys_are_validated() {
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
            assert!(matches!(with(bad), Err(ConfigError::Invalid(_))), "{name} {bad}");
            assert!(with(good).is_ok(), "{name} {good}");
        }
    }
}
