//! Rules that protect branches and tags on the command line, with a real daemon.

use crate::repos::demo;

#[test]
fn rules_are_added_listed_changed_and_deleted() {
    let daemon = demo();
    let protect = |words: &[&str]| daemon.farrier(&[&["repo", "protect"][..], words].concat());
    let added = protect(&["add", "admin/demo", "release/*", "--json"]).json();
    assert_eq!((&added["rule_name"], &added["enable_push"]), (&"release/*".into(), &true.into()));
    assert_eq!((&added["enable_push_whitelist"], &added["enable_force_push"]), (&false.into(), &false.into()));
    assert_eq!(protect(&["add", "admin/demo", "release/*"]).code, 4, "the rule exists");
    let added =
        protect(&["add", "admin/demo", "main", "--users", "admin", "--force", "listed", "--priority", "1", "--json"]);
    let added = added.json();
    assert_eq!((&added["enable_push_whitelist"], &added["priority"]), (&true.into(), &1.into()));
    assert_eq!(protect(&["add", "admin/demo", "x", "--users", "nobody-here"]).code, 9, "the user does not exist");
    let listed = protect(&["list", "admin/demo"]).ok().stdout;
    assert!(listed.contains("everyone") && listed.contains("admin") && listed.contains("nobody"), "{listed}");
    let edited = protect(&["edit", "admin/demo", "main", "--push", "nobody", "--signed", "true"]).ok().stdout;
    assert!(edited.contains("does not sign"), "{edited}");
    assert_eq!(protect(&["edit", "admin/demo", "main"]).code, 2, "nothing to change");
    assert_eq!(protect(&["edit", "admin/demo", "nothing", "--push", "nobody"]).code, 3);
    assert_eq!(protect(&["delete", "admin/demo", "main"]).code, 2, "a deletion is confirmed");
    protect(&["delete", "admin/demo", "main", "--yes"]).ok();
    assert_eq!(protect(&["list", "admin/demo", "-q"]).ok().stdout, "release/*\n");

    let added = protect(&["add", "admin/demo", "v*", "--tags", "--users", "admin", "--json"]).json();
    assert_eq!((&added["name_pattern"], &added["whitelist_usernames"][0]), (&"v*".into(), &"admin".into()));
    protect(&["edit", "admin/demo", "v*", "--tags", "--users="]).ok();
    let listed = protect(&["list", "admin/demo", "--tags"]).ok().stdout;
    assert!(listed.contains("v*") && listed.contains("nobody"), "{listed}");
    protect(&["delete", "admin/demo", "v*", "--tags", "--yes"]).ok();
    assert_eq!(protect(&["list", "admin/demo", "--tags", "-q"]).ok().stdout, "");
}
