//! Replays from the inspector of a delivery: the forms, the question and the result.

use farrier_common::api::ReplayedDelivery;

use super::prelude::*;
use crate::ui::{
    layer::LayerId,
    net::{ProblemKind, ReplayRequest},
    redacted::Redacted,
};

fn is_replay(request: &Request) -> bool {
    matches!(request, Request::Replay(_))
}

/// Returns the replay that was requested.
fn requested(screen: &mut TestScreen) -> ReplayRequest {
    let requests = screen.take_requests();
    let replays: Vec<_> = requests.into_iter().filter(is_replay).collect();
    let [Request::Replay(replay)] = &replays[..] else { panic!("one replay: {replays:?}") };
    (**replay).clone()
}

fn paste(screen: &mut TestScreen, text: &str) {
    screen.send(Msg::Paste(text.into()));
}

/// Answers the question with yes. A question drops keys that are pressed before it can be read.
fn confirm(screen: &mut TestScreen) {
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
}

#[test]
fn a_replay_to_another_url_is_asked_for_and_its_result_is_shown() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("P");
    assert!(screen.text().contains("Replay 9f1c2a7e to another URL"), "{}", screen.text());
    paste(&mut screen, "https://me:pa55word@other.example/x");
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let text = screen.text();
    for part in ["POST https://other.example/x", "Payload: as stored.", "Not signed.", "y / n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!screen.take_requests().iter().any(is_replay), "nothing is sent before the answer");
    confirm(&mut screen);
    let replay = requested(&mut screen);
    assert_eq!(replay.target.as_deref(), Some("https://me:pa55word@other.example/x"));
    assert_eq!((replay.secret, replay.payload_file), (None, None));
    let mut replayed = ReplayedDelivery {
        guid: "11111111-2222-4333-8444-555555555555".into(),
        replay_of: replay.guid,
        method: "POST".into(),
        url: "https://other.example/x".into(),
        status_code: 500,
        duration: 0.25,
        error_class: "http".into(),
        error: "the receiver answered 500".into(),
        ..ReplayedDelivery::default()
    };
    replayed.response.headers.insert("x-receiver".into(), "here".into());
    replayed.response.payload = "oops\u{1b}[2J".into();
    screen.answer_last_of(is_replay, Ok(Answer::Replayed(Box::new(replayed))));
    let text = screen.text();
    for part in ["Replay of 9f1c2a7e", "the receiver answered 500", "not signed, 0.250 s", "x-receiver: here", "oops"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    assert!(screen.text().contains("to another URL"), "the form is still open: {}", screen.text());
}

#[test]
fn an_edited_payload_names_its_file_and_the_signature() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("E");
    assert!(screen.text().contains("with an edited payload"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("required"), "{}", screen.text());
    paste(&mut screen, "/tmp/payload.json");
    screen.press(Key::Ctrl('s'));
    let text = screen.text();
    // The hook can have another URL than at the last attempt.
    let target = ["POST to the URL of hook 12", "The last attempt went to https://ci.example.net/hook"];
    for part in target.into_iter().chain(["/tmp/payload.json, edited", "Signed with the secret of the hook"]) {
        assert!(text.contains(part), "{part}: {text}");
    }
    confirm(&mut screen);
    let replay = requested(&mut screen);
    assert_eq!((replay.target, replay.payload_file), (None, Some("/tmp/payload.json".into())));
}

/// Opens the form for an edited payload.
fn editing() -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("E");
    screen
}

/// Presses the key for the editor. Returns the layer that opens it, and the text.
#[track_caller]
fn open_editor(screen: &mut TestScreen) -> (LayerId, String) {
    screen.effects.clear();
    screen.press(Key::Ctrl('x'));
    let opened = screen.effects.iter().find_map(|effect| match effect {
        Effect::Edit(layer, text) => Some((*layer, text.0.clone())),
        _ => None,
    });
    opened.expect("the editor is opened")
}

fn end_editor(screen: &mut TestScreen, layer: LayerId, text: &str) {
    screen.send(Msg::Edited(layer, Ok(Redacted(text.into()))));
}

#[test]
fn the_stored_payload_is_edited_in_the_editor_and_sent() {
    let mut screen = editing();
    let (layer, text) = open_editor(&mut screen);
    assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_object(), "{text}");
    end_editor(&mut screen, layer, "{\"ref\": \"edited\"}\n");
    assert!(screen.text().contains("18 B from the editor"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("Payload: edited, 18 B."), "{}", screen.text());
    confirm(&mut screen);
    let replay = requested(&mut screen);
    assert_eq!((replay.payload_file.as_deref(), replay.payload.as_deref()), (None, Some("{\"ref\": \"edited\"}\n")));
    assert!(!format!("{replay:?}").contains("edited\\\""), "{replay:?}");
}

#[test]
fn a_text_that_is_no_json_object_is_kept_and_not_sent() {
    let mut screen = editing();
    for (text, why) in [("{\"a\": ", "not JSON at line 1"), ("[]", "not a JSON object")] {
        let (layer, _) = open_editor(&mut screen);
        end_editor(&mut screen, layer, text);
        assert!(screen.text().contains(why), "{}", screen.text());
        screen.press(Key::Ctrl('s'));
        assert_eq!(screen.app.layers.len(), 1, "no question is asked: {}", screen.text());
        assert_eq!(open_editor(&mut screen).1, text, "the text can be corrected");
    }
    let (layer, _) = open_editor(&mut screen);
    end_editor(&mut screen, layer, "{}");
    screen.press(Key::Ctrl('s'));
    assert_eq!(screen.app.layers.len(), 2, "{}", screen.text());
}

#[test]
fn a_file_that_is_named_after_editing_is_sent() {
    let mut screen = editing();
    let (layer, _) = open_editor(&mut screen);
    end_editor(&mut screen, layer, "{}");
    paste(&mut screen, "payload.json");
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    confirm(&mut screen);
    let replay = requested(&mut screen);
    assert_eq!((replay.payload_file, replay.payload), (Some("payload.json".into()), None));
}

#[test]
fn a_failed_editor_is_reported_and_the_form_stays() {
    let mut screen = editing();
    let (layer, _) = open_editor(&mut screen);
    screen.send(Msg::Edited(layer, Err("vi not found; set VISUAL or EDITOR to another program".into())));
    let text = screen.text();
    assert!(text.contains("vi not found") && text.contains("with an edited payload"), "{text}");
    // A form that was closed meanwhile gets nothing.
    screen.press(Key::Esc);
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    end_editor(&mut screen, layer, "{}");
    assert!(screen.app.layers.is_empty());
}

#[test]
fn the_editor_opens_neither_in_other_forms_nor_without_permission_to_change() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("P");
    screen.press(Key::Ctrl('x'));
    let mut read_only = editing();
    read_only.app.world.read_only = true;
    read_only.press(Key::Ctrl('x'));
    for screen in [&screen, &read_only] {
        assert!(!screen.effects.iter().any(|effect| matches!(effect, Effect::Edit(..))));
    }
    assert!(read_only.text().contains("--read-only"), "{}", read_only.text());
}

#[test]
fn a_secret_is_only_for_another_url_and_never_shown() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("E");
    paste(&mut screen, "payload.json");
    screen.keys("\t\t");
    paste(&mut screen, "t0ps3cret");
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("only for another URL"), "{}", screen.text());
    screen.press(Key::BackTab);
    paste(&mut screen, "http://other.example/");
    screen.press(Key::Ctrl('s'));
    let text = screen.text();
    assert!(text.contains("Signed with the typed secret.") && !text.contains("t0ps3cret"), "{text}");
    confirm(&mut screen);
    let replay = requested(&mut screen);
    assert!(!format!("{replay:?}").contains("t0ps3cret"), "{replay:?}");
    assert_eq!(replay.secret.as_deref(), Some("t0ps3cret"));
}

#[test]
fn invalid_urls_and_refusals_keep_the_form() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery(&mut screen);
    screen.keys("P");
    for bad in ["other.example", "ftp://other.example/"] {
        screen.press(Key::Ctrl('u'));
        paste(&mut screen, bad);
        screen.press(Key::Ctrl('s'));
        assert!(screen.text().contains("must begin with http"), "{bad}: {}", screen.text());
    }
    screen.press(Key::Ctrl('u'));
    paste(&mut screen, "http://other.example/");
    screen.press(Key::Ctrl('s'));
    confirm(&mut screen);
    let refused = Problem::new(ProblemKind::Other, "the payload of this delivery was removed");
    screen.answer_last_of(is_replay, Err(refused));
    assert!(screen.app.messages.iter().any(|message| format!("{message:?}").contains("was removed")));
    assert!(screen.text().contains("to another URL"), "{}", screen.text());
}

#[test]
fn replays_are_not_offered_in_read_only_mode() {
    let mut screen = test_terminal(120, 40).read_only();
    open_delivery(&mut screen);
    for key in ["P", "E"] {
        screen.keys(key);
        assert!(screen.app.layers.is_empty(), "{key}: {}", screen.text());
    }
}
