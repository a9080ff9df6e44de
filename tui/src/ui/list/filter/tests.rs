use super::*;

struct Row;

const KNOWN: &[FilterColumn] =
    &[FilterColumn::text("state"), FilterColumn::size("size"), FilterColumn::age("age"), FilterColumn::count("code")];

impl Haystack for Row {
    fn text(&self) -> Cow<'_, str> {
        "infra/Gateway".into()
    }

    fn column(&self, name: &str) -> Option<String> {
        (name == "state").then(|| "failed".to_owned())
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "size" => Some(2 << 30),
            "age" => Some(725),
            "code" => Some(500),
            _ => None,
        }
    }
}

fn takes(text: &str) -> bool {
    Filter::parse(text, KNOWN).unwrap().takes(&Row)
}

#[test]
fn a_row_must_match_every_word() {
    let numbers = ["age:>5m", "age:12m", "age:<13m", "!age:>1h", "code:500", "code:>499", "size:2G", "size:2.0GiB"];
    let words = ["", "gate infra", "!mobile", "^infra", "way$", "~ifgw", "Gate", "state:fail size:>1g", "size:<3g"];
    for good in words.into_iter().chain(numbers).chain(["state:", "age:", "size: infra"]) {
        assert!(takes(good), "{good}");
    }
    for bad in ["age:<5m", "age:13m", "code:50", "size:3G"] {
        assert!(!takes(bad), "{bad}");
    }
    for bad in ["mobile", "!gate", "^gate", "infra$", "~wgfi", "GATE", "state:ok", "size:>2g", "size:<1k", "infra x"] {
        assert!(!takes(bad), "{bad}");
    }
}

#[test]
fn an_exact_value_is_the_whole_column_and_may_contain_blanks_in_quotes() {
    for good in
        ["state:=failed", "state:=FAILED", "state:=\"failed\"", "state:=", "!state:=fail", "state:\"ail\" infra"]
    {
        assert!(takes(good), "{good}");
    }
    for bad in ["state:=fail", "!state:=failed", "state:=\"failed twice\"", "state:\"failed infra"] {
        assert!(!takes(bad), "{bad}");
    }
}

#[test]
fn only_more_letters_narrow_a_filter() {
    let parse = |text| Filter::parse(text, KNOWN).unwrap();
    for (new, old) in
        [("g", ""), ("ga", "g"), ("ga x", "ga"), ("^in", "^i"), ("~gt", "~g"), ("state:fa", "state:f"), ("!a b", "!a")]
    {
        assert!(parse(new).narrows(&parse(old)), "{new} after {old}");
    }
    for (new, old) in [
        ("g", "ga"),
        ("", "g"),
        ("!ga", "!g"),
        ("ay$", "y$"),
        ("ay$", "ay"),
        ("GA", "g"),
        ("gA", "g"),
        ("b", "a"),
        ("state:f", "f"),
        ("size:>20", "size:>2"),
    ] {
        assert!(!parse(new).narrows(&parse(old)), "{new} after {old}");
    }
}

#[test]
fn matching_ranges_of_a_cell_are_returned() {
    let match_ranges = |text: &str, cell: &str, column: &str, named: bool| {
        let filter = Filter::parse(text, KNOWN).unwrap();
        filter.match_ranges(cell, column, named).into_iter().map(|at| cell[at].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(match_ranges("way a !x", "infra/Gateway", "NAME", true), ["way", "a", "a", "a"]);
    assert_eq!(match_ranges("^in ay$ ~IG", "Infra/Gateway", "NAME", true), ["In", "ay", "I", "G"]);
    assert_eq!(match_ranges("way state:FA", "FAILED", "STATE", false), ["FA"]);
    assert_eq!(match_ranges("way state:fa", "way", "NAME", false), Vec::<String>::new());
    assert_eq!(match_ranges("size:>1k ! ^", "10 KiB", "SIZE", true), Vec::<String>::new());
    assert_eq!(match_ranges("語", "日本語", "NAME", true), ["語"]);
    assert_eq!(match_ranges("i", "İi", "NAME", true), Vec::<String>::new(), "lowercasing moves the byte offsets");
}

#[test]
fn the_daemon_searches_for_the_longest_required_word() {
    let word = |text: &str| Filter::parse(text, &[FilterColumn::size("size")]).unwrap().word().map(str::to_owned);
    assert_eq!(word("a gate !longest size:>1g ~letters"), Some("gate".to_owned()));
    assert_eq!(word("!gate size:<2k"), None);
    assert_eq!(word("^"), None);
}

#[test]
fn an_error_names_the_word_and_the_allowed_values() {
    let wrong = |text: &str| {
        let bad = Filter::parse(text, KNOWN).unwrap_err();
        (text[bad.at].to_owned(), bad.text)
    };
    let expected = |word: &str, text: &str| (word.to_owned(), text.to_owned());
    assert_eq!(
        wrong("infra color:red x"),
        expected("color:red", "unknown column 'color'; columns: state, size, age, code")
    );
    assert_eq!(wrong("a a size:>1x"), expected("size:>1x", "size takes 512, 25KiB, 1.5M or 2G"));
    assert_eq!(wrong("age:>"), expected("age:>", "age takes 30s, 12m, 3h, 2d, 1w or 1y"));
    assert_eq!(wrong("age:>5M"), expected("age:>5M", "age takes 30s, 12m, 3h, 2d, 1w or 1y"));
    assert_eq!(wrong("code:x"), expected("code:x", "code takes a number such as 12"));
    assert_eq!(wrong("state:>1"), expected("state:>1", "state is text: < and > do not work"));
    assert!(Filter::parse("https://host", &[]).is_err());
    assert!(Filter::parse("10:30", &[]).is_ok());
}

#[test]
fn matches_are_marked_only_where_lower_case_keeps_the_positions() {
    let filter = Filter::parse("k", KNOWN).unwrap();
    assert_eq!(filter.match_ranges("OK k", "NAME", true), [1..2, 3..4]);
    assert_eq!(filter.match_ranges("ȺȺ\u{212a} k", "NAME", true), Vec::<Range<usize>>::new());
}
