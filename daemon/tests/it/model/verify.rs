//! Comparison of the model with the daemon and its data directory.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use http::Method;
use serde_json::{Value, json};

use super::{
    acknowledged::{Repository, State},
    sequence::Sequence,
};
use crate::support::{git::Client, send};

impl Sequence<'_> {
    /// Verifies that the daemon and its disk have everything that was acknowledged, then stops the daemon and
    /// verifies that `check-data` finds no damage.
    pub(super) async fn verify(&mut self) {
        self.now_ms();
        self.model.retire(self.latest_ms);
        let model = self.model.clone();
        for (id, row) in &model.repositories {
            self.counts.verified_repositories += 1;
            self.verify_repository(*id, row).await;
        }
        for (id, row) in &model.artifacts {
            self.counts.verified_artifacts += 1;
            if row.state == State::Live && model.is_live(row.repository) {
                let path = format!("{}/actions/artifacts/{id}", self.api(row.repository));
                let fetched = self.request_ok(Method::GET, &path, Value::Null, 200).await.json();
                assert_eq!(fetched["size_in_bytes"].as_u64(), Some(row.content.len() as u64), "{fetched}");
            }
            let directories = self.directories("artifacts", &id.to_string());
            let is_there = directories.iter().any(|directory| contains_file(directory, &row.content));
            assert!(is_there, "the bytes of artifact {id} ({:?}) are in none of {directories:?}", row.state);
        }
        for id in model.live_hooks() {
            let hook = &model.hooks[&id];
            let path = format!("{}/hooks/{id}", self.api(hook.repository));
            let fetched = self.request_ok(Method::GET, &path, Value::Null, 200).await.json();
            assert_eq!(fetched["config"]["url"], json!(hook.url), "{fetched}");
        }
        self.daemon.stop().await;
        self.verify_data().await;
    }

    /// Verifies that `check-data` finds no damage in the data of the stopped daemon.
    pub(super) async fn verify_data(&self) {
        let checked = self.daemon.check_data(&["--json"]).await;
        let report: Value = serde_json::from_slice(&checked.stdout).unwrap_or_else(|_| panic!("{checked:?}"));
        assert_eq!((checked.status.code(), &report["damage"]), (Some(0), &json!(0)), "{report:#}");
    }

    async fn verify_repository(&self, id: u64, row: &Repository) {
        let directories = self.directories("repositories", &format!("{id}.git"));
        assert_eq!(directories.len(), 1, "repository {id} ({:?}): {directories:?}", row.state);
        if row.state == State::Live {
            let path = format!("/api/v1/repositories/{id}");
            let fetched = self.request_ok(Method::GET, &path, Value::Null, 200).await.json();
            assert_eq!(fetched["name"], json!(row.name), "{fetched}");
            assert_eq!(directories[0], self.daemon.data_dir().join(format!("repositories/{id}.git")));
        } else if matches!(row.state, State::Deleted(_)) {
            let path = format!("/api/v1/repositories/{id}");
            assert_eq!(send(&self.daemon.unix(), Method::GET, &path, &[], "").await.status, 404);
        }
        let git = Client::at(&directories[0]);
        // Files of refs follow their rows before the daemon lists refs.
        let seen = (row.state == State::Live).then(|| {
            let remote = self.daemon.remote(&format!("admin/{}", row.name), &self.token);
            git.done(&["ls-remote", "--refs", &remote])
        });
        let listed = git.done(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        if let Some(seen) = seen {
            let seen = seen.lines().filter_map(|line| line.split_once('\t')).map(|(tip, name)| format!("{name} {tip}"));
            assert_eq!(seen.collect::<Vec<_>>(), listed.lines().collect::<Vec<_>>(), "refs of repository {id}");
        }
        let found: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
        for (name, tips) in &row.refs {
            let tip = found.get(name.as_str()).map(|tip| (*tip).to_owned());
            assert!(tips.contains(&tip), "{name} of repository {id} is {tip:?} and should be one of {tips:?}");
        }
        assert!(found.keys().all(|name| row.refs.contains_key(*name)), "{found:?} and {:?}", row.refs);
        if !found.is_empty() {
            git.done(&["rev-list", "--objects", "--all", "--quiet"]);
        }
    }

    /// Directories named `name`, in place or set aside, with or without a suffix.
    fn directories(&self, kind: &str, name: &str) -> Vec<PathBuf> {
        let data = self.daemon.data_dir();
        let mut found = vec![data.join(kind).join(name)];
        for date in entries(&data.join("set-aside")) {
            let is_called = |path: &PathBuf| {
                let is = path.file_name().and_then(|is| is.to_str()).unwrap_or_default();
                is == name || is.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
            };
            found.extend(entries(&date.join(kind)).into_iter().filter(is_called));
        }
        found.retain(|path| path.is_dir());
        found
    }
}

/// Whether a file below `directory` has the content `content`.
fn contains_file(directory: &Path, content: &[u8]) -> bool {
    entries(directory).into_iter().any(|path| {
        if path.is_dir() {
            contains_file(&path, content)
        } else {
            std::fs::read(&path).is_ok_and(|bytes| bytes == content)
        }
    })
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
