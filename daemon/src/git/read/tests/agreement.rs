use super::*;
use crate::git::tests::prune;

/// Compares all objects, trees, paths and refs with git's output.
async fn compare(git: &Git, state: &str) {
    let reader = fresh(git);
    compare_objects(git, &reader, state).await;
    compare_trees(git, &reader, state).await;
    compare_refs(git, state).await;
}

async fn compare_objects(git: &Git, reader: &RepositoryReader, state: &str) {
    let all = run(git, &["cat-file", "--batch-all-objects", "--batch-check"], "").await;
    let infos = objects::infos(all.as_bytes());
    assert!(infos.len() > 50, "{state}");
    let ids: Vec<String> = infos.iter().flatten().map(|info| info.id.clone()).collect();
    let expected = reader.call(["cat-file", "--batch"]).stdin(lines(&ids)).output_max_bytes(64 << 20).run().await;
    let expected = objects::objects(&expected.expect("objects").stdout).expect("git's form");
    let read = reader.objects_directly(&ids, 64 << 20).await.expect("read").expect("supported");
    assert_eq!(read, expected, "{state}");
    let again = reader.objects_directly(&ids, 64 << 20).await.expect("read").expect("supported");
    assert_eq!(again, expected, "{state}");
    for kind in ["", "^{commit}", "^{tree}"] {
        let names: Vec<String> = ids.iter().map(|id| format!("{id}{kind}")).collect();
        for (name, expected) in names.iter().zip(reader.infos(&names).await.expect("infos")) {
            let read = fresh(git).first_directly(std::slice::from_ref(name)).await.expect("read");
            assert_eq!(read, Some(expected), "{state}: {name}");
        }
    }
    let missing = ["0123456789".repeat(4)];
    assert_eq!(reader.objects_directly(&missing, 100).await.expect("read"), Some(vec![None]), "{state}");
}

async fn compare_trees(git: &Git, reader: &RepositoryReader, state: &str) {
    let commits = run(git, &["rev-list", "--all"], "").await;
    for commit in commits.lines() {
        let mut all = Vec::new();
        for recursive in [false, true] {
            let call = reader.call(["ls-tree", "-z", "-l", "--full-tree"]);
            let call = if recursive { call.args(["-r", "-t"]) } else { call };
            let expected = tree::parse(&call.paths([commit]).run().await.expect("a tree").stdout);
            let read = reader.tree_directly(commit, recursive).await.expect("read").expect("supported");
            assert_eq!(read, expected, "{state}: {commit}");
            all = read;
        }
        for expected in all.iter().filter(|entry| !entry.path.contains('\u{fffd}')) {
            let read = reader.entry_directly(commit, &expected.path).await.expect("read").expect("supported");
            assert_eq!(read.as_ref(), Some(expected), "{state}: {commit}");
        }
        for missing in ["nothing", "src/nothing", "README.md/x", "lib/x", "src//a", "src/\u{fffd}\u{fffd} odd"] {
            let read = reader.entry_directly(commit, missing).await.expect("read").expect("supported");
            assert_eq!(read, None, "{state}: {missing}");
        }
    }
}

async fn compare_refs(git: &Git, state: &str) {
    for prefix in ["refs/heads/", "refs/tags/", "refs/tags/v1.0", "refs/heads/feature", "refs", "refs/none/"] {
        let reader = fresh(git);
        let output = reader.call(["for-each-ref", refs::FORMAT]).paths([prefix]).run().await.expect("refs");
        let mut expected = refs::parse(&output.stdout);
        // Newer versions of git follow tags of tags to the end.
        expected.retain(|found| !found.name.ends_with("of-a-tag"));
        for _ in 0..2 {
            let mut read = reader.refs_directly(prefix).await.expect("read").expect("supported");
            read.retain(|found| !found.name.ends_with("of-a-tag"));
            assert_eq!(read, expected, "{state}: {prefix}");
        }
    }
    let names =
        ["refs/heads/main", "refs/heads/w\u{fc}nsch", "refs/tags/of-a-tag", "refs/tags/light", "refs/heads/none"];
    for name in names.map(|name| format!("{name}^{{commit}}")) {
        let reader = fresh(git);
        let expected = reader.infos(std::slice::from_ref(&name)).await.expect("infos");
        let read = reader.first_directly(std::slice::from_ref(&name)).await.expect("read");
        assert_eq!(read, Some(expected[0].clone()), "{state}: {name}");
    }
    assert_eq!(fresh(git).is_empty_directly().await.expect("read"), Some(false));
}

#[tokio::test]
async fn objects_trees_and_refs_are_those_of_git_in_every_kind_of_storage() {
    for (seed, sha256) in [(1, false), (7_919, false), (42, true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git_in(dir.path());
        git.init_bare(ID, "main", sha256).await.expect("created");
        assert_eq!(git.reader(ID).is_empty_directly().await.expect("read"), Some(true));
        let mut input = history(seed, 30);
        if sha256 {
            let id = "0123456789012345678901234567890123456789";
            input = replaced(&input, id.as_bytes(), "1".repeat(64).as_bytes());
        }
        let import = git.call(ID, ["fast-import", "--quiet"]).config("fastimport.unpackLimit", "100000");
        import.stdin(input).run().await.expect("imported");
        compare(&git, "loose").await;
        run(&git, &["repack", "-adq", "--depth=50", "--window=50"], "").await;
        run(&git, &["prune-packed"], "").await;
        compare(&git, "packed").await;
        run(&git, &["pack-refs", "--all"], "").await;
        let more = git.call(ID, ["fast-import", "--quiet", "--force"]).config("fastimport.unpackLimit", "1");
        let more = more.stdin(b"commit refs/heads/main\ncommitter C <c@x> 1800000000 +0000\ndata 1\nx\nfrom refs/heads/main^0\nM 100644 inline new\ndata 3\nnew\n\n".to_vec());
        more.run().await.expect("imported");
        compare(&git, "two packs, packed and loose refs").await;
        let by_id = git.call(ID, ["repack", "-adfq", "--depth=20"]).config("repack.useDeltaBaseOffset", "false");
        by_id.run().await.expect("repacked");
        compare(&git, "deltas with ids").await;
        let lock = git.lock(ID).await;
        prune(&git, ID, (1_900_000_000, 1_900_000_000), &lock).await;
        compare(&git, "after maintenance").await;
    }
}

/// Replaces each occurrence of `from` in bytes that need not be text.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|part| part == from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

#[tokio::test]
async fn names_that_only_git_understands_are_left_to_git() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git_in(dir.path());
    git.init_bare(ID, "main", false).await.expect("created");
    run(&git, &["fast-import", "--quiet"], history(3, 5)).await;
    run(&git, &["update-ref", "refs/heads/main", &run(&git, &["rev-list", "--all", "-1"], "").await], "").await;
    run(&git, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"], "").await;
    run(&git, &["symbolic-ref", "refs/heads/one", "refs/heads/two"], "").await;
    run(&git, &["symbolic-ref", "refs/heads/two", "refs/heads/one"], "").await;
    let reader = git.reader(ID);
    let tip = run(&git, &["rev-parse", "main"], "").await;
    for name in ["main", "HEAD", &tip[..12], "alias", "main^0", "refs/heads/main"] {
        assert_eq!(reader.resolve(name).await.expect("read").as_ref(), Some(&tip), "{name}");
    }
    for name in ["one", "two", "nothing", "0123456789012345678901234567890123456789", "refs/heads/nothing"] {
        assert_eq!(reader.resolve(name).await.expect("read"), None, "{name}");
    }
    assert!(reader.refs("refs/heads/").await.expect("refs").iter().any(|found| found.name == "refs/heads/alias"));
}
