use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Thing(u32, &'static str);

impl Haystack for Thing {
    fn text(&self) -> String {
        self.1.to_owned()
    }

    fn column(&self, _: &str) -> Option<String> {
        None
    }

    fn number(&self, _: &str) -> Option<i64> {
        None
    }
}

static COLUMNS: [Column<Thing>; 1] = [Column {
    title: "NAME",
    width: 5,
    right: false,
    rank: 0,
    cell: |thing, _| Shown::plain(thing.1),
    order: Some(|a, b| a.1.cmp(b.1)),
}];

impl Row for Thing {
    type Id = u32;

    fn id(&self) -> u32 {
        self.0
    }

    fn columns() -> &'static [Column<Self>] {
        &COLUMNS
    }

    fn filters() -> &'static [&'static str] {
        &[]
    }

    fn is_problem(&self) -> bool {
        self.1.starts_with('!')
    }

    fn weight(&self) -> i64 {
        1024
    }
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
fn the_cursor_stays_on_its_row_whatever_happens_around_it() {
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
fn a_row_that_went_away_leaves_the_cursor_on_its_neighbour() {
    let mut list = list();
    list.act(Action::Down);
    assert_eq!(list.replace(vec![Thing(1, "d"), Thing(4, "c")]), Some(Thing(2, "b")));
    assert_eq!(list.current(), Some(&Thing(1, "d")));
    assert_eq!(list.replace(Vec::new()), Some(Thing(1, "d")));
    assert_eq!((list.current(), list.standing(None).as_str()), (None, "0/0  sort name"));
    list.act(Action::Last);
    list.act(Action::Mark);
    assert_eq!(list.marks.len(), 0);
}

#[test]
fn marks_survive_filters_and_add_up() {
    let mut list = list();
    list.act(Action::Mark);
    list.act(Action::Down);
    list.act(Action::MarkRange);
    assert_eq!(list.standing(None), "3/4  sort name  marked 3 of 3.0 KiB");
    list.set_filter(Filter::parse("d", &[]).unwrap());
    assert_eq!((list.shown_count(), list.targets().len()), (1, 3));
    list.act(Action::MarkAll);
    assert_eq!(list.marks.len(), 4);
    list.act(Action::MarkAll);
    assert_eq!(list.marks.len(), 3);
    assert!(list.clear_one() && list.clear_one() && !list.clear_one());
    assert_eq!(list.targets(), [&Thing(1, "d")]);
}

#[test]
fn the_window_follows_the_cursor_and_no_further() {
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
