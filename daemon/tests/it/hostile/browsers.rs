//! Requests that a web site makes in the browser of a user: from other origins, with content types that need no
//! permission, and to host names that lead to the daemon.

use http::Method;
use serde_json::json;

use crate::{
    accounts::world::{PASSWORD, World, basic},
    support::{Answer, TestDaemon, send},
};

/// Headers of requests that a browser makes for a page of another origin.
const CROSS_SITE: [&[(&str, &str)]; 8] = [
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[("sec-fetch-site", "something new")],
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
    &[("origin", "http://localhost:1")],
    &[("origin", "file://")],
    &[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")],
];

/// State-changing requests of each protocol, with the beginning of the error in its form.
const CHANGES: [(&str, &str, &str); 6] = [
    ("POST", "/api/v1/users/octo/tokens", "{\"message\":\"requests that another web site makes"),
    ("DELETE", "/api/v1/repos/octo/r", "{\"message\":\"requests that another web site makes"),
    ("POST", "/octo/r.git/git-receive-pack", "requests that another web site makes"),
    ("POST", "/octo/r.git/git-upload-pack", "requests that another web site makes"),
    (
        "POST",
        "/twirp/github.actions.results.api.v1.ArtifactService/CreateArtifact",
        "{\"code\":\"permission_denied\",\"meta\":{},\"msg\":\"requests that another web site makes",
    ),
    ("PUT", "/_blob/1/1/x?op=w", "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>AuthorizationFailure</Code>"),
];

async fn world() -> World {
    let world = World::new().await;
    world.user("octo").await;
    world.ask(&basic("octo", PASSWORD), "post", "/user/repos", json!({ "name": "r" })).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn state_changes_from_other_web_sites_are_refused_before_credentials_are_read() {
    let world = world().await;
    let (right, wrong) = (basic("octo", PASSWORD), basic("octo", "wrong"));
    let body = json!({ "name": "t", "scopes": ["all"] }).to_string();
    let mut refused = 0;
    for (method, path, expected) in CHANGES {
        for site in CROSS_SITE {
            for authorization in [&right, &wrong] {
                let mut headers = vec![("authorization", authorization.as_str()), ("content-type", "application/json")];
                headers.extend(site);
                let method = method.parse().expect("a method");
                let answer = send(&world.farrier.tcp(), method, path, &headers, body.clone()).await;
                assert_eq!(answer.status, 403, "{path} {site:?}: {answer:?}");
                assert!(answer.text().starts_with(expected), "{path}: {answer:?}");
                refused += 1;
            }
        }
    }
    println!("{refused} state changes from other web sites were refused");
    assert_eq!(world.get(&right, "/users/octo/tokens").await.1, json!([]));
    assert_eq!(world.get(&right, "/repos/octo/r").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn own_pages_and_clients_that_are_no_browsers_change_state() {
    let farrier =
        TestDaemon::with(|config| config.server.root_url = Some("https://forge.example".parse().expect("a URL"))).await;
    let own = farrier.url.clone();
    let token = format!("token {}", farrier.token("admin", &["all"]).await);
    let with_tls = own.replace("http://", "https://");
    for (n, site) in [
        &[][..],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", own.as_str())],
        &[("origin", with_tls.as_str()), ("sec-fetch-site", "same-origin")],
        &[("origin", "https://forge.example"), ("host", "forge.example")],
        &[("origin", "https://FORGE.example:443")],
        &[("origin", "http://b.localhost:81"), ("host", "b.localhost:81")],
    ]
    .into_iter()
    .enumerate()
    {
        let mut headers = vec![("authorization", token.as_str()), ("content-type", "application/json")];
        headers.extend(site);
        let body = json!({ "name": format!("r{n}") }).to_string();
        let created = send(&farrier.tcp(), Method::POST, "/api/v1/user/repos", &headers, body).await;
        assert_eq!(created.status, 201, "{site:?}: {created:?}");
    }
    let read = send(&farrier.tcp(), Method::GET, "/api/v1/version", CROSS_SITE[0], "").await;
    assert_eq!(read.status, 200, "reads are not state changes: {read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_routes_refuse_content_types_that_other_sites_may_send() {
    let world = world().await;
    let authorization = basic("octo", PASSWORD);
    // Without the space, the client of the tests would add a content type.
    let body = format!(" {}", json!({ "name": "t", "scopes": ["all"] }));
    let path = "/api/v1/users/octo/tokens";
    for content_type in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend((!content_type.is_empty()).then_some(("content-type", content_type)));
        let answer = send(&world.farrier.tcp(), Method::POST, path, &headers, body.clone()).await;
        assert_eq!(answer.status, 422, "{content_type}: {answer:?}");
        assert!(answer.text().contains("Content-Type; send application/json"), "{answer:?}");
    }
    assert_eq!(world.get(&authorization, "/users/octo/tokens").await.1, json!([]));
}

async fn at_host(farrier: &TestDaemon, host: &str, path: &str) -> Answer {
    send(&farrier.tcp(), Method::GET, path, &[("host", host)], "").await
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_unknown_host_names_are_refused() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let paths = [
        "/api/v1/version",
        "/",
        "/admin/r",
        "/admin/r.git/info/refs?service=git-upload-pack",
        "/twirp/x",
        "/_blob/1/1/x",
    ];
    let hosts = ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "y"];
    for (path, host) in paths.into_iter().flat_map(|path| hosts.map(|host| (path, host))) {
        let answer = at_host(&farrier, host, path).await;
        assert_eq!(answer.status, 421, "{host} {path}: {answer:?}");
        assert!(answer.text().contains("server.hosts"), "the message names the setting: {answer:?}");
    }
    println!("{} requests to unknown host names were refused", paths.len() * hosts.len());
    for host in ["localhost", "LOCALHOST:3000", "a.localhost", "127.0.0.1:9", "203.0.113.7", "[::1]:3000", "127.9.9.9."]
    {
        assert_eq!(at_host(&farrier, host, "/api/v1/version").await.status, 200, "{host}");
    }
    let machine = nix::unistd::gethostname().expect("a name").into_string().expect("text");
    assert_eq!(at_host(&farrier, &machine, "/api/v1/version").await.status, 200, "{machine}");
    for probe in ["/api/healthz", "/metrics"] {
        assert_ne!(at_host(&farrier, "evil.example", probe).await.status, 421, "{probe}");
    }
    let socket = send(&farrier.unix(), Method::GET, "/api/v1/version", &[("host", "evil.example")], "").await;
    assert_eq!(socket.status, 200);
    let forwarded = [("x-forwarded-host", "evil.example")];
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/v1/version", &forwarded, "").await.status, 200);
    let trusting = TestDaemon::with(|config| {
        config.server.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    })
    .await;
    let answer = send(&trusting.tcp(), Method::GET, "/api/v1/version", &forwarded, "").await;
    assert_eq!(answer.status, 421, "a trusted proxy reports the name: {answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_host_names_are_accepted() {
    let farrier = TestDaemon::with(|config| {
        config.server.root_url = Some("https://forge.example/git".parse().expect("a URL"));
        config.artifacts.base_url = Some("http://artifacts.example".parse().expect("a URL"));
        config.server.hosts = vec!["forge.lan".into(), "*.ci.example".into()];
    })
    .await;
    for (host, status) in [
        ("forge.example", 200),
        ("Forge.Example:8443", 200),
        ("artifacts.example", 200),
        ("forge.lan", 200),
        ("forge.lan.", 200),
        ("a.b.ci.example", 200),
        ("ci.example", 421),
        ("sub.forge.example", 421),
    ] {
        assert_eq!(at_host(&farrier, host, "/api/v1/version").await.status, status, "{host}");
    }
    let any = TestDaemon::with(|config| config.server.hosts = vec!["*".into()]).await;
    assert_eq!(at_host(&any, "evil.example", "/api/v1/version").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_cannot_be_read_or_embedded_by_other_sites() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    for path in ["/api/v1/version", "/admin/r", "/", "/avatars/1", "/api/swagger", "/nothing/here", "/_blob/1/1/x"] {
        let headers = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("accept", "text/html")];
        let answer = send(&farrier.tcp(), Method::GET, path, &headers, "").await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        let is_page = answer.header("content-type").starts_with("text/html");
        assert_eq!(!answer.header("content-security-policy").is_empty(), is_page || path == "/avatars/1", "{path}");
    }
}
