//! Requests that are sent without a key: which, how often, and when none is sent.

use super::prelude::*;

#[test]
fn the_rows_of_the_start_screen_are_requested_before_the_status() {
    let mut story = Story::new(80, 24);
    assert_eq!(story.asked(), [Ask::Repositories, Ask::Status]);
    assert_eq!(story.app.server(), "farrier");
    let story = Story::settled(80, 24);
    assert_eq!((story.app.server(), &story.app.world.link), ("forge01.lan", &Link::Up));
}

#[test]
fn a_paused_screen_closes_idle_connections_and_sets_no_timer() {
    let mut story = Story::settled(80, 24);
    assert!(story.app.wake_at().is_some());
    let rests = |story: &Story| story.effects.iter().filter(|effect| matches!(effect, Effect::Rest)).count();
    story.keys("p");
    assert_eq!(rests(&story), 1, "idle connections are closed");
    story.keys("j");
    assert_eq!(rests(&story), 1);
    assert_eq!(story.app.wake_at(), None, "no timer waits for the cursor to rest");
    story.keys("Q");
    assert_eq!(story.app.wake_at(), Some(Duration::from_secs(4)), "only the notice has a timer");
    story.pass(Duration::from_secs(4));
    assert_eq!(story.app.wake_at(), None);
}

#[test]
fn dashboard_charts_are_requested_less_often_on_a_slow_terminal() {
    let mut story = Story::settled(80, 24);
    let comes = |story: &mut Story| {
        story.keys("2");
        story.asked();
        story.keys("1");
        for _ in 0..2 {
            story.answer(|ask| *ask == Ask::Status, Ok(status()));
            story.answer(|ask| *ask == Ask::Series, Ok(series()));
        }
        story.asked();
        story.pass(Duration::from_secs(3));
        story.asked().contains(&Ask::Series)
    };
    assert!(comes(&mut story));
    story.tell(Msg::Slow(true));
    assert!(story.text().contains(" slow  "), "{}", story.text());
    assert!(!comes(&mut story));
    story.pass(Duration::from_secs(2));
    assert!(story.asked().contains(&Ask::Series));
    story.tell(Msg::Slow(false));
    assert!(!story.text().contains(" slow  "), "{}", story.text());
}

#[test]
fn a_long_list_is_polled_only_for_changes() {
    let mut story = Story::new(80, 24);
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    let items = (0..20_000).map(|id| repository(id % 20 + id * 20, &format!("infra/service-{id:05}"))).collect();
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(Some(20_000), items)));
    story.asked();
    for _ in 0..15 {
        assert!(story.app.wake_at().is_some_and(|at| at <= story.now + Duration::from_secs(6)));
        story.pass(Duration::from_secs(6));
        // Changes are requested, which also shows whether the daemon is reachable.
        story.answer(|ask| *ask == Ask::ChangedRepositories, Ok(listed(Some(20_000), Vec::new())));
        assert_eq!(story.asked(), [Ask::ChangedRepositories]);
    }
    // A manual refresh requests the whole list.
    story.keys("r");
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    story.asked();
    story.pass(Duration::from_secs(6));
    assert_eq!(story.asked(), [Ask::Repositories], "a list that became short is requested at every poll");
}
