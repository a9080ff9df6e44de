//! Arguments of `farrier hook` and `farrier events`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use farrier_common::{
    client::{HookOwner, RepositoryPath},
    defaults::HOOK_TYPE,
};

/// The owner of hooks. Without one, commands about one hook find it by its ID, and other commands mean the hooks of
/// administrators.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HookOwnerArgs {
    /// The owner is this repository
    #[arg(long, value_name = "OWNER/NAME", conflicts_with_all = ["org", "mine"])]
    pub(crate) repo: Option<RepositoryPath>,
    /// The owner is this organization
    #[arg(long, value_name = "ORG", conflicts_with = "mine")]
    pub(crate) org: Option<String>,
    /// The owner is you
    #[arg(long)]
    pub(crate) mine: bool,
}

impl HookOwnerArgs {
    pub(crate) fn api(&self) -> HookOwner {
        match (&self.repo, &self.org, self.mine) {
            (Some(repo), _, _) => HookOwner::Repository(repo.clone()),
            (_, Some(org), _) => HookOwner::Org(org.clone()),
            (_, _, true) => HookOwner::User,
            _ => HookOwner::Admin,
        }
    }

    /// Returns the scope in which one hook is searched: all hooks unless an owner is given.
    pub(crate) fn of_one(&self) -> HookOwner {
        match self.api() {
            HookOwner::Admin => HookOwner::Any,
            given => given,
        }
    }
}

/// The kind of the hooks of administrators.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    /// Kind: system, receives the events of all repositories
    #[arg(long, conflicts_with_all = ["default", "repo", "org", "mine"])]
    pub(crate) system: bool,
    /// Kind: default, copied into each new repository
    #[arg(long, conflicts_with_all = ["repo", "org", "mine"])]
    pub(crate) default: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// List hooks: system and default hooks unless an owner is given
    List {
        /// List every hook that you may manage
        #[arg(long, conflicts_with_all = ["repo", "org", "mine", "system", "default"])]
        all: bool,
        #[command(flatten)]
        owner: HookOwnerArgs,
        #[command(flatten)]
        kind: Kind,
    },
    /// Show a hook
    Show {
        /// ID of the hook
        id: i64,
        #[command(flatten)]
        owner: HookOwnerArgs,
    },
    /// Create a hook; without an owner, a system hook, which receives the events of all repositories
    Create(CreateHook),
    /// Change a hook; omitted fields are unchanged
    Edit(EditHook),
    /// Activate a hook
    On {
        /// ID of the hook
        id: i64,
        #[command(flatten)]
        owner: HookOwnerArgs,
    },
    /// Deactivate a hook
    Off {
        /// ID of the hook
        id: i64,
        #[command(flatten)]
        owner: HookOwnerArgs,
    },
    /// Send a test event to a hook
    Test {
        /// ID of the hook
        id: i64,
        #[command(flatten)]
        owner: HookOwnerArgs,
    },
    /// Copy a default hook into existing repositories
    Apply {
        /// ID of the hook
        id: i64,
    },
    /// Delete a hook permanently
    Delete {
        /// ID of the hook
        id: i64,
        #[command(flatten)]
        owner: HookOwnerArgs,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Print hooks as JSON, without their secrets
    Export {
        #[command(flatten)]
        owner: HookOwnerArgs,
        #[command(flatten)]
        kind: Kind,
    },
    /// Create the hooks of an export; those that had secrets are created inactive
    Import {
        /// File, or - for standard input
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        owner: HookOwnerArgs,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateHook {
    /// URL that receives deliveries; some chat services need none
    #[arg(value_name = "TARGET", required_unless_present = "set", value_hint = ValueHint::Url)]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) owner: HookOwnerArgs,
    #[command(flatten)]
    pub(crate) kind: Kind,
    /// Type of the receiver
    #[arg(long = "type", value_name = "TYPE", default_value = HOOK_TYPE, value_parser = super::values::HOOK_TYPES)]
    pub(crate) kind_of_receiver: String,
    /// Create the hook inactive
    #[arg(long)]
    pub(crate) inactive: bool,
    #[command(flatten)]
    pub(crate) change: Change,
}

#[derive(Args, Debug)]
pub(crate) struct EditHook {
    /// ID of the hook
    pub(crate) id: i64,
    #[command(flatten)]
    pub(crate) owner: HookOwnerArgs,
    /// URL that receives deliveries
    #[arg(long, value_name = "TARGET", value_hint = ValueHint::Url)]
    pub(crate) target: Option<String>,
    /// Remove the secret or the Authorization header
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["secret", "authorization"])]
    pub(crate) clear: Vec<String>,
    #[command(flatten)]
    pub(crate) change: Change,
}

/// Settings of a hook that can be given when it is created and when it is changed.
#[derive(Args, Debug, Default)]
pub(crate) struct Change {
    /// Events to receive, separated by commas; push if a new hook names none
    #[arg(long, value_name = "EVENTS", value_delimiter = ',', value_parser = super::values::HOOK_EVENTS)]
    pub(crate) events: Option<Vec<String>>,
    /// Receive only events of branches and tags that match this pattern
    #[arg(long, value_name = "PATTERN")]
    pub(crate) branch_filter: Option<String>,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Format of deliveries; json for a new hook
    #[arg(long, value_name = "FORM", value_parser = ["json", "form"])]
    pub(crate) content_type: Option<String>,
    /// Generate the secret that signs deliveries, and print it once
    #[arg(long, conflicts_with = "secret_stdin")]
    pub(crate) generate_secret: bool,
    /// Read the secret that signs deliveries from standard input
    #[arg(long, conflicts_with = "authorization_stdin")]
    pub(crate) secret_stdin: bool,
    /// Read the Authorization header of deliveries from standard input
    #[arg(long)]
    pub(crate) authorization_stdin: bool,
    /// Set a configuration key of the receiver, such as channel=#dev
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct Events {
    /// Keep following
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only events of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<RepositoryPath>,
    /// Only events of these kinds, separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = super::values::EVENT_KINDS)]
    pub(crate) kind: Vec<String>,
    /// Only events newer than the event with this ID, oldest first
    #[arg(long, value_name = "N")]
    pub(crate) after: Option<i64>,
    /// The newest N events, newest last; with --follow, print them before new events [default: 100; with --follow, 0]
    #[arg(long, value_name = "N", conflicts_with = "after")]
    pub(crate) last: Option<u32>,
    /// Maximum number of events; ignored with --follow
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}
