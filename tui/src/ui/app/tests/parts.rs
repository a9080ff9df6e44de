//! The tabs of a repository: their requests, and the screens that they open.

use super::prelude::*;

/// Returns the requests about the shown repository since the last call.
fn counts(story: &mut Story) -> Vec<String> {
    let effects = std::mem::take(&mut story.effects);
    let paths = effects.into_iter().filter_map(|effect| match effect {
        Effect::Ask(_, Ask::RepositoryCounts(path)) => Some(path.to_string()),
        _ => None,
    });
    paths.collect()
}

fn cursor(story: &Story) -> String {
    let text = story.text();
    text.lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

#[test]
fn moving_the_cursor_requests_counts_of_one_repository_at_a_time() {
    let mut story = Story::settled(120, 40);
    assert_eq!(counts(&mut story), ["data/lake"]);
    let first = story.app.tickets;
    story.keys("jjj");
    assert_eq!(counts(&mut story), [""; 0], "the first request is still pending");
    story.tell(Msg::Answer(first, Ok(facts())));
    assert_eq!(counts(&mut story), [""; 0], "the cursor may still move");
    story.rest();
    assert_eq!(counts(&mut story), ["ops/日本語"], "repositories in between are skipped");
    story.tell(Msg::Answer(story.app.tickets, Ok(facts())));
    assert!(story.text().contains("3 own + 2 system"), "{}", story.text());
    story.keys("k");
    let failed = refusal("counting: internal error (500)");
    story.tell(Msg::Answer(story.app.tickets, Err(failed)));
    counts(&mut story);
    assert!(story.text().contains("hooks     - own") && story.app.notice().is_none(), "{}", story.text());
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(counts(&mut story).len(), 1, "failed counts are requested again only with the list");
}

#[test]
fn enter_on_a_hook_or_artifact_of_a_repository_opens_its_screen() {
    let mut story = Story::settled(80, 24);
    story.keys("jj\n]]");
    let of_it = |ask: &Ask| *ask == Ask::Hooks(HookOwner::Repository("infra/gateway".parse().unwrap()));
    story.answer(of_it, Ok(hooks()));
    story.asked();
    story.keys("jj\n");
    assert_eq!(story.app.current, ScreenId::Hooks);
    story.answer(of_it, Ok(hooks()));
    assert!(cursor(&story).contains("10.0.3.9"), "{}", story.text());

    story.keys("2]");
    story.answer(|ask| matches!(ask, Ask::ArtifactsOf(_)), Ok(artifacts()));
    story.keys("jj\n");
    assert_eq!(story.app.current, ScreenId::Artifacts);
    story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(tree()));
    assert!(cursor(&story).contains("junit.xml"), "{}", story.text());
}

#[test]
fn brackets_switch_the_tabs_of_a_repository_and_esc_leaves_them() {
    let mut story = Story::settled(80, 24);
    story.keys("\n");
    for part in ["[Branches]", "[Hooks]", "[Artifacts]", "[Overview]"] {
        story.keys("]");
        assert!(story.text().contains(part), "{}", story.text());
    }
    story.keys("[");
    assert!(story.text().contains("[Artifacts]"), "{}", story.text());
    story.keys("\n");
    assert!(story.text().contains("nothing selected"), "{}", story.text());
    story.answer(|ask| matches!(ask, Ask::ArtifactsOf(_)), Ok(artifacts()));
    story.keys("/junit\n");
    assert!(story.text().contains("junit.xml") && !story.text().contains("sbom.json"), "{}", story.text());
    story.press(Key::Esc);
    assert!(story.text().contains("sbom.json"), "Esc clears the filter first: {}", story.text());
    story.press(Key::Esc);
    assert!(cursor(&story).contains("data/lake"), "{}", story.text());
}

#[test]
fn the_delete_dialog_of_a_repository_shows_its_contents_or_the_error() {
    for (answer, told) in [
        (Ok(facts()), "14 branches, 61 tags, 3 hooks, 212 artifacts"),
        (Err(refusal("counting: internal error (500)")), "counting: internal error (500)"),
    ] {
        let mut story = Story::settled(80, 24);
        story.keys("D");
        assert!(story.text().contains("Counting …"), "{}", story.text());
        story.answer(|ask| matches!(ask, Ask::RepositoryCounts(_)), answer);
        assert!(story.text().contains(told), "{}", story.text());
        assert!(!story.text().contains("Counting …"), "{}", story.text());
    }
}

#[test]
fn moving_to_another_repository_loads_its_own_branches() {
    let mut story = Story::settled(120, 40);
    story.keys("\n]");
    story.answer(|ask| matches!(ask, Ask::Branches(_)), Ok(branches()));
    assert!(story.text().contains("release/2.4"), "{}", story.text());
    story.keys("\tj");
    assert!(!story.text().contains("release/2.4"), "{}", story.text());
    let last = story.effects.iter().rev().find_map(|effect| match effect {
        Effect::Ask(_, Ask::Branches(path)) => Some(path.to_string()),
        _ => None,
    });
    assert_eq!(last.as_deref(), Some("infra/auth"));
}
