//! What an object is when its creator does not say otherwise. The daemon, the command line and the forms of the full
//! screen use the same values.

/// Whether a new or imported repository is private. The API family creates public ones when `private` is absent.
pub const REPOSITORY_PRIVATE: bool = false;

/// The type of a new hook: deliveries hold the event as it is, with full names of refs.
pub const HOOK_TYPE: &str = "farrier";

/// Whether an administrator's new hook is a system hook, which receives the events of all repositories, and not a default
/// hook, which is only copied into new repositories. In the REST API, where `is_system_webhook` is absent, the contract
/// of the API family decides: a default hook.
pub const HOOK_IS_SYSTEM: bool = true;

/// The form of a new hook's deliveries.
pub const HOOK_CONTENT_TYPE: &str = "json";
