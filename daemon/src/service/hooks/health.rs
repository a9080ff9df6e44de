//! How a hook is doing, in one word.

use farrier_proto::store::{Hook, HookState};

/// How a hook is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The last attempt succeeded.
    Ok,
    /// The last attempt failed.
    Failing,
    /// Active, and nothing was sent yet.
    Unused,
    /// A person switched it off.
    Off,
    /// The daemon switched it off, because its deliveries failed for too long or the receiver answered 410.
    Disabled,
}

impl Health {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Failing, Self::Unused, Self::Off, Self::Disabled];

    /// How the hook `row` with the state `state` is doing.
    pub fn of(row: &Hook, state: &HookState) -> Self {
        match (row.active, state.failures) {
            (false, _) if row.disabled_reason.is_empty() => Self::Off,
            (false, _) => Self::Disabled,
            (true, 1..) => Self::Failing,
            (true, 0) if state.last_delivery_ms == 0 => Self::Unused,
            (true, 0) => Self::Ok,
        }
    }

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Unused => "unused",
            Self::Off => "off",
            Self::Disabled => "disabled",
        }
    }
}
