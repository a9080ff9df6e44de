//! The tabs of a repository: their requests, and the screens that they open.

use super::prelude::*;

/// Returns the requests about the shown repository since the last call.
fn counts(screen: &mut TestScreen) -> Vec<String> {
    let effects = std::mem::take(&mut screen.effects);
    let paths = effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(_, Request::RepositoryCounts(path)) => Some(path.to_string()),
        _ => None,
    });
    paths.collect()
}

fn cursor(screen: &TestScreen) -> String {
    let text = screen.text();
    text.lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

#[test]
fn moving_the_cursor_requests_counts_of_one_repository_at_a_time() {
    let mut screen = TestScreen::loaded(120, 40);
    assert_eq!(counts(&mut screen), ["data/lake"]);
    let first = screen.app.tickets;
    screen.keys("jjj");
    assert_eq!(counts(&mut screen), [""; 0], "the first request is still pending");
    screen.send(Msg::Answer(first, Ok(repository_counts())));
    assert_eq!(counts(&mut screen), [""; 0], "the cursor may still move");
    screen.rest_cursor();
    assert_eq!(counts(&mut screen), ["ops/日本語"], "repositories in between are skipped");
    screen.send(Msg::Answer(screen.app.tickets, Ok(repository_counts())));
    assert!(screen.text().contains("3 own + 2 system"), "{}", screen.text());
    screen.keys("k");
    let failed = refusal("counting: internal error (500)");
    screen.send(Msg::Answer(screen.app.tickets, Err(failed)));
    counts(&mut screen);
    assert!(screen.text().contains("hooks     - own") && screen.app.notice().is_none(), "{}", screen.text());
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(counts(&mut screen).len(), 1, "failed counts are requested again only with the list");
}

#[test]
fn enter_on_a_hook_or_artifact_of_a_repository_opens_its_screen() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj\n]]]]]]]]]]");
    let of_it = |request: &Request| *request == Request::Hooks(HookOwner::Repository("infra/gateway".parse().unwrap()));
    screen.answer(of_it, Ok(hooks()));
    screen.take_requests();
    screen.keys("jj\n");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.answer(of_it, Ok(hooks()));
    assert!(cursor(&screen).contains("10.0.3.9"), "{}", screen.text());

    screen.keys("2]");
    screen.answer(|request| matches!(request, Request::ArtifactsOf(_)), Ok(artifacts()));
    screen.keys("jj\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
    screen.answer(|request| matches!(request, Request::Runs(_)), Ok(tree()));
    assert!(cursor(&screen).contains("junit.xml"), "{}", screen.text());
}

#[test]
fn brackets_switch_the_tabs_of_a_repository_and_esc_leaves_them() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("\n");
    let managed = ["[Releases]", "[Rules]", "[Collaborators]", "[Deploy keys]", "[Mirrors]"];
    let content = ["[Files]", "[Commits]", "[Branches]", "[Tags]"];
    for part in content.into_iter().chain(managed).chain(["[Hooks]", "[Artifacts]", "[Overview]"]) {
        screen.keys("]");
        assert!(screen.text().contains(part), "{}", screen.text());
    }
    screen.keys("[");
    assert!(screen.text().contains("[Artifacts]"), "{}", screen.text());
    screen.keys("\n");
    assert!(screen.text().contains("nothing selected"), "{}", screen.text());
    screen.answer(|request| matches!(request, Request::ArtifactsOf(_)), Ok(artifacts()));
    screen.keys("/junit\n");
    assert!(screen.text().contains("junit.xml") && !screen.text().contains("sbom.json"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.text().contains("sbom.json"), "Esc clears the filter first: {}", screen.text());
    screen.press(Key::Esc);
    assert!(cursor(&screen).contains("data/lake"), "{}", screen.text());
}

#[test]
fn the_overview_shows_the_last_commits_of_the_counts_where_there_is_room() {
    let shown = |columns, rows| {
        let mut screen = TestScreen::loaded(columns, rows);
        screen.answer(|request| matches!(request, Request::RepositoryCounts(_)), Ok(repository_counts()));
        screen.take_requests();
        screen.rest_cursor();
        assert_eq!(screen.take_requests(), [], "the commits are part of the counts");
        screen.text()
    };
    let text = shown(200, 60);
    for part in ["Last commits of main", "fix: change 0", "fix: change 19"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = shown(120, 22);
    assert!(!text.contains("Last commits") && text.contains("3 own + 2 system"), "{text}");
}

#[test]
fn the_delete_dialog_of_a_repository_shows_its_contents_or_the_error() {
    for (answer, notice) in [
        (Ok(repository_counts()), "14 branches, 61 tags, 3 hooks, 212 artifacts"),
        (Err(refusal("counting: internal error (500)")), "counting: internal error (500)"),
    ] {
        let mut screen = TestScreen::loaded(80, 24);
        screen.keys("D");
        assert!(screen.text().contains("Counting …"), "{}", screen.text());
        screen.answer(|request| matches!(request, Request::RepositoryCounts(_)), answer);
        assert!(screen.text().contains(notice), "{}", screen.text());
        assert!(!screen.text().contains("Counting …"), "{}", screen.text());
    }
}

#[test]
fn moving_to_another_repository_loads_its_own_branches() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("\n]]]");
    screen.answer(|request| matches!(request, Request::Branches(_)), Ok(branches()));
    assert!(screen.text().contains("release/2.4"), "{}", screen.text());
    screen.keys("\tj");
    assert!(!screen.text().contains("release/2.4"), "{}", screen.text());
    let last = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Send(_, Request::Branches(path)) => Some(path.to_string()),
        _ => None,
    });
    assert_eq!(last.as_deref(), Some("infra/auth"));
}
