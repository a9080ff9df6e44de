//! Why attempts fail and why deliveries are cancelled, with the texts in the store and the API.

/// The class of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The host name could not be resolved.
    Dns,
    /// No connection could be made.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The response was not complete in time.
    Timeout,
    /// The address policy forbids the address.
    Blocked,
    /// The receiver redirected, and the redirect was not followed.
    Redirect,
    /// The receiver answered with an error status, or not in HTTP.
    Http,
    /// The settings of the hook do not make a valid request.
    Settings,
}

impl FailureClass {
    /// Returns the text in `Attempt.error_class` and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::Redirect => "redirect",
            Self::Http => "http",
            Self::Settings => "settings",
        }
    }
}

/// Why a delivery is cancelled without another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// The type of the hook has no message for this event.
    EventNotSupported,
    /// The hook is deleted, or webhooks are disabled.
    HookGone,
    /// The hook is not active.
    HookInactive,
    /// The row of the delivery was removed.
    DeliveryForgotten,
    /// The payload was removed.
    PayloadForgotten,
}

impl CancelReason {
    /// Returns the text in `Delivery.error_class` and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EventNotSupported => "the hook type has no message for this event",
            Self::HookGone => "the hook is deleted, or webhooks are disabled",
            Self::HookInactive => "the hook is not active",
            Self::DeliveryForgotten => "the delivery was removed",
            Self::PayloadForgotten => "the payload was removed",
        }
    }
}
