//! Teams on the command line, with a real daemon.

use crate::repos::demo;

#[test]
fn teams_are_created_changed_and_deleted_with_members_and_repositories() {
    let daemon = demo();
    daemon.farrier(&["user", "create", "ann", "--email", "ann@example.org"]).ok();
    daemon.farrier(&["org", "create", "acme"]).ok();
    daemon.farrier(&["repo", "create", "acme/app", "--private"]).ok();
    let team = |words: &[&str]| daemon.farrier(&[&["team"], words].concat());
    let created = team(&["create", "acme", "devs", "--json"]).json();
    assert_eq!(created["units_map"]["repo.code"], "read");
    assert_eq!(team(&["create", "acme", "devs"]).code, 9, "the name is used");
    assert_eq!(team(&["list", "acme", "-q"]).ok().stdout, "Owners\ndevs\n");
    let edited = team(&["edit", "acme", "devs", "--unit", "repo.code=write", "--json"]).json();
    assert_eq!(
        (&edited["units_map"]["repo.code"], &edited["units"]),
        (&"write".into(), &serde_json::json!(["repo.code"]))
    );
    let listed = team(&["list", "acme"]).ok().stdout;
    assert!(listed.contains("code=write") && listed.contains("owner"), "{listed}");
    team(&["add-member", "acme", "devs", "ann"]).ok();
    assert_eq!(team(&["members", "acme", "devs", "-q"]).ok().stdout, "ann\n");
    team(&["add-repo", "acme", "devs", "acme/app"]).ok();
    assert_eq!(team(&["repos", "acme", "devs", "-q"]).ok().stdout, "acme/app\n");
    assert_eq!(team(&["add-repo", "acme", "devs", "admin/demo"]).code, 3, "a repository of a user");
    team(&["remove-repo", "acme", "devs", "acme/app"]).ok();
    team(&["remove-member", "acme", "devs", "ann"]).ok();
    assert_eq!(team(&["members", "acme", "nothing"]).code, 3);
    assert_eq!(team(&["delete", "acme", "devs"]).code, 2, "a deletion is confirmed");
    team(&["delete", "acme", "devs", "--yes"]).ok();
    assert_eq!(team(&["list", "acme", "-q"]).ok().stdout, "Owners\n");
}
