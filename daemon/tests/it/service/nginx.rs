//! nginx in front of the daemon, configured as in docs/operations.md: git and the artifact client only see URLs of
//! nginx.

use std::{path::PathBuf, process::Stdio};

use http::Method;
use serde_json::{Value, json};

use crate::support::{
    Job, ServerAddress, TestDaemon,
    client::{client, download, required, upload},
    eventually, free_address, git, process, send,
};

/// A running nginx.
struct Nginx {
    address: String,
    dir: PathBuf,
    _process: tokio::process::Child,
}

impl Nginx {
    /// Starts an nginx in front of the daemon at `behind`. Returns `None` if nginx is not installed.
    async fn start(address: &str, behind: &str, dir: PathBuf) -> Option<Self> {
        let paths = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
        let Some(program) = paths.into_iter().find(|path| std::path::Path::new(path).is_file()) else {
            assert!(!required("there is no nginx"), "there is no nginx");
            return None;
        };
        let config = dir.join("nginx.conf");
        std::fs::write(&config, configuration(address, behind, &dir)).expect("a file");
        let mut command = process::command(program);
        command.arg("-p").arg(&dir).arg("-c").arg(&config).args(["-e", "stderr"]);
        command.stderr(Stdio::from(std::fs::File::create(dir.join("errors")).expect("a file")));
        let started = Self { address: address.to_owned(), _process: command.spawn().expect("nginx starts"), dir };
        eventually("nginx listens", async || tokio::net::TcpStream::connect(address).await.is_ok()).await;
        Some(started)
    }

    fn passed(&self, method: &str, part: &str) -> bool {
        let log = std::fs::read_to_string(self.dir.join("requests")).unwrap_or_default();
        log.lines().any(|line| line.contains(&format!("\"{method} ")) && line.contains(part))
    }
}

/// The configuration from the manual, with the addresses of the test and without certificates.
fn configuration(address: &str, behind: &str, dir: &std::path::Path) -> String {
    let manual = include_str!("../../../../docs/operations.md");
    let example = manual.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let mut server = example.to_owned();
    for (theirs, ours) in [("443 ssl", address), ("http://127.0.0.1:3000", &format!("http://{behind}"))] {
        assert!(server.contains(theirs), "{server}");
        server = server.replace(theirs, ours);
    }
    let (dir, user) = (dir.display(), if rustix::process::geteuid().is_root() { "user root;" } else { "" });
    format!(
        "daemon off; master_process off; {user} pid {dir}/pid; error_log stderr;\nevents {{}}\nhttp {{\n\
         access_log {dir}/requests; client_body_temp_path {dir}/t; proxy_temp_path {dir}/t; fastcgi_temp_path {dir}/t;\n\
         uwsgi_temp_path {dir}/t; scgi_temp_path {dir}/t;\n{server}}}\n"
    )
}

/// A daemon behind nginx, with the address of nginx as its root URL.
async fn behind_nginx() -> Option<(TestDaemon, Nginx)> {
    let address = free_address().to_string();
    let farrier = TestDaemon::with(|config| {
        config.server.root_url = Some(format!("http://{address}/").parse().expect("an address"));
        config.server.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    })
    .await;
    let behind = farrier.url.trim_start_matches("http://").to_owned();
    let nginx = Nginx::start(&address, &behind, farrier.scratch()).await?;
    Some((farrier, nginx))
}

#[tokio::test(flavor = "multi_thread")]
async fn git_clones_and_pushes_through_nginx() {
    let Some((farrier, nginx)) = behind_nginx().await else { return };
    let token = farrier.token("admin", &["all"]).await;
    let header = format!("token {token}");
    let server = ServerAddress::Tcp(nginx.address.clone());
    let headers = [("authorization", header.as_str()), ("content-type", "application/json")];
    let created = send(&server, Method::POST, "/api/v1/user/repos", &headers, r#"{"name":"tool"}"#).await;
    assert_eq!(created.status, 201, "{created:?}");
    let fetched = created.json();
    let clone = fetched["clone_url"].as_str().expect("an address");
    assert_eq!(clone, format!("http://{}/admin/tool.git", nginx.address));

    let remote = clone.replacen("http://", &format!("http://any:{token}@"), 1);
    let work = git::Client::init(farrier.scratch().join("work"));
    // More than nginx buffers in memory, and more than git sends without chunked encoding.
    let large: Vec<u8> = (0_u32..2 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(work.dir().join("large"), &large).expect("a file");
    work.done(&["add", "."]);
    work.done(&["commit", "-q", "-m", "one"]);
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["clone", "-q", clone, "copy"]);
    assert!(std::fs::read(work.dir().join("copy/large")).expect("a file") == large);
    assert!(nginx.passed("POST", "git-receive-pack") && nginx.passed("POST", "git-upload-pack"));

    let listed = send(&server, Method::GET, "/api/v1/repos/search?limit=1&page=1", &headers, "").await;
    assert_eq!(listed.status, 200);
    let renamed = json!({ "name": "tools" }).to_string();
    assert_eq!(send(&server, Method::PATCH, "/api/v1/repos/admin/tool", &headers, renamed).await.status, 200);
    let moved = send(&server, Method::GET, "/api/v1/repos/admin/tool", &headers, "").await;
    assert_eq!(moved.header("location"), format!("http://{}/api/v1/repos/admin/tools", nginx.address));
}

/// Path and query of a URL that must be one of nginx.
fn path_at(nginx: &Nginx, url: &Value) -> String {
    let url = url.as_str().expect("an address");
    let path = url.strip_prefix(&format!("http://{}", nginx.address));
    path.unwrap_or_else(|| panic!("{url} is not at {}", nginx.address)).to_owned()
}

async fn call(nginx: &Nginx, job: &Job, method: &str, name: &str) -> Value {
    let message = json!({ "workflow_run_backend_id": job.run_id.to_string(), "size": "4", "name": name,
        "workflow_job_run_backend_id": job.job_id.to_string(), "version": 4 });
    let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
    let bearer = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    let server = ServerAddress::Tcp(nginx.address.clone());
    let answer = send(&server, Method::POST, &path, &headers, message.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn artifacts_are_uploaded_and_downloaded_through_nginx() {
    let Some((farrier, nginx)) = behind_nginx().await else { return };
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let results = job.env.iter().find(|(name, _)| name == "ACTIONS_RESULTS_URL").expect("an address");
    assert_eq!(results.1.trim_end_matches('/'), format!("http://{}", nginx.address));

    let server = ServerAddress::Tcp(nginx.address.clone());
    let target = path_at(&nginx, &call(&nginx, &job, "CreateArtifact", "plain").await["signed_upload_url"]);
    let put = async |what: &str, body: &'static str| {
        send(&server, Method::PUT, &format!("{target}&{what}"), &[], body).await.status
    };
    assert_eq!(put("comp=block&blockid=YQ==", "1234").await, 201);
    assert_eq!(put("comp=blocklist", "<BlockList><Latest>YQ==</Latest></BlockList>").await, 201);
    call(&nginx, &job, "FinalizeArtifact", "plain").await;
    let source = path_at(&nginx, &call(&nginx, &job, "GetSignedArtifactURL", "plain").await["signed_url"]);
    assert_eq!(send(&server, Method::GET, &source, &[], "").await.text(), "1234");

    // The official client gets only the environment of a job.
    let Some(client) = client(&job).await else { return };
    let (root, to) = (farrier.scratch().join("up"), farrier.scratch().join("down"));
    for dir in [&root, &to] {
        std::fs::create_dir(dir).expect("a directory");
    }
    std::fs::write(root.join("report"), vec![b'r'; 3 << 20]).expect("a file");
    let calls = [upload("report", &root, &["report"], Value::Null), download(json!({ "of": 0 }), &to, Value::Null)];
    client.run(&calls).await.ok(1);
    assert_eq!(std::fs::read(to.join("report")).expect("a file"), vec![b'r'; 3 << 20]);
    assert!(nginx.passed("PUT", "/_blob/") && nginx.passed("GET", "/_blob/"));
}
