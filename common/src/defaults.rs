//! Default values of new objects, shared by the daemon, the command line and the full-screen forms.

/// The type of a new hook: deliveries contain the unchanged event with full ref names.
pub const HOOK_TYPE: &str = "farrier";

/// Whether an administrator's new hook is a system hook, which receives the events of all repositories, instead
/// of a default hook, which is only copied to new repositories. In the REST API an absent `is_system_webhook`
/// means a default hook, as in the Gitea API.
pub const HOOK_IS_SYSTEM: bool = true;

/// The content type of a new hook's deliveries.
pub const HOOK_CONTENT_TYPE: &str = "json";
