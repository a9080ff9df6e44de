//! The one table of keys.
//!
//! Dispatch, the hint line, help, the menu of actions and the palette all read it, so that they
//! cannot say different things. What an action does is the business of whoever carries it out.

pub(crate) mod commands;
mod settings;

use std::ptr;

pub(crate) use self::settings::manual;
use super::{key::Key, screens::ScreenId};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Up,
    Down,
    First,
    Last,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Open,
    Back,
    OtherPane,
    NextPart,
    PreviousPart,
    FullPane,
    Filter,
    Sort,
    Reverse,
    Mark,
    MarkRange,
    MarkAll,
    Problems,
    Copy,
    Menu,
    Palette,
    Help,
    Refresh,
    Pause,
    Messages,
    Details,
    CopyRequest,
    Repaint,
    Redetect,
    Quit,
    Leave,
    Suspend,
    Screen(ScreenId),
    LastScreen,
    New,
    Migrate,
    Edit,
    Delete,
    Artifacts,
    Download,
    Hooks,
    Redeliver,
    Recover,
    ChooseHook,
    Wrap,
    Hex,
    Pager,
    NextMatch,
    PreviousMatch,
    ChooseEvent,
    Undo,
    NextItem,
    PreviousItem,
    Toggle,
    Test,
    Clone,
    Apply,
    Archive,
    Inside,
    Fold,
    Unfold,
    StopTransfer,
    CancelMigration,
    Wide,
    Mouse,
    StartDaemon,
    TypeToken,
    SocketIdentity,
}

impl Action {
    /// Whether it moves a cursor and does nothing else.
    pub(crate) fn moves(self) -> bool {
        use Action::{Down, First, HalfDown, HalfUp, Last, PageDown, PageUp, Up};
        matches!(self, Up | Down | First | Last | PageUp | PageDown | HalfUp | HalfDown)
    }
}

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Where no daemon is.
    Nowhere,
    /// Where the daemon was and does not answer.
    Away,
    /// Where the daemon refuses to be asked.
    Refused,
    /// Where the daemon could not tell what was to be shown.
    Failed,
    /// Where the daemon's log says more about that.
    FailedRequest,
    Everywhere,
    List,
    /// Moving in lists and texts.
    Moves,
    Dashboard,
    Repositories,
    Repository,
    Branches,
    /// Hooks and artifacts of a repository.
    RepositoryParts,
    Artifacts,
    Hooks,
    Deliveries,
    Inspector,
}

/// Keys and what they mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) scope: Scope,
    pub(crate) keys: &'static [Key],
    pub(crate) action: Action,
    /// For help and menus.
    pub(crate) title: &'static str,
    /// For the hint line; empty: not there.
    pub(crate) hint: &'static str,
    /// What to type in the palette; empty: not there.
    pub(crate) words: &'static str,
    /// Whether it changes something on the daemon.
    pub(crate) changes: bool,
}

const fn bind(scope: Scope, keys: &'static [Key], action: Action, title: &'static str, hint: &'static str) -> Binding {
    Binding { scope, keys, action, title, hint, words: "", changes: false }
}

impl Binding {
    const fn words(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    const fn changes(mut self) -> Self {
        self.changes = true;
        self
    }
}

use Action as A;
use Key::{Char as C, Ctrl};
use Scope as S;

/// All bindings, the more particular scopes first; within a scope in the order of the hint line.
pub(crate) static BINDINGS: &[Binding] = &[
    bind(S::Nowhere, &[C('U')], A::StartDaemon, "start a daemon for this user", "start a daemon"),
    bind(S::Nowhere, &[C('r')], A::Refresh, "look again now", "look again"),
    bind(S::Away, &[C('r')], A::Refresh, "try again now", "retry now"),
    bind(S::Away, &[C(':')], A::Palette, "command", "connect PATH|URL"),
    bind(S::Refused, &[C('N')], A::TypeToken, "type another token", "new token"),
    bind(S::Refused, &[C('i')], A::SocketIdentity, "be who the socket sees", "socket identity"),
    bind(S::Refused, &[C('r')], A::Refresh, "try again", "retry"),
    bind(S::Failed, &[C('r')], A::Refresh, "ask again", "retry"),
    bind(S::Failed, &[Key::Enter], A::Details, "what went wrong", "details"),
    bind(S::FailedRequest, &[C('y')], A::CopyRequest, "copy the request id", "copy the request id"),
    bind(S::Repositories, &[Key::Enter, C('l'), Key::Right], A::Open, "open the repository", "open"),
    bind(S::Repositories, &[C('n')], A::New, "new repository", "new").words("repo create").changes(),
    bind(S::Repositories, &[C('M')], A::Migrate, "fetch a repository from elsewhere", "migrate")
        .words("repo migrate")
        .changes(),
    bind(S::Repositories, &[C('e')], A::Edit, "edit description, visibility, branch", "").words("repo edit").changes(),
    bind(S::Repositories, &[C('y')], A::Copy, "copy address, name or JSON", "copy"),
    bind(S::Repositories, &[C('a')], A::Archive, "fetch an archive: zip, tar.gz or bundle", "archive")
        .words("repo archive"),
    bind(S::Repositories, &[C('X')], A::CancelMigration, "cancel its migration", "").words("task cancel").changes(),
    bind(S::Repositories, &[C('o')], A::Artifacts, "its runs and artifacts", "artifacts"),
    bind(S::Repositories, &[C('w')], A::Hooks, "its webhooks", ""),
    bind(S::Repositories, &[C('D')], A::Delete, "delete", "delete").words("repo delete").changes(),
    bind(S::Repository, &[C(']')], A::NextPart, "next part", "part"),
    bind(S::Repository, &[C('[')], A::PreviousPart, "previous part", ""),
    bind(S::Repository, &[C('y')], A::Copy, "copy address, name or JSON", "copy"),
    bind(S::Repository, &[C('a')], A::Archive, "fetch an archive: zip, tar.gz or bundle", "archive"),
    bind(S::Repository, &[C('X')], A::CancelMigration, "cancel its migration", "").changes(),
    bind(S::Repository, &[C('e')], A::Edit, "edit description, visibility, branch", "edit").changes(),
    bind(S::Repository, &[C('o')], A::Artifacts, "its runs and artifacts", "artifacts"),
    bind(S::Repository, &[C('w')], A::Hooks, "its webhooks", "hooks"),
    bind(S::Dashboard, &[Key::Enter, C('l'), Key::Right], A::Open, "open what it is about", "open"),
    bind(S::RepositoryParts, &[Key::Enter, C('l'), Key::Right], A::Open, "go to it on its own screen", "go to it"),
    bind(S::Branches, &[C('D')], A::Delete, "delete the branch", "delete branch").changes(),
    bind(S::Branches, &[C('n')], A::New, "new branch", "new branch").changes(),
    bind(S::Artifacts, &[Key::Enter], A::Open, "fold or unfold; all about an artifact", "open"),
    bind(S::Artifacts, &[C('d')], A::Download, "download", "download").words("artifact download"),
    bind(S::Artifacts, &[C('D')], A::Delete, "delete", "delete").words("artifact delete").changes(),
    bind(S::Artifacts, &[C('e')], A::Edit, "set when it expires", "expiry").words("artifact expire").changes(),
    bind(S::Artifacts, &[C('o')], A::Inside, "list what is inside of a zip", "inside"),
    bind(S::Artifacts, &[C('y')], A::Copy, "copy id, name, sha256 or a signed address", "copy"),
    bind(S::Artifacts, &[C('l'), Key::Right], A::Unfold, "unfold", ""),
    bind(S::Artifacts, &[C('h'), Key::Left], A::Fold, "fold, or what it belongs to", ""),
    bind(S::Hooks, &[Key::Enter, C('l'), Key::Right], A::Open, "deliveries of the hook", "deliveries"),
    bind(S::Hooks, &[C('n')], A::New, "new hook", "new").words("hook create").changes(),
    bind(S::Hooks, &[C('e')], A::Edit, "edit", "edit").words("hook edit").changes(),
    bind(S::Hooks, &[C('c')], A::Clone, "clone into a new form", "").changes(),
    bind(S::Hooks, &[C('t')], A::Toggle, "switch on or off", "on/off").words("hook off").changes(),
    bind(S::Hooks, &[C('T')], A::Test, "send a test delivery", "test").words("hook test").changes(),
    bind(S::Hooks, &[C('A')], A::Apply, "copy a default hook into repositories without it", "").changes(),
    bind(S::Hooks, &[C('y')], A::Copy, "copy address, id or JSON", "copy"),
    bind(S::Hooks, &[C('D')], A::Delete, "delete", "delete").words("hook delete").changes(),
    bind(S::Hooks, &[C(']')], A::NextPart, "next kind of hooks", ""),
    bind(S::Hooks, &[C('[')], A::PreviousPart, "previous kind of hooks", ""),
    bind(S::Hooks, &[C('R')], A::Recover, "send failed deliveries again", "").changes(),
    bind(S::Deliveries, &[Key::Enter, C('l'), Key::Right], A::Open, "inspect", "inspect"),
    bind(S::Deliveries, &[C('R')], A::Redeliver, "deliver again", "redeliver").words("delivery redeliver").changes(),
    bind(S::Deliveries, &[C('H')], A::ChooseHook, "choose the hook", "hook"),
    bind(S::Deliveries, &[C('E')], A::ChooseEvent, "choose the event", "event"),
    bind(S::Deliveries, &[C('y')], A::Copy, "copy identifier, body or a curl command", ""),
    bind(S::Deliveries, &[C(']')], A::NextPart, "next state", ""),
    bind(S::Deliveries, &[C('[')], A::PreviousPart, "previous state", ""),
    bind(S::Inspector, &[C(']')], A::NextPart, "next part", "part"),
    bind(S::Inspector, &[C('[')], A::PreviousPart, "previous part", ""),
    bind(S::Inspector, &[C('R')], A::Redeliver, "deliver again", "redeliver").changes(),
    bind(S::Inspector, &[C('J')], A::NextItem, "next delivery", "next"),
    bind(S::Inspector, &[C('K')], A::PreviousItem, "previous delivery", ""),
    bind(S::Inspector, &[C('/')], A::Filter, "search", "search"),
    bind(S::Inspector, &[C('n')], A::NextMatch, "next line that was found", ""),
    bind(S::Inspector, &[C('N')], A::PreviousMatch, "previous line that was found", ""),
    bind(S::Inspector, &[C('w')], A::Wrap, "wrap long lines", "wrap"),
    bind(S::Inspector, &[C('b')], A::Hex, "bodies as text or as bytes", "bytes"),
    bind(S::Inspector, &[C('o')], A::Pager, "body in the pager ($PAGER)", "pager"),
    bind(S::Inspector, &[C('y')], A::Copy, "copy identifier, body or a curl command", "copy"),
    bind(S::Moves, &[C('j'), Key::Down], A::Down, "down", ""),
    bind(S::Moves, &[C('k'), Key::Up], A::Up, "up", ""),
    bind(S::Moves, &[C('g'), Key::Home], A::First, "first", ""),
    bind(S::Moves, &[C('G'), Key::End], A::Last, "last", ""),
    bind(S::Moves, &[Key::PageDown, Ctrl('f')], A::PageDown, "page down", ""),
    bind(S::Moves, &[Key::PageUp], A::PageUp, "page up", ""),
    bind(S::Moves, &[Ctrl('d')], A::HalfDown, "half a page down", ""),
    bind(S::Moves, &[Ctrl('u')], A::HalfUp, "half a page up", ""),
    bind(S::List, &[C(' ')], A::Mark, "mark and move down", "mark"),
    bind(S::List, &[C('v')], A::MarkRange, "mark from the last mark to here", ""),
    bind(S::List, &[C('*')], A::MarkAll, "mark all shown, or none", ""),
    bind(S::List, &[C('/')], A::Filter, "filter", "filter"),
    bind(S::List, &[C('s')], A::Sort, "sort by", "sort"),
    bind(S::List, &[C('S')], A::Reverse, "reverse the order", ""),
    bind(S::List, &[C('!')], A::Problems, "only problems, or all", ""),
    bind(S::Everywhere, &[Key::Tab, Key::BackTab], A::OtherPane, "other pane", ""),
    bind(S::Everywhere, &[Key::Esc, C('h'), Key::Left, Key::Backspace], A::Back, "back, close, clear", ""),
    bind(S::Everywhere, &[C('x')], A::Menu, "all actions", ""),
    bind(S::Everywhere, &[C(':')], A::Palette, "command", "command"),
    bind(S::Everywhere, &[C('r')], A::Refresh, "ask again now", "").words("refresh"),
    bind(S::Everywhere, &[C('z')], A::Undo, "take back the last switch or marks", ""),
    bind(S::Everywhere, &[C('p')], A::Pause, "live data stand still, or go on", "").words("pause"),
    bind(S::Everywhere, &[C('+')], A::FullPane, "one pane, or two", ""),
    bind(S::Everywhere, &[C('X')], A::StopTransfer, "stop a download", ""),
    bind(S::Everywhere, &[C('W')], A::Wide, "more columns, or fewer", ""),
    bind(S::Everywhere, &[C('m')], A::Mouse, "use the mouse, or leave it to the terminal", "").words("mouse"),
    bind(S::Everywhere, &[C('i')], A::Details, "what went wrong", ""),
    bind(S::Everywhere, &[], A::Messages, "what was said lately", "").words("messages"),
    bind(S::Everywhere, &[C('1')], A::Screen(ScreenId::Dashboard), "dashboard", "").words("status"),
    bind(S::Everywhere, &[C('2')], A::Screen(ScreenId::Repositories), "repositories", "").words("repo list"),
    bind(S::Everywhere, &[C('3')], A::Screen(ScreenId::Hooks), "hooks", "").words("hook list"),
    bind(S::Everywhere, &[C('4')], A::Screen(ScreenId::Deliveries), "deliveries", "").words("delivery list"),
    bind(S::Everywhere, &[C('5')], A::Screen(ScreenId::Artifacts), "artifacts", "").words("artifact list"),
    bind(S::Everywhere, &[C('-')], A::LastScreen, "last screen", ""),
    bind(S::Everywhere, &[Ctrl('l')], A::Repaint, "paint everything again", "").words("redraw"),
    bind(S::Everywhere, &[], A::Redetect, "look at the terminal anew", "").words("redetect"),
    bind(S::Everywhere, &[Ctrl('z')], A::Suspend, "suspend", ""),
    bind(S::Everywhere, &[C('?'), Key::F(1)], A::Help, "help", "help"),
    bind(S::Everywhere, &[C('q')], A::Leave, "back, or quit", "quit"),
    bind(S::Everywhere, &[Ctrl('c')], A::Quit, "quit now", "").words("quit"),
];

/// All bindings of a program: those above, or those with what its user changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keymap(&'static [Binding]);

impl Default for Keymap {
    fn default() -> Self {
        Self(BINDINGS)
    }
}

impl Keymap {
    pub(crate) fn all(self) -> &'static [Binding] {
        self.0
    }

    /// The bindings of `scopes` whose first key no more particular one takes.
    pub(crate) fn reachable(self, scopes: &[Scope]) -> impl Iterator<Item = &'static Binding> + use<'_> {
        let own = move |binding: &Binding, key: &Key| self.find(scopes, *key).is_some_and(|one| ptr::eq(one, binding));
        self.of(scopes).filter(move |binding| binding.keys.first().is_none_or(|key| own(binding, key)))
    }

    /// What can only be typed: words, and what they do.
    pub(crate) fn only_words(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let without_key = self.0.iter().filter(|binding| binding.keys.is_empty() && !binding.words.is_empty());
        without_key.map(|binding| (binding.words, binding.title)).chain(commands::COMMANDS.iter().copied())
    }

    /// The bindings of `scopes`, which go from the particular to the general.
    pub(crate) fn of(self, scopes: &[Scope]) -> impl Iterator<Item = &'static Binding> + use<'_> {
        scopes.iter().flat_map(move |scope| self.0.iter().filter(|binding| binding.scope == *scope))
    }

    /// What `key` means in `scopes`.
    pub(crate) fn find(self, scopes: &[Scope], key: Key) -> Option<&'static Binding> {
        self.of(scopes).find(|binding| binding.keys.contains(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        let mut seen = std::collections::HashSet::new();
        for binding in BINDINGS {
            for key in binding.keys {
                assert!(seen.insert((format!("{:?}", binding.scope), *key)), "{:?} {key:?}", binding.scope);
            }
        }
    }

    #[test]
    fn everything_is_reachable_without_control() {
        let only_control = |binding: &&Binding| binding.keys.iter().all(|key| matches!(key, Ctrl(_)));
        let names: Vec<&str> =
            BINDINGS.iter().filter(only_control).filter(|b| b.words.is_empty()).map(|b| b.title).collect();
        // Half a page is also two keys of a page, and suspending is the shell's business.
        assert_eq!(names, ["half a page down", "half a page up", "suspend"]);
    }

    #[test]
    fn upper_case_letters_and_nothing_else_destroy() {
        for binding in BINDINGS.iter().filter(|binding| matches!(binding.action, A::Delete | A::Redeliver | A::Migrate))
        {
            assert!(binding.keys.iter().all(|key| matches!(key, C(c) if c.is_uppercase())), "{}", binding.title);
            assert!(binding.changes, "{}", binding.title);
        }
    }
}
