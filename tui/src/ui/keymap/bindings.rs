//! The table of key bindings.

mod lists;
mod organizations;
mod webhooks;

use self::{lists::LISTS, organizations::ORGANIZATIONS, webhooks::WEBHOOKS};
use super::{
    Action as A, Binding,
    Key::{self, Char as C, Ctrl},
    Object as O,
    Scope::{self, self as S},
};
use crate::ui::screens::ScreenId;

const fn bind(scope: Scope, keys: &'static [Key], action: A, title: &'static str, hint: &'static str) -> Binding {
    Binding { scope, keys, action, title, hint, words: "", also: "", object: None, changes: false }
}

impl Binding {
    const fn words(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    /// Other search words.
    const fn also(mut self, also: &'static str) -> Self {
        self.also = also;
        self
    }

    const fn of(mut self, object: O) -> Self {
        self.object = Some(object);
        self
    }

    const fn changes(mut self) -> Self {
        self.changes = true;
        self
    }
}

/// All bindings; within a scope in the order of the hint line.
pub(crate) static BINDINGS: &[Binding] =
    &joined::<{ SCREENS.len() + WEBHOOKS.len() + LISTS.len() + ORGANIZATIONS.len() }>();

/// Returns the bindings of all tables.
const fn joined<const COUNT: usize>() -> [Binding; COUNT] {
    let tables = [SCREENS, WEBHOOKS, LISTS, ORGANIZATIONS];
    let mut all = [SCREENS[0]; COUNT];
    let (mut at, mut table, mut row) = (0, 0, 0);
    while at < COUNT {
        if row == tables[table].len() {
            (table, row) = (table + 1, 0);
        }
        all[at] = tables[table][row];
        (at, row) = (at + 1, row + 1);
    }
    all
}

/// The bindings of the screens, the more specific scopes first.
const SCREENS: &[Binding] = &[
    bind(S::Nowhere, &[C('U')], A::StartDaemon, "Start a daemon for this user", "start daemon"),
    bind(S::Nowhere, &[C('r')], A::Refresh, "Retry now", "retry"),
    bind(S::Away, &[C('r')], A::Refresh, "Retry now", "retry now"),
    bind(S::Away, &[C(':')], A::Palette, "Enter a command", "connect PATH|URL"),
    bind(S::Refused, &[C('N')], A::TypeToken, "Use another token", "new token"),
    bind(S::Refused, &[C('i')], A::SocketIdentity, "Use the socket identity", "socket identity"),
    bind(S::Refused, &[C('r')], A::Refresh, "Retry", "retry"),
    bind(S::Failed, &[C('r')], A::Refresh, "Retry", "retry"),
    bind(S::Failed, &[Key::Enter], A::Details, "Show the error", "details"),
    bind(S::FailedRequest, &[C('y')], A::CopyRequest, "Copy the request ID", "copy request ID"),
    bind(S::Repositories, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the repository", "open").of(O::Repository),
    bind(S::Repositories, &[C('n')], A::New, "Create a repository", "new")
        .words("repo create")
        .also("add make")
        .changes(),
    bind(S::Repositories, &[C('M')], A::Migrate, "Import a repository", "import")
        .words("repo migrate")
        .also("import clone fetch mirror")
        .changes(),
    bind(S::Repositories, &[C('e')], A::Edit, "Edit the repository", "")
        .words("repo edit")
        .also("rename description visibility private public archive default branch change")
        .of(O::Repository)
        .changes(),
    bind(S::Repositories, &[C('y')], A::Copy, "Copy URL, name or JSON", "copy").also("clone address").of(O::Repository),
    bind(S::Repositories, &[C('a')], A::Archive, "Download an archive: zip, tar.gz or bundle", "archive")
        .words("repo archive")
        .also("export backup save")
        .of(O::Repository),
    bind(S::Repositories, &[C(']')], A::NextPart, "Next tab of the pane", ""),
    bind(S::Repositories, &[C('[')], A::PreviousPart, "Previous tab of the pane", ""),
    bind(S::Repositories, &[C('X')], A::CancelMigration, "Cancel the import", "")
        .also("stop migration abort")
        .of(O::Repository)
        .changes(),
    bind(S::Repositories, &[C('o')], A::Artifacts, "Show runs and artifacts", "artifacts").of(O::Repository),
    bind(S::Repositories, &[C('w')], A::Hooks, "Show hooks", "").of(O::Repository),
    bind(S::Repositories, &[C('D')], A::Delete, "Delete the repository", "delete")
        .words("repo delete")
        .also("remove destroy")
        .of(O::Repository)
        .changes(),
    bind(S::Repositories, &[C('u')], A::Screen(ScreenId::DeletedRepositories), "Show deleted repositories", "deleted")
        .words("repo list --deleted")
        .also("restore undelete trash"),
    bind(S::DeletedRepositories, &[C('R'), Key::Enter], A::Restore, "Restore the repository", "restore")
        .words("repo restore")
        .also("undelete recover")
        .of(O::DeletedRepository)
        .changes(),
    bind(S::DeletedRepositories, &[C('D')], A::Purge, "Delete the repository permanently", "delete permanently")
        .words("repo purge")
        .also("remove destroy")
        .of(O::DeletedRepository)
        .changes(),
    bind(S::DeletedRepositories, &[C('u')], A::Screen(ScreenId::Repositories), "Show repositories", "repositories"),
    bind(S::Repository, &[C(']')], A::NextPart, "Next tab", "tab"),
    bind(S::Repository, &[C('[')], A::PreviousPart, "Previous tab", ""),
    bind(S::Repository, &[C('y')], A::Copy, "Copy URL, name or JSON", "copy").also("clone address").of(O::Repository),
    bind(S::Repository, &[C('a')], A::Archive, "Download an archive: zip, tar.gz or bundle", "archive")
        .also("export backup save")
        .of(O::Repository),
    bind(S::Repository, &[C('X')], A::CancelMigration, "Cancel the import", "")
        .also("stop migration abort")
        .of(O::Repository)
        .changes(),
    bind(S::Repository, &[C('e')], A::Edit, "Edit the repository", "edit")
        .also("rename description visibility private public archive default branch change")
        .of(O::Repository)
        .changes(),
    bind(S::Repository, &[C('o')], A::Artifacts, "Show runs and artifacts", "artifacts").of(O::Repository),
    bind(S::Repository, &[C('w')], A::Hooks, "Show hooks", "hooks").of(O::Repository),
    bind(S::Dashboard, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the selected item", "open"),
    bind(
        S::Dashboard,
        &[C('R')],
        A::Recover,
        "Redeliver to these hooks, sync these mirrors, or repeat this import",
        "retry",
    )
    .also("resend redeliver again replay mirror import")
    .changes(),
    bind(S::Dashboard, &[C('t')], A::Toggle, "Turn these hooks on or off", "on/off")
        .also("toggle switch enable disable pause resume activate")
        .changes(),
    bind(S::Dashboard, &[C(']')], A::NextPart, "Charts of the last minute, hour or day", "minute/hour/day")
        .also("period span graph"),
    bind(S::Dashboard, &[C('[')], A::PreviousPart, "Charts of the previous period", ""),
    bind(S::RepositoryHooks, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the hook", "open"),
    bind(S::RepositoryHooks, &[C('t')], A::Toggle, "Turn the hook on or off", "on/off")
        .also("enable disable switch")
        .of(O::Repository)
        .changes(),
    bind(
        S::RepositoryHooks,
        &[C('R')],
        A::Recover,
        "Redeliver what failed, and try what waits for a retry",
        "redeliver",
    )
    .also("resend retry again")
    .of(O::Repository)
    .changes(),
    bind(S::RepositoryHooks, &[C('T')], A::Test, "Send a test event", "test").also("ping").of(O::Repository).changes(),
    bind(S::RepositoryHooks, &[C('D')], A::DeleteEntry, "Delete the hook", "delete")
        .also("remove")
        .of(O::Repository)
        .changes(),
    bind(S::RepositoryArtifacts, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the artifact", "open"),
    bind(S::RepositoryArtifacts, &[C('d')], A::Download, "Download", "download").also("save fetch").of(O::Repository),
    bind(S::RepositoryArtifacts, &[C('D')], A::DeleteEntry, "Delete artifacts", "delete")
        .also("remove")
        .of(O::Repository)
        .changes(),
    bind(S::Files, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the file or directory", "open").also("view show"),
    bind(S::Files, &[C('c')], A::History, "Show the commits that changed it", "commits").also("history log blame"),
    bind(S::Commits, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the commit and its diff", "open")
        .also("view changes patch"),
    bind(S::Branches, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the files of the branch", "files")
        .also("open browse checkout"),
    bind(S::Branches, &[C('D')], A::DeleteBranch, "Delete the branch", "delete branch")
        .also("remove")
        .of(O::Branch)
        .changes(),
    bind(S::Branches, &[C('n')], A::NewBranch, "Create a branch", "new branch").also("add make").changes(),
    bind(S::Tags, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the files of the tag", "files")
        .also("open browse checkout"),
    bind(S::Tags, &[C('D')], A::DeleteTag, "Delete the tag", "delete tag").also("remove").of(O::Repository).changes(),
    bind(S::Tags, &[C('n')], A::NewTag, "Create a tag", "new tag").also("add make").changes(),
    bind(S::RepositoryText, &[C('/')], A::Filter, "Search", "search").also("find"),
    bind(S::RepositoryText, &[C('n')], A::NextMatch, "Next match", ""),
    bind(S::RepositoryText, &[C('N')], A::PreviousMatch, "Previous match", ""),
    bind(S::RepositoryText, &[C('w')], A::Wrap, "Wrap long lines", "wrap"),
    bind(S::RepositoryText, &[C('o')], A::Pager, "Open the text in $PAGER", "pager").also("less"),
    bind(S::Artifacts, &[Key::Enter], A::Open, "Expand or collapse; details of an artifact", "open"),
    bind(S::Artifacts, &[C('d')], A::Download, "Download", "download")
        .words("artifact download")
        .also("save fetch")
        .of(O::Artifact),
    bind(S::Artifacts, &[C('D')], A::Delete, "Delete artifacts", "delete")
        .words("artifact delete")
        .also("remove")
        .of(O::Artifact)
        .changes(),
    bind(S::Artifacts, &[C('e')], A::Edit, "Set when artifacts expire", "expiry")
        .words("artifact expire")
        .also("retention keep")
        .of(O::Artifact)
        .changes(),
    bind(S::Artifacts, &[C('o')], A::Inside, "List the files in a zip artifact", "files")
        .also("content inside look")
        .of(O::Artifact),
    bind(S::Artifacts, &[C('y')], A::Copy, "Copy ID, name, SHA-256 or a signed URL", "copy").of(O::Artifact),
    bind(S::Artifacts, &[C('X')], A::CancelRun, "Cancel the run", "").also("stop abort").changes(),
    bind(S::Artifacts, &[C('u')], A::Screen(ScreenId::DeletedArtifacts), "Show deleted artifacts", "deleted")
        .words("artifact list --deleted")
        .also("restore undelete trash"),
    bind(S::Artifacts, &[C('c')], A::Screen(ScreenId::Caches), "Show cache entries", "caches")
        .words("cache list")
        .also("actions/cache usage"),
    bind(S::Caches, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the entry", "open").of(O::CacheEntry),
    bind(S::Caches, &[C('D')], A::Delete, "Delete cache entries", "delete").also("remove").of(O::CacheEntry).changes(),
    bind(S::Caches, &[C('y')], A::Copy, "Copy the entry as JSON", "copy").of(O::CacheEntry),
    bind(S::Caches, &[C('c')], A::Screen(ScreenId::Artifacts), "Show artifacts", "artifacts"),
    bind(S::DeletedArtifacts, &[C('R'), Key::Enter], A::Restore, "Restore artifacts", "restore")
        .words("artifact restore")
        .also("undelete recover")
        .of(O::DeletedArtifact)
        .changes(),
    bind(S::DeletedArtifacts, &[C('D')], A::Purge, "Delete artifacts permanently", "delete permanently")
        .words("artifact purge")
        .also("remove destroy")
        .of(O::DeletedArtifact)
        .changes(),
    bind(S::DeletedArtifacts, &[C('u')], A::Screen(ScreenId::Artifacts), "Show artifacts", "artifacts"),
    bind(S::Artifacts, &[C('l'), Key::Right], A::Unfold, "Expand", ""),
    bind(S::Artifacts, &[C('h'), Key::Left], A::Fold, "Collapse, or go to the parent", ""),
    bind(S::Runs, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the jobs and artifacts of the run", "open")
        .of(O::Run),
    bind(S::Runs, &[C(']')], A::NextPart, "Next tab: all, running, completed, failed", "tab"),
    bind(S::Runs, &[C('[')], A::PreviousPart, "Previous tab", ""),
    bind(S::Runs, &[C('X')], A::CancelRun, "Cancel the run", "cancel")
        .words("run cancel")
        .also("stop abort")
        .of(O::Run)
        .changes(),
    bind(S::Runs, &[C('o')], A::Artifacts, "Show the run on the screen of artifacts", "artifacts")
        .also("download delete expiry")
        .of(O::Run),
    bind(S::Runs, &[C('y')], A::Copy, "Copy the run as JSON", "copy").of(O::Run),
    bind(
        S::RunParts,
        &[Key::Enter, C('l'), Key::Right],
        A::Open,
        "Show the job, or the artifact on its screen",
        "open",
    ),
    bind(S::RunParts, &[C('X')], A::CancelRun, "Cancel the run", "cancel").also("stop abort").changes(),
    bind(S::RunParts, &[C('o')], A::Artifacts, "Show the run on the screen of artifacts", "artifacts")
        .also("download delete expiry"),
    bind(S::Tasks, &[Key::Enter, C('l'), Key::Right], A::Open, "Show all fields and phases of the task", "open")
        .of(O::Task),
    bind(S::Tasks, &[C('X')], A::CancelTask, "Cancel the task", "cancel")
        .words("task cancel")
        .also("stop abort import migration")
        .of(O::Task)
        .changes(),
    bind(S::Tasks, &[C('R')], A::Recover, "Repeat the failed import", "retry")
        .also("again import")
        .of(O::Task)
        .changes(),
    bind(S::Tasks, &[C('y')], A::Copy, "Copy the task as JSON", "copy").of(O::Task),
    bind(S::Logs, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the complete record", "open").of(O::LogRecord),
    bind(S::Logs, &[C('L'), C(']')], A::NextPart, "Next level: all, debug, info, warn, error", "level")
        .also("severity errors warnings"),
    bind(S::Logs, &[C('[')], A::PreviousPart, "Previous level", ""),
    bind(S::Logs, &[C('F')], A::Follow, "Follow the newest record, or stop", "follow").also("tail"),
    bind(S::Logs, &[C('o')], A::OwnRequests, "Show or hide requests of the full screen", "").also("own access noise"),
    bind(S::Logs, &[C('y')], A::Copy, "Copy the record as JSON", "copy").of(O::LogRecord),
    bind(S::Audit, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the complete entry", "open").of(O::AuditEntry),
    bind(S::Audit, &[C('y')], A::Copy, "Copy the entry as JSON", "copy").of(O::AuditEntry),
    bind(S::Users, &[Key::Enter, C('l'), Key::Right], A::Open, "Show the tokens and keys of the user", "tokens, keys")
        .also("ssh openpgp")
        .of(O::User),
    bind(S::Users, &[C('n')], A::New, "Create a user", "new").also("add make user").changes(),
    bind(S::Users, &[C('N')], A::NewToken, "Create a token of the user", "new token")
        .also("add make access key")
        .of(O::User)
        .changes(),
    bind(S::Users, &[C('t')], A::Toggle, "Turn the user on or off", "on/off")
        .also("toggle disable enable deactivate lock")
        .of(O::User)
        .changes(),
    bind(S::Users, &[C('o')], A::AuditTrail, "Show the audit trail", "audit").also("history who").of(O::User),
    bind(S::Users, &[C('y')], A::Copy, "Copy name, email or JSON", "copy").of(O::User),
    bind(S::Users, &[C('D')], A::Delete, "Delete the user", "delete")
        .words("user delete")
        .also("remove")
        .of(O::User)
        .changes(),
    bind(S::Moves, &[C('j'), Key::Down], A::Down, "Down", ""),
    bind(S::Moves, &[C('k'), Key::Up], A::Up, "Up", ""),
    bind(S::Moves, &[C('g'), Key::Home], A::First, "First", "").also("top"),
    bind(S::Moves, &[C('G'), Key::End], A::Last, "Last", "").also("bottom end"),
    bind(S::Moves, &[Key::PageDown, Ctrl('f')], A::PageDown, "Page down", ""),
    bind(S::Moves, &[Key::PageUp], A::PageUp, "Page up", ""),
    bind(S::Moves, &[Ctrl('d')], A::HalfDown, "Half a page down", ""),
    bind(S::Moves, &[Ctrl('u')], A::HalfUp, "Half a page up", ""),
    bind(S::List, &[C(' ')], A::Mark, "Mark and move down", "mark").also("select"),
    bind(S::List, &[C('v')], A::MarkRange, "Mark from the last mark to here", "").also("select range"),
    bind(S::List, &[C('*')], A::MarkAll, "Mark all shown, or none", "").also("select unmark"),
    bind(S::List, &[C('/')], A::Filter, "Filter", "filter").also("search find"),
    bind(S::List, &[C('s')], A::Sort, "Sort by", "sort").also("order"),
    bind(S::List, &[C('S')], A::Reverse, "Reverse the order", "").also("sort"),
    bind(S::List, &[C('!')], A::Problems, "Only problems, or all", "").also("failed errors"),
    bind(S::Everywhere, &[Key::Tab, Key::BackTab], A::OtherPane, "Switch pane", ""),
    bind(S::Everywhere, &[Key::Esc, C('h'), Key::Left, Key::Backspace], A::Back, "Back, close or clear", "")
        .also("cancel unmark"),
    bind(S::Everywhere, &[C('f')], A::Related, "Go to a related object", "")
        .also("follow jump hook repository run artifact deliveries audit"),
    bind(S::Everywhere, &[C('H')], A::GoToHook, "Go to the hook of this object", "").also("related webhook"),
    bind(S::Everywhere, &[C('C')], A::GoToRepository, "Go to the repository of this object", "").also("related code"),
    bind(S::Everywhere, &[C('B')], A::GoToRun, "Go to the run of this object", "").also("related build workflow job"),
    bind(S::Everywhere, &[C('Z')], A::GoToArtifacts, "Go to the artifacts of this object", "").also("related zip"),
    bind(S::Everywhere, &[C('Y')], A::GoToPush, "Go to the push that caused this", "").also("related why commit diff"),
    bind(S::Everywhere, &[C('x')], A::Menu, "All actions", "").also("menu"),
    bind(S::Everywhere, &[C(':')], A::Palette, "Enter a command", "command").also("palette"),
    bind(S::Everywhere, &[C('r')], A::Refresh, "Refresh", "").words("refresh").also("reload update retry"),
    bind(S::Everywhere, &[C('z')], A::Undo, "Undo", "").words("undo").also("revert take back restore"),
    bind(S::Everywhere, &[C('p')], A::Pause, "Pause or resume live updates", "")
        .words("pause")
        .also("stop freeze resume live"),
    bind(S::Everywhere, &[C('+')], A::FullPane, "One pane or two", "").also("split zoom"),
    bind(S::Everywhere, &[C('X')], A::StopTransfer, "Stop a download", "").also("cancel abort"),
    bind(S::Everywhere, &[C('W')], A::Wide, "More columns or fewer", ""),
    bind(S::Everywhere, &[C('m')], A::Mouse, "Turn the mouse on or off", "").words("mouse"),
    bind(S::Everywhere, &[C('i')], A::Details, "Show the last error", "").also("problem details"),
    bind(S::Everywhere, &[], A::Messages, "Show recent messages", "").words("messages").also("log notices history"),
    bind(S::Everywhere, &[C('1')], A::Screen(ScreenId::Dashboard), "Dashboard", "").words("status"),
    bind(S::Everywhere, &[C('2')], A::Screen(ScreenId::Repositories), "Repositories", "").words("repo list"),
    bind(S::Everywhere, &[C('3')], A::Screen(ScreenId::Hooks), "Hooks", "").words("hook list").also("webhooks"),
    bind(S::Everywhere, &[C('4')], A::Screen(ScreenId::Deliveries), "Deliveries", "").words("delivery list"),
    bind(S::Everywhere, &[C('5')], A::Screen(ScreenId::Artifacts), "Artifacts", "").words("artifact list"),
    bind(S::Everywhere, &[C('6')], A::Screen(ScreenId::Audit), "Audit log", "")
        .words("audit list")
        .also("security history who"),
    bind(S::Everywhere, &[C('7')], A::Screen(ScreenId::Users), "Users and tokens", "")
        .words("user list")
        .also("accounts people access keys"),
    bind(S::Everywhere, &[C('8')], A::Screen(ScreenId::Runs), "Workflow runs", "").words("run list").also("jobs ci"),
    bind(S::Everywhere, &[C('9')], A::Screen(ScreenId::Tasks), "Background tasks", "")
        .words("task list")
        .also("imports migrations progress"),
    bind(S::Everywhere, &[C('0')], A::Screen(ScreenId::Logs), "Log of the daemon", "")
        .words("logs")
        .also("journal tail errors"),
    bind(S::Everywhere, &[C('-')], A::PreviousPlace, "Back in the history", "").also("previous last place screen"),
    bind(S::Everywhere, &[C('_')], A::NextPlace, "Forward in the history", "").also("next later place screen"),
    bind(S::Everywhere, &[Ctrl('l')], A::Repaint, "Redraw the screen", "").words("redraw").also("repaint clear"),
    bind(S::Everywhere, &[], A::Redetect, "Detect the terminal again", "").words("redetect").also("tmux"),
    bind(S::Everywhere, &[Ctrl('z')], A::Suspend, "Suspend", ""),
    bind(S::Everywhere, &[C('?'), Key::F(1)], A::Help, "Help", "help").also("keys"),
    bind(S::Everywhere, &[C('q')], A::Leave, "Back, or quit", "quit").also("exit"),
    bind(S::Everywhere, &[Ctrl('c')], A::Quit, "Quit now", "").words("quit").also("exit"),
];
