//! The inspector of a delivery: differences to the previous delivery, and the check of its signature.

use farrier_common::api::DeliveryDetail;

use super::prelude::*;
use crate::ui::net::ProblemKind;

/// A delivery whose body is signed with `s3cr3t`.
fn signed() -> Answer {
    let Answer::Delivery(mut detail) = detail(delivery(14, "pending", 0)) else { unreachable!() };
    let signature = "sha256=5b06496e108dcc0ef1bddd11d0b4a1a7b966a410abc458fb06e13efea8302b36";
    detail.request.headers.insert("x-hub-signature-256".into(), signature.into());
    detail.request.body = Some("{\n  \"ref\": \"refs/heads/main\",\n  \"total_commits\": 0\n}".into());
    Answer::Delivery(detail)
}

fn open_signed(mut screen: TestScreen) -> TestScreen {
    open_deliveries(&mut screen);
    screen.keys("\n");
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(signed()));
    screen
}

/// Returns the delivery 12 with this payload.
fn earlier(payload: serde_json::Value) -> Box<DeliveryDetail> {
    let Answer::Delivery(mut detail) = detail(delivery(12, "success", 200)) else { unreachable!() };
    detail.request.payload = payload;
    detail
}

fn is_previous(request: &Request) -> bool {
    matches!(request, Request::PreviousDelivery { .. })
}

/// Returns the request for the push to a hook before the delivery `id`.
fn previous_push(hook: u64, repository: Option<i64>, id: i64) -> Request {
    Request::PreviousDelivery { hook, event: "push".into(), repository, id }
}

#[test]
fn the_tab_of_changes_compares_with_the_previous_delivery_of_the_hook_event_and_repository() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("]]");
    screen.take_requests();
    screen.keys("]");
    let expected = previous_push(12, None, 14);
    assert_eq!(screen.take_requests(), [expected]);
    assert!(screen.text().contains("loading …"), "{}", screen.text());
    let previous = earlier(serde_json::json!({"ref": "refs/heads/dev", "forced": true}));
    screen.answer_last_of(is_previous, Ok(Answer::PreviousDelivery(Some(previous))));
    let text = screen.text();
    for part in [
        "[Changes]",
        "All attempts of a delivery send the same body.",
        "Compared with 9f1c2a7e",
        "The previous push of infra/gateway to hook 12:",
        "~ ref: \"refs/heads/dev\" -> \"refs/heads/main\"",
        "- forced: true",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.keys("[]");
    assert!(!screen.take_requests().iter().any(is_previous), "the comparison is kept");
}

#[test]
fn the_previous_delivery_is_about_the_same_repository() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("\n");
    let Answer::Delivery(mut opened) = detail(delivery(14, "success", 200)) else { unreachable!() };
    opened.delivery.repository_id = Some(7);
    opened.delivery.repository = None;
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(Answer::Delivery(opened)));
    screen.keys("]]]");
    assert!(screen.take_requests().contains(&previous_push(12, Some(7), 14)));
    screen.answer_last_of(is_previous, Ok(Answer::PreviousDelivery(None)));
    let text = screen.text();
    assert!(text.contains("The previous push of repository 7 to hook 12:"), "{text}");
    assert!(text.contains("No earlier delivery was found."), "{text}");
}

#[test]
fn missing_equal_and_failed_comparisons_are_explained() {
    let same = serde_json::json!({"ref": "refs/heads/main"});
    for (result, expected) in [
        (Ok(Answer::PreviousDelivery(None)), "No earlier delivery was found."),
        (Ok(Answer::PreviousDelivery(Some(earlier(same)))), "no differences"),
        (Ok(Answer::PreviousDelivery(Some(earlier(serde_json::Value::Null)))), "A payload was removed"),
        (Err(Problem::new(ProblemKind::Other, "internal error (500)")), "internal error (500)"),
    ] {
        let mut screen = TestScreen::loaded(80, 24);
        open_delivery(&mut screen);
        screen.keys("]]]");
        screen.answer_last_of(is_previous, result);
        assert!(screen.text().contains(expected), "{expected}: {}", screen.text());
        screen.take_requests();
        screen.keys("jk");
        assert_eq!(screen.take_requests(), [], "{expected}: it is requested once");
    }
}

#[test]
fn a_late_comparison_of_another_delivery_is_ignored() {
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    screen.keys("]]]J");
    screen.rest_cursor();
    let late = earlier(serde_json::json!({"late": 1}));
    screen.answer_last_of(is_previous, Ok(Answer::PreviousDelivery(Some(late))));
    screen.answer_last_of(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(13, "success", 200))));
    assert!(!screen.text().contains("late"), "{}", screen.text());
    let expected = previous_push(3, None, 13);
    assert!(screen.take_requests().contains(&expected));
}

#[test]
fn a_signature_is_checked_with_a_typed_secret_that_is_not_shown_or_sent() {
    for read_only in [false, true] {
        let terminal = test_terminal(80, 24);
        let mut screen = open_signed(if read_only { terminal.read_only() } else { terminal.loaded() });
        screen.take_requests();
        screen.keys("c");
        assert!(screen.text().contains("Check the signature of 9f1c2a7e"), "{}", screen.text());
        screen.send(Msg::Paste("wr0ng".into()));
        screen.press(Key::Ctrl('s'));
        let text = screen.text();
        assert!(text.contains("does not match") && !text.contains("wr0ng"), "{text}");
        screen.press(Key::Ctrl('u'));
        screen.send(Msg::Paste("s3cr3t".into()));
        screen.press(Key::Ctrl('s'));
        let text = screen.text();
        assert!(text.contains("The signature matches this secret") && !text.contains("s3cr3t"), "{text}");
        assert!(screen.app.layers.is_empty());
        assert!(screen.app.messages.iter().all(|message| !format!("{message:?}").contains("s3cr3t")));
        assert_eq!(screen.take_requests(), [], "nothing is sent");
    }
}

#[test]
fn the_signature_of_a_delivery_that_is_not_loaded_is_not_checked() {
    let mut screen = open_signed(TestScreen::loaded(120, 40));
    screen.keys("Jc");
    assert!(screen.text().contains("the delivery is not loaded yet"), "{}", screen.text());
    assert!(screen.app.layers.is_empty());
}

#[test]
fn a_delivery_without_a_signature_has_none_to_check() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("c");
    assert!(screen.text().contains("the last request has no signature"), "{}", screen.text());
    assert!(screen.app.layers.is_empty());
}
