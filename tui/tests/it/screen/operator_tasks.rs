//! Frequent tasks of operators, with the full screen in a pane of tmux and a real daemon: each one succeeds, with the
//! number of keys that docs/terminal.md lists.
//!
//! A typed text, such as a name, counts as one key. The first key is pressed on the screen that the test starts on, or
//! on the screen on which the previous task ended.

use super::{
    SessionOptions,
    tmux::{Pane, Tmux},
};
use crate::{repos::demo, session::Daemon};

/// The tasks, each with the number of keys that it takes now and the number to reach. The numbers may only go down.
const TASKS: [(&str, usize, usize); 12] = [
    ("create a repository", 4, 4),
    ("create a hook, see its secret and copy it", 7, 8),
    ("find why deliveries fail", 2, 2),
    ("redeliver all deliveries that failed for one cause", 3, 3),
    ("disable a hook that fails", 2, 3),
    ("undo the last change", 1, 1),
    ("download an artifact", 4, 4),
    ("delete the 20 oldest artifacts", 6, 6),
    ("import a repository", 4, 6),
    ("create a token and copy it", 5, 6),
    ("watch a background task", 2, 3),
    ("find who deleted a repository", 3, 4),
];

impl Pane {
    /// Checks the number of keys since the last task.
    #[track_caller]
    fn finish(&mut self, task: &str) {
        let (_, expected, _) = TASKS.iter().find(|(name, ..)| *name == task).unwrap();
        assert_eq!(self.take_keys(), *expected, "{task}: update TASKS and docs/terminal.md, if the number went down");
    }
}

#[test]
fn the_manual_lists_the_tasks_with_their_numbers_of_keys() {
    let manual = include_str!("../../../../docs/terminal.md");
    for (task, now, target) in TASKS {
        let row = format!("| {task} | {now} | {target} |");
        assert!(manual.lines().any(|line| line == row), "docs/terminal.md has no row {row}");
    }
}

#[test]
fn a_repository_is_created_and_the_deletion_of_another_one_is_found() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/gone"]).ok();
    daemon.farrier(&["repo", "delete", "admin/gone", "--yes"]).ok();
    let Some(mut pane) = Pane::open(&daemon) else { return };
    pane.press("n");
    pane.wait_for("New repository");
    pane.press("Tab");
    pane.type_text("tool");
    pane.wait_for("[tool ");
    pane.press("C-s");
    pane.wait_for_cursor_row(&["admin/tool"]);
    daemon.farrier(&["repo", "show", "admin/tool"]).ok();
    pane.finish("create a repository");

    pane.press("6");
    pane.wait_for("repository.delete");
    pane.press("/");
    pane.type_text("repository.delete gone");
    pane.wait_for_cursor_row(&["repository.delete", "admin/gone", "admin "]);
    pane.finish("find who deleted a repository");
}

#[test]
fn a_hook_and_a_token_are_created_and_their_secrets_copied() {
    let daemon = Daemon::with_allowed_hosts("loopback");
    let Some(mut pane) = Pane::open(&daemon) else { return };
    pane.press("3");
    pane.wait_for("No hooks");
    pane.press("n");
    pane.wait_for("New hook");
    for _ in 0..2 {
        pane.press("Tab");
    }
    pane.type_text("http://127.0.0.1:9/in");
    pane.wait_for("[http://127.0.0.1:9/in ");
    pane.wait_for("(o) generated");
    pane.press("C-s");
    pane.wait_for("whsec_");
    pane.once_it_accepts_keys().press("y");
    let secret = pane.wait_for_copy("whsec_");
    assert!(pane.text().contains(&secret), "the copied secret is the shown one");
    pane.finish("create a hook, see its secret and copy it");
    pane.press("Escape");
    pane.wait_for_cursor_row(&["http://127.0.0.1:9/in"]);

    pane.take_keys();
    pane.press("7");
    pane.wait_for("tokens of admin");
    pane.wait_for_cursor_row(&["admin"]);
    pane.press("N");
    pane.wait_for("New token of admin");
    pane.type_text("laptop");
    pane.wait_for("[laptop ");
    pane.press("C-s");
    pane.wait_for("frr_");
    pane.once_it_accepts_keys().press("y");
    let token = pane.wait_for_copy("frr_");
    assert!(pane.text().contains(&token), "the copied token is the shown one");
    pane.finish("create a token and copy it");
}

#[test]
fn the_cause_of_failed_deliveries_is_found_and_the_hook_is_repaired() {
    let daemon = Daemon::without_retries();
    daemon.farrier(&["hook", "create", "--system", "--events", "repository", "http://127.0.0.1:9/in"]).ok();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let attempts = || daemon.farrier(&["delivery", "list", "--json"]).json()["deliveries"][0]["attempts"].clone();
    let Some(mut pane) = Pane::open(&daemon) else { return };
    pane.wait("the failed attempt", |_| attempts() == 1);
    let problem = ["hook 1 failed", "R redeliver"];
    pane.press("1");
    pane.wait_for_problem(&problem);
    pane.press("Enter");
    pane.wait_for("[4 Deliv]");
    pane.wait_for_cursor_row(&["admin/demo", "FAIL"]);
    pane.wait_for("refused");
    pane.finish("find why deliveries fail");

    pane.press("1");
    pane.wait_for_problem(&problem);
    pane.press("R");
    pane.wait_for("1 failed delivery is redelivered.");
    pane.once_it_accepts_keys().press("y");
    pane.wait("another attempt", |_| attempts() == 2);
    pane.finish("redeliver all deliveries that failed for one cause");

    let is_active = || daemon.farrier(&["hook", "show", "1", "--json"]).json()["active"].clone();
    pane.press("2");
    pane.wait_for("[2 Repos]");
    pane.take_keys();
    pane.press("1");
    pane.wait_for_problem(&["hook 1 failed"]);
    pane.press("t");
    pane.wait_for("turned off");
    assert_eq!(is_active(), false);
    pane.finish("disable a hook that fails");
    pane.press("z");
    pane.wait_for("turned on");
    assert_eq!(is_active(), true);
    pane.finish("undo the last change");
}

#[test]
fn an_artifact_is_downloaded_and_the_oldest_ones_are_deleted() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let farrier = crate::session::FARRIER;
    let run = |script: &str| {
        daemon.farrier(&["ci", "exec", "--repo", "admin/demo", "--", "sh", "-ec", script]).ok();
    };
    for group in [1, 8, 15] {
        // Artifacts of several runs: no row of the list has all of the oldest ones.
        let last = if group == 15 { 20 } else { group + 6 };
        run(&format!(
            "for name in $(seq {group} {last}); do echo $name >old-$name.txt; {farrier} artifact upload -q old-$name.txt; \
             done"
        ));
    }
    run(&format!("echo new >raw.txt; {farrier} artifact upload -q raw.txt; rm raw.txt"));
    let Some(mut pane) = Pane::open(&daemon) else { return };
    pane.press("5");
    pane.wait_for("21 artifacts");
    for _ in 0..2 {
        pane.press("j");
    }
    pane.wait_for_cursor_row(&["raw.txt"]);
    pane.press("d");
    pane.wait_for("raw.txt saved");
    assert_eq!(std::fs::read_to_string(daemon.work("raw.txt")).unwrap(), "new\n");
    pane.finish("download an artifact");

    pane.press("2");
    pane.wait_for("[2 Repos]");
    pane.take_keys();
    pane.press("5");
    pane.wait_for("21 artifacts");
    pane.press(":");
    pane.type_text("artifact delete --oldest 20");
    pane.wait_for("--oldest 20");
    pane.press("Enter");
    pane.wait_for("Delete 20 artifacts");
    pane.once_it_accepts_keys().type_text("20");
    pane.press("Enter");
    let left = || daemon.farrier(&["artifact", "list", "--repo", "admin/demo", "-q"]).ok().stdout;
    pane.wait("the deletion", |_| left().lines().count() == 1);
    assert!(daemon.farrier(&["artifact", "list", "--repo", "admin/demo"]).ok().stdout.contains("raw.txt"));
    pane.finish("delete the 20 oldest artifacts");
}

#[test]
fn a_repository_is_imported_and_its_task_is_watched() {
    let source = demo();
    let status = source.farrier(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    let tcp = listeners.iter().find(|one| one["kind"] == "tcp").unwrap()["address"].as_str().unwrap();
    let daemon = Daemon::with_allowed_hosts("loopback");
    let Some(mut pane) = Pane::open(&daemon) else { return };
    pane.press("M");
    pane.wait_for("Clone from");
    pane.type_text(&format!("http://{tcp}/admin/demo.git"));
    pane.wait_for("/admin/demo.git ");
    // Leaving the field fills in the name.
    pane.press("Tab");
    pane.wait_for("[demo ");
    pane.press("C-s");
    pane.wait_for_cursor_row(&["admin/demo"]);
    pane.finish("import a repository");

    pane.press("9");
    pane.wait_for_cursor_row(&["admin/demo", "done"]);
    pane.press("Enter");
    pane.wait_for("─ Task ");
    pane.finish("watch a background task");
    assert_eq!(daemon.farrier(&["repo", "branches", "admin/demo", "-q"]).ok().stdout, "feature/x\nmain\n");
}

#[test]
fn the_screen_survives_detaching_attaching_and_resizing() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let Some(pane) = Pane::open(&daemon) else { return };
    let script = format!("exec tmux -u -S {} -f /dev/null attach", pane.tmux.socket.display());
    let attach = |size| {
        let (socket, directory) = (daemon.socket(), daemon.work("."));
        SessionOptions { socket, directory, words: &[], env: &[], size, script: Some(script.as_str()) }.session()
    };
    let size = |tmux: &Tmux| tmux.run(&["display-message", "-p", "#{pane_width}x#{pane_height}"]).unwrap_or_default();
    let mut client = attach((100, 30));
    client.wait_for_cursor_row("admin/demo");
    pane.wait("the size of the first client", |_| size(&pane.tmux).trim() == "100x30");
    pane.tmux.run(&["detach-client", "-s", "farrier"]).unwrap();
    assert_eq!(client.wait_for_exit().code(), Some(0));

    // The program runs on while no terminal is attached.
    daemon.farrier(&["repo", "create", "admin/meanwhile"]).ok();
    let mut client = attach((80, 24));
    client.wait_for("admin/meanwhile");
    pane.wait("the size of the second client", |_| size(&pane.tmux).trim() == "80x24");
    client.type_keys("?");
    client.wait_for("Help: Repositories");
    for (columns, rows) in [(140, 45), (40, 10), (120, 40)] {
        client.resize((columns, rows));
        pane.wait("the new size", |_| size(&pane.tmux).trim() == format!("{columns}x{rows}"));
        client.wait("the help in the new size", |screen| {
            screen.contents().contains("Help: Repositories")
                && screen.rows(0, columns).last().is_some_and(|row| row.contains("close"))
        });
    }
    client.type_keys("\x1b");
    client.wait_for_cursor_row("admin/demo");
    client.leave();
}
