//! nginx: `WebDAV` PUT, and files sent by the kernel.

use std::path::{Path, PathBuf};

use crate::{
    Result,
    child::{Child, installed, said},
    client::Over,
};

/// A running nginx.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) tcp: Over,
    pub(crate) unix: Over,
    root: PathBuf,
    /// Whether it was built with `WebDAV`.
    pub(crate) dav: bool,
}

impl Nginx {
    /// Starts it on an empty root, if it is installed.
    pub(crate) async fn start(dir: &Path) -> Result<Option<Self>> {
        let Some(program) = installed("nginx") else { return Ok(None) };
        let dav = said(&program, &["-V"])?.contains("http_dav_module");
        let root = dir.join("root");
        for place in [root.clone(), dir.join("temporary")] {
            std::fs::create_dir_all(place)?;
        }
        // nginx cannot say which port the kernel chose, so one that is free is chosen here.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let config = dir.join("nginx.conf");
        std::fs::write(&config, configuration(dir, &address, dav))?;
        let (prefix, config) = (dir.to_str(), config.to_str());
        let (Some(prefix), Some(config)) = (prefix, config) else { return Err("the directory is not UTF-8".into()) };
        let mut child = Child::start(&program, &["-p", prefix, "-c", config, "-e", "stderr"], &[], dir)?;
        let (tcp, unix) = (Over::Tcp(address), Over::Unix(dir.join("socket")));
        child.answers(&tcp).await?;
        Ok(Some(Self { child, tcp, unix, root, dav }))
    }

    /// A file under the root.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A master that is killed leaves its workers behind.
        let _ = self.child.stop();
    }
}

fn configuration(dir: &Path, address: &str, dav: bool) -> String {
    let dir = dir.display();
    // Without this, workers of a master that is root change to a user who may not read the root.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let methods = if dav { "dav_methods PUT;" } else { "" };
    format!(
        "daemon off; worker_processes auto; pid {dir}/pid; error_log stderr; {user}
events {{ worker_connections 512; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
    client_max_body_size 0;
    client_body_temp_path {dir}/temporary; proxy_temp_path {dir}/temporary; fastcgi_temp_path {dir}/temporary;
    uwsgi_temp_path {dir}/temporary; scgi_temp_path {dir}/temporary;
    server {{
        listen {address}; listen unix:{dir}/socket;
        root {dir}/root;
        location / {{ {methods} }}
    }}
}}
"
    )
}
