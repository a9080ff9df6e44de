//! `farrier cache …`

use farrier_common::{
    api::{CacheEntry, CacheUsage, FoundCacheEntry},
    client::{CacheFilter, Client},
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
        Cache::Usage { repo } => {
            let all = match &repo {
                Some(repo) => client.cache_usage(repo).await.map(|usage| vec![usage]),
                None => client.cache_usage_of_all().await,
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
            details: vec![format!("all entries with the key {key} in {repo}")],
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
        report(&CacheEntry { id, ..CacheEntry::default() }, output)?;
    }
    Ok(())
}

fn report(entry: &CacheEntry, output: &Output) -> Result<(), Failure> {
    output.object(entry, &entry.id.to_string(), || match entry.key.as_str() {
        "" => format!("Cache entry {} deleted", entry.id),
        key => format!("Cache entry {} deleted: {key} of {}", entry.id, entry.git_ref),
    })
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
