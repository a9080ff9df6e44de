//! Why attempts fail and why deliveries are cancelled, with the texts in the store and the API.

use farrier_proto::store::Delivery;

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

/// Returns the result of a delivery for the API: `pending` before the first attempt, `OK`, the class of the failure of
/// the last attempt, or why the delivery was cancelled.
pub fn status(row: &Delivery) -> &str {
    match row.error_class.as_str() {
        "" if row.attempts == 0 => "pending",
        "" => "OK",
        class => class,
    }
}

/// Returns the result by which deliveries are grouped: the status, and for an answer of the receiver that is a failure
/// also its HTTP status, such as `http 500`.
pub fn reason(row: &Delivery) -> String {
    let status = status(row);
    let is_answer = [FailureClass::Http, FailureClass::Redirect].iter().any(|class| class.as_str() == status);
    if is_answer && row.status_code != 0 { format!("{status} {}", row.status_code) } else { status.to_owned() }
}

/// Returns whether the last attempt of the delivery failed. `false` if there was no attempt.
pub fn has_failed_attempt(row: &Delivery) -> bool {
    row.attempts > 0 && !row.error_class.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_has_the_http_status_of_answers_only() {
        let row = |attempts, class: &str, status_code| Delivery {
            attempts,
            error_class: class.into(),
            status_code,
            ..Delivery::default()
        };
        for (row, expected, is_failed) in [
            (row(0, "", 0), "pending", false),
            (row(1, "", 204), "OK", false),
            (row(3, "http", 503), "http 503", true),
            (row(1, "redirect", 302), "redirect 302", true),
            (row(1, "http", 0), "http", true),
            (row(1, "timeout", 200), "timeout", true),
            (row(0, "the hook is not active", 0), "the hook is not active", false),
        ] {
            assert_eq!((reason(&row).as_str(), has_failed_attempt(&row)), (expected, is_failed));
        }
    }
}
