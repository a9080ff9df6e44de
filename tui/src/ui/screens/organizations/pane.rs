//! Draws the pane: an organization or a team, with its tabs.

use farrier_common::api::Team;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{OrganizationTab, Organizations};
use crate::{
    team_text,
    ui::{
        list::{self, TableOptions},
        screens::{ThirdPane, panes},
        times::Clock,
        view::{self, Role, below, rule, text, wrapped},
        world::World,
    },
};

/// Height from which there is room for the list below the heading.
const HEIGHT_MIN: u16 = 4;

/// Returns a line with a name and its value.
fn fact(name: &str, value: &str) -> (Role, String) {
    (Role::Text, format!("{name:<14} {value}"))
}

/// Returns the lines about the rights of a team.
fn rights(team: &Team) -> Vec<(Role, String)> {
    let permission = match team.permission.as_str() {
        "owner" => "owns the organization",
        "admin" => "administers the repositories",
        _ => "by unit",
    };
    let repositories =
        if team.includes_all_repositories { "all of the organization, also new ones" } else { "the listed ones" };
    let mut lines = vec![
        fact("permission", permission),
        fact("repositories", repositories),
        fact("may create", if team.can_create_org_repo { "repositories in the organization" } else { "nothing" }),
        (Role::Text, String::new()),
        (Role::Title, "Units".to_owned()),
    ];
    let right = |unit: &str| team.units_map.get(unit).map_or("none", String::as_str);
    lines.extend(team_text::UNITS.map(|unit| fact(team_text::unit(unit), right(unit))));
    let others = team.units_map.iter().filter(|(unit, _)| !team_text::UNITS.contains(&unit.as_str()));
    lines.extend(
        others.map(|(unit, right)| (Role::Muted, format!("{:<14} {right} (without an effect)", team_text::unit(unit)))),
    );
    lines
}

/// Returns the rights of a team in few lines, for short terminals: this tab does not scroll.
fn short_rights(team: &Team) -> Vec<(Role, String)> {
    let right = |unit: &str| Some(format!("{}={}", team_text::unit(unit), team.units_map.get(unit)?));
    let by_unit = || team_text::UNITS.into_iter().filter_map(right).collect::<Vec<_>>().join(" ");
    let rights = if team.permission == "none" { by_unit() } else { team_text::rights(team) };
    vec![
        fact("rights", &rights),
        fact("repositories", if team.includes_all_repositories { "all" } else { "the listed ones" }),
        fact("may create", if team.can_create_org_repo { "repositories" } else { "nothing" }),
    ]
}

pub(super) fn draw(screen: &Organizations, world: &World, area: Rect, buf: &mut Buffer) {
    let Some(org) = screen.rows.list.current() else { return };
    if area.height < HEIGHT_MIN {
        return;
    }
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    // The opened team can be that of another organization until the lists of this one are requested.
    let is_current = screen.of().is_some();
    let team = screen.team.as_ref().filter(|_| is_current);
    let (title, about) = match team {
        Some(team) => (format!("{}/{}", org.name(), team.name), format!("team {}   {}", team.id, team.description)),
        None => (org.name().to_owned(), format!("id {}   {}   {}", org.id, org.visibility(), org.description())),
    };
    let used = text(buf, row(0), &title, Role::Title);
    text(buf, Rect { x: area.x + used, width: area.width - used, ..row(0) }, &format!("   {about}"), Role::Muted);
    let tab = if is_current { screen.tab() } else { screen.tab };
    let tabs = tab.row();
    let shown = tabs.iter().position(|one| *one == tab).unwrap_or(0);
    panes::tabs(tabs.map(OrganizationTab::word), shown, screen.in_pane, &world.tabs, row(1), buf);
    rule(buf, row(2), "");
    if !is_current {
        return;
    }
    let area = below(area, HEIGHT_MIN - 1);
    if let Some(rows) = screen.pane_list() {
        let options = TableOptions { what: tab.noun(), empty: tab.empty(), focused: screen.in_pane };
        return list::draw(rows, options, world, area, buf);
    }
    let wrap = |(role, line): (Role, String)| {
        wrapped(&line, area.width).into_iter().map(move |line| (role, line)).collect::<Vec<_>>()
    };
    let Some(team) = team else { return };
    let mut lines: Vec<(Role, String)> = rights(team).into_iter().flat_map(wrap).collect();
    if lines.len() > usize::from(area.height) {
        lines = short_rights(team).into_iter().flat_map(wrap).collect();
    }
    view::lines(buf, area, lines);
}

/// Returns the third pane: the rights of the team under the cursor or of the opened one, else the organization.
pub(super) fn third_pane(screen: &Organizations, clock: &Clock, room: u16) -> Option<ThirdPane> {
    let org = screen.rows.list.current()?;
    let is_current = screen.of().is_some();
    let team = match screen.tab() {
        OrganizationTab::Teams => screen.teams.list.current(),
        OrganizationTab::TeamMembers | OrganizationTab::TeamRepositories => screen.team.as_ref(),
        OrganizationTab::Members | OrganizationTab::Repositories | OrganizationTab::Rights => None,
    };
    if let Some(team) = team.filter(|_| is_current) {
        let name = (Role::Title, format!("{}/{}", org.name(), team.name));
        let lines = std::iter::once(name).chain(rights(team)).collect();
        return Some(ThirdPane::text("Rights of the team", lines, room));
    }
    let facts = [
        ("id", org.id.to_string()),
        ("name", org.name().to_owned()),
        ("full name", org.full_name().to_owned()),
        ("visibility", org.visibility().to_owned()),
        ("about", org.description().to_owned()),
        ("created", if org.created() > 0 { clock.stamp_of(org.created()) } else { String::new() }),
    ];
    let shown = facts.into_iter().filter(|(_, value)| !value.is_empty());
    Some(ThirdPane::text("Organization", shown.map(|(name, value)| fact(name, &value)).collect(), room))
}
