//! A client that uploads, aborts, deletes and replaces artifacts, and retries until it gets a response.

use std::sync::{Arc, atomic::Ordering};

use futures_util::StreamExt as _;
use http::Method;
use serde_json::json;

use super::world::{Content, Name, Upload, World, block_list, path_of};
use crate::support::{Answer, Random};

/// Block sizes in bytes, including zero, and sizes below and above one write of the daemon.
const SIZES: [usize; 9] = [0, 1, 100, 4_096, 5_000, 70_000, 300_000, 600_000, 1_300_000];
/// Concurrent block uploads of one artifact.
const IN_FLIGHT: usize = 3;

/// Works with its own artifact names until the test stops it.
pub(super) async fn work(world: &World, worker: usize, mut random: Random) {
    for number in 0_u64.. {
        if world.stop.load(Ordering::SeqCst) {
            return;
        }
        let name = (worker % world.jobs.len(), format!("w{worker}-{number}"));
        if !upload(world, &name, &mut random).await {
            continue;
        }
        match random.below(4) {
            0 => delete(world, &name).await,
            // The old content stays visible until the new one is finalized, which may never happen.
            1 if upload(world, &name, &mut random).await && random.one_in(3) => delete(world, &name).await,
            _ => {}
        }
    }
}

/// Uploads once, and sometimes stops before the end. Returns whether the artifact was finalized.
async fn upload(world: &World, name: &Name, random: &mut Random) -> bool {
    let mut address = create(world, name).await;
    if random.one_in(6) {
        put_block(world, name, &address, "b2xk", &random.bytes(2_000)).await;
        let old = std::mem::replace(&mut address, create(world, name).await);
        assert_closed(world, &old).await;
    }
    if random.one_in(8) {
        let content = Content(vec![Arc::new(random.bytes(5_000))]);
        put_blob(world, name, &address, &content.0[0]).await;
        return finalize(world, name, content).await;
    }
    let (ids, content) = put_blocks(world, name, &address, random).await;
    if random.one_in(7) {
        return false;
    }
    if random.one_in(6) {
        commit(world, name, &address, ids.get(..1).unwrap_or_default()).await;
    }
    commit(world, name, &address, &ids).await;
    if random.one_in(9) {
        return false;
    }
    if random.one_in(4) {
        let late = random_block(random);
        tokio::join!(finalize(world, name, content), put_late_block(world, &address, &late));
    } else {
        finalize(world, name, content).await;
    }
    if random.one_in(5) {
        assert_closed(world, &address).await;
    }
    true
}

async fn create(world: &World, name: &Name) -> String {
    // Creating the artifact again may already have invalidated the previous URL.
    world.with(name, |entry| entry.upload = None);
    let (answer, _) = world
        .call(name, "CreateArtifact", json!({ "version": 4 }), |answer| {
            assert_eq!(answer.status, 200, "{name:?}: {answer:?}");
            let address = path_of(answer.json()["signed_upload_url"].as_str().expect("an address"));
            world.with(name, |entry| entry.upload = Some(Upload { address, acked: Vec::new(), committed: None }));
        })
        .await;
    world.counts.creates.fetch_add(1, Ordering::SeqCst);
    path_of(answer.json()["signed_upload_url"].as_str().expect("an address"))
}

/// Uploads blocks in random order, some of them twice, and sometimes a block that is not in the list. Returns the
/// ids for the list, and the content.
async fn put_blocks(world: &World, name: &Name, address: &str, random: &mut Random) -> (Vec<String>, Content) {
    let count = random.below(6);
    let ids: Vec<String> = (0..count).map(|index| format!("YmxvY2s{index:05}")).collect();
    let blocks: Vec<Arc<Vec<u8>>> = (0..count).map(|_| Arc::new(random_block(random))).collect();
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    let mut versions: Vec<(usize, Option<Vec<u8>>)> = Vec::new();
    for index in order {
        let first = random.one_in(5).then(|| random_block(random));
        versions.push((index, first));
    }
    let puts = versions.into_iter().map(|(index, first)| {
        let (id, block) = (&ids[index], &blocks[index]);
        async move {
            if let Some(first) = first {
                put_block(world, name, address, id, &first).await;
            }
            put_block(world, name, address, id, block).await;
        }
    });
    futures_util::stream::iter(puts).buffer_unordered(IN_FLIGHT).collect::<Vec<()>>().await;
    if random.one_in(4) {
        put_block(world, name, address, "dW51c2Vk0000", &random_block(random)).await;
    }
    (ids, Content(blocks))
}

fn random_block(random: &mut Random) -> Vec<u8> {
    let size = random.of(&SIZES);
    random.bytes(size)
}

async fn put_block(world: &World, name: &Name, address: &str, id: &str, block: &[u8]) {
    let path = format!("{address}&comp=block&blockid={id}");
    let on_answer = |answer: &Answer| {
        assert_eq!(answer.status, 201, "{name:?} {id}: {answer:?}");
        world.with(name, |entry| {
            let upload = entry.upload.as_mut().expect("created");
            if !upload.acked.iter().any(|acked| acked == id) {
                upload.acked.push(id.to_owned());
            }
        });
    };
    world.send_until_answered((Method::PUT, &path), &[], block, on_answer).await;
    world.counts.blocks.fetch_add(1, Ordering::SeqCst);
}

async fn put_blob(world: &World, name: &Name, address: &str, block: &[u8]) {
    let headers = [("x-ms-blob-type", "BlockBlob")];
    let on_answer = |answer: &Answer| assert_eq!(answer.status, 201, "{name:?}: {answer:?}");
    world.send_until_answered((Method::PUT, address), &headers, block, on_answer).await;
    world.counts.blocks.fetch_add(1, Ordering::SeqCst);
    world.counts.commits.fetch_add(1, Ordering::SeqCst);
}

async fn commit(world: &World, name: &Name, address: &str, ids: &[String]) {
    let path = format!("{address}&comp=blocklist");
    let on_answer = |answer: &Answer| {
        assert_eq!(answer.status, 201, "{name:?} {ids:?}: {answer:?}");
        world.with(name, |entry| entry.upload.as_mut().expect("created").committed = Some(ids.to_vec()));
    };
    world.send_until_answered((Method::PUT, &path), &[], block_list(ids).as_bytes(), on_answer).await;
    world.counts.commits.fetch_add(1, Ordering::SeqCst);
}

async fn finalize(world: &World, name: &Name, content: Content) -> bool {
    world.with(name, |entry| entry.possible_states.push(Some(content.clone())));
    let message = json!({ "size": content.size().to_string(), "hash": content.digest() });
    world
        .call(name, "FinalizeArtifact", message, |answer| {
            assert_eq!(answer.status, 200, "{name:?}: {answer:?}");
            world.with(name, |entry| {
                entry.possible_states = vec![Some(content.clone())];
                entry.upload = None;
            });
        })
        .await;
    world.counts.finalizes.fetch_add(1, Ordering::SeqCst);
    true
}

async fn delete(world: &World, name: &Name) {
    world.with(name, |entry| entry.possible_states.push(None));
    let (answer, again) = world
        .call(name, "DeleteArtifact", json!({}), |_| {
            world.with(name, |entry| (entry.possible_states, entry.upload) = (vec![None], None));
        })
        .await;
    // An earlier try may have succeeded before the kill.
    assert!(answer.status == 200 || again && answer.status == 404, "{name:?}: {answer:?}");
    world.counts.deletes.fetch_add(1, Ordering::SeqCst);
}

/// Sends a block at the same time as the finalization. It may be accepted or not, but must not stay on disk.
async fn put_late_block(world: &World, address: &str, block: &[u8]) {
    let path = format!("{address}&comp=block&blockid=bGF0ZQ");
    let on_answer = |answer: &Answer| assert!([201, 404].contains(&answer.status), "{answer:?}");
    world.send_until_answered((Method::PUT, &path), &[], block, on_answer).await;
}

/// Checks that the URL of a finished upload accepts nothing.
async fn assert_closed(world: &World, address: &str) {
    let path = format!("{address}&comp=block&blockid=bGF0ZQ");
    world
        .send_until_answered((Method::PUT, &path), &[], b"late", |answer| assert_eq!(answer.status, 404, "{answer:?}"))
        .await;
}
