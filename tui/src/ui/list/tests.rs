use super::*;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thing(u32, &'static str);

impl Haystack for Thing {
    fn text(&self) -> std::borrow::Cow<'_, str> {
        self.1.into()
    }

    fn column(&self, _: &str) -> Option<String> {
        None
    }

    fn number(&self, _: &str) -> Option<i64> {
        None
    }
}

thread_local! {
    /// Number of formatted cells.
    static FORMATTED: Cell<usize> = const { Cell::new(0) };
}

static COLUMNS: [Column<Thing>; 1] = [Column {
    title: "NAME",
    width: 5,
    right: false,
    rank: 0,
    cell: |thing, _| {
        FORMATTED.set(FORMATTED.get() + 1);
        CellText::plain(thing.1)
    },
    order: Some(|a, b| a.1.cmp(b.1)),
}];

impl Row for Thing {
    type Id = u32;

    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[];

    fn id(&self) -> u32 {
        self.0
    }

    fn is_problem(&self) -> bool {
        self.1.starts_with('!')
    }

    fn weight(&self) -> i64 {
        1024
    }
}

pub(super) fn thing(id: u32, name: &'static str) -> Thing {
    Thing(id, name)
}

fn list() -> List<Thing> {
    let mut list = List::sorted(0);
    assert_eq!(list.replace(vec![Thing(1, "d"), Thing(2, "b"), Thing(3, "!a"), Thing(4, "c")]), None);
    list
}

fn names(list: &List<Thing>) -> Vec<&str> {
    list.shown().map(|thing| thing.1).collect()
}

#[test]
fn the_cursor_stays_on_its_row_when_other_rows_change() {
    let mut list = list();
    assert_eq!(names(&list), ["!a", "b", "c", "d"]);
    list.act(Action::Down);
    list.act(Action::Reverse);
    assert_eq!(list.current(), Some(&Thing(2, "b")));
    list.set_filter(Filter::parse("!c", &[]).unwrap());
    assert_eq!((names(&list), list.current()), (vec!["d", "b", "!a"], Some(&Thing(2, "b"))));
    list.replace(vec![Thing(5, "0"), Thing(2, "z"), Thing(1, "d")]);
    assert_eq!(list.current(), Some(&Thing(2, "z")));
}

#[test]
fn a_removed_row_leaves_the_cursor_on_its_neighbor() {
    let mut list = list();
    list.act(Action::Down);
    assert_eq!(list.replace(vec![Thing(1, "d"), Thing(4, "c")]), Some(Thing(2, "b")));
    assert_eq!(list.current(), Some(&Thing(1, "d")));
    assert_eq!(list.replace(Vec::new()), Some(Thing(1, "d")));
    assert_eq!((list.current(), list.status_text(None).as_str()), (None, "0/0  sort name"));
    list.act(Action::Last);
    list.act(Action::Mark);
    assert_eq!(list.marks.len(), 0);
}

#[test]
fn marks_survive_filters_and_their_sizes_are_summed() {
    let mut list = list();
    list.act(Action::Mark);
    list.act(Action::Down);
    list.act(Action::MarkRange);
    assert_eq!(list.status_text(None), "3/4  sort name  marked 3, 3.0 KiB");
    list.set_filter(Filter::parse("d", &[]).unwrap());
    assert_eq!((list.shown_count(), list.targets().len(), list.hidden_marks()), (1, 0, 3));
    assert!(list.status_text(None).ends_with("marked 3, 3.0 KiB, 3 hidden"), "{}", list.status_text(None));
    list.act(Action::MarkAll);
    assert_eq!(list.marks.len(), 4);
    list.act(Action::MarkAll);
    assert_eq!(list.marks.len(), 3);
    assert!(list.clear_one() && list.clear_one() && !list.clear_one());
    assert_eq!(list.targets(), [&Thing(1, "d")]);
}

#[test]
fn the_window_scrolls_only_as_far_as_the_cursor() {
    let mut list: List<Thing> = List::default();
    list.replace((0..100).map(|n| Thing(n, "x")).collect());
    assert_eq!(list.windowed(10), 0);
    list.act(Action::PageDown);
    assert_eq!(list.windowed(10), 1);
    list.act(Action::Last);
    assert_eq!(list.windowed(10), 90);
    list.act(Action::Up);
    assert_eq!(list.windowed(10), 90);
    assert_eq!(list.windowed(200), 0);
    list.act(Action::First);
    assert_eq!(list.windowed(0), 0);
    list.only_problems = false;
    list.act(Action::Problems);
    assert_eq!(list.windowed(10), 0);
}

#[test]
fn pages_are_appended_to_one_list() {
    let rows = [Thing(1, "b"), Thing(2, "d"), Thing(3, "!a"), Thing(4, "c"), Thing(5, "e"), Thing(6, "f")];
    let mut expected: List<Thing> = List::sorted(0);
    expected.replace(rows.to_vec());
    for at in 1..rows.len() {
        let mut list: List<Thing> = List::sorted(0);
        list.append(rows[..at].to_vec());
        list.append(rows[at..].to_vec());
        assert_eq!(names(&list), names(&expected), "{at}");
        list.act(Action::Reverse);
        assert_eq!(names(&list), ["f", "e", "d", "c", "b", "!a"]);
    }
    // The first appended row gets the cursor, which then stays on that row.
    let mut list: List<Thing> = List::sorted(0);
    list.append(Vec::new());
    assert_eq!(list.current(), None);
    list.append(vec![Thing(1, "b")]);
    list.append(vec![Thing(2, "a"), Thing(3, "c")]);
    assert_eq!((list.current(), names(&list)), (Some(&Thing(1, "b")), vec!["a", "b", "c"]));
    list.set_filter(Filter::parse("c", &[]).unwrap());
    list.append(vec![Thing(4, "d"), Thing(5, "cc")]);
    assert_eq!(names(&list), ["c", "cc"]);
}

#[test]
fn a_filter_typed_letter_by_letter_shows_the_same_rows_as_a_pasted_one() {
    let rows = [Thing(1, "gate"), Thing(2, "gAte"), Thing(3, "a gate"), Thing(4, "gat"), Thing(5, "x")];
    for typed in ["gate", "^gate", "!gate", "gate$", "~ae", "gAt", "g !a"] {
        let mut list: List<Thing> = List::sorted(0);
        list.replace(rows.to_vec());
        list.act(Action::Last);
        for end in 1..=typed.len() {
            list.set_filter(Filter::parse(&typed[..end], &[]).unwrap());
            let mut expected: List<Thing> = List::sorted(0);
            expected.replace(rows.to_vec());
            expected.set_filter(Filter::parse(&typed[..end], &[]).unwrap());
            assert_eq!(names(&list), names(&expected), "{}", &typed[..end]);
            assert_eq!(list.current().is_some(), list.shown_count() > 0);
        }
    }
}

#[test]
fn rows_added_above_the_window_do_not_move_it() {
    let numbered = |range: std::ops::Range<u32>| range.map(|n| Thing(n, "x")).collect::<Vec<_>>();
    let mut list: List<Thing> = List::default();
    list.replace(numbered(100..200));
    assert_eq!((list.windowed(10), list.above.get()), (0, 0));
    list.update(numbered(88..200), false);
    assert_eq!((list.windowed(10), list.above.get(), list.current()), (12, 12, Some(&Thing(100, "x"))));
    // Rows removed below do not change the count; rows added above later increase it.
    list.update(numbered(85..190), false);
    assert_eq!((list.windowed(10), list.above.get()), (15, 15));
    list.act(Action::PageUp);
    assert_eq!((list.windowed(10), list.above.get()), (5, 5), "rows scrolled into view are not counted");
    list.act(Action::First);
    assert_eq!((list.windowed(10), list.above.get()), (0, 0));
    // Rows inserted inside the window move the rows below them down.
    let mut list: List<Thing> = List::sorted(0);
    list.replace(vec![Thing(1, "a"), Thing(2, "c"), Thing(3, "d")]);
    list.act(Action::Last);
    list.windowed(10);
    list.update(vec![Thing(1, "a"), Thing(4, "b"), Thing(2, "c"), Thing(3, "d")], false);
    assert_eq!((list.windowed(10), list.above.get(), list.current()), (0, 0, Some(&Thing(3, "d"))));
}

#[test]
fn the_cursor_stays_visible_when_the_first_row_moves() {
    let mut list: List<Thing> = List::sorted(0);
    let letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    list.replace((0..).zip(letters).map(|(n, name)| Thing(n, name)).collect());
    list.act(Action::Down);
    list.windowed(3);
    let renamed = (0..).zip(letters).map(|(n, name)| Thing(n, if n == 0 { "z" } else { name }));
    list.update(renamed.collect(), false);
    assert_eq!((list.current(), list.windowed(3)), (Some(&Thing(1, "b")), 0));
    assert_eq!(list.above.get(), 0, "a row that moved is not new");
}

#[test]
fn held_rows_keep_their_order_until_they_settle() {
    let mut list = list();
    let rows = || vec![Thing(1, "a"), Thing(2, "b"), Thing(4, "c"), Thing(9, "0")];
    list.act(Action::Down);
    assert_eq!(list.update(rows(), true), None);
    assert_eq!(names(&list), ["b", "c", "a"], "the old order without the removed row");
    assert_eq!(list.current(), Some(&Thing(2, "b")));
    list.settle();
    assert_eq!(names(&list), ["0", "a", "b", "c"]);
    assert_eq!(list.current(), Some(&Thing(2, "b")));
}

#[test]
fn only_the_rows_in_the_window_are_formatted() {
    let size = ratatui::layout::Size::new(80, 24);
    let settings = crate::ui::settings::Settings::default();
    let world = crate::ui::app::App::new(size, settings, jiff::Timestamp::UNIX_EPOCH).world;
    let mut feed: Feed<Thing> = Feed::new(List::sorted(0));
    feed.list.replace((0..100_000).map(|n| Thing(n, "x")).collect());
    let mut buffer = ratatui::buffer::Buffer::empty((Position::ORIGIN, size).into());
    let options = TableOptions { what: "things", empty: &[], focused: true };
    for action in [Action::First, Action::PageDown, Action::Last] {
        feed.list.act(action);
        FORMATTED.set(0);
        draw(&feed, options, &world, buffer.area, &mut buffer);
        // One row is the header.
        assert_eq!(FORMATTED.get(), 23);
    }
}

#[test]
fn a_list_with_more_rows_on_the_daemon_says_that_the_filter_is_of_loaded_rows() {
    let size = ratatui::layout::Size::new(80, 24);
    let settings = crate::ui::settings::Settings::default();
    let world = crate::ui::app::App::new(size, settings, jiff::Timestamp::UNIX_EPOCH).world;
    let mut feed: Feed<Thing> = Feed::new(List::default());
    let page =
        |total| crate::ui::net::Page { items: vec![Thing(1, "a"), Thing(2, "b")], total: Some(total), last: true };
    assert_eq!(feed.take(page(2), &world), None);
    feed.set_filter("a").unwrap();
    assert!(!feed.status_text().contains("loaded rows"), "{}", feed.status_text());
    assert_eq!(feed.take(page(9), &world), None);
    assert!(feed.status_text().ends_with("  filter: loaded rows only"), "{}", feed.status_text());
    feed.sort(0);
    assert!(feed.status_text().ends_with("  filter and sort: loaded rows only"), "{}", feed.status_text());
}
