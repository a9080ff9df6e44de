//! Upload and download of one LFS object, beside the same bytes as an artifact.

use std::time::Instant;

use serde_json::{Value, json};

use super::settle;
use crate::{
    Result,
    client::json as json_request,
    farrier::{Farrier, target},
    figures::{megabytes_per_second, mib, ratio, spread},
    load::{Content, download, put_file},
    plan::Plan,
    table::{Budget, Table},
};

/// Most rounds: each leaves an object on the disk.
const ROUNDS_MAX: usize = 3;
/// Lowest rates as a part of those of artifacts.
const UPLOAD_MIN: f64 = 0.9;
const DOWNLOAD_MIN: f64 = 0.9;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("lfs-farrier")?).await?;
    farrier.repository("demo").await?;
    let authorization = format!("authorization: token {}", farrier.token().await?);
    let job = farrier.begin("demo").await?;
    let (mut up, mut up_artifact, mut down, mut down_artifact) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..plan.rounds.min(ROUNDS_MAX) {
        // Other bytes each time: an object is stored only once.
        let content = Content::new(plan)?;
        size = content.size();
        let rate = |begun: Instant| megabytes_per_second(size, begun.elapsed());
        let uploaded = farrier.upload(&job, "bench", &content, 1).await?;
        up_artifact.push(megabytes_per_second(size, uploaded.total));
        settle().await;
        let address = address(&farrier, &authorization, "upload", &content).await?;
        let begun = Instant::now();
        put_file(&farrier.tcp, &content, &address).await?;
        up.push(rate(begun));
        settle().await;
        let artifact = farrier.address(&job, "bench").await?;
        let object = self::address(&farrier, &authorization, "download", &content).await?;
        for (target, rates) in [(artifact, &mut down_artifact), (object, &mut down)] {
            // The first download may compare the bytes with their digest.
            for is_counted in [false, true] {
                let begun = Instant::now();
                if download(&farrier.tcp, &target).await? != size {
                    return Err("a download has another length".into());
                }
                if is_counted {
                    rates.push(rate(begun));
                }
            }
        }
        farrier.delete(&job, "bench").await?;
        settle().await;
    }
    let unit = "MB/s";
    for (what, ours, theirs, least) in [
        ("upload of an LFS object", &up, &up_artifact, UPLOAD_MIN),
        ("download of an LFS object", &down, &down_artifact, DOWNLOAD_MIN),
    ] {
        let what = format!("{what}, {} MiB, TCP; beside an artifact, 1 block in flight", mib(size));
        table.beside(&what, spread(ours, unit), spread(theirs, unit), ratio(ours, theirs), Budget::AtLeast(least));
    }
    Ok(())
}

/// Returns the target of the signed address for the upload or download of `content`.
async fn address(farrier: &Farrier, authorization: &str, operation: &str, content: &Content) -> Result<String> {
    let oid = content.hash.trim_start_matches("sha256:");
    let objects = json!([{ "oid": oid, "size": content.size() }]);
    let body = json!({ "operation": operation, "objects": objects });
    let mut connection = farrier.tcp.connect().await?;
    let request = json_request("POST", "/admin/demo.git/info/lfs/objects/batch", &[authorization], &body);
    connection.send(&request).await?;
    let answer: Value = serde_json::from_slice(&connection.expect(200).await?)?;
    target(&answer["objects"][0]["actions"][operation]["href"])
}
