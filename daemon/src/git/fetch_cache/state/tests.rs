use std::collections::BTreeSet;

use super::*;

fn state_of(directory: &Path, generation: u64, removals: u64) -> FetchState {
    read(directory, generation, removals).expect("readable").expect("supported")
}

#[test]
fn each_change_of_refs_changes_the_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let state = |generation| state_of(dir.path(), generation, 0).of(StateScope::Refs);
    let mut states = vec![state(0)];
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("refs/heads/main", "1"),
        ("refs/heads/main", "2"),
        ("refs/heads/a/b", "2"),
        ("refs/tags/v1", "2"),
        ("refs/farrier/hidden", "2"),
        ("packed-refs", "2 refs/heads/packed\n"),
        ("packed-refs", "1 refs/heads/packed\n"),
        ("HEAD", "ref: refs/heads/a/b\n"),
        ("config", "[core]\n"),
    ] {
        file(name, text);
        states.push(state(0));
    }
    let last = state(0);
    states.push(state(1));
    let different: BTreeSet<_> = states.iter().collect();
    assert_eq!(different.len(), states.len());
    file("refs/heads/main.lock", "");
    fs::create_dir(dir.path().join("refs/heads/empty")).expect("a directory");
    assert_eq!(state(0), last, "neither is a ref");
    fs::remove_file(dir.path().join("refs/tags/v1")).expect("removed");
    assert_ne!(state(0), last);
    file("objects/info/alternates", "/elsewhere");
    assert_eq!(read(dir.path(), 0, 0).expect("readable"), None);
}

#[test]
fn a_change_changes_only_the_states_of_the_scopes_that_contain_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let scopes = [StateScope::Objects, StateScope::Tags, StateScope::Refs];
    for (name, text, changed) in [
        ("HEAD", "ref: refs/heads/main\n", [false, false, true]),
        ("refs/heads/main", "1", [false, false, true]),
        ("refs/heads/refs/tags/main", "1", [false, false, true]),
        ("refs/tags/v1", "1", [false, true, true]),
        ("refs/tags/a/b", "1", [false, true, true]),
        ("packed-refs", "# pack-refs\n1 refs/heads/packed\n", [false, false, true]),
        ("packed-refs", "# pack-refs\n1 refs/heads/packed\n1 refs/tags/v2\n^2\n", [false, true, true]),
        ("packed-refs", "# pack-refs\n2 refs/heads/packed\n1 refs/tags/v2\n^2\n", [false, false, true]),
        ("packed-refs", "# pack-refs\n2 refs/heads/packed\n3 refs/tags/v2\n^2\n", [false, true, true]),
        ("config", "[core]\n", [true, true, true]),
    ] {
        let before = state_of(dir.path(), 0, 0);
        file(name, text);
        let after = state_of(dir.path(), 0, 0);
        assert_eq!(scopes.map(|scope| before.of(scope) != after.of(scope)), changed, "{name} {text}");
    }
    let before = state_of(dir.path(), 0, 0);
    file("refs/tags/symbolic", "ref: refs/other/v1\n");
    assert_eq!(read(dir.path(), 0, 0).expect("readable"), None, "the value of the tag is elsewhere");
    fs::remove_file(dir.path().join("refs/tags/symbolic")).expect("removed");
    for (generation, removals, changed) in [(1, 0, [false, false, true]), (0, 1, [true, true, true])] {
        let after = state_of(dir.path(), generation, removals);
        assert_eq!(scopes.map(|scope| before.of(scope) != after.of(scope)), changed);
    }
}

#[test]
fn generations_are_raised_by_their_own_repository_and_at_the_end_of_work() {
    let generations = Generations::default();
    generations.raise(7);
    let guard = generations.raise_at_end(7);
    assert_eq!((generations.get(7), generations.get(8), generations.removals(7)), (1, 0, 0));
    drop(guard);
    assert_eq!((generations.get(7), generations.get(8), generations.get(u64::MAX)), (2, 0, 0));
    assert_eq!((generations.removals(7), generations.removals(8)), (1, 0));
}
