//! Draws the details of one repository.

use farrier_common::api::{BackgroundTask, Branch, MigrationProgress};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Repositories, detail::Detail, rows as repo_rows, tab::RepositoryTab, task_lines};
use crate::ui::screens::{ThirdPane, panes};
use crate::{
    output::human_bytes,
    ui::{
        net::{CommitSummary, RepositoryCounts},
        repo::RepositorySummary,
        times::Clock,
        view::{self, LinePart, Role, fit_left, pad, parts, rule, text, width, wrapped},
        words,
        world::World,
    },
};

pub(super) fn draw(screen: &Repositories, focused: bool, world: &World, area: Rect, buf: &mut Buffer) {
    let Some(repo) = screen.repos.list.current() else { return };
    if area.height < 4 {
        return;
    }
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    let visibility = if repo.is_private() { "private" } else { "public" };
    let used = text(buf, row(0), repo.full_name(), Role::Title);
    let rest = Rect { x: area.x + used, width: area.width - used, ..row(0) };
    // The overview shows this on a line of its own.
    let about = if screen.detail.tab == RepositoryTab::Overview { "" } else { repo.description() };
    text(buf, rest, &format!("   id {}   {visibility}   {about}", repo.id), Role::Muted);
    let shown = RepositoryTab::ALL.iter().position(|tab| *tab == screen.detail.tab).unwrap_or(0);
    let many = screen.detail.many();
    // On narrow terminals, the names of the tabs are more useful than the number.
    let count = if row(1).width < COUNT_FROM { "" } else { many.as_str() };
    let used = if count.is_empty() { 0 } else { width(count) + 2 };
    let left = Rect { width: row(1).width.saturating_sub(used), ..row(1) };
    panes::tabs(RepositoryTab::ALL.map(RepositoryTab::word), shown, focused, &world.tabs, left, buf);
    fit_left(buf, row(1), count, Role::Muted);
    rule(buf, row(2), "");
    let below = Rect { y: area.y + 3, height: area.height - 3, ..area };
    match screen.detail.tab {
        RepositoryTab::Overview => overview(repo, screen, world, below, buf),
        // On the branches tab, people want to fetch or push a branch.
        RepositoryTab::Branches if below.height >= ADDRESS_FROM => {
            let list = Rect { height: below.height - 2, ..below };
            screen.detail.draw_list(repo, focused, world, list, buf);
            let line = Rect { y: below.bottom() - 1, height: 1, ..below };
            text(buf, line, &format!("https     {}", repo.clone_url()), Role::Muted);
            fit_left(buf, line, " y h", Role::Key);
        }
        RepositoryTab::Files | RepositoryTab::Commits => content(repo, &screen.detail, focused, world, below, buf),
        _ => screen.detail.draw_list(repo, focused, world, below, buf),
    }
}

/// Draws the opened file or commit, or the list of the tab below a line that says what it shows.
fn content(repo: &RepositorySummary, detail: &Detail, focused: bool, world: &World, area: Rect, buf: &mut Buffer) {
    if !detail.is_of(repo) {
        return;
    }
    if let Some(viewer) = detail.viewer() {
        return viewer.draw(area, buf);
    }
    let head = Rect { height: area.height.min(1), ..area };
    let (what, commit) = detail.heading(&world.clock);
    let used = fit_left(buf, head, &commit, Role::Muted);
    let room = head.width.saturating_sub(if used > 0 { used + 2 } else { 0 });
    text(buf, Rect { width: room, ..head }, &what, Role::Accent);
    detail.draw_list(repo, focused, world, view::below(area, 1), buf);
}

/// Height from which the pane shows more than the import.
const MIGRATING_FROM: u16 = 12;
/// Width from which the number of rows is shown beside the tabs.
const COUNT_FROM: u16 = 60;
/// Height from which the clone URL is shown below the branches.
const ADDRESS_FROM: u16 = 10;
/// Height from which the last commits are shown: the heading and three of them.
const COMMITS_FROM: u16 = 4;
/// Heading of the branches that changed last.
const BRANCHES: &str = "Recently updated branches";
/// Width of the names of details, in cells.
const NAME: u16 = 10;

fn overview(repo: &RepositorySummary, screen: &Repositories, world: &World, area: Rect, buf: &mut Buffer) {
    let import = repo.migration().filter(|import| import.state != "done");
    let mut y = area.y;
    for (name, value, key) in details(repo, screen.detail.counts.of(repo), world) {
        // A repository that is being imported has no content yet; its progress takes all lines.
        if import.is_some() && (area.height < MIGRATING_FROM || !matches!(name, "https" | "source" | "state")) {
            continue;
        }
        let room = area.width.saturating_sub(NAME);
        // A value that would otherwise be wrapped is more useful than the key beside it.
        let key = if width(&value) + width(key) + 2 > room { "" } else { key };
        for (at, fragment) in wrapped(&value, room).iter().enumerate() {
            if y >= area.bottom() {
                return;
            }
            let line = Rect { y, height: 1, ..area };
            if at == 0 {
                text(buf, line, name, Role::Muted);
                fit_left(buf, line, key, Role::Key);
            }
            text(buf, Rect { x: area.x + NAME.min(area.width), width: room, ..line }, fragment, Role::Text);
            y += 1;
        }
    }
    let top = if y > area.y { y + 1 } else { y };
    let rest = Rect { y: top, height: area.bottom().saturating_sub(top), ..area };
    if let Some(import) = import {
        migration(import, screen.task(repo), world, rest, buf);
    } else if repo.is_empty() {
        first_push(repo, rest, buf);
    } else if let Some(facts) = screen.detail.counts.of(repo).filter(|_| !world.three_panes()) {
        let used = newest_branches(facts, world, rest, buf);
        last_commits(repo, facts, world, view::below(rest, used + 1), buf);
    }
}

/// Returns names, values, and the key that copies a value.
fn details(
    repo: &RepositorySummary,
    facts: Option<&RepositoryCounts>,
    world: &World,
) -> Vec<(&'static str, String, &'static str)> {
    let mut lines: Vec<(&str, String, &str)> = Vec::new();
    let mut say = |name: &'static str, value: String, key: &'static str| {
        if !value.is_empty() {
            lines.push((name, value, key));
        }
    };
    // Always shown, like the size: lines that appear and disappear would move all others.
    say("about", or_dash(repo.description()), "");
    say("https", repo.clone_url(), "y h");
    say("ssh", repo.ssh_url(), "y s");
    say("source", repo.source().to_owned(), "");
    say("website", repo.website().to_owned(), "");
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), words::count);
    let (branches, tags) = (facts.and_then(|facts| facts.branches), facts.and_then(|facts| facts.tags));
    say(
        "default",
        format!("{}   branches {}   tags {}", or_dash(repo.default_branch()), count(branches), count(tags)),
        "",
    );
    let size = repo_rows::bytes(repo);
    let exact = if size > 0 { format!("{} ({})", human_bytes(size), words::count(size)) } else { "-".to_owned() };
    say("size", format!("{exact}   {}", repo.format()), "");
    say("created", world.clock.stamp_of(repo.created), "");
    say("changed", format!("{}  ({} ago)", world.clock.stamp_of(repo.updated), world.clock.since(repo.updated)), "");
    let system =
        facts.and_then(|facts| facts.system_hooks).map_or_else(String::new, |many| format!(" + {many} system"));
    say("hooks", format!("{} own{system}", count(facts.and_then(|facts| facts.hooks))), "");
    say("artifacts", count(facts.and_then(|facts| facts.artifacts)), "");
    let may = repo.permissions();
    let rights = [(may.admin, "admin"), (may.push, "push"), (may.pull, "fetch")];
    let rights: Vec<&str> = rights.into_iter().filter_map(|(may, word)| may.then_some(word)).collect();
    say("access", rights.join(", "), "");
    say("state", repo_rows::state(repo).to_owned(), "");
    if !repo.is_empty() {
        say("archive", "zip, tar.gz, bundle, or everything".to_owned(), "a");
    }
    lines
}

/// Returns one line for each of the branches that changed last.
fn branch_lines(facts: &RepositoryCounts, clock: &Clock) -> Vec<(Role, String)> {
    let line = |branch: &Branch| {
        let commit = &branch.commit;
        let (age, tip) = (clock.since(words::seconds(&commit.timestamp)), commit.id.get(..7).unwrap_or_default());
        let (name, title) = (&branch.name, commit.message.lines().next().unwrap_or_default());
        (Role::Text, format!("{age:>4}  {} {tip}  {title}  {}", pad(name, 14), commit.author.name))
    };
    facts.newest.iter().map(line).collect()
}

/// Returns one line for each of the last commits, in the order and form of the tab Commits.
fn commit_lines(facts: &RepositoryCounts, clock: &Clock) -> Vec<(Role, String)> {
    let line = |commit: &CommitSummary| {
        let (age, sha) = (clock.since(words::seconds(&commit.committed_at)), commit.sha.get(..7).unwrap_or_default());
        (Role::Text, format!("{age:>4}  {sha}  {}  {}", pad(&commit.author, 12), commit.title))
    };
    facts.commits.iter().map(line).collect()
}

fn commits_title(repo: &RepositorySummary) -> String {
    match repo.default_branch() {
        "" => "Last commits".to_owned(),
        branch => format!("Last commits of {branch}"),
    }
}

/// Draws the branches that changed last. Returns the number of rows.
fn newest_branches(facts: &RepositoryCounts, world: &World, area: Rect, buf: &mut Buffer) -> u16 {
    let lines = branch_lines(facts, &world.clock);
    let mut y = area.y;
    let row = |y: u16| Rect { y, height: u16::from(y < area.bottom()), ..area };
    if !lines.is_empty() {
        rule(buf, row(y), BRANCHES);
        y += 1;
    }
    let used = y - area.y + u16::try_from(lines.len()).unwrap_or(u16::MAX);
    view::lines(buf, Rect { y, height: area.bottom().saturating_sub(y), ..area }, lines);
    used
}

/// Draws as many of the last commits as there is room for.
fn last_commits(repo: &RepositorySummary, facts: &RepositoryCounts, world: &World, area: Rect, buf: &mut Buffer) {
    if facts.commits.is_empty() || area.height < COMMITS_FROM {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, &commits_title(repo));
    view::lines(buf, view::below(area, 1), commit_lines(facts, &world.clock));
}

/// Returns the third pane: the last commits, and the branches that changed last.
pub(super) fn third_pane(screen: &Repositories, clock: &Clock) -> Option<ThirdPane> {
    let repo = screen.repos.list.current()?;
    let title = commits_title(repo);
    let Some(facts) = screen.detail.counts.of(repo) else { return Some(ThirdPane::loading(title)) };
    let (mut lines, branches) = (commit_lines(facts, clock), branch_lines(facts, clock));
    if lines.is_empty() && branches.is_empty() {
        return Some(ThirdPane::note(title, "No commits yet."));
    }
    if !branches.is_empty() {
        lines.extend([(Role::Text, String::new()), (Role::Title, BRANCHES.to_owned())]);
        lines.extend(branches);
    }
    let lines = lines.into_iter().map(|(role, line)| vec![LinePart::Text(role, line)]);
    Some(ThirdPane::of(title, lines.collect()))
}

/// Returns the commands that push the first commit.
fn first_push(repo: &RepositorySummary, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, "Push an existing repository");
    let lines = [
        format!("git remote add farrier {}", repo.clone_url()),
        "git push -u farrier HEAD:main".to_owned(),
        "w   create a hook for pushes".to_owned(),
        format!("farrier ci exec --repo {} -- farrier artifact upload FILE", repo.full_name()),
    ];
    let mut y = area.y + 1;
    for (at, line) in lines.iter().enumerate() {
        for fragment in wrapped(line, area.width) {
            if y >= area.bottom() {
                return;
            }
            text(buf, Rect { y, height: 1, ..area }, &fragment, if at < 2 { Role::Accent } else { Role::Muted });
            y += 1;
        }
    }
}

fn or_dash(value: &str) -> String {
    if value.is_empty() { "-".to_owned() } else { value.to_owned() }
}

fn migration(import: &MigrationProgress, task: Option<&BackgroundTask>, world: &World, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, "Import");
    let began = world.clock.since(words::seconds(&import.started_at));
    let mut lines = match task {
        Some(task) => task_lines::phases(task, area.width),
        None => vec![
            vec![LinePart::plain(format!("{}  {}", import.state, import.phase))],
            vec![LinePart::plain(format!("{}, started {began} ago", human_bytes(import.bytes_received)))],
        ],
    };
    if import.state == "failed" {
        lines
            .extend(wrapped(&import.error, area.width).into_iter().map(|line| vec![LinePart::Text(Role::Error, line)]));
        lines.push(vec![LinePart::Text(Role::Muted, "D deletes what is left, M imports it again".to_owned())]);
    } else {
        lines.push(vec![LinePart::Text(Role::Muted, "continues when this program ends; X cancels it".to_owned())]);
    }
    // The end of the text is the important tab.
    let before = lines.len().saturating_sub(usize::from(area.height - 1));
    for (line, y) in lines.iter().skip(before).zip(area.y + 1..area.bottom()) {
        parts(buf, Rect { y, height: 1, ..area }, line);
    }
}
