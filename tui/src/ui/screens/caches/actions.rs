//! Deletes cache entries, with confirmations, and handles the responses.

use super::Caches;
use crate::{
    output::human_bytes,
    ui::{
        bulk::{self, BulkAction},
        cache::CacheSummary,
        layer::{Layer, TextView},
        list::{ListView as _, Row as _},
        net::{Answer, Batch, Problem, Request},
        words,
        world::{Cmd, Env, World},
    },
};

/// The effect of a deletion, for confirmations.
const EFFECT: &str = "Later jobs must create and save them again.";

impl Caches {
    pub(super) fn open(&self, env: &mut Env) {
        let Some(entry) = self.rows.list.current() else { return };
        let text: Vec<String> = super::facts(entry, &env.world.clock).into_iter().map(|(_, line)| line).collect();
        env.open(Layer::TextView(TextView::new(format!("Cache entry {}", entry.id), text.join("\n"))));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let json: Vec<String> =
            targets.iter().map(|entry| serde_json::to_string_pretty(&entry.entry()).unwrap_or_default()).collect();
        env.push(Cmd::Copy(json.join("\n"), words::count(i64::try_from(targets.len()).unwrap_or(0)) + " as JSON"));
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        if let Some(layer) = self.delete_question(&targets, env.world) {
            env.open(layer);
        }
    }

    /// Returns the question before entries are deleted.
    fn delete_question(&self, targets: &[&CacheSummary], world: &World) -> Option<Layer> {
        let name = |entry: &CacheSummary| format!("{} of {}", entry.key(), entry.repository());
        let request = |entry: &CacheSummary| {
            let repo = entry.repository().parse().ok()?;
            Some(Request::DeleteCache { repo, id: entry.id, name: name(entry) })
        };
        let items: Vec<(String, Request)> =
            targets.iter().filter_map(|entry| Some((name(entry), request(entry)?))).collect();
        let request = match items.as_slice() {
            [] => return None,
            [(_, one)] => one.clone(),
            _ => Request::Batch(Box::new(Batch { noun: "cache entry", doing: "deleting", done: "deleted", items })),
        };
        let bulk = BulkAction {
            verb: "Delete",
            noun: "cache entry",
            names: targets.iter().map(|entry| format!("{}   {}", name(entry), human_bytes(entry.weight()))).collect(),
            bytes: targets.iter().map(|entry| entry.weight()).sum(),
            effect: EFFECT,
            destroys: true,
            skipped: self.rows.list.hidden_note().into_iter().collect(),
            ..BulkAction::default()
        };
        Some(Layer::Confirm(bulk.question(request, world)))
    }

    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Ok(Answer::Caches(page)) if self.rows.awaits(request) => drop(self.rows.take(page.clone(), env.world)),
            Ok(Answer::CacheUsage(page)) => {
                self.usage.clone_from(&page.items);
                self.usage.sort_by_key(|one| std::cmp::Reverse(one.active_caches_size_in_bytes));
                self.repositories = page.total.and_then(|total| usize::try_from(total).ok()).unwrap_or_default();
            }
            Err(problem) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            Ok(answer) if is_deletion(request) => {
                self.report(request, answer, env);
                self.reload(env);
            }
            // Another client or a limit may have deleted it.
            Err(problem) if is_deletion(request) && !problem.is_unreachable() => self.reload(env),
            _ => {}
        }
    }

    fn report(&mut self, request: &Request, answer: &Answer, env: &mut Env) {
        match (request, answer) {
            (Request::Batch(batch), Answer::Batch(each)) => {
                let failed: Vec<(&String, &Request, &String)> = batch
                    .items
                    .iter()
                    .zip(each)
                    .filter_map(|((name, request), why)| Some((name, request, why.as_ref()?)))
                    .collect();
                self.rows.list.mark_only(failed.iter().filter_map(|(_, request, _)| id_of(request)));
                let failed: Vec<(String, String)> =
                    failed.into_iter().map(|(name, _, why)| (name.clone(), why.clone())).collect();
                bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
            }
            (Request::DeleteCache { name, .. }, _) => env.notify(format!("Cache entry {name} deleted")),
            _ => {}
        }
    }
}

fn id_of(request: &Request) -> Option<i64> {
    if let Request::DeleteCache { id, .. } = request { Some(*id) } else { None }
}

/// Returns whether a request deletes cache entries.
fn is_deletion(request: &Request) -> bool {
    match request {
        Request::DeleteCache { .. } => true,
        Request::Batch(batch) => !batch.items.is_empty() && batch.items.iter().all(|(_, request)| is_deletion(request)),
        _ => false,
    }
}
