//! `farrier artifact list --deleted`, `restore` and `purge`: artifacts that can be restored.

use farrier_common::{api::RestorableArtifact, client::RepositoryPath};
use serde::Serialize;

use super::super::{
    confirm,
    list::{self, Listed},
};
use crate::{
    args::Global,
    endpoint,
    exit::{self, Failure},
    output::{Output, Table, clean_line, human_bytes, time},
};

#[derive(Serialize)]
struct Artifacts {
    total_count: usize,
    artifacts: Vec<RestorableArtifact>,
}

pub(super) async fn list(
    repo: Option<&RepositoryPath>,
    limit: usize,
    global: &Global,
    output: &Output,
) -> Result<u8, Failure> {
    let client = endpoint::connect(global).await?;
    let all = list::collect(client.deleted_artifacts(repo), |list: Vec<RestorableArtifact>| list, |found| found.id);
    let all = all.await.map_err(Failure::call("listing deleted artifacts"))?;
    let document = |total_count, artifacts| Artifacts { total_count, artifacts };
    list::show(output, Listed::cut(all, limit), |found| found.id, table, document)?;
    Ok(exit::OK)
}

pub(super) async fn restore(id: i64, global: &Global, output: &Output) -> Result<u8, Failure> {
    let client = endpoint::connect(global).await?;
    let restored = client.restore_artifact(id).await.map_err(Failure::call(format!("restoring artifact {id}")))?;
    output.object(&restored, &restored.id.to_string(), || {
        format!("Artifact {} ({}) restored", clean_line(&restored.name), restored.id)
    })?;
    Ok(exit::OK)
}

pub(super) async fn purge(id: i64, yes: bool, global: &Global, output: &Output) -> Result<u8, Failure> {
    let client = endpoint::connect(global).await?;
    let found = client.deleted_artifact(id).await;
    let found = found.map_err(Failure::call(format!("looking for deleted artifact {id}")))?;
    let what = format!("Artifact {} ({id})", clean_line(&found.name));
    confirm::deletion(&what, &id.to_string(), yes).await?;
    client.purge_artifact(id).await.map_err(Failure::call(format!("deleting artifact {id} permanently")))?;
    output.object(&serde_json::json!({ "purged": id }), &id.to_string(), || {
        format!("Artifact {} ({id}) deleted permanently", clean_line(&found.name))
    })?;
    Ok(exit::OK)
}

fn table(all: &[RestorableArtifact]) -> String {
    let mut table = Table::new(["ID", "SIZE", "DELETED", "BY", "RESTORABLE UNTIL", "REPOSITORY", "NAME"]);
    for artifact in all {
        let deleted = if artifact.repository_deleted { " (deleted)" } else { "" };
        table.row([
            artifact.id.to_string(),
            human_bytes(artifact.size_in_bytes),
            time(&artifact.deleted_at),
            artifact.deleted_by.clone(),
            time(&artifact.restorable_until),
            format!("{}{deleted}", artifact.repository),
            artifact.name.clone(),
        ]);
    }
    table.render()
}
