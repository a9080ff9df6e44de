//! `farrier cache …`

use farrier_common::{
    api::{CacheEntry, CacheUsage, FoundCacheEntry},
    client::{CacheFilter, Client, RepositoryPath},
};
use serde::Serialize;

use super::{confirm::Bulk, list};
use crate::{
    args::{Cache, DeleteCaches, ListCaches},
    exit::Failure,
    output::{Output, Table, human_bytes, time},
};

#[derive(Serialize)]
struct Caches {
    total_count: usize,
    caches: Vec<FoundCacheEntry>,
}

/// A deleted entry, of which only the ID is known.
#[derive(Serialize)]
struct DeletedCache {
    id: i64,
}

#[derive(Serialize)]
struct Usage {
    total_count: usize,
    repositories: Vec<CacheUsage>,
}

pub(super) async fn run(command: Cache, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Cache::List(args) => {
            let ListCaches { repo, key, git_ref, limit } = args;
            let filter = CacheFilter { repository: repo, key, git_ref };
            let pages = client.caches(&filter);
            let all = list::first(limit.items(), pages, |page: Vec<FoundCacheEntry>| page, |entry| entry.id).await;
            let all = all.map_err(Failure::call("listing cache entries"))?;
            list::show(output, all, |entry| entry.id, table, |total_count, caches| Caches { total_count, caches })
        }
        Cache::Delete(args) => delete(args, client, output).await,
        Cache::Usage { repo, limit } => {
            let all = if let Some(repo) = &repo {
                client.cache_usage(repo).await.map(|usage| list::Listed::from(vec![usage]))
            } else {
                let open = |page: Vec<CacheUsage>| page;
                let id = |usage: &CacheUsage| usage.full_name.clone();
                list::first(limit.items(), client.cache_usage_of_all(), open, id).await
            };
            let all = all.map_err(Failure::call("reading the cache usage"))?;
            let document = |total_count, repositories| Usage { total_count, repositories };
            list::show(output, all, |usage| usage.full_name.clone(), usage_table, document)
        }
    }
}

async fn delete(args: DeleteCaches, client: &Client, output: &Output) -> Result<(), Failure> {
    let DeleteCaches { ids, repo, key, git_ref, yes } = args;
    if let Some(key) = key {
        let question = Bulk {
            verb: "Delete",
            noun: "cache key",
            count: 1,
            details: vec![extent(&key, git_ref.as_deref(), &repo)],
            deletes: true,
        };
        question.confirmed(yes, output).await?;
        let deleted = client.delete_caches_by_key(&repo, &key, git_ref.as_deref()).await;
        let deleted = deleted.map_err(Failure::call(format!("deleting the cache entries with the key {key}")))?;
        return deleted.actions_caches.iter().try_for_each(|entry| report(entry, output));
    }
    let question = Bulk { verb: "Delete", noun: "cache entry", count: ids.len(), details: Vec::new(), deletes: true };
    question.confirmed(yes, output).await?;
    for id in ids {
        client.delete_cache(&repo, id).await.map_err(Failure::call(format!("deleting cache entry {id}")))?;
        output.object(&DeletedCache { id }, &id.to_string(), || format!("Cache entry {id} deleted"))?;
    }
    Ok(())
}

/// Returns which entries a deletion by key deletes.
fn extent(key: &str, git_ref: Option<&str>, repo: &RepositoryPath) -> String {
    let refs = git_ref.map_or_else(|| "all refs".to_owned(), |git_ref| format!("the ref {git_ref}"));
    format!("all entries with the key {key} of {refs} in {repo}")
}

fn report(entry: &CacheEntry, output: &Output) -> Result<(), Failure> {
    let text = || format!("Cache entry {} deleted: {} of {}", entry.id, entry.key, entry.git_ref);
    output.object(entry, &entry.id.to_string(), text)
}

fn table(all: &[FoundCacheEntry]) -> String {
    let mut table = Table::new(["ID", "SIZE", "HITS", "USED", "CREATED", "REF", "REPOSITORY", "KEY"]);
    for entry in all {
        table.row([
            entry.id.to_string(),
            human_bytes(entry.size_in_bytes),
            entry.hits.to_string(),
            time(&entry.last_accessed_at),
            time(&entry.created_at),
            entry.git_ref.clone(),
            entry.repository.clone(),
            entry.key.clone(),
        ]);
    }
    table.render()
}

fn usage_table(all: &[CacheUsage]) -> String {
    let mut table = Table::new(["REPOSITORY", "ENTRIES", "SIZE"]);
    for usage in all {
        table.row([
            usage.full_name.clone(),
            usage.active_caches_count.to_string(),
            human_bytes(usage.active_caches_size_in_bytes),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confirmation_of_a_deletion_by_key_names_the_ref() {
        let repo = "octo/tool".parse().expect("a path");
        assert_eq!(extent("npm", None, &repo), "all entries with the key npm of all refs in octo/tool");
        let of_main = extent("npm", Some("refs/heads/main"), &repo);
        assert_eq!(of_main, "all entries with the key npm of the ref refs/heads/main in octo/tool");
    }
}
