//! The manifest of a repository against the packs in its directory.

use std::{fs, path::PathBuf};

use farrier_proto::store::RepositoryVersion;
use farrierd::store::{
    dropped_packs,
    packs::{self, Packs},
    refs,
};

use super::*;

/// The repository with pushes.
const ID: u64 = 1;

fn packs_of(config: &Config) -> PathBuf {
    config.data_dir.join(format!("repositories/{ID}.git/objects/pack"))
}

async fn manifest(config: &Config) -> Packs {
    packs::all(&open(config).await.read().await.expect("a snapshot"), ID).await.expect("rows")
}

/// The name of the only pack.
async fn only_pack(config: &Config) -> String {
    let names: Vec<String> = manifest(config).await.into_keys().collect();
    <[String; 1]>::try_from(names).expect("one pack").into_iter().next().expect("a name")
}

/// Replaces a file, which git makes read-only.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("removed");
    fs::write(path, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_damaged_packs_are_damage_and_a_missing_index_is_created_again() {
    let (mut farrier, ..) = world().await;
    farrier
        .halted(async |config| {
            let (packs, name) = (packs_of(config), only_pack(config).await);
            let [pack, index] = ["pack", "idx"].map(|end| packs.join(format!("{name}.{end}")));
            let whole = fs::read(&pack).expect("a pack");

            fs::remove_file(&index).expect("removed");
            let missing = format!("the index of the pack {name} is missing");
            assert_repaired(config, Class::Damage, "(demo)", &missing).await;

            fs::remove_file(&pack).expect("removed");
            let report = run_check(config, REPAIR).await;
            let found = finding(&report, Class::Damage, "(demo)", "packs are missing");
            assert!(found.repair == RepairState::None && found.message.contains(&name), "{report}");
            assert!(manifest(config).await.contains_key(&name), "the row still names what is missing");
            fs::write(&pack, &whole).expect("written");

            replace(&pack, &whole[..whole.len() - 1]);
            finding(&run_check(config, REPAIR).await, Class::Damage, "(demo)", "does not end with the digest");
            let mut changed = whole.clone();
            changed[20] ^= 1;
            replace(&pack, &changed);
            finding(&run_check(config, CHECK).await, Class::Damage, "(demo)", "the content of the file .pack");
            replace(&pack, &whole);
            assert_eq!(run_check(config, CHECK).await.findings, []);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_without_a_row_is_no_finding_and_packs_that_another_program_replaced_are_recorded() {
    let (mut farrier, ..) = world().await;
    farrier
        .halted(async |config| {
            let (packs, name) = (packs_of(config), only_pack(config).await);
            let left = format!("pack-{:040x}", 7);
            for end in ["pack", "idx"] {
                fs::copy(packs.join(format!("{name}.{end}")), packs.join(format!("{left}.{end}"))).expect("a copy");
            }
            assert_eq!(run_check(config, REPAIR).await.findings, [], "an interrupted change leaves such a pack");
            assert_eq!(only_pack(config).await, name, "the next change adds it");

            Client::at(packs.parent().expect("a parent").parent().expect("a parent"))
                .done(&["repack", "-q", "-a", "-d"]);
            assert!(!packs.join(format!("{name}.pack")).exists(), "git names packs by their content");
            assert_repaired(config, Class::Unfinished, "(demo)", "packs were replaced by another program").await;
            assert_ne!(only_pack(config).await, name);
            assert_eq!(run_check(config, CHECK).await.findings, []);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_a_killed_repack_left_open_is_written_at_the_next_start() {
    let (mut farrier, ..) = world().await;
    farrier
        .halted(async |config| {
            // As after a kill between the removal of the old packs and the transaction; and with loose objects of an
            // earlier release.
            let (store, bare) = (open(config).await, config.data_dir.join(format!("repositories/{ID}.git")));
            let version = refs::version(&store.read().await.expect("a snapshot"), ID).await.expect("a row");
            let version = RepositoryVersion { has_manifest: false, ..version.expect("a version") };
            let suspend = async |tx: Tx| {
                tx.put(keys::repository_version(ID), &version);
                Ok::<_, StoreError>(())
            };
            store.write(suspend).await.expect("written");
            drop(store);
            let git = Client::at(&bare);
            git.done(&["repack", "-q", "-a", "-d"]);
            fs::write(bare.join("text"), "loose").expect("a file");
            git.done(&["hash-object", "-w", "text"]);
            fs::remove_file(bare.join("text")).expect("removed");
            assert_eq!(run_check(config, CHECK).await.damage, 0, "the files decide");
        })
        .await;
    for _ in 0..50 {
        // Manifests are written in the background after a start. The stop may have come first.
        let (has_manifest, names) = farrier
            .halted(async |config| {
                let read = open(config).await.read().await.expect("a snapshot");
                let version = refs::version(&read, ID).await.expect("a row").expect("a version");
                (version.has_manifest, packs::all(&read, ID).await.expect("rows"))
            })
            .await;
        if has_manifest {
            let report = farrier.halted(async |config| run_check(config, CHECK).await).await;
            assert_eq!(report.findings, [], "{report}");
            assert!(!names.is_empty());
            let bare = Client::at(farrier.data_dir().join(format!("repositories/{ID}.git")));
            assert!(bare.done(&["count-objects", "-v"]).starts_with("count: 0\n"), "no loose objects are left");
            return;
        }
    }
    panic!("the manifest was not written");
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_that_were_dropped_are_no_finding_and_their_rows_need_an_entry_by_time() {
    let (mut farrier, ..) = world().await;
    farrier
        .halted(async |config| {
            let (packs, name) = (packs_of(config), only_pack(config).await);
            let copies = ["visible", "hidden"].map(|kind| format!("pack-{kind}"));
            for copy in &copies {
                for end in ["pack", "idx"] {
                    fs::copy(packs.join(format!("{name}.{end}")), packs.join(format!("{copy}.{end}"))).expect("a copy");
                }
            }
            fs::remove_file(packs.join("pack-hidden.idx")).expect("removed");
            let row = manifest(config).await[&name].clone();
            let dropped: Packs = copies.iter().map(|copy| (copy.clone(), row.clone())).collect();
            let drop = async |tx: Tx| {
                dropped_packs::drop_all(&tx, ID, &dropped, i64::MAX);
                Ok::<_, StoreError>(())
            };
            open(config).await.write(drop).await.expect("written");
            assert_eq!(run_check(config, REPAIR).await.findings, []);
            let cut = async |tx: Tx| {
                tx.delete(keys::dropped_pack_due(i64::MAX, ID, "pack-hidden"));
                Ok::<_, StoreError>(())
            };
            open(config).await.write(cut).await.expect("written");
            let report = run_check(config, REPAIR).await;
            assert_eq!(report.findings.len(), 1, "{report}");
            assert_eq!(run_check(config, CHECK).await.findings, []);
            assert_eq!(only_pack(config).await, name);
        })
        .await;
}
