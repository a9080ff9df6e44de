//! Words of `farrier hook` and `farrier events`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use farrier_common::{
    client::{HookPlace, RepositoryPath},
    defaults::HOOK_TYPE,
};

/// Where hooks belong. Commands about one hook find it by its number when nothing is given; others mean
/// administrators' hooks.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Place {
    /// Hooks of a repository
    #[arg(long, value_name = "OWNER/NAME", conflicts_with_all = ["org", "mine"])]
    pub(crate) repo: Option<RepositoryPath>,
    /// Hooks of an organisation
    #[arg(long, value_name = "ORG", conflicts_with = "mine")]
    pub(crate) org: Option<String>,
    /// The caller's own hooks
    #[arg(long)]
    pub(crate) mine: bool,
}

impl Place {
    pub(crate) fn api(&self) -> HookPlace {
        match (&self.repo, &self.org, self.mine) {
            (Some(repo), _, _) => HookPlace::Repository(repo.clone()),
            (_, Some(org), _) => HookPlace::Org(org.clone()),
            (_, _, true) => HookPlace::User,
            _ => HookPlace::Admin,
        }
    }

    /// Where one hook is looked for: everywhere unless a place is given.
    pub(crate) fn of_one(&self) -> HookPlace {
        match self.api() {
            HookPlace::Admin => HookPlace::Any,
            given => given,
        }
    }
}

/// Which of administrators' hooks.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    /// System hooks: they receive the events of all repositories
    #[arg(long, conflicts_with_all = ["default", "repo", "org", "mine"])]
    pub(crate) system: bool,
    /// Default hooks: they are copied into each new repository
    #[arg(long, conflicts_with_all = ["repo", "org", "mine"])]
    pub(crate) default: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// List hooks: administrators' hooks unless a place is given
    List {
        /// Every hook that you may manage
        #[arg(long, conflicts_with_all = ["repo", "org", "mine", "system", "default"])]
        all: bool,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        kind: Kind,
    },
    /// Show a hook
    Show {
        /// Number of the hook
        id: i64,
        #[command(flatten)]
        place: Place,
    },
    /// Create a hook; without a place it is a system hook, which receives the events of all repositories
    Create(CreateHook),
    /// Change a hook; what is not named stays
    Edit(EditHook),
    /// Switch a hook on
    On {
        /// Number of the hook
        id: i64,
        #[command(flatten)]
        place: Place,
    },
    /// Switch a hook off
    Off {
        /// Number of the hook
        id: i64,
        #[command(flatten)]
        place: Place,
    },
    /// Have a hook sent something
    Test {
        /// Number of the hook
        id: i64,
        #[command(flatten)]
        place: Place,
    },
    /// Copy a default hook into the repositories that are there already
    Apply {
        /// Number of the hook
        id: i64,
    },
    /// Delete a hook
    Delete {
        /// Number of the hook
        id: i64,
        #[command(flatten)]
        place: Place,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Write the hooks of a place as JSON, without their secrets
    Export {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        kind: Kind,
    },
    /// Make the hooks that `export` wrote; those with secrets come in switched off
    Import {
        /// File, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateHook {
    /// Where deliveries go; some chats need none
    #[arg(value_name = "TARGET", required_unless_present = "set")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) kind: Kind,
    /// What kind of receiver it is
    #[arg(long = "type", value_name = "T", default_value = HOOK_TYPE)]
    pub(crate) kind_of_receiver: String,
    /// Switched off at first
    #[arg(long)]
    pub(crate) inactive: bool,
    #[command(flatten)]
    pub(crate) change: Change,
}

#[derive(Args, Debug)]
pub(crate) struct EditHook {
    /// Number of the hook
    pub(crate) id: i64,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Where deliveries go
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Remove what deliveries are signed or authorised with
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["secret", "authorization"])]
    pub(crate) clear: Vec<String>,
    #[command(flatten)]
    pub(crate) change: Change,
}

/// What can be said of a hook when it is made and when it is changed.
#[derive(Args, Debug, Default)]
pub(crate) struct Change {
    /// What it hears of, with commas between [default: push]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) events: Option<Vec<String>>,
    /// Pattern for branches and tags
    #[arg(long, value_name = "PATTERN")]
    pub(crate) branch_filter: Option<String>,
    /// A name for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    /// Form of deliveries [default: json]
    #[arg(long, value_name = "FORM", value_parser = ["json", "form"])]
    pub(crate) content_type: Option<String>,
    /// Make what deliveries are signed with, and print it once
    #[arg(long, conflicts_with = "secret_stdin")]
    pub(crate) generate_secret: bool,
    /// Read what deliveries are signed with from standard input
    #[arg(long, conflicts_with = "authorization_stdin")]
    pub(crate) secret_stdin: bool,
    /// Read the header Authorization of deliveries from standard input
    #[arg(long)]
    pub(crate) authorization_stdin: bool,
    /// A further key of its configuration, such as channel=#dev
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
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
    /// Only these kinds, separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) kind: Vec<String>,
    /// Only events newer than the one with this number, the oldest first
    #[arg(long, value_name = "N")]
    pub(crate) after: Option<i64>,
    /// The newest N events, the newest last; with --follow, those before the new ones [default: 100, with --follow 0]
    #[arg(long, value_name = "N", conflicts_with = "after")]
    pub(crate) last: Option<u32>,
    /// Maximum number of events; ignored with --follow
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}
