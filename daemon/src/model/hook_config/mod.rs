//! Types of hooks and the keys of their `config`.

mod check;
mod target;

use farrier_proto::store::HookScope;

pub use self::{
    check::{CheckedConfig, ConfigError, check, check_secret, receiver},
    target::host,
};

/// A type of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookType {
    /// Name of the type in the API.
    pub name: &'static str,
    /// Whether deliveries contain the event itself. Other types send a chat message created from it.
    pub native: bool,
    /// Keys of `config` in addition to the common ones.
    pub keys: &'static [ConfigKey],
}

/// A key of a hook's `config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey {
    /// Name of the key.
    pub name: &'static str,
    /// Whether the key is required.
    pub required: bool,
    /// Whether the value is write-only.
    pub secret: bool,
    /// Description for the API.
    pub about: &'static str,
}

const fn key(name: &'static str, about: &'static str) -> ConfigKey {
    ConfigKey { name, required: false, secret: false, about }
}

const fn required(name: &'static str, about: &'static str) -> ConfigKey {
    ConfigKey { name, required: true, secret: false, about }
}

const NO_KEYS: &[ConfigKey] = &[];

/// Every supported type.
pub const TYPES: &[HookType] = &[
    HookType { name: "farrier", native: true, keys: NO_KEYS },
    HookType { name: "gitea", native: true, keys: NO_KEYS },
    HookType { name: "forgejo", native: true, keys: NO_KEYS },
    HookType { name: "gogs", native: true, keys: NO_KEYS },
    HookType {
        name: "slack",
        native: false,
        keys: &[
            required(CHANNEL, "channel that messages are sent to"),
            key(USERNAME, "name shown as sender"),
            key(ICON_URL, "picture shown beside messages"),
            key("color", "color shown beside messages"),
        ],
    },
    HookType {
        name: "discord",
        native: false,
        keys: &[key(USERNAME, "name shown as sender"), key(ICON_URL, "picture shown beside messages")],
    },
    HookType { name: "msteams", native: false, keys: NO_KEYS },
    HookType {
        name: "telegram",
        native: false,
        keys: &[
            ConfigKey { secret: true, ..key(BOT_TOKEN, "token of the bot; with it, url is the server's base address") },
            key(CHAT_ID, "chat that messages are sent to"),
            key(THREAD_ID, "thread of the chat"),
        ],
    },
    HookType {
        name: "matrix",
        native: false,
        keys: &[
            required(HOMESERVER_URL, "base address of the server"),
            required("room_id", "room that messages are sent to"),
            ConfigKey { secret: true, ..required("access_token", "access token of the sending account") },
            key(MESSAGE_TYPE, "1: a notice, 2: a text"),
        ],
    },
];

/// Keys of all types.
pub const COMMON_KEYS: &[ConfigKey] = &[
    required(URL, "address that deliveries are sent to"),
    required(CONTENT_TYPE, "json or form"),
    ConfigKey {
        secret: true,
        ..key(SECRET, "key that signs deliveries; with the prefix whsec_ also for Standard Webhooks")
    },
    key(IS_SYSTEM, "admin hooks only: true for all repositories, false to copy the hook into each new one"),
    key(CA_PEM, "PEM certificates to trust instead of the system's"),
    key(CERTIFICATE, "SHA-256 of the only receiver certificate to accept, in hexadecimal"),
    key(TIMEOUT_SECS, "time limit of an attempt, 1 to 60 seconds"),
    key(FOLLOW_REDIRECTS, "true: follow redirects that keep method and body"),
];

/// Target of deliveries.
pub const URL: &str = "url";
/// Encoding of deliveries: `json` or `form`.
pub const CONTENT_TYPE: &str = "content_type";
/// Key that signs deliveries.
pub const SECRET: &str = "secret";
/// Whether an admin hook is a system hook or a default hook.
pub const IS_SYSTEM: &str = "is_system_webhook";
/// Certificates to trust instead of the system's.
pub const CA_PEM: &str = "ca_pem";
/// Fingerprint of the only receiver certificate to accept.
pub const CERTIFICATE: &str = "certificate_sha256";
/// Time limit of an attempt.
pub const TIMEOUT_SECS: &str = "timeout_secs";
/// Whether redirects are followed.
pub const FOLLOW_REDIRECTS: &str = "follow_redirects";
/// Channel that messages are sent to.
pub const CHANNEL: &str = "channel";
/// Name shown as the sender of messages.
pub const USERNAME: &str = "username";
/// Picture shown beside messages.
pub const ICON_URL: &str = "icon_url";
/// Token of a Telegram bot.
pub const BOT_TOKEN: &str = "bot_token";
/// Id of a Telegram chat.
pub const CHAT_ID: &str = "chat_id";
/// Id of a thread in a Telegram chat.
pub const THREAD_ID: &str = "thread_id";
/// Base address of a Matrix server.
pub const HOMESERVER_URL: &str = "homeserver_url";
/// Type of Matrix messages.
pub const MESSAGE_TYPE: &str = "message_type";

/// Returns the type with this name.
pub fn by_name(name: &str) -> Option<&'static HookType> {
    TYPES.iter().find(|kind| kind.name == name)
}

impl HookType {
    /// Returns a key of this type that hooks store in their settings: all except url, content type, secret and kind.
    pub fn setting(&self, name: &str) -> Option<&'static ConfigKey> {
        let common = COMMON_KEYS.iter().filter(|key| ![URL, CONTENT_TYPE, SECRET, IS_SYSTEM].contains(&key.name));
        self.keys.iter().chain(common).find(|key| key.name == name)
    }

    /// Returns whether the value of `name` is write-only.
    pub fn is_secret(&self, name: &str) -> bool {
        name == SECRET || self.setting(name).is_some_and(|key| key.secret)
    }
}

/// Returns the text of a scope in the API and in the header of deliveries.
pub fn scope_text(scope: HookScope) -> &'static str {
    match scope {
        HookScope::Unspecified | HookScope::System => "system",
        HookScope::Default => "default",
        HookScope::Repository => "repository",
        HookScope::Org => "organization",
        HookScope::User => "user",
    }
}
