//! Tests of the messages to each chat service.

use farrier_proto::store::Delivery;

use http::header;

use super::*;
use crate::webhook::request::build;

fn push() -> Value {
    json!({
        "ref": "refs/heads/main",
        "compare_url": "http://f/o/r/compare/a...b",
        "commits": [
            { "id": "0123456789abcdef", "message": "a <b> & c\n\nmore", "url": "http://f/c1", "author": { "name": "A" } },
            { "id": "ff", "message": "two", "url": "http://f/c2", "author": { "name": "B" } },
        ],
        "total_commits": 2,
        "repository": { "full_name": "o/r", "html_url": "http://f/o/r" },
        "sender": { "login": "ann", "html_url": "http://f/ann", "avatar_url": "http://f/a.png" },
    })
}

fn build_request(
    kind: &str,
    settings: &[(&str, &str)],
    event: &str,
    payload: &Value,
) -> Result<WebhookRequest, BuildError> {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let hook = Hook { r#type: kind.into(), url: "https://chat/x".into(), settings, ..Hook::default() };
    let delivery = Delivery { event: event.into(), uuid: vec![1; 16], ..Delivery::default() };
    let attempt = AttemptContext { delivery: &delivery, number: 1, now_ms: 0 };
    build(&hook, &attempt, &payload.to_string().into())
}

fn body(request: &WebhookRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

#[test]
fn a_push_without_commits_is_not_sent_to_chats() {
    let mut empty = push();
    empty["commits"] = json!([]);
    for kind in ["slack", "discord", "msteams", "telegram"] {
        assert_eq!(build_request(kind, &[], "push", &empty).expect_err(kind), BuildError::EventNotSupported);
    }
    assert!(build_request("gitea", &[], "push", &empty).is_ok());
}

#[test]
fn slack_messages_have_links_and_escaped_text() {
    let slack = build_request("slack", &[("channel", "#dev"), ("username", "f")], "push", &push()).expect("a message");
    let message = body(&slack);
    assert_eq!((&message["channel"], &message["username"]), (&"#dev".into(), &"f".into()));
    assert_eq!(message["text"], "<http://f/o/r/compare/a...b|[o/r:main] 2 new commits by ann>");
    let lines = "<http://f/c1|0123456789 a &lt;b&gt; &amp; c - A>\n<http://f/c2|ff two - B>";
    assert_eq!(
        (&message["attachments"][0]["text"], &message["attachments"][0]["color"]),
        (&lines.into(), &"#7289da".into())
    );
    let request =
        build_request("slack", &[], "create", &json!({ "ref": "refs/tags/v1", "ref_type": "tag" })).expect("a message");
    assert_eq!(body(&request)["attachments"], Value::Null);
}

#[test]
fn discord_embeds_are_truncated_to_the_limits() {
    let mut long = push();
    long["commits"][0]["message"] = "x".repeat(9_000).into();
    let discord = build_request("discord", &[("username", &"n".repeat(100))], "push", &long).expect("a message");
    let message = body(&discord);
    assert_eq!(message["embeds"][0]["description"].as_str().expect("text").chars().count(), DISCORD_TEXT);
    assert_eq!(message["username"].as_str().expect("text").chars().count(), DISCORD_NAME);
    assert_eq!(
        (&message["embeds"][0]["color"], &message["embeds"][0]["author"]["name"]),
        (&0x72_89da.into(), &"ann".into())
    );
    assert_eq!(message.get("avatar_url"), None);
}

#[test]
fn teams_messages_are_cards() {
    let run = json!({ "action": "completed", "workflow_run": { "name": "ci", "conclusion": "failure" },
        "repository": { "full_name": "o/r", "html_url": "http://f/o/r" } });
    let card = body(&build_request("msteams", &[], "workflow_run", &run).expect("a message"));
    assert_eq!((&card["@type"], &card["themeColor"]), (&"MessageCard".into(), &"ff3232".into()));
    assert_eq!((&card["title"], &card["summary"]), (&"[o/r] Run ci: failure".into(), &"[o/r] Run ci: failure".into()));
    assert_eq!(card["potentialAction"][0]["targets"][0]["uri"], "http://f/o/r");
}

#[test]
fn telegram_requests_have_the_token_in_the_path_and_html_text() {
    let settings = [("bot_token", "12:ab/c"), ("chat_id", "-7"), ("thread_id", "3")];
    let request = build_request("telegram", &settings, "push", &push()).expect("a message");
    assert_eq!(request.url.as_str(), "https://chat/x/bot12:ab%2Fc/sendMessage?chat_id=-7&message_thread_id=3");
    let message = body(&request);
    assert_eq!(message["parse_mode"], "HTML");
    let first = r#"<a href="http://f/o/r/compare/a...b">[o/r:main] 2 new commits by ann</a>"#;
    assert!(message["text"].as_str().expect("text").starts_with(first), "{message}");
}

#[test]
fn matrix_messages_are_sent_by_put_with_the_token() {
    let settings =
        [("homeserver_url", "https://m/"), ("room_id", "!r:m"), ("access_token", "tok"), ("message_type", "2")];
    let request = build_request("matrix", &settings, "push", &push()).expect("a message");
    assert_eq!(request.method, Method::PUT);
    assert!(
        request.url.as_str().starts_with("https://m/_matrix/client/v3/rooms/!r:m/send/m.room.message/"),
        "{}",
        request.url
    );
    let token = request.headers.iter().find(|header| header.is(&header::AUTHORIZATION)).expect("a header");
    assert_eq!(
        (token.value.to_str().expect("text"), body(&request)["msgtype"].as_str()),
        ("Bearer tok", Some("m.text"))
    );
}
