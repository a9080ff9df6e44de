//! Repositories: creating, editing, listing, deleting, and migrating them.

mod creating;
mod deleting;
mod editing;
mod fork_events;
mod forks;
mod generating;
mod interests;
mod listing;
mod long_lists;
pub mod migrating;
mod redirects;
mod tasks;
mod topics;
mod transferring;
mod unknown_outcomes;
mod upstream;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestDaemon, send};

impl TestDaemon {
    /// Creates an account with the password `password`.
    pub async fn account(&self, name: &str) {
        let body = json!({ "username": name, "email": format!("{name}@example.org"), "password": "password",
            "must_change_password": false });
        let created = self.admin(Method::POST, "/api/v1/admin/users", body).await;
        assert_eq!(created.status, 201, "{created:?}");
    }

    /// Sends a request over TCP as the account `name`, or anonymously if it is empty.
    pub async fn by(&self, name: &str, method: Method, path: &str, body: Value) -> Answer {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let authorization = format!("Basic {}", STANDARD.encode(format!("{name}:password")));
        let mut headers = vec![("content-type", "application/json")];
        if !name.is_empty() {
            headers.push(("authorization", &authorization));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.tcp(), method, path, &headers, body).await
    }

    pub async fn show(&self, path: &str) -> Answer {
        self.admin(Method::GET, path, Value::Null).await
    }

    pub async fn create_repository(&self, body: Value) -> Value {
        let created = self.admin(Method::POST, "/api/v1/user/repos", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.json()
    }

    /// Names of the repository directories.
    pub fn directories(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.data_dir().join("repositories")).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name != farrierd::data_dir::FILE).collect()
    }

    /// Runs git directly in the directory of a repository.
    #[expect(clippy::disallowed_methods, reason = "tests inspect the repositories of the daemon")]
    pub fn git(&self, id: &Value, args: &[&str]) -> String {
        let directory = self.data_dir().join(format!("repositories/{id}.git"));
        let output = std::process::Command::new("git").arg("--git-dir").arg(directory).args(args).output();
        let output = output.expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// The names in a list, or in the data of a search.
fn names(answer: &Answer) -> Vec<String> {
    let json = answer.json();
    let list = json.as_array().or_else(|| json["data"].as_array()).unwrap_or_else(|| panic!("{answer:?}"));
    list.iter().map(|repo| repo["name"].as_str().expect("a name").to_owned()).collect()
}
