//! Organizations and teams on the command line, with a real daemon.

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

#[test]
fn organizations_are_changed() {
    let daemon = demo();
    daemon.farrier(&["org", "create", "acme"]).ok();
    let edit = |words: &[&str]| daemon.farrier(&[&["org", "edit"], words].concat());
    let edited = edit(&["acme", "--description", "tools", "--visibility", "limited", "--json"]).json();
    assert_eq!((&edited["description"], &edited["visibility"]), (&"tools".into(), &"limited".into()));
    let nothing = edit(&["acme"]);
    assert!(nothing.code == 2 && nothing.stderr.contains("nothing to change"), "{nothing:?}");
    assert_eq!(edit(&["nothing", "--location", "x"]).code, 3);
}

#[test]
fn teams_of_a_transfer_are_given_by_name_or_id() {
    let daemon = demo();
    daemon.farrier(&["org", "create", "acme"]).ok();
    let team = |name: &str| daemon.farrier(&["team", "create", "acme", name, "--json"]).json()["id"].to_string();
    let (_, ops) = (team("devs"), team("ops"));
    let transfer =
        |repo: &str, words: &[&str]| daemon.farrier(&[&["repo", "transfer", repo, "acme"][..], words].concat());
    let unknown = transfer("admin/demo", &["--team", "nothing"]);
    assert!(unknown.code == 3 && unknown.stderr.contains("acme has no team nothing"), "{unknown:?}");
    daemon.farrier(&["repo", "show", "admin/demo"]).ok();
    transfer("admin/demo", &["--team", "DEVS", "--team", &ops]).ok();
    for name in ["devs", "ops"] {
        assert_eq!(daemon.farrier(&["team", "repos", "acme", name, "-q"]).ok().stdout, "acme/demo\n", "{name}");
    }
    assert_eq!(transfer("acme/demo", &["--team", "-1"]).code, 2, "no option and no name");
}
