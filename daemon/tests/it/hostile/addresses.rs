//! Addresses of internal hosts in every spelling: no delivery and no import connects to them.

use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::World,
    support::{Receiver, send},
};

/// Spellings of addresses of this machine, of private networks and of other special networks.
fn internal_hosts() -> Vec<String> {
    let mut hosts: Vec<String> = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "127.255.255.254",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "a.localhost.",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[2001:db8::1]",
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.254",
        "192.168.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "ⓛocalhost",
    ]
    .map(str::to_owned)
    .into();
    hosts.extend((0..16).map(|n| format!("10.{n}.0.{}", n * 16 + 1)));
    hosts
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_of_an_internal_address_is_connected_to() {
    let world = World::new().await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    world.ask(&token, "post", "/user/repos", json!({ "name": "r" })).await;
    let receiver = Receiver::start().await;
    let port = receiver.url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port").to_owned();
    let (mut refused, mut blocked) = (0, 0);
    for host in internal_hosts() {
        let url = format!("http://{host}:{port}/hook");
        let body = json!({ "clone_addr": url, "repo_name": "copy" });
        let import = world.ask(&token, "post", "/repos/migrate", body).await;
        assert_eq!(import.status, 422, "{url}: {import:?}");
        refused += 1;
        let config = json!({ "url": url, "content_type": "json" });
        let hook = json!({ "type": "gitea", "active": true, "events": ["push"], "config": config });
        let created = world.ask(&token, "post", "/repos/octo/r/hooks", hook).await;
        if created.status == 422 {
            refused += 1;
            continue;
        }
        let path = format!("/repos/octo/r/hooks/{}", created.json()["id"]);
        let tested = world.ask(&token, "post", &format!("{path}/pings?wait=1"), Value::Null).await.json();
        // dns: the resolver of this machine has no address for this spelling.
        assert!(matches!(tested["status"].as_str(), Some("blocked" | "dns")), "{url}: {tested}");
        assert_eq!(world.status(&token, "delete", &path, Value::Null).await, 204);
        blocked += 1;
    }
    assert_eq!((receiver.requests().len(), receiver.connections()), (0, 0));
    println!("{refused} internal addresses were refused, {blocked} deliveries to them were not sent");
    let healthy = send(&world.farrier.tcp(), Method::GET, "/api/healthz", &[], "").await;
    assert_eq!(healthy.status, 200);
}
