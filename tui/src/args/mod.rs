//! The command line: commands, arguments and options.
//!
//! Scripts depend on them. Checks that need files, the environment or the daemon are made by the commands.

mod accounts;
mod artifact;
mod ci;
mod delivery;
mod hook;
mod repo;
mod run;
mod task;
mod values;
mod wanted;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::ui::{ColorMode, ScreenId};

pub(crate) use self::{
    accounts::{CreateUser, EditUser, Org, Token, User},
    artifact::{Artifact, Delete, Download, Expire, ListArtifacts, Upload, Where},
    ci::{Ci, Exec, Job},
    delivery::{Delivery, FilterArgs, ListDeliveries},
    hook::{Change, CreateHook, EditHook, Events, Hook, Kind, Place},
    repo::{ArchiveRepo, CreateRepo, EditRepo, MigrateRepo, Repo},
    run::{ListRuns, Run},
    task::Task,
};

/// Variables that the program reads, and help about exit codes.
const ENVIRONMENT: &str = "\
Environment:
  FARRIER_URL       Address of the daemon, as --url
  FARRIER_SOCKET    Unix socket of the daemon, as --socket
  FARRIER_TOKEN     Access token; --token-file takes precedence
  FARRIER_CA        PEM file of certificate authorities, as --ca
  FARRIER_RUN_ID    Workflow run for `run show`, `run cancel`, `ci begin` and `ci exec`
  FARRIER_JOB_ID    Job for `ci end`
  FARRIER_COLOR     Colors, as --color
  NO_COLOR          Disables colors when set

`ci exec` sets FARRIER_URL or FARRIER_SOCKET, FARRIER_CA, FARRIER_RUN_ID and FARRIER_JOB_ID for its command.
FARRIER_TOKEN is inherited; a token from --token-file is not passed on.

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
    pub(crate) looks: Looks,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Appearance of the full screen, and colors everywhere.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Full screen options")]
pub(crate) struct Looks {
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
    /// Manage user accounts
    #[command(subcommand)]
    User(User),
    /// Manage organizations
    #[command(subcommand)]
    Org(Org),
    /// Manage access tokens
    #[command(subcommand)]
    Token(Token),
    /// Manage repositories
    #[command(subcommand)]
    Repo(Repo),
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
    /// Upload, download and manage artifacts
    #[command(subcommand)]
    Artifact(Artifact),
    /// List, show and redeliver webhook deliveries
    #[command(subcommand)]
    Delivery(Delivery),
    /// List, show and cancel background tasks, such as imports
    #[command(subcommand)]
    Task(Task),
    /// Show or change the log filter of the daemon
    #[command(subcommand)]
    Log(Log),
    /// Change your password
    ///
    /// Asks for it on the terminal. Administrators set the password of another account with `user edit`.
    Passwd {
        /// Read passwords from standard input: the old and the new one, each on its own line. On the socket and
        /// without a token, only the new one
        #[arg(long)]
        password_stdin: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    /// What scripts and people write.
    const UNDERSTOOD: &[&str] = &[
        "farrier",
        "farrier --ascii --color false --read-only --socket /s",
        "farrier status --json",
        "farrier --socket /s status",
        "farrier status --url http://h --token-file f",
        "farrier user create a --email a@b.c --admin --password-stdin",
        "farrier log show --json",
        "farrier log set info,farrierd::http=debug",
        "farrier status --watch --jsonl",
        "farrier task list --json",
        "farrier task show 7",
        "farrier task wait 7 -q",
        "farrier task cancel 7",
        "farrier user list",
        "farrier user list text --json",
        "farrier user show a",
        "farrier user edit a --email e@x.y --admin false --active true --visibility limited --password-stdin",
        "farrier user edit a --rename b",
        "farrier user off a",
        "farrier user delete a --yes --purge",
        "farrier org list -q",
        "farrier org show o",
        "farrier org create o --owner a --full-name O --description d --visibility private",
        "farrier org delete o --yes",
        "farrier token list --user a --json",
        "farrier token revoke --user a ci",
        "farrier token create --user a --name n --scopes all",
        "farrier token create --user a --name n --scopes all --json --expires 30d",
        "farrier repo create o/n --private --description d --default-branch b",
        "farrier repo show o/n --json",
        "farrier repo list",
        "farrier repo list octo --jsonl",
        "farrier repo create o/n --init --readme Default --license MIT --gitignore Rust,Go --template",
        "farrier repo create o/n --object-format sha256",
        "farrier repo edit o/n --name m --archived true --private false --description=",
        "farrier repo delete o/n --yes",
        "farrier repo migrate http://h/a.git o/n --wait --private --username u --password-stdin",
        "farrier repo archive o/n",
        "farrier repo archive o/n --ref v1 --format tar.gz -o - --force",
        "farrier repo branches o/n --jsonl",
        "farrier hook list",
        "farrier hook list --default --json",
        "farrier hook list --repo o/n",
        "farrier hook show 7 --org acme",
        "farrier hook create http://h/ --system --events push,create --branch-filter main --generate-secret",
        "farrier hook create http://h/ --repo o/n --type slack --set channel=#dev --inactive --json",
        "farrier hook edit 7 --name n --target http://h/ --events push --secret-stdin --clear authorization",
        "farrier hook on 7",
        "farrier hook off 7 --mine",
        "farrier hook test 7 --repo o/n",
        "farrier hook apply 7",
        "farrier hook delete 7 --yes",
        "farrier hook export --repo o/n",
        "farrier hook import hooks.json --repo o/n",
        "farrier events --follow --repo o/n --kind push,create --json",
        "farrier events --after 7 --limit 10",
        "farrier events --follow --last 10",
        "farrier ci begin --repo o/n --run 7 --job j --sha s --branch b --workflow w --json",
        "farrier ci end 7 --conclusion success",
        "farrier ci exec --repo o/n -- cmd --json -q",
        "farrier passwd --password-stdin",
        "farrier completion bash",
        "farrier man",
        "farrier man repo create",
        "farrier repo list --limit 5 --time iso",
        "farrier org list --limit 5 --time relative",
        "farrier task list --limit 1",
        "farrier token create --user a --name n --scopes all --repo o/n,o/m",
        "farrier ci exec --repo o/n --grace 3 --report-timeout 5 -- cmd",
        "farrier run list --repo o/n --status in_progress --limit 5 --json",
        "farrier run show 7 --url https://forge.example --ca ca.pem",
        "farrier run cancel 7",
        "farrier artifact upload --name n --repo o/n --retention-days 5 --concurrency 2 a b",
        "farrier artifact list --repo o/n --run 7 --jsonl",
        "farrier artifact download 7 --repo o/n --run 7 -o d/ --no-extract",
        "farrier artifact download x -o d --extract --force",
        "farrier artifact delete 7 x --yes",
        "farrier artifact expire x --repo o/n --at 2026-12-31 --json",
        "farrier delivery list --failed --hook 7 --since 1h --json",
        "farrier delivery show x --request --response",
        "farrier delivery show x --body",
        "farrier delivery list --repo octo/demo",
        "farrier delivery redeliver x y",
        "farrier delivery redeliver --failed --hook 7 --since 1h --yes",
        "farrier delivery recover 7 --since 2026-01-02 --yes",
        "farrier repo list --color always",
        "farrier artifact list --limit 5",
        "farrier --screen Hooks",
        "farrier config check",
        "farrier --screen hooks --color 256 --slow --mouse --ascii --read-only",
        "farrier hook list --read-only",
    ];

    #[test]
    fn the_scripting_surface_is_understood() {
        for line in UNDERSTOOD {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_usage() {
        let lines = [
            "farrier nonsense",
            "farrier task cancel x",
            "farrier user",
            "farrier user create a",
            "farrier user edit a --admin maybe",
            "farrier org create o --visibility odd",
            "farrier token revoke ci",
            "farrier token create --user a --name n",
            "farrier repo create justname",
            "farrier repo edit o/n --private maybe",
            "farrier repo migrate http://h/a.git",
            "farrier repo archive o/n --format rar",
            "farrier hook create",
            "farrier hook create http://h/ --system --default",
            "farrier hook create http://h/ --set nonsense",
            "farrier hook create http://h/ --generate-secret --secret-stdin",
            "farrier hook delete x --yes",
            "farrier events --limit x",
            "farrier ci begin",
            "farrier ci begin --repo o/n --run x",
            "farrier ci end 7 --conclusion maybe",
            "farrier ci exec --repo o/n",
            "farrier run cancel",
            "farrier completion nonsense",
            "farrier repo list --limit 0",
            "farrier status --time odd",
            "farrier token create --user a --name n --scopes all --repo justname",
            "farrier run list --status odd",
            "farrier run list --limit 0",
            "farrier artifact upload",
            "farrier artifact upload --concurrency 0 a",
            "farrier artifact delete",
            "farrier artifact expire 7",
            "farrier artifact expire --days 3",
            "farrier artifact expire 7 --days 0",
            "farrier artifact expire 7 --days 3 --at 2026-12-31",
            "farrier delivery list --failed --status success",
            "farrier delivery redeliver",
            "farrier delivery redeliver x --failed",
            "farrier delivery redeliver --yes",
            "farrier delivery list --limit 0",
            "farrier delivery recover x",
            "farrier --socket /s --url http://h status",
            "farrier status --json -q",
            "farrier --screen nowhere",
            "farrier --color pink",
        ];
        for line in lines {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn everything_after_the_dashes_is_the_command() {
        let cli = parse("farrier ci exec --repo o/n -- cmd --json -q --repo x").unwrap();
        let Some(Command::Ci(Ci::Exec(exec))) = cli.command else { panic!() };
        assert_eq!(exec.command, ["cmd", "--json", "-q", "--repo", "x"]);
        assert!(!cli.global.format.json);
    }
}
