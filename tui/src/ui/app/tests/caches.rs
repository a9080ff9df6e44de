//! The screen of cache entries: list, usage, deletion.

use super::prelude::*;
use crate::ui::{
    cache::CacheSummary,
    net::{Page, ProblemKind},
};

#[test]
fn the_screen_shows_entries_with_hits_and_the_usage_of_each_repository() {
    for way in ["5c", ":cache list\n"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.take_requests();
        screen.keys(way);
        let requests = screen.take_requests();
        assert!(requests.contains(&Request::Caches) && requests.contains(&Request::CacheUsage), "{way}: {requests:?}");
        assert_eq!(screen.app.current, ScreenId::Caches);
        screen.answer_last_of(|request| *request == Request::Caches, Ok(caches()));
        screen.answer_last_of(|request| *request == Request::CacheUsage, Ok(cache_usage()));
        let text = screen.text();
        for part in ["[5 Artif]", "linux-cargo-5f2a", "3.0 GiB", "1 204", "5m", "8c1f0b2e", "in all"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (large, small) =
            (text.find("5.0 GiB       2 entries  infra/gateway"), text.find("180.0 MiB       2 entries  web/site"));
        assert!(large.is_some() && large < small, "the largest repository comes first: {text}");
        screen.press(Key::Esc);
        assert_eq!(screen.app.current, ScreenId::Artifacts);
    }
}

#[test]
fn the_status_says_when_only_the_largest_repositories_are_counted() {
    let mut screen = open_caches(120, 40);
    let Answer::CacheUsage(page) = cache_usage() else { panic!("the usage") };
    assert!(screen.text().contains("in all"), "{}", screen.text());
    screen.keys("r");
    let many = Page { total: Some(70), ..page };
    screen.answer_last_of(|request| *request == Request::CacheUsage, Ok(Answer::CacheUsage(many)));
    assert!(screen.text().contains("in the 2 largest of 70 repositories"), "{}", screen.text());
}

#[test]
fn the_command_filters_by_repository_key_and_ref() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":cache list --repo web/site --key npm\n");
    screen.answer_last_of(|request| *request == Request::Caches, Ok(caches()));
    let text = screen.text();
    assert!(text.contains("npm-日本語") && !text.contains("linux-cargo"), "{text}");
    for other in ["--key pm", "--repo web/sit", "--ref refs/heads/mai"] {
        screen.keys(&format!(":cache list {other}\n"));
        assert!(screen.text().contains("nothing matches"), "{other}: {}", screen.text());
    }
}

#[test]
fn commands_that_need_a_terminal_or_never_end_run_only_in_the_shell() {
    for line in ["audit list --follow", "task wait 9", "hook import -", "passwd"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys(&format!(":{line}\n"));
        let expected = format!("runs only in the shell: farrier {line}");
        assert!(screen.text().contains(&expected), "{}", screen.text());
        assert_eq!(screen.app.current, ScreenId::Repositories, "{line}");
    }
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":status --ca /ca.pem\n");
    assert!(screen.text().contains("the connection cannot be changed per command"), "{}", screen.text());
}

#[test]
fn marked_entries_are_deleted_together_and_those_that_failed_stay_marked() {
    let mut screen = open_caches(120, 40);
    screen.keys("D");
    assert!(screen.text().contains("Delete 1 cache entry (3.0 GiB)"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    let name = "linux-cargo-5f2a of infra/gateway".to_owned();
    let repo = "infra/gateway".parse().unwrap();
    assert_eq!(screen.take_requests(), [Request::DeleteCache { repo, id: 41, name }]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("Cache entry linux-cargo-5f2a of infra/gateway deleted"), "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Caches), "the list is loaded again");
    screen.answer_last_of(|request| *request == Request::Caches, Ok(caches()));

    screen.keys("g  D");
    assert!(screen.text().contains("Later jobs must create and save them again."), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("2\t\n");
    let requests = screen.take_requests();
    assert!(
        matches!(requests.as_slice(), [Request::Batch(batch)] if batch.items.len() == 2),
        "{requests:?} {}",
        screen.text()
    );
    screen.answer_last(Ok(Answer::Batch(vec![None, Some("it is gone (404)".into())])));
    let text = screen.text();
    assert!(text.contains("1 cache entry deleted, 1 failed and stays marked"), "{text}");
    screen.answer_last_of(|request| *request == Request::Caches, Ok(caches()));
    screen.press(Key::Esc);
    assert!(screen.text().contains("marked 1"), "{}", screen.text());
}

#[test]
fn a_refused_deletion_is_reported_and_the_list_is_loaded_again() {
    let mut screen = open_caches(80, 24);
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    screen.answer_last(Err(Problem::new(ProblemKind::Forbidden, "deleting it: you may only read (403)")));
    assert!(screen.text().contains("you may only read"), "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Caches));
}

/// The entries with ids from 1 to `count`.
fn many_caches(count: i64) -> Answer {
    let Answer::Caches(page) = caches() else { panic!("cache entries") };
    let with_id = |id| {
        let mut entry: CacheSummary = page.items[0].clone();
        entry.id = id;
        entry
    };
    let items: Vec<_> = (1..=count).map(with_id).collect();
    Answer::Caches(Page { total: Some(count), items, last: true })
}

#[test]
fn entries_are_copied_as_the_daemon_sent_them() {
    let mut screen = open_caches(80, 24);
    screen.keys("jjy");
    let copied =
        screen.effects.iter().find_map(|e| if let Effect::Copy(text) = e { Some(text.0.clone()) } else { None });
    let entry: serde_json::Value = serde_json::from_str(&copied.unwrap()).unwrap();
    let expected = serde_json::json!({
        "id": 38, "repository": "web/site", "ref": "refs/heads/main", "key": "npm-日本語",
        "version": "8c1f0b2e".repeat(8), "last_accessed_at": "2026-11-21T09:00:00Z",
        "created_at": "2026-11-18T08:00:00Z", "size_in_bytes": 180 << 20, "hits": 77,
    });
    assert_eq!(entry, expected);
}

#[test]
fn a_long_list_is_refreshed_less_often() {
    let mut screen = open_caches(80, 24);
    assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(15)));
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.keys("y");
    screen.answer_last(Ok(Answer::Done));
    screen.answer_last_of(|request| *request == Request::Caches, Ok(many_caches(1_000)));
    assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(45)));
}

#[test]
fn a_question_stays_open_when_a_reloaded_list_lacks_the_entry() {
    let mut screen = open_caches(120, 40);
    screen.keys("D");
    // An entry that was used while the pages were loaded may be on none of them.
    screen.advance(Duration::from_secs(16));
    screen.answer_last_of(|request| *request == Request::Caches, Ok(many_caches(2)));
    let text = screen.text();
    assert!(text.contains("Delete 1 cache entry") && !text.contains("removed meanwhile"), "{text}");
}
