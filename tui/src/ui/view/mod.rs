//! Draws the model into cells.
//!
//! Owns the frame around every screen: tabs, banner, status, hints, layers, and the note for a terminal that is too
//! small. Reads the model; the only state it updates is the scroll position of windows.

mod chart;
mod figures;
mod hints;
pub(crate) mod page;
mod paint;
mod plain;

// Links the lock that the layout cache of ratatui needs.
use critical_section as _;
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect, Size},
};

#[cfg(test)]
pub(crate) use self::figures::text_of;
pub(crate) use self::{
    chart::{CHART_BELOW, Chart, Measure, peak, rate, resampled, time_axis},
    figures::{LinePart, parts},
    hints::hint_at,
    paint::{
        Role, below, boxed, centered, fit, fit_left, fitting_bytes, lines, pad, rule, tab_row, text, vertical_rule,
        width, wrapped,
    },
};
use super::{
    app::App,
    layer::Layer,
    net::ProblemKind,
    screens::{ScreenId, third_pane_areas},
    world::{Link, Tone, World},
};

/// The smallest supported size of a terminal.
const WIDTH_MIN: u16 = 40;
const HEIGHT_MIN: u16 = 10;
/// Minimum width of the server name, in cells.
const ADDRESS_MIN: u16 = 10;
/// With fewer cells, texts are not shown beside each other, because both would be truncated.
pub(crate) const NARROW: u16 = 50;
/// With fewer cells, the name of the server is left out.
const SERVER_MIN: u16 = 4;
/// From this width on, tabs have their full names, and there is still room for the name of most servers.
const FULL_TABS_MIN: u16 = 140;
/// Cells that the names of tabs leave free for the name of the server and its mark.
const SERVER_MAX: u16 = 24;
/// The mark of a production system.
const PRODUCTION: &str = "PROD ";

/// Whether the terminal is large enough for more than a note.
pub(crate) fn fits(size: Size) -> bool {
    size.width >= WIDTH_MIN && size.height >= HEIGHT_MIN
}

/// Draws everything. Returns the position of the text cursor, if a text is being edited.
pub(crate) fn draw(app: &App, buf: &mut Buffer) -> Option<Position> {
    let area = buf.area;
    let cursor = if fits(area.as_size()) {
        draw_page(app, area, buf)
    } else {
        app.world.tabs.clear();
        app.third.hide();
        too_small(area, buf);
        None
    };
    plain::reduce(app.world.look, buf);
    cursor.filter(|at| area.contains(*at))
}

fn draw_page(app: &App, area: Rect, buf: &mut Buffer) -> Option<Position> {
    // Only a screen that has two panes draws this line, and only some screens have a third pane.
    app.world.divider.set(Rect::ZERO);
    app.third.hide();
    app.world.tabs.clear();
    let row = |y: u16| Rect { y, height: 1, ..area };
    tabs(app, row(area.y), buf);
    let mut body = Rect { y: area.y + 1, height: area.height - 3, ..area };
    if let Some(line) = banner(&app.world) {
        text(buf, row(body.y), &line, Role::Error);
        body = Rect { y: body.y + 1, height: body.height - 1, ..body };
    }
    if let Some(lines) = page::instead(&app.world) {
        page::draw(&lines, body, buf);
    } else {
        let panes = draw_third_pane(app, body, buf);
        app.screen().draw(&app.world, panes, buf);
    }
    if app.world.is_stale() {
        // Mutes rows that may be out of date.
        buf.set_style(body, Role::Muted.style());
    }
    let status = row(area.bottom() - 2);
    let typed = match app.top_layer() {
        Some(layer) => layer.draw(&app.world, body, status, buf),
        None => None,
    };
    if !app.top_layer().is_some_and(Layer::owns_status) {
        status_line(app, status, buf);
    }
    hints::draw(app, row(area.bottom() - 1), buf);
    typed
}

/// Draws the third pane, if there is one. Returns the area that is left for the screen.
fn draw_third_pane(app: &App, area: Rect, buf: &mut Buffer) -> Rect {
    let Some(pane) = app.third_pane() else { return area };
    let [panes, line, third] = third_pane_areas(area);
    vertical_rule(buf, line);
    app.third.draw(&pane, app.world.third_has_focus, third, buf);
    panes
}

fn too_small(area: Rect, buf: &mut Buffer) {
    let lines = [
        "terminal too small".to_owned(),
        format!("{}x{}, needs {WIDTH_MIN}x{HEIGHT_MIN}", area.width, area.height),
        "q quits".to_owned(),
    ];
    let top = area.height.saturating_sub(3) / 2;
    for (line, y) in lines.iter().zip(top..area.height) {
        centered(buf, Rect { y: area.y + y, height: 1, ..area }, line, Role::Text);
    }
}

/// Returns the state of the connection as the header shows it. It is red only if nothing below the header reports it.
fn link_state(world: &World) -> (String, Role) {
    match world.silence() {
        Some(age) if world.size.width < NARROW => (format!("silent {} s", age.as_secs()), Role::Error),
        Some(age) => (format!("no answer for {} s", age.as_secs()), Role::Error),
        None if world.link == Link::Up => ("ok".to_owned(), Role::Ok),
        None => (world.link.mark().to_owned(), Role::Text),
    }
}

fn tabs(app: &App, area: Rect, buf: &mut Buffer) {
    let (state, role) = link_state(&app.world);
    let labels = labels(app, area.width);
    // All tabs and the state are visible; the name of the server gets the rest.
    let used = cells(&labels) + width(&state) + 2;
    let mark = if app.world.is_production() { width(PRODUCTION) } else { 0 };
    let name = match area.width.saturating_sub(used + mark) {
        ..SERVER_MIN => state,
        room => format!("{} {state}", fit(app.server(), room)),
    };
    let mut room = fit_left(buf, area, &name, role);
    if app.world.is_production() {
        // The mark is beside the name, so that a long name does not hide it.
        let beside = Rect { width: area.width - room, ..area };
        let mark = PRODUCTION.get(..usize::from(beside.width.saturating_sub(cells(&labels) + 1))).unwrap_or(PRODUCTION);
        room += fit_left(buf, beside, mark, Role::Production);
    }
    let left = Rect { width: area.width.saturating_sub(room + 1), ..area };
    let current = ScreenId::TABS.iter().position(|id| id.digit() == app.current.digit());
    tab_row(buf, left, labels, current, 0);
}

/// How much of the tabs that are not shown is in the header.
#[derive(Clone, Copy, Debug)]
enum TabLabels {
    /// Digit and full name, with spaces on both sides.
    Full,
    /// Digit and name, with spaces on both sides.
    Spaced,
    /// Digit and name.
    Named,
    /// Digit and name without a space between them.
    Joined,
    /// Space and digit.
    Digit,
    /// Digit without a space.
    Packed,
}

fn cells(labels: &[String]) -> u16 {
    labels.iter().map(|label| width(label)).sum()
}

/// Returns the labels of the tabs: the longest ones that leave room for the state of the connection and the name of the
/// server. Without room for all names, tabs lose theirs from the last one on, and then the spaces between the digits.
fn labels(app: &App, room: u16) -> Vec<String> {
    let is_current = |id: &ScreenId| id.digit() == app.current.digit();
    let label = |id: &ScreenId, form: TabLabels| match form {
        // Screens that share a tab have different names.
        TabLabels::Full if is_current(id) => format!("[{} {}]", id.digit(), app.current.name()),
        TabLabels::Full => format!(" {} {} ", id.digit(), id.name()),
        _ if is_current(id) => format!("[{} {}]", id.digit(), app.current.tab()),
        TabLabels::Spaced => format!(" {} {} ", id.digit(), id.tab()),
        TabLabels::Named => format!(" {} {}", id.digit(), id.tab()),
        TabLabels::Joined => format!(" {}{}", id.digit(), id.tab()),
        TabLabels::Digit => format!(" {}", id.digit()),
        TabLabels::Packed => id.digit().to_string(),
    };
    let of = |form| ScreenId::TABS.iter().map(|id| label(id, form)).collect::<Vec<_>>();
    let mark = if app.world.is_production() { width(PRODUCTION) } else { 0 };
    let besides = width(&link_state(&app.world).0) + (width(app.server()) + mark).min(SERVER_MAX) + 2;
    let has_room = |labels: &[String]| cells(labels) + besides <= room;
    let named = [TabLabels::Full, TabLabels::Spaced, TabLabels::Named, TabLabels::Joined];
    let is_allowed = |form: &TabLabels| !matches!(form, TabLabels::Full) || room >= FULL_TABS_MIN;
    let mut allowed = named.into_iter().filter(is_allowed).map(of);
    if let Some(fitting) = allowed.find(|all| has_room(all)) {
        return fitting;
    }
    let mut labels = of(TabLabels::Joined);
    for (at, id) in ScreenId::TABS.iter().enumerate().rev() {
        labels[at] = label(id, TabLabels::Digit);
        if has_room(&labels) {
            return labels;
        }
    }
    of(TabLabels::Packed)
}

/// Returns the tab in a column of the first row.
pub(crate) fn tab_at(app: &App, x: u16) -> Option<ScreenId> {
    let mut end = 0;
    let labels = labels(app, app.world.size.width);
    ScreenId::TABS.iter().zip(labels).find_map(|(id, label)| {
        end += width(&label);
        (x < end).then_some(*id)
    })
}

/// Draws the banner for conditions that need attention.
fn banner(world: &World) -> Option<String> {
    let Link::Down { since, tries, again_at, problem } = &world.link else {
        return world.other_level().map(|level| format!("!! {level} - changes are disabled; q quits"));
    };
    let gone = world.now.saturating_sub(*since).as_secs();
    let wait = again_at.saturating_sub(world.now).as_secs();
    if world.has_no_daemon() {
        return None;
    }
    let again = format!("retry {tries} in {wait} s  r now");
    let (before, after) = if let ProblemKind::Busy(_) = problem.kind {
        ("!! ", format!(" is busy - {again}"))
    } else {
        ("!! No connection to ", format!(" for {:02}:{:02} - {again}", gone / 60, gone % 60))
    };
    // The address is known to the user; the duration of the interruption is the important part.
    let room = world.size.width.saturating_sub(width(before) + width(&after));
    Some(format!("{before}{}{after}", fit(&world.address, room.max(ADDRESS_MIN))))
}

fn status_line(app: &App, area: Rect, buf: &mut Buffer) {
    let mut right = area.width;
    let waiting = app.waiting();
    // An error stays until it is dismissed; other notices are hidden while the command line is open.
    let notice = match (app.notice(), &waiting) {
        (Some((Tone::Plain, _)) | None, Some(waiting)) => Some((Tone::Error, waiting.as_str())),
        (notice, _) => notice,
    };
    let left = left_status(app);
    if let Some((tone, notice)) = notice {
        let role = if tone == Tone::Error { Role::Error } else { Role::Accent };
        // On a narrow terminal, a notice replaces the position.
        let beside = area.width.saturating_sub(width(&left) + 2);
        let room = if area.width < NARROW { area.width } else { beside.max(area.width - area.width / 3) };
        let shown = fit(notice, room);
        right = area.width - fit_left(buf, area, &shown, role).min(area.width);
    }
    // The note must not truncate the status.
    let aside = app.status_note().filter(|aside| notice.is_none() && width(&left) + 2 + width(aside) <= area.width);
    if let Some(aside) = aside {
        right = area.width - fit_left(buf, area, &aside, Role::Accent);
    }
    text(buf, Rect { width: right.saturating_sub(1), ..area }, &left, Role::Muted);
}

/// Returns the marks of the state of the program, and the status of the screen.
fn left_status(app: &App) -> String {
    let marks =
        [(app.world.changes_are_disabled(), "RO  "), (app.world.slow, "slow  "), (app.world.paused, "paused  ")];
    let marks: String = marks.into_iter().filter_map(|(is, mark)| is.then_some(mark)).collect();
    let since = match &app.world.link {
        Link::Down { since, .. } => Some(*since),
        _ => app.world.waits_since,
    };
    let stale = match since.filter(|_| app.world.is_stale()) {
        Some(since) => format!("stale {} s  ", app.world.now.saturating_sub(since).as_secs()),
        None => String::new(),
    };
    let running = app.world.transfers.word().map_or_else(String::new, |word| format!("{word}  "));
    format!(" {marks}{stale}{running}{}", app.screen().status(&app.world))
}
