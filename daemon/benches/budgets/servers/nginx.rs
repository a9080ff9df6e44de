//! nginx: `WebDAV` PUT and files sent with `sendfile`.

use std::path::{Path, PathBuf};

use crate::{
    Result,
    child::{Child, installed, output_of},
    client::Over,
};

/// git's own CGI program.
const GIT_BACKEND: &str = "/usr/lib/git-core/git-http-backend";

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
    /// Starts nginx with an empty root; `None` if it is not installed.
    pub(crate) async fn start(dir: &Path) -> Result<Option<Self>> {
        let Some(program) = installed("nginx") else { return Ok(None) };
        let dav = output_of(&program, &["-V"])?.contains("http_dav_module");
        let root = dir.join("root");
        for directory in [root.clone(), dir.join("temporary")] {
            std::fs::create_dir_all(directory)?;
        }
        // nginx cannot report which port the kernel chose, so the benchmark chooses a free port.
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

    /// Serves the repositories in `dir`/git through fcgiwrap; `None` if it is not installed.
    pub(crate) fn serve_git(dir: &Path) -> Result<Option<Child>> {
        let Some(program) = installed("fcgiwrap").filter(|_| Path::new(GIT_BACKEND).is_file()) else { return Ok(None) };
        let socket = format!("unix:{}", dir.join("fcgi").display());
        Child::start(&program, &["-c", "4", "-s", &socket], &[("HOME", "/nonexistent")], dir).map(Some)
    }

    /// Returns the path of a file in the root.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // When the master of nginx is killed, its workers continue.
        let _ = self.child.stop();
    }
}

fn configuration(dir: &Path, address: &str, dav: bool) -> String {
    let dir = dir.display();
    // Otherwise the workers of a root master change to a user that may not read the directory.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let methods = if dav { "dav_methods PUT;" } else { "" };
    let backend = GIT_BACKEND;
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
        location ~ ^/git(/.*)$ {{
            fastcgi_pass unix:{dir}/fcgi; fastcgi_buffering off;
            fastcgi_param SCRIPT_FILENAME {backend};
            fastcgi_param GIT_PROJECT_ROOT {dir}/git; fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param PATH_INFO $1; fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_USER bench;
            fastcgi_param GIT_PROTOCOL $http_git_protocol; fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
        }}
    }}
}}
"
    )
}
