//! A run or an artifact in detail.

use ratatui::{buffer::Buffer, layout::Rect};

use super::artifact_rows::Node;
use crate::{
    output::human_bytes,
    ui::{
        view::{Role, text, wrapped},
        words,
        world::World,
    },
};

/// Draws a row in detail, and below it what is being downloaded.
pub(super) fn draw(node: Option<&Node>, world: &World, area: Rect, buf: &mut Buffer) {
    let mut lines: Vec<(Role, String)> = Vec::new();
    if let Some(Node::Artifact(artifact)) = node {
        lines.push((Role::Title, artifact.name.clone()));
        lines.push((Role::Text, format!("id       {}   run {}", artifact.id, artifact.workflow_run.id)));
        let bytes = words::count(artifact.size_in_bytes);
        lines.push((Role::Text, format!("size     {} ({bytes})", human_bytes(artifact.size_in_bytes))));
        lines.push((Role::Text, format!("digest   {}", artifact.digest)));
        lines.push((Role::Text, format!("created  {}", world.clock.stamp(&artifact.created_at))));
        let left = world.clock.left(&artifact.expires_at);
        lines.push((Role::Text, format!("expires  {}  ({left})", world.clock.stamp(&artifact.expires_at))));
    } else if let Some(Node::Run { run, artifacts, bytes, .. }) = node {
        lines.push((Role::Title, format!("run {}  {}", run.id, run.display_title)));
        lines.push((Role::Text, format!("began    {}", world.clock.stamp(&run.started_at))));
        lines.push((Role::Text, format!("ended    {}", world.clock.stamp(&run.completed_at))));
        lines.push((Role::Text, format!("commit   {} {}", run.head_branch, run.head_sha)));
        lines.push((Role::Text, format!("{artifacts} artifacts, {}", human_bytes(*bytes))));
    }
    let mut y = area.y;
    for (role, line) in lines.iter().flat_map(|(role, line)| wrapped(line, area.width).into_iter().map(|l| (*role, l)))
    {
        if y >= area.bottom() {
            return;
        }
        text(buf, Rect { y, height: 1, ..area }, &line, role);
        y += 1;
    }
    if !world.transfers.is_empty() && y + 1 < area.bottom() {
        let rest = Rect { y: y + 1, height: area.bottom() - y - 1, ..area };
        world.transfers.draw(world.now, rest, buf);
    }
}
