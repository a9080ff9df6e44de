//! The health of hooks.

use farrier_proto::store::{Hook, HookState};

/// The health of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The last attempt succeeded.
    Ok,
    /// The last attempt failed.
    Failing,
    /// Active, but nothing was sent yet.
    Unused,
    /// A user disabled it.
    Off,
    /// The daemon disabled it, because its deliveries failed for too long or the receiver answered 410.
    Disabled,
}

impl Health {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Failing, Self::Unused, Self::Off, Self::Disabled];

    /// Returns the health of the hook `row` with the state `state`.
    pub fn of(row: &Hook, state: &HookState) -> Self {
        match (row.active, state.failures) {
            (false, _) if row.disabled_reason.is_empty() => Self::Off,
            (false, _) => Self::Disabled,
            (true, 1..) => Self::Failing,
            (true, 0) if state.last_delivery_ms == 0 => Self::Unused,
            (true, 0) => Self::Ok,
        }
    }

    /// Returns the API's name of the health.
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
