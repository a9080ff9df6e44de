//! The files, commits and tags of a repository.

use super::prelude::*;
use crate::ui::{app::Mouse, net::Excerpt};

fn path() -> farrier_common::client::RepositoryPath {
    "infra/gateway".parse().unwrap()
}

fn directory_request(reference: &str, path_in_it: &str) -> Request {
    Request::Directory { repo: path(), reference: reference.into(), path: path_in_it.into() }
}

fn cursor(screen: &TestScreen) -> String {
    let text = screen.text();
    text.lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

/// Opens the commits of a repository.
fn open_commits(screen: &mut TestScreen, count: usize) {
    screen.keys("jj\n]]");
    screen.answer(|request| matches!(request, Request::Commits { .. }), Ok(commits(count)));
}

#[test]
fn directories_are_opened_at_the_commit_of_their_root_and_left_with_esc() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]");
    assert!(screen.take_requests().contains(&directory_request("main", "")));
    screen.answer_last_of(|request| matches!(request, Request::Directory { .. }), Ok(directory("")));
    assert!(screen.text().contains("a1b2c3d"), "{}", screen.text());
    screen.keys("j\n");
    assert!(screen.take_requests().contains(&directory_request(TIP, "src")), "{}", screen.text());
    screen.answer_last_of(|request| matches!(request, Request::Directory { .. }), Ok(directory("src")));
    assert!(screen.text().contains("main  src/"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.answer(|request| matches!(request, Request::Directory { .. }), Ok(directory("")));
    assert!(cursor(&screen).contains("src/"), "the cursor returns to the directory: {}", screen.text());
    screen.press(Key::Esc);
    assert!(cursor(&screen).contains("infra/gateway"), "{}", screen.text());
}

#[test]
fn a_file_is_shown_with_line_numbers_and_searched() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    screen.keys("jj\n");
    let of_file = Request::FileContent { repo: path(), commit: TIP.into(), path: "README.md".into() };
    let lines: Vec<String> = (1..=60).map(|number| format!("word {number}\n")).collect();
    let text = lines.concat();
    screen.answer(|request| *request == of_file, Ok(file(&text)));
    assert!(screen.text().contains(" 1  word 1") && screen.text().contains("60 lines"), "{}", screen.text());
    screen.keys("/word 55\n");
    assert!(screen.text().contains("55  word 55") && screen.text().contains("1 of 1 with"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.text().contains("55  word 55"), "Esc removes the search first: {}", screen.text());
    screen.keys("o");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Page(paged) if *paged == text)));
    screen.press(Key::Esc);
    assert!(cursor(&screen).contains("README.md"), "{}", screen.text());
}

#[test]
fn binary_and_large_files_are_described_and_control_characters_are_not_drawn() {
    let large = Excerpt { bytes: b"first\nsecond\nthi".to_vec(), is_cut: true };
    for (excerpt, shown, hidden) in [
        (Excerpt { bytes: b"\x7fELF\0\x1b[2J".to_vec(), is_cut: false }, "This is a binary file", "ELF"),
        (large, "the first 2 lines, at most 512.0 KiB", "thi"),
        (Excerpt { bytes: b"a\x1b]0;owned\x07b\n".to_vec(), is_cut: false }, "a\u{fffd}]0;owned\u{fffd}b", "\x1b"),
    ] {
        let mut screen = TestScreen::loaded(80, 24);
        open_files(&mut screen);
        screen.keys("jj\n");
        screen.answer(|request| matches!(request, Request::FileContent { .. }), Ok(Answer::FileContent(excerpt)));
        let text = screen.text();
        assert!(text.contains(shown) && !text.lines().skip(4).any(|line| line.contains(hidden)), "{shown}: {text}");
    }
}

#[test]
fn a_file_that_cannot_be_loaded_is_reported_and_a_submodule_is_not_loaded() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    screen.keys("jj\n");
    let refused = refusal("loading README.md: not found (404)");
    screen.answer(|request| matches!(request, Request::FileContent { .. }), Err(refused));
    assert!(screen.text().contains("not found (404)") && screen.text().contains("run"), "{}", screen.text());
    screen.take_requests();
    screen.keys("G\n");
    assert!(screen.text().contains("vendor is a submodule: commit 0000000"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::FileContent { .. })));
}

#[test]
fn a_directory_that_no_longer_exists_is_left_with_a_notice() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    screen.keys("\n");
    screen.answer(|request| *request == directory_request(TIP, "docs"), Ok(directory("")));
    assert!(screen.text().contains("docs no longer exists"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(cursor(&screen).contains("infra/gateway"), "Esc leaves the root: {}", screen.text());
}

#[test]
fn older_commits_are_loaded_when_the_cursor_comes_near_the_last_one() {
    let mut screen = TestScreen::loaded(80, 24);
    open_commits(&mut screen, 100);
    assert!(screen.text().contains("1 204 commits") && screen.text().contains("1/100 of 1 204"), "{}", screen.text());
    screen.take_requests();
    screen.keys("j");
    screen.rest_cursor();
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::Commits { .. })));
    screen.keys("G");
    screen.rest_cursor();
    let more = Request::Commits { repo: path(), reference: "main".into(), path: String::new(), rows: 200 };
    assert!(screen.take_requests().contains(&more), "{}", screen.text());
}

#[test]
fn a_commit_is_shown_with_its_diff_and_its_runs_are_related() {
    let mut screen = TestScreen::loaded(80, 24);
    open_commits(&mut screen, 3);
    screen.keys("\n");
    screen.answer(|request| *request == Request::Commit(path(), TIP.into()), Ok(opened_commit()));
    let text = screen.text();
    for line in ["author     ops-a <ops-a@forge01.lan>", "lines      +1 -1", "Because of a timeout.", "+    run(30);"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    screen.keys("f");
    assert!(screen.text().contains("runs of commit a1b2c3d"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.keys("yc");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(copied) if copied.0 == TIP)));
}

#[test]
fn commits_of_a_file_are_listed_and_esc_lists_all_again() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    screen.keys("jjc");
    let of = |path_in_it: &str| Request::Commits {
        repo: path(),
        reference: "main".into(),
        path: path_in_it.into(),
        rows: 100,
    };
    screen.answer(|request| *request == of("README.md"), Ok(commits(2)));
    assert!(screen.text().contains("main  README.md"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Esc);
    assert!(screen.take_requests().contains(&of("")), "{}", screen.text());
}

#[test]
fn enter_on_a_branch_or_tag_shows_its_files() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]");
    screen.answer(|request| matches!(request, Request::Branches(_)), Ok(branches()));
    screen.keys("j\n");
    assert!(screen.take_requests().contains(&directory_request("release/2.4", "")), "{}", screen.text());
    assert!(screen.text().contains("[Files]"), "{}", screen.text());
    screen.keys("]]]");
    screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    screen.keys("\n");
    assert!(screen.take_requests().contains(&directory_request(TIP, "")), "{}", screen.text());
    assert!(screen.text().contains("v1.0"), "{}", screen.text());
}

#[test]
fn a_tag_is_deleted_after_confirmation() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]]");
    screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    screen.keys("D");
    assert!(screen.text().contains("Delete tag v1.0 of infra/gateway"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    let delete = Request::DeleteTag(path(), "v1.0".into());
    assert!(screen.take_requests().contains(&delete), "{}", screen.text());
    screen.answer_last_of(|request| *request == delete, Ok(Answer::Done));
    assert!(screen.text().contains("Tag v1.0 of infra/gateway deleted"), "{}", screen.text());
}

#[test]
fn a_tag_is_created_at_a_target_and_an_error_stays_in_the_form() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]]");
    screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    screen.keys("nv1.1");
    assert!(screen.text().contains("New tag in infra/gateway"), "{}", screen.text());
    screen.keys("\n\nfirst fixes");
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let request = farrier_common::api::CreateTag {
        tag_name: "v1.1".into(),
        target: "main".into(),
        message: "first fixes".into(),
    };
    let create = Request::CreateTag(path(), Box::new(request));
    assert!(screen.take_requests().contains(&create), "{}", screen.text());
    let taken = refusal("tag already exists: v1.1");
    screen.answer_last_of(|request| *request == create, Err(taken));
    let text = screen.text();
    assert!(text.contains("tag already exists: v1.1") && text.contains("first fixes"), "{text}");
    screen.press(Key::Ctrl('s'));
    screen.answer_last_of(|request| *request == create, Ok(Answer::Done));
    assert!(screen.text().contains("Tag v1.1 of infra/gateway created"), "{}", screen.text());
}

#[test]
fn a_tag_of_a_shown_tag_has_its_commit_as_target() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]]");
    screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    screen.keys("\n]]]nlatest");
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let target = requests.iter().find_map(|request| match request {
        Request::CreateTag(_, tag) => Some(tag.target.as_str()),
        _ => None,
    });
    assert_eq!(target, Some(TIP), "not the name, which a branch may have, too: {}", screen.text());
}

#[test]
fn a_tag_cannot_be_created_in_an_empty_repository() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("G\n]]]]");
    screen.keys("n");
    let text = screen.text();
    assert!(!text.contains("New tag in") && text.contains("push first"), "{text}");
}

#[test]
fn an_empty_repository_has_no_files_and_requests_none() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("G\n]");
    assert!(screen.text().contains("No files: nothing was pushed yet."), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::Directory { .. })));
}

#[test]
fn files_are_requested_again_only_after_a_push_or_a_refresh() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    let is_directory = |request: &Request| matches!(request, Request::Directory { .. });
    screen.take_requests();
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert!(!screen.take_requests().iter().any(is_directory), "nothing was pushed");
    screen.keys("r");
    assert!(screen.take_requests().iter().any(is_directory), "{}", screen.text());
}

#[test]
fn a_file_can_be_opened_while_a_refresh_has_no_response_or_failed() {
    let mut screen = TestScreen::loaded(80, 24);
    open_files(&mut screen);
    screen.keys("jj");
    let is_directory = |request: &Request| matches!(request, Request::Directory { .. });
    for answer in [None, Some(refusal("listing files: not found (404)"))] {
        screen.keys("r");
        if let Some(problem) = answer {
            screen.answer_last_of(is_directory, Err(problem));
        }
        screen.take_requests();
        screen.press(Key::Enter);
        let of_file = Request::FileContent { repo: path(), commit: TIP.into(), path: "README.md".into() };
        assert!(screen.take_requests().contains(&of_file), "{}", screen.text());
        screen.press(Key::Esc);
    }
    screen.keys("kk\n");
    assert!(screen.take_requests().contains(&directory_request("main", "docs")), "r asks for the newest commit");
}

#[test]
fn a_tag_that_was_deleted_in_another_repository_leaves_the_shown_lists() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]]");
    screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.keys("y");
    screen.press(Key::Esc);
    screen.keys("k\n");
    screen.answer_last_of(|request| matches!(request, Request::Tags(repo) if *repo != path()), Ok(tags()));
    screen.take_requests();
    screen.answer_last_of(|request| matches!(request, Request::DeleteTag(..)), Ok(Answer::Done));
    assert!(screen.text().contains("Tag v1.0 of infra/gateway deleted"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::Tags(_))), "{}", screen.text());
}

#[test]
fn copied_paths_have_no_control_characters() {
    let Answer::Directory(mut found) = directory("") else { panic!("no directory") };
    found.entries.items[2].path = "README\nreboot\x1b[A".into();
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]");
    screen.answer(|request| matches!(request, Request::Directory { .. }), Ok(Answer::Directory(found)));
    screen.keys("jjyp");
    let copied = "README\u{fffd}reboot\u{fffd}[A";
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.0 == copied)));
}

#[test]
fn a_click_selects_in_the_list_that_is_shown() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.text();
    screen.keys("m");
    open_files(&mut screen);
    screen.text();
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 7 }));
    assert!(cursor(&screen).contains("src/"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.text();
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 7 }));
    assert!(cursor(&screen).contains("web/site"), "{}", screen.text());
}
