//! Unmodified clients of the cache protocol other than the official one: that of `BuildKit`, `OpenDAL` and sccache.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    artifacts::write,
    support::{
        Job, TestDaemon,
        client::{go, home, python},
        process::{command, output},
    },
};

/// The variable that selects version 1 or 2 of the protocol, for all these clients.
const SERVICE: &str = "ACTIONS_CACHE_SERVICE_V2";

/// Adds the environment of `job`. `version`: of the protocol.
fn in_job(command: &mut Command, job: &Job, version: u32) {
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    if version == 1 {
        command.env(SERVICE, "");
    }
}

async fn results(mut command: Command, arguments: &[&str]) -> Vec<Value> {
    command.args(arguments).current_dir(home());
    let output = output(command).await.expect("the client is installed");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, results)) = stdout.rsplit_once("RESULT ") else {
        panic!("the client failed: {stdout}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    serde_json::from_str(results).expect("JSON")
}

fn ok(results: &[Value]) -> Vec<&Value> {
    results.iter().map(|one| one.get("ok").unwrap_or_else(|| panic!("{results:?}"))).collect()
}

#[tokio::test]
async fn the_client_of_buildkit_saves_loads_and_updates_entries_in_both_versions() {
    let Some(go) = go().await else { return };
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    for version in [1, 2] {
        let job = farrier.begin_on("r", "feature").await;
        let key = |name: &str| format!("{name}-{version}");
        let mutable = |text: &str| json!({ "call": "saveMutable", "key": key("index"), "text": text });
        let operations = json!([
            { "call": "version" },
            { "call": "scopes" },
            { "call": "load", "keys": [key("blob")] },
            { "call": "save", "key": key("blob"), "text": "0123456789" },
            { "call": "load", "keys": [key("blob")] },
            { "call": "readAt", "key": key("blob"), "offset": 3, "length": 4 },
            { "call": "save", "key": key("blob"), "text": "other" },
            mutable("first"),
            mutable("second"),
            mutable("third"),
            { "call": "save", "key": key("large"), "size": 12_000_000 },
            { "call": "load", "keys": [key("large")] },
        ]);
        let mut client = command(&go);
        in_job(&mut client, &job, version);
        let results = results(client, &[&operations.to_string()]).await;
        let results = ok(&results);
        assert_eq!(results[0], version == 2);
        let scopes = json!([
            { "Scope": "refs/heads/feature", "Permission": 3 },
            { "Scope": "refs/heads/main", "Permission": 1 },
        ]);
        assert_eq!((results[1], results[2]), (&scopes, &Value::Null));
        assert_eq!((results[3], results[4]), (&json!("saved"), &json!([key("blob"), "0123456789"])));
        assert_eq!((results[5], results[6]), (&json!("3456"), &json!("exists")));
        assert_eq!(results[7..10], [&json!(""), &json!("first"), &json!("second")], "version {version}");
        assert_eq!(results[11][0], key("large"));
        assert_eq!(results[11][1], results[11][2], "the same bytes");
    }
}

#[tokio::test]
async fn the_client_of_buildkit_refuses_a_token_without_scopes() {
    let Some(go) = go().await else { return };
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let parts: Vec<&str> = job.token.split('.').collect();
    let claims = URL_SAFE_NO_PAD.decode(parts[1]).expect("base64url");
    let mut claims: Value = serde_json::from_slice(&claims).expect("JSON");
    claims.as_object_mut().expect("claims").remove("ac").expect("a text");
    let token = format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims.to_string()), parts[2]);
    let mut client = command(&go);
    in_job(&mut client, &job, 2);
    client.env("ACTIONS_RUNTIME_TOKEN", token);
    let results = results(client, &[r#"[{"call":"scopes"}]"#]).await;
    let message = results[0]["error"]["message"].as_str().expect("an error");
    assert!(message.contains("without access controls"), "{message}");
}

#[tokio::test]
async fn opendal_writes_and_reads_entries_with_unusual_keys_in_both_versions() {
    let Some(python) = python().await else { return };
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let long = "k".repeat(400);
    for version in [1, 2] {
        let job = farrier.begin_on("r", "main").await;
        let mut operations = Vec::new();
        let paths = ["a/b/c", "with space", "plus+plus", "percent%2Fslash", "日本語/ä", long.as_str()];
        for path in paths {
            operations.push(json!({ "call": "exists", "path": path }));
            operations.push(json!({ "call": "write", "path": path, "text": format!("content of {path}") }));
            operations.push(json!({ "call": "read", "path": path }));
            operations.push(json!({ "call": "size", "path": path }));
            operations.push(json!({ "call": "range", "path": path, "offset": 8, "length": 3 }));
        }
        operations.push(json!({ "call": "write", "path": paths[0], "text": "other" }));
        operations.push(json!({ "call": "read", "path": paths[0] }));
        // A prefix of a key is not the key.
        operations.push(json!({ "call": "exists", "path": "a/b/" }));
        let mut client = command(python.join("python"));
        in_job(&mut client, &job, version);
        let tag = format!("v{version}");
        let results = results(client, &["cache.py", &tag, &json!(operations).to_string()]).await;
        for (index, path) in paths.iter().enumerate() {
            let five = ok(&results[index * 5..index * 5 + 5]);
            let text = format!("content of {path}");
            let expected = [json!(false), Value::Null, json!(text), json!(text.len()), json!("of ")];
            assert_eq!(five, expected.iter().collect::<Vec<_>>(), "version {version} {path}: {results:?}");
        }
        let rest = &results[paths.len() * 5..];
        assert_eq!(rest[0]["error"], "AlreadyExists", "version {version}: {rest:?}");
        assert_eq!(rest[1]["ok"], "content of a/b/c", "the first content stays");
    }
}

#[tokio::test]
async fn opendal_writes_an_empty_value_in_version_2() {
    let Some(python) = python().await else { return };
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let operations = json!([
        { "call": "write", "path": "empty", "text": "" },
        { "call": "exists", "path": "empty" },
    ]);
    let mut client = command(python.join("python"));
    in_job(&mut client, &job, 2);
    let results = results(client, &["cache.py", "v", &operations.to_string()]).await;
    assert_eq!(ok(&results), [&Value::Null, &json!(true)], "{results:?}");
}

/// A server of sccache that stops at the end of the test.
struct Sccache<'a> {
    program: &'a Path,
    workspace: &'a Path,
    job: &'a Job,
    version: u32,
}

impl Sccache<'_> {
    fn command(&self) -> Command {
        let mut sccache = command(self.program);
        in_job(&mut sccache, self.job, self.version);
        sccache.current_dir(self.workspace).envs([
            ("SCCACHE_GHA_ENABLED", "on"),
            ("SCCACHE_GHA_VERSION", "test"),
            ("SCCACHE_IDLE_TIMEOUT", "60"),
            ("SCCACHE_IGNORE_SERVER_IO_ERROR", "0"),
        ]);
        sccache.env("SCCACHE_SERVER_UDS", self.workspace.join("socket"));
        sccache
    }

    /// Compiles a file with a fresh server, and returns the hits and the misses.
    async fn compile(&self) -> (u64, u64) {
        let mut compile = self.command();
        compile.args(["cc", "-c", "a.c", "-o", "a.o"]);
        let compiled = output(compile).await.expect("sccache is installed");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut stats = self.command();
        stats.args(["--show-stats", "--stats-format=json"]);
        let stats = output(stats).await.expect("sccache is installed");
        let stats: Value = serde_json::from_slice(&stats.stdout).expect("JSON");
        let mut stop = self.command();
        stop.arg("--stop-server");
        output(stop).await.expect("sccache is installed");
        let count = |name: &str| {
            let counts = stats["stats"][name]["counts"].as_object().expect("counts");
            counts.values().filter_map(Value::as_u64).sum()
        };
        assert_eq!(stats["stats"]["cache_write_errors"], 0, "{stats}");
        (count("cache_hits"), count("cache_misses"))
    }
}

#[tokio::test]
async fn sccache_finds_what_another_server_of_it_stored_in_both_versions() {
    let Some(python) = python().await else { return };
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let program = python.join("sccache");
    for version in [1, 2] {
        let job = farrier.begin_on("r", "main").await;
        let workspace = farrier.files(&format!("sccache{version}"));
        write(&workspace, "a.c", format!("int version_{version}(void) {{ return {version}; }}\n"));
        let sccache = Sccache { program: &program, workspace: &workspace, job: &job, version };
        assert_eq!(sccache.compile().await, (0, 1), "version {version}");
        assert_eq!(sccache.compile().await, (1, 0), "version {version}");
    }
}
