//! `farrier audit`.

use crate::session::Daemon;

#[test]
fn the_audit_log_is_listed_filtered_and_shown() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo", "--private"]).ok();
    daemon.farrier(&["repo", "delete", "admin/demo", "--yes"]).ok();
    let listed = daemon.farrier(&["audit", "list", "--repo", "admin/demo", "--json"]).json();
    let actions: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(
        (actions.as_slice(), &listed["total_count"]),
        (&["repository.delete", "repository.create"][..], &2.into())
    );
    for (arguments, count) in [
        (&["--action", "repository.create"][..], 1),
        (&["--actor", "nobody"], 0),
        (&["--object", "repository:demo", "--since", "1h", "--limit", "1"], 1),
        (&["--until", "2001-01-01"], 0),
        (&["--own"], 2),
    ] {
        let listed = daemon.farrier(&[&["audit", "list", "--json"], arguments].concat()).json();
        assert_eq!(listed["total_count"], count, "{arguments:?}");
    }
    let table = daemon.farrier(&["audit", "list"]).ok().stdout;
    assert!(table.contains("repository admin/demo") && table.contains("repository.delete"), "{table}");
    let id = listed["entries"][1]["id"].to_string();
    let page = daemon.farrier(&["audit", "show", &id]).ok().stdout;
    assert!(page.contains("private: true") && page.contains("repository.create"), "{page}");
    assert_eq!(daemon.farrier(&["audit", "show", "999999"]).code, 3);
    assert_eq!(daemon.farrier(&["audit", "list", "--since", "soon"]).code, 2);
}
