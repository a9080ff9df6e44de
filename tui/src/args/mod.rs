//! The command line: commands, arguments and options.
//!
//! Scripts depend on them. Checks that need files, the environment or the daemon are made by the commands.

mod accounts;
mod artifact;
mod audit;
mod cache;
mod ci;
mod delivery;
mod gpg_key;
mod hook;
mod key;
mod logs;
mod mirror;
mod protect;
mod release;
mod repo;
mod requests;
mod task;
mod team;
mod values;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::ui::{ColorMode, ScreenId};

pub(crate) use self::{
    accounts::{CreateToken, CreateUser, EditUser, Org, Token, User},
    artifact::{Artifact, ArtifactScopeArgs, Delete, Download, Expire, ListArtifacts, Upload},
    audit::{Audit, ListAudit},
    cache::{Cache, DeleteCaches, ListCaches},
    ci::{Ci, Exec, Job, ListRuns, Run},
    delivery::{Delivery, FilterArgs, ListDeliveries, ReplayArgs},
    gpg_key::{AddGpgKey, GpgKey},
    hook::{Change, CreateHook, EditHook, Events, Hook, HookOwnerArgs, Kind},
    key::{DeployKey, KeyFile, SshKey, is_private_key},
    logs::Logs,
    mirror::{AddMirror, Mirror},
    protect::{Protect, RuleArgs, RuleFields},
    release::{CreateRelease, EditRelease, Release, ReleaseArgs, ReleaseText},
    repo::{ArchiveRepo, CreateRepo, EditRepo, GenerateRepo, MigrateRepo, Repo},
    task::Task,
    team::{CreateTeam, EditTeam, Team, TeamArgs},
};

/// Variables that the program reads, and help about exit codes.
const ENVIRONMENT: &str = "\
Environment:
  FARRIER_URL       Address of the daemon, as --url
  FARRIER_SOCKET    Unix socket of the daemon, as --socket
  FARRIER_CONTEXT   Daemon of the configuration file, as --context
  FARRIER_TOKEN     Access token; --token-file takes precedence; not sent to contexts
  FARRIER_CA        PEM file of certificate authorities, as --ca
  FARRIER_RUN_ID    Workflow run for `run show`, `run cancel`, `ci begin` and `ci exec`
  FARRIER_JOB_ID    Job for `ci end`
  FARRIER_COLOR     Colors, as --color
  NO_COLOR          Disables colors when set

`ci exec` sets FARRIER_URL or FARRIER_SOCKET, FARRIER_CA, FARRIER_RUN_ID and FARRIER_JOB_ID for its command.
FARRIER_TOKEN is inherited, unless a context is selected; a token from --token-file is not passed on.

`farrier help COMMAND` explains a command. Exit codes are listed in the operations manual.";

/// Manage a farrier daemon: repositories, webhooks, CI runs and artifacts
///
/// Without a command, opens the full screen on a terminal; elsewhere, prints the status of the daemon.
#[derive(Debug, Parser)]
#[command(name = "farrier", version, after_long_help = ENVIRONMENT)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Appearance of the full screen, and colors everywhere.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Full screen options")]
pub(crate) struct DisplayArgs {
    /// Draw with ASCII characters only
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Start on this screen
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = values::one_of::<ScreenId>(values::SCREENS))]
    pub(crate) screen: Option<ScreenId>,
    /// Redraw less often, for slow connections [default: detected]
    #[arg(long)]
    pub(crate) slow: bool,
    /// Enable the mouse: the wheel scrolls, a click selects
    #[arg(long)]
    pub(crate) mouse: bool,
    /// When to use colors: auto, always or never; on the full screen also 16, 256 or true [default: auto]
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL_HEADING,
        value_name = "WHEN",
        hide_possible_values = true,
        value_parser = values::one_of::<ColorMode>(values::colors())
    )]
    pub(crate) color: Option<ColorMode>,
}

/// Heading of the options that every command has.
const GLOBAL_HEADING: &str = "Global options";

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub(crate) struct Global {
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        conflicts_with = "url",
        value_hint = ValueHint::FilePath,
        help = "Unix socket of the daemon [default: your own daemon, then the system's] [env: FARRIER_SOCKET]"
    )]
    pub(crate) socket: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        value_name = "URL",
        value_hint = ValueHint::Url,
        help = "Address of the daemon, such as https://forge.example [env: FARRIER_URL]"
    )]
    pub(crate) url: Option<String>,
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        conflicts_with_all = ["socket", "url"],
        help = "Daemon and credentials of [contexts.NAME] in the configuration file [env: FARRIER_CONTEXT]"
    )]
    pub(crate) context: Option<String>,
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help = "PEM file of certificate authorities to trust in addition to the system's [env: FARRIER_CA]"
    )]
    pub(crate) ca: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help = "File that contains an access token [default: none; the socket identifies you] \
            [env: FARRIER_TOKEN, the token itself]"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// Refuse to change anything on the daemon
    #[arg(long, global = true)]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// `farrier config`
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the configuration file, whether or not it exists
    Path,
    /// Print the effective settings: those of the file and the defaults
    Show,
    /// Report every problem in the configuration file; exits with 1 if there is an error
    Check,
}

/// The format of results.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Format {
    /// Print one JSON document
    #[arg(long, global = true, conflicts_with_all = ["jsonl", "quiet"])]
    pub(crate) json: bool,
    /// Print one JSON object per line
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub(crate) jsonl: bool,
    /// Print only names or IDs, in the form that other commands accept
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// How to show times [default: relative on a terminal, iso elsewhere]
    #[arg(long, global = true, value_name = "STYLE")]
    pub(crate) time: Option<TimeStyle>,
}

/// How times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeStyle {
    /// `5m ago`
    Relative,
    /// `2026-01-02T03:04:05Z`
    Iso,
}

/// The maximum length of a list.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// Maximum number of items [default: all]
    #[arg(long = "limit", value_name = "N", value_parser = limit)]
    max: Option<usize>,
}

impl Limit {
    /// The maximum number of items.
    pub(crate) fn items(self) -> usize {
        self.max.unwrap_or(usize::MAX)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the status of the daemon; exits with 8 if a health check fails
    Status {
        /// Update the status every second until interrupted
        #[arg(long)]
        watch: bool,
    },
    /// Manage users
    #[command(subcommand)]
    User(User),
    /// Manage organizations
    #[command(subcommand)]
    Org(Org),
    /// Manage teams of organizations, their members and repositories
    #[command(subcommand)]
    Team(Team),
    /// Manage access tokens
    #[command(subcommand)]
    Token(Token),
    /// Manage SSH keys
    #[command(subcommand)]
    Key(SshKey),
    /// Manage OpenPGP keys, which verify signatures of commits and tags
    #[command(subcommand)]
    GpgKey(GpgKey),
    /// Manage repositories
    #[command(subcommand)]
    Repo(Repo),
    /// Manage releases and their files
    #[command(subcommand)]
    Release(Release),
    /// Manage pull mirrors and push mirrors
    #[command(subcommand)]
    Mirror(Mirror),
    /// Manage webhooks
    #[command(subcommand)]
    Hook(Hook),
    /// List or follow events
    Events(Events),
    /// Begin, run and end CI jobs
    #[command(subcommand)]
    Ci(Ci),
    /// List, show and cancel workflow runs
    #[command(subcommand)]
    Run(Run),
    /// List and delete cache entries of workflow jobs
    #[command(subcommand)]
    Cache(Cache),
    /// Upload, download and manage artifacts
    #[command(subcommand)]
    Artifact(Artifact),
    /// List, group, show and redeliver webhook deliveries
    #[command(subcommand)]
    Delivery(Delivery),
    /// List, show, run and cancel background tasks, such as imports
    #[command(subcommand)]
    Task(Task),
    /// List and show the audit log: who did what
    #[command(subcommand)]
    Audit(Audit),
    /// Back up the data directory of the daemon, while it runs
    ///
    /// Only on the Unix socket, for administrators. The daemon writes the backup, so its user needs access to the
    /// directory. A backup has secrets: keep it as safe as the data. A second backup to the same directory copies only
    /// what is new. If this command is interrupted, the backup goes on. `farrierd restore` restores it.
    Backup {
        /// Directory of backups on the machine of the daemon; created if it does not exist. Or `s3://BUCKET/PREFIX`,
        /// with the server and the keys of the configuration of the daemon
        #[arg(value_hint = ValueHint::DirPath, required_unless_present = "tar")]
        directory: Option<PathBuf>,
        /// Write one backup as a tar file to standard output, which `farrierd restore --from-tar` restores
        #[arg(long, conflicts_with_all = ["directory", "keep"])]
        tar: bool,
        /// Keep the newest N backups, this one included, and remove older ones afterwards
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        keep: Option<u32>,
        /// Leave out cache entries, which jobs create again
        #[arg(long)]
        without_caches: bool,
    },
    /// Show or change the log filter of the daemon
    #[command(subcommand)]
    Log(Log),
    /// Print or follow the newest log records of the daemon
    ///
    /// Only for administrators. The daemon keeps the newest records in memory, as many as `log.recent_records` and
    /// `log.recent_bytes` allow; the log files and the journal have the older ones. `--json` prints one object per
    /// record.
    Logs(Logs),
    /// Change your password
    ///
    /// Asks for it on the terminal, without showing it. If standard input is not a terminal, reads the old and the new
    /// password from it, each on its own line; on the socket and without a token, only the new one. Administrators set
    /// the password of another account with `user edit`.
    Passwd {
        /// Read passwords from standard input, even if it is a terminal
        #[arg(long)]
        password_stdin: bool,
        /// Also revoke the tokens of the account, except the one of this command
        #[arg(long)]
        revoke_tokens: bool,
    },
    /// Show or check the configuration of this program
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a shell completion script
    #[command(after_help = "\
Installation:
  bash:  farrier completion bash > ~/.local/share/bash-completion/completions/farrier
  zsh:   farrier completion zsh > ~/.zfunc/_farrier    # with ~/.zfunc in $fpath
  fish:  farrier completion fish > ~/.config/fish/completions/farrier.fish")]
    Completion {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page: farrier man repo create | man -l -
    Man {
        /// Command [default: the program itself]
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// Parses the value of `--limit`.
pub(crate) fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number of at least 1".to_owned()),
        Ok(limit) => Ok(limit),
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Log {
    /// Show the active log filter and the configured one
    Show,
    /// Change the log filter until the configuration is reloaded
    Set {
        /// Filter directives, such as `info,farrierd::http=debug`
        filter: String,
    },
}
