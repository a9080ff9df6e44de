//! Requests that are sent without a key: which, how often, and when none is sent.

use super::prelude::*;

#[test]
fn the_rows_of_the_start_screen_are_requested_before_the_status() {
    let mut screen = TestScreen::new(80, 24);
    assert_eq!(screen.take_requests(), [Request::Repositories, Request::Status]);
    assert_eq!(screen.app.server(), "farrier");
    let screen = TestScreen::loaded(80, 24);
    assert_eq!((screen.app.server(), &screen.app.world.link), ("forge01.lan", &Link::Up));
}

#[test]
fn a_paused_screen_closes_idle_connections_and_sets_no_timer() {
    let mut screen = TestScreen::loaded(80, 24);
    assert!(screen.app.wake_at().is_some());
    let rests = |screen: &TestScreen| screen.effects.iter().filter(|effect| matches!(effect, Effect::Rest)).count();
    screen.keys("p");
    assert_eq!(rests(&screen), 1, "idle connections are closed");
    screen.keys("j");
    assert_eq!(rests(&screen), 1);
    assert_eq!(screen.app.wake_at(), None, "no timer waits for the cursor to rest");
    screen.keys("Q");
    assert_eq!(screen.app.wake_at(), Some(Duration::from_secs(4)), "only the notice has a timer");
    screen.advance(Duration::from_secs(4));
    assert_eq!(screen.app.wake_at(), None);
}

#[test]
fn the_filter_input_sets_one_timer_to_prepare_the_list() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("p/");
    assert_eq!(screen.app.wake_at(), Some(screen.app.world.now + Duration::from_millis(1)));
    screen.advance(Duration::from_millis(1));
    assert_eq!(screen.app.wake_at(), None);
    screen.keys("gate");
    assert!(screen.text().contains("infra/gateway"), "{}", screen.text());
    assert!(!screen.text().contains("infra/auth"), "{}", screen.text());
}

#[test]
fn dashboard_charts_are_requested_less_often_on_a_slow_terminal() {
    let mut screen = TestScreen::loaded(80, 24);
    let comes = |screen: &mut TestScreen| {
        screen.keys("2");
        screen.take_requests();
        screen.keys("1");
        for _ in 0..2 {
            screen.answer(|request| *request == Request::Status, Ok(status()));
            screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
        }
        screen.take_requests();
        screen.advance(Duration::from_secs(3));
        screen.take_requests().contains(&Request::Series(SeriesSpan::Minute))
    };
    assert!(comes(&mut screen));
    screen.send(Msg::Slow(true));
    assert!(screen.text().contains(" slow  "), "{}", screen.text());
    assert!(!comes(&mut screen));
    screen.advance(Duration::from_secs(2));
    assert!(screen.take_requests().contains(&Request::Series(SeriesSpan::Minute)));
    screen.send(Msg::Slow(false));
    assert!(!screen.text().contains(" slow  "), "{}", screen.text());
}

#[test]
fn a_long_list_is_polled_only_for_changes() {
    let mut screen = TestScreen::new(80, 24);
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let items = (0..20_000).map(|id| repository(id % 20 + id * 20, &format!("infra/service-{id:05}"))).collect();
    screen.answer(|request| *request == Request::Repositories, Ok(listed(Some(20_000), items)));
    screen.take_requests();
    for _ in 0..15 {
        assert!(screen.app.wake_at().is_some_and(|at| at <= screen.now + Duration::from_secs(6)));
        screen.advance(Duration::from_secs(6));
        // Changes are requested, which also shows whether the daemon is reachable.
        screen.answer(|request| *request == Request::ChangedRepositories, Ok(listed(Some(20_000), Vec::new())));
        assert_eq!(screen.take_requests(), [Request::ChangedRepositories]);
    }
    // A manual refresh requests the whole list.
    screen.keys("r");
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    screen.take_requests();
    screen.advance(Duration::from_secs(6));
    assert_eq!(screen.take_requests(), [Request::Repositories], "a list that became short is requested at every poll");
}
