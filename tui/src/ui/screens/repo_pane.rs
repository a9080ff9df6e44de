//! One repository in detail.

use farrier_common::api::MigrationProgress;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    repo_rows,
    repositories::{Part, Repositories},
};
use crate::{
    output::human_bytes,
    ui::{
        list::{self, Place},
        repo::Repo,
        view::{Role, rule, text, wrapped},
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
    text(buf, rest, &format!("   id {}   {visibility}", repo.id), Role::Muted);
    let mut at = row(1);
    for (part, word) in [(Part::Overview, "Overview"), (Part::Branches, "Branches")] {
        let active = part == screen.part;
        let label = if active { format!("[{word}]") } else { format!(" {word} ") };
        let role = if active && focused { Role::Selected } else { Role::Text };
        let used = text(buf, at, &label, role) + 1;
        at = Rect { x: at.x + used.min(at.width), width: at.width.saturating_sub(used), ..at };
    }
    rule(buf, row(2), "");
    let below = Rect { y: area.y + 3, height: area.height - 3, ..area };
    match screen.part {
        Part::Overview => overview(repo, world, below, buf),
        Part::Branches => {
            let empty: &[&str] = &["No branches: nothing was pushed yet.", "", "y h   copies the address to push to"];
            list::draw(&screen.branches, Place { what: "branches", empty, focused }, world, below, buf);
        }
    }
}

fn overview(repo: &Repo, world: &World, area: Rect, buf: &mut Buffer) {
    let mut lines: Vec<(Role, String, String)> = Vec::new();
    let mut say = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push((Role::Text, name.to_owned(), value));
        }
    };
    // Always there, like the size: lines that come and go move all the others from row to row.
    say("about", or_dash(repo.description()));
    say("https", repo.clone_url());
    say("ssh", repo.ssh_url());
    say("source", repo.source().to_owned());
    say("website", repo.website().to_owned());
    say("branch", repo.default_branch().to_owned());
    let size = repo_rows::bytes(repo);
    let exact = if size > 0 { format!("{} ({})", human_bytes(size), words::count(size)) } else { String::new() };
    say("size", or_dash(&exact));
    say("created", world.clock.stamp_of(repo.created));
    say("changed", format!("{}  ({} ago)", world.clock.stamp_of(repo.updated), world.clock.since(repo.updated)));
    say("format", repo.format().to_owned());
    let may = repo.permissions();
    let rights = [(may.admin, "administer"), (may.push, "push"), (may.pull, "fetch")];
    let rights: Vec<&str> = rights.into_iter().filter_map(|(may, word)| may.then_some(word)).collect();
    say("you may", rights.join(", "));
    say("state", repo_rows::state(repo).to_owned());
    let mut y = area.y;
    for (role, name, value) in &lines {
        for (at, part) in wrapped(value, area.width.saturating_sub(10)).iter().enumerate() {
            if y >= area.bottom() {
                return;
            }
            let line = Rect { y, height: 1, ..area };
            text(buf, line, if at == 0 { name } else { "" }, Role::Muted);
            let rest = Rect { x: area.x + 9.min(area.width), width: area.width.saturating_sub(9), ..line };
            text(buf, rest, part, *role);
            y += 1;
        }
    }
    if repo.is_empty() && repo.migration().is_none() {
        y = first_push(repo, Rect { y: y + 1, height: area.bottom().saturating_sub(y + 1), ..area }, buf);
    }
    if let Some(going) = repo.migration() {
        let height = area.bottom().saturating_sub(y + 1);
        migration(going, world, Rect { y: y + 1, height, ..area }, buf);
    }
}

/// How the first commit gets there. Answers the row below.
fn first_push(repo: &Repo, area: Rect, buf: &mut Buffer) -> u16 {
    if area.height == 0 {
        return area.y;
    }
    rule(buf, Rect { height: 1, ..area }, "Push to it");
    let lines = [
        format!("git remote add farrier {}", repo.clone_url()),
        "git push -u farrier HEAD:main".to_owned(),
        "w   makes a hook that tells others of pushes".to_owned(),
        format!("farrier ci exec --repo {} -- farrier artifact upload FILE", repo.full_name()),
    ];
    let mut y = area.y + 1;
    for (at, line) in lines.iter().enumerate() {
        for part in wrapped(line, area.width) {
            if y >= area.bottom() {
                return y;
            }
            text(buf, Rect { y, height: 1, ..area }, &part, if at < 2 { Role::Accent } else { Role::Muted });
            y += 1;
        }
    }
    y
}

fn or_dash(value: &str) -> String {
    if value.is_empty() { "-".to_owned() } else { value.to_owned() }
}

fn migration(going: &MigrationProgress, world: &World, area: Rect, buf: &mut Buffer) {
    if area.height == 0 || going.state == "done" {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, "Migration");
    let mut lines = vec![(Role::Text, format!("{}  {}", going.state, going.phase))];
    lines.push((
        Role::Text,
        format!(
            "{} objects, {}, began {} ago",
            words::count(going.objects_received),
            human_bytes(going.bytes_received),
            world.clock.since(words::seconds(&going.started_at))
        ),
    ));
    if going.state == "failed" {
        lines.extend(wrapped(&going.error, area.width).into_iter().map(|line| (Role::Error, line)));
        lines.push((Role::Muted, "D deletes what is left, M tries again".to_owned()));
    } else {
        lines.push((Role::Muted, "goes on when this program ends; X ends it".to_owned()));
    }
    for ((role, line), y) in lines.iter().zip(area.y + 1..area.bottom()) {
        text(buf, Rect { y, height: 1, ..area }, line, *role);
    }
}
