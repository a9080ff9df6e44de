//! What a hook may be told: its types and the keys of its `config`. Pure.

mod check;
mod target;

use farrier_proto::store::HookScope;

pub use self::check::{Checked, Refusal, check};

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
            key(THREAD_ID, "thread in it"),
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
/// A thread of a chat of Telegram.
pub const THREAD_ID: &str = "thread_id";
/// A server of Matrix.
pub const HOMESERVER_URL: &str = "homeserver_url";
/// The kind of a message in Matrix.
pub const MESSAGE_TYPE: &str = "message_type";

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

/// The text of a scope in the API and in the header of deliveries.
pub fn scope_text(scope: HookScope) -> &'static str {
    match scope {
        HookScope::Unspecified | HookScope::System => "system",
        HookScope::Default => "default",
        HookScope::Repository => "repository",
        HookScope::Org => "organization",
        HookScope::User => "user",
    }
}
