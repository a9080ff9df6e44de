//! Draws the detail pane: a run, a job or an artifact, running downloads, and the artifacts that expire next.

use std::sync::Arc;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    rows::{commit, outcome, state},
    tree::{Node, Totals, expires_soon},
};
use crate::{
    output::{counted, human_bytes},
    ui::{
        runs::{ArtifactSummary, JobSummary, RunSummary},
        screens::ThirdPane,
        view::{LinePart, Role, fit_left, rule, text, wrapped},
        words,
        world::World,
    },
};

/// With fewer rows the pane shows only the most important details.
const ROOMY: u16 = 12;
/// Heading of the artifacts that expire next.
const EXPIRING: &str = "Expiring next";

/// Draws the details of a row, then the downloads of this session and, if there is room, the artifacts in `next`.
pub(super) fn draw(node: Option<&Node>, next: &[Arc<ArtifactSummary>], world: &World, area: Rect, buf: &mut Buffer) {
    let roomy = area.height >= ROOMY;
    let lines =
        node.map(|node| if roomy { full_lines(node, world) } else { short_lines(node, world) }).unwrap_or_default();
    let mut rest = lines_in(&lines, area, buf);
    if roomy {
        rest = below(rest, 1);
    }
    if !world.transfers.is_empty() && rest.height > 1 {
        // What expires keeps some rows.
        let height = if roomy { world.transfers.rows().min(rest.height / 2) } else { rest.height };
        world.transfers.draw(world.now, Rect { height, ..rest }, buf);
        rest = below(rest, height + 1);
    }
    if roomy && rest.height > 2 && !next.is_empty() {
        rule(buf, Rect { height: 1, ..rest }, EXPIRING);
        for (one, y) in next.iter().zip(rest.y + 1..rest.bottom()) {
            expiring(one, world, Rect { y, height: 1, ..rest }, buf);
        }
    }
}

fn below(area: Rect, by: u16) -> Rect {
    let by = by.min(area.height);
    Rect { y: area.y + by, height: area.height - by, ..area }
}

/// Draws lines and wraps long ones. Returns the area below them.
fn lines_in(lines: &[(Role, String)], area: Rect, buf: &mut Buffer) -> Rect {
    let mut rest = area;
    for (role, line) in lines.iter().flat_map(|(role, line)| wrapped(line, area.width).into_iter().map(|l| (*role, l)))
    {
        if rest.height == 0 {
            break;
        }
        text(buf, Rect { height: 1, ..rest }, &line, role);
        rest = below(rest, 1);
    }
    rest
}

/// Returns the third pane: the artifacts that expire next.
pub(super) fn third_pane(next: &[Arc<ArtifactSummary>], world: &World) -> ThirdPane {
    if next.is_empty() {
        return ThirdPane::note(EXPIRING, "No artifacts.");
    }
    let line = |one: &Arc<ArtifactSummary>| {
        let role = if expires_soon(one, world.clock.now.as_second()) { Role::Warn } else { Role::Text };
        let rest = format!("{:>9}  {}  run {}", human_bytes(one.size), one.name(), one.run);
        vec![
            LinePart::Text(role, format!("{:>8}  ", world.clock.left(one.expires()))),
            LinePart::Text(Role::Text, rest),
        ]
    };
    ThirdPane::of(EXPIRING, next.iter().map(line).collect())
}

fn expiring(artifact: &ArtifactSummary, world: &World, row: Rect, buf: &mut Buffer) {
    let is_soon = expires_soon(artifact, world.clock.now.as_second());
    let (sign, role) = if is_soon { ("!", Role::Warn) } else { (" ", Role::Text) };
    let size = fit_left(buf, row, &human_bytes(artifact.size), Role::Muted);
    let row = Rect { width: row.width.saturating_sub(size + 2), ..row };
    let left = text(buf, row, &format!("{sign}{:>7}  ", world.clock.left(artifact.expires())), role);
    let row = Rect { x: row.x + left, width: row.width.saturating_sub(left), ..row };
    text(buf, row, &format!("{}  run {}", artifact.name(), artifact.run), Role::Text);
}

/// Returns names and values of the details. Details without a value are left out.
pub(super) fn details(node: &Node, world: &World) -> Vec<(&'static str, String)> {
    let pairs = match node {
        Node::Artifact { artifact, run, .. } => of_artifact(artifact, run, node.job(), world),
        Node::Job { run, sum, .. } => of_job(node.job(), run, *sum, world),
        Node::Run { run, sum, .. } => of_run(run, *sum, world),
    };
    pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn of_artifact(
    artifact: &ArtifactSummary,
    run: &RunSummary,
    job: Option<&JobSummary>,
    world: &World,
) -> Vec<(&'static str, String)> {
    let job = job.map_or_else(String::new, |job| format!("   job {}", job.name));
    let version = if artifact.version > 0 { format!("   version {}", artifact.version) } else { String::new() };
    let bytes = format!("{} ({})", human_bytes(artifact.size), words::count(artifact.size));
    vec![
        ("id", format!("{}{version}", artifact.id)),
        ("repo", run.repo.to_string()),
        ("run", format!("{}{job}", run.id)),
        ("commit", commit(run)),
        ("size", if artifact.is_uploading() { String::new() } else { bytes }),
        ("sha256", artifact.sha256()),
        ("created", world.clock.stamp_of(artifact.created())),
        ("expires", expires(artifact, world)),
        ("state", state(artifact).text),
    ]
}

fn expires(artifact: &ArtifactSummary, world: &World) -> String {
    if artifact.is_uploading() {
        return String::new();
    }
    format!("{} ({})", world.clock.stamp_of(artifact.expires()), world.clock.left(artifact.expires()))
}

fn of_job(job: Option<&JobSummary>, run: &RunSummary, sum: Totals, world: &World) -> Vec<(&'static str, String)> {
    let Some(job) = job else { return Vec::new() };
    vec![
        ("id", job.id.to_string()),
        ("repo", run.repo.to_string()),
        ("run", run.id.to_string()),
        ("state", outcome(job.outcome).text),
        ("began", world.clock.stamp_of(job.began)),
        ("ended", world.clock.stamp_of(job.ended)),
        ("holds", holds(sum)),
    ]
}

fn of_run(run: &RunSummary, sum: Totals, world: &World) -> Vec<(&'static str, String)> {
    vec![
        ("repo", run.repo.to_string()),
        ("workflow", run.title().to_owned()),
        ("branch", run.branch().to_owned()),
        ("commit", run.sha().to_owned()),
        ("state", outcome(run.outcome).text),
        ("began", world.clock.stamp_of(run.began)),
        ("ended", world.clock.stamp_of(run.ended)),
        ("holds", holds(sum)),
    ]
}

fn holds(sum: Totals) -> String {
    format!("{}, {}", counted(sum.artifacts, "artifact"), human_bytes(sum.bytes))
}

pub(super) fn title(node: &Node) -> String {
    match node {
        Node::Artifact { artifact, .. } => artifact.name().to_string(),
        Node::Job { .. } => format!("job {}", node.job().map_or("", |job| &job.name)),
        Node::Run { run, .. } => format!("run {}", run.id),
    }
}

/// Returns one line per detail, with blank lines between groups.
fn full_lines(node: &Node, world: &World) -> Vec<(Role, String)> {
    let line = |(name, value): (&str, String)| {
        let value = if name == "sha256" { abridged(&value) } else { value };
        (Role::Text, format!("{name:<8}  {value}"))
    };
    let lines = details(node, world).into_iter().map(line);
    [(Role::Title, title(node)), (Role::Text, " ".to_owned())].into_iter().chain(lines).collect()
}

/// Returns the beginning and the end of a digest, which is enough to compare. The copy command copies all of it.
fn abridged(digest: &str) -> String {
    match (digest.get(..16), digest.get(digest.len().saturating_sub(8)..)) {
        (Some(begin), Some(end)) => format!("{begin}…{end}"),
        _ => digest.to_owned(),
    }
}

/// Returns the details that fit into few rows.
fn short_lines(node: &Node, world: &World) -> Vec<(Role, String)> {
    let mut lines = vec![(Role::Title, title(node))];
    let mut line = String::new();
    for (name, value) in details(node, world) {
        let more = format!("{name} {value}");
        if name == "sha256" || line.chars().count() + more.chars().count() + 3 > 76 {
            lines.push((Role::Text, std::mem::take(&mut line)));
        }
        if !line.is_empty() {
            line.push_str("   ");
        }
        line.push_str(&more);
    }
    lines.push((Role::Text, line));
    lines.retain(|(_, line)| !line.is_empty());
    lines
}
