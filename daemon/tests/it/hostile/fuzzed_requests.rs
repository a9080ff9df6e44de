//! Random queries and bodies at every route: each is answered without an error of the server.

use farrierd::http::ROUTES;

use super::assert_healthy;
use crate::{
    accounts::world::method,
    support::{Random, TestDaemon, send},
};

/// Number of requests with random queries and bodies, unless the variable [`INPUTS`] has another one.
const REQUESTS: usize = 1_200;
/// Environment variable with the number of requests, for longer runs.
const INPUTS: &str = "FARRIER_FUZZ_REQUESTS";
/// Names of parameters of lists and of fields of bodies.
const NAMES: [&str; 30] = [
    "page",
    "limit",
    "per_page",
    "cursor",
    "q",
    "sort",
    "order",
    "state",
    "since",
    "until",
    "sha",
    "path",
    "ref",
    "name",
    "private",
    "owner",
    "repo",
    "events",
    "config",
    "url",
    "scopes",
    "description",
    "default_branch",
    "visibility",
    "active",
    "kind",
    "run",
    "size",
    "branch_filter",
    "repositories",
];
/// Values that are valid for some parser, or nearly.
const VALUES: [&str; 24] = [
    "",
    "0",
    "-1",
    "1",
    "18446744073709551616",
    "1e400",
    "null",
    "true",
    "[]",
    "{}",
    "\"x\"",
    "[[[[[[]]]]]]",
    "main",
    "refs/heads/main",
    "--output=/tmp/x",
    "../../etc/passwd",
    "%00",
    "%ff%fe",
    "a%0d%0ab",
    "2026-01-02T03:04:05Z",
    "*",
    "{a,b",
    "ä",
    "\\u0000",
];
/// Routes that wait on purpose or change what the test prints.
const LEFT_OUT: [&str; 2] = ["/api/farrier/v1/events", "/api/farrier/v1/log"];

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_and_bodies_cause_no_server_error() {
    let seed = std::env::var("FARRIER_SEED").map_or(14, |text| text.parse().expect("a number"));
    println!("FARRIER_SEED={seed}");
    let mut random = Random::new(seed);
    let farrier = TestDaemon::start().await;
    farrier.git_repository("demo").await;
    let routes: Vec<_> = ROUTES.iter().filter(|(_, route)| !LEFT_OUT.contains(route)).collect();
    let total = std::env::var(INPUTS).map_or(REQUESTS, |text| text.parse().expect("a number"));
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for n in 0..total {
        let (word, route) = routes[n % routes.len()];
        let word = if *word == "any" { "post" } else { word };
        let path = fill(route, &mut random);
        let query = (0..random.below(4)).map(|_| format!("{}={}", random.of(&NAMES), random.of(&VALUES)));
        let address =
            format!("{path}?{}", query.collect::<Vec<_>>().join("&").replace(['"', '{', '}', '\\', 'ä'], "%7B"));
        let body = if word == "get" { String::new() } else { body(&mut random) };
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let answer = send(&farrier.unix(), method(word), &address, &headers, body.clone()).await;
        // 501: a route for something that farrier does not do. 503: git took too long on a busy machine.
        assert!(matches!(answer.status, 200..=499 | 501 | 503), "{word} {address} {body}: {answer:?}");
        *statuses.entry(answer.status).or_default() += 1;
    }
    println!("{total} random requests to {} routes; responses by status: {statuses:?}", routes.len());
    assert_healthy(&farrier).await;
}

/// Returns a path of the route. Each capture is an existing name or a random value.
fn fill(route: &str, random: &mut Random) -> String {
    let segment = |segment: &str, random: &mut Random| match segment {
        "{owner}" | "{name}" if random.below(4) > 0 => "admin".to_owned(),
        "{repo}" if random.below(4) > 0 => "demo".to_owned(),
        _ if segment.starts_with('{') => {
            let value: &str = random.of(&VALUES);
            let value = if value.is_empty() { "x" } else { value };
            value.replace('%', "%25").replace(['"', '{', '}', '\\', '[', ']', 'ä', ' '], "%7B")
        }
        _ => segment.to_owned(),
    };
    route.split('/').map(|part| segment(part, random)).collect::<Vec<_>>().join("/")
}

/// Returns a JSON object with random fields, now and then cut off.
fn body(random: &mut Random) -> String {
    let value = |random: &mut Random| match random.below(3) {
        0 => random.of(&["null", "true", "-1", "1e9", "[]", "{}", "[1,[2]]", "{\"a\":{}}"]).to_string(),
        _ => format!("\"{}\"", random.of(&VALUES).replace('"', "")),
    };
    let fields: Vec<String> =
        (0..random.below(5)).map(|_| format!("\"{}\":{}", random.of(&NAMES), value(random))).collect();
    let mut text = format!("{{{}}}", fields.join(","));
    if random.below(8) == 0 {
        let mut end = random.below(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
