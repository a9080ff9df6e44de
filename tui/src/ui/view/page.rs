//! Full pages shown instead of a screen: no daemon, no permission.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Role, text, wrapped};
use crate::ui::world::{Link, World};

type Lines = Vec<(Role, String)>;

/// Returns the page to show instead of every screen, if there is one.
pub(crate) fn instead(world: &World) -> Option<Lines> {
    match &world.link {
        Link::Refused { problem } => Some(refused(world, &problem.text)),
        Link::Down { problem, .. } if world.has_no_daemon() => Some(no_daemon(world, &problem.text)),
        _ => None,
    }
}

fn no_daemon(world: &World, reason: &str) -> Lines {
    let mut lines: Lines = Vec::new();
    for (at, line) in reason.lines().enumerate() {
        lines.push((if at == 0 { Role::Error } else { Role::Text }, line.to_owned()));
    }
    lines.extend([(Role::Text, String::new()), (Role::Title, "What you can do".to_owned())]);
    lines.push(match &world.starter {
        Some(starter) => (Role::Text, format!("  U   start a daemon for this user: {}", starter.program.display())),
        None => (Role::Muted, "  U   not available: no farrierd next to this program or in PATH".to_owned()),
    });
    if let Some(starter) = &world.starter {
        lines.push((Role::Muted, format!("      log: {}", starter.log.display())));
    }
    lines.push((Role::Text, format!("  r   retry now{}", countdown(world))));
    lines.push((Role::Text, "  :   connect PATH|URL".to_owned()));
    lines.push((Role::Text, "      systemctl status farrierd     journalctl -u farrierd -n 50".to_owned()));
    lines
}

fn countdown(world: &World) -> String {
    let Link::Down { again_at, .. } = &world.link else { return String::new() };
    format!("; next attempt in {} s", again_at.saturating_sub(world.now).as_secs())
}

fn refused(world: &World, reason: &str) -> Lines {
    let mut lines = vec![
        (Role::Error, "401 - not signed in".to_owned()),
        (Role::Text, String::new()),
        (Role::Text, format!("Token   {}", world.token.as_deref().unwrap_or("none"))),
        (Role::Text, format!("Server  {}", world.address)),
    ];
    lines.extend(reason.lines().map(|line| (Role::Text, line.to_owned())));
    lines.extend([
        (Role::Text, String::new()),
        (Role::Title, "What you can do".to_owned()),
        (Role::Text, "  N   type or paste another token; it is not displayed or saved".to_owned()),
        (Role::Text, "  i   use the socket identity instead of a token".to_owned()),
        (Role::Text, "  r   retry".to_owned()),
    ]);
    lines
}

pub(super) fn draw(lines: &Lines, area: Rect, buf: &mut Buffer) {
    let room = area.width.saturating_sub(6);
    let broken = lines.iter().flat_map(|(role, line)| {
        let indent = line.len() - line.trim_start().len();
        let parts = if line.is_empty() { vec![String::new()] } else { wrapped(line.trim_start(), room) };
        parts.into_iter().map(move |part| (*role, indent, part)).collect::<Vec<_>>()
    });
    let top = area.y + u16::from(area.height > 12);
    for ((role, indent, line), y) in broken.zip(top..area.bottom()) {
        let x = 3 + u16::try_from(indent).unwrap_or(0);
        text(
            buf,
            Rect { x: area.x + x.min(area.width), y, width: area.width.saturating_sub(x), height: 1 },
            &line,
            role,
        );
    }
}
