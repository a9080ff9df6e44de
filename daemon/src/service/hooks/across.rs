//! Lists hooks across owners, limited to those that the caller may manage.
//!
//! A list by id is read from the cursor on. Any other order requires reading every matching hook, so it is refused if
//! there are too many of them.

use std::collections::HashMap;

use farrier_proto::store::{Hook, HookScope, HookState};

use super::{FoundHook, ManageableHooks, OwnerNames, manageable};
use crate::{
    model::hook_health::HookHealth,
    service::Error,
    store::{
        Read, StoreError,
        engine::{Range, Scan},
        hooks, keys, repositories,
    },
};

/// Rows to read per scan.
const BATCH: usize = 256;
/// Maximum number of rows that one request reads.
const ROWS_READ_MAX: usize = 50_000;
/// Bytes of a name or URL that are compared. Hooks whose texts have the same beginning are sorted by id.
const SORT_KEY_MAX: usize = 64;

/// The sort order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookSort {
    /// By id, that is by creation time.
    #[default]
    Id,
    /// By name, or by URL for hooks without a name.
    Name,
    /// By URL.
    Url,
    /// By time of the last attempt.
    LastDelivery,
    /// By number of failures since the last success.
    Failures,
    /// By the time since which deliveries have failed.
    FailingSince,
}

/// Which hooks a list contains.
#[derive(Clone, Debug, Default)]
pub struct HookFilter {
    /// Only these scopes. Empty: all.
    pub scopes: Vec<HookScope>,
    /// Only active or only inactive hooks.
    pub active: Option<bool>,
    /// Only hooks with this health. Empty: all.
    pub health: Vec<HookHealth>,
    /// Only hooks whose name, URL, owner or repository contains this lowercase text.
    pub text: String,
}

impl HookFilter {
    fn is_empty(&self) -> bool {
        self.scopes.is_empty() && self.active.is_none() && self.health.is_empty() && self.text.is_empty()
    }
}

/// The position after a page: sort key and id of its last item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookCursor {
    /// Empty for lists by id.
    pub key: Vec<u8>,
    /// Id of the hook.
    pub id: u64,
}

/// The filter, order and position of a list.
#[derive(Clone, Debug, Default)]
pub struct HookQuery {
    /// Filter.
    pub filter: HookFilter,
    /// Sort order.
    pub sort: HookSort,
    /// Sort in descending order.
    pub descending: bool,
    /// Start after this item. `None`: start at the beginning.
    pub after: Option<HookCursor>,
    /// Maximum number of items.
    pub limit: usize,
}

/// A hook with the names of its owner.
#[derive(Clone, Debug)]
pub struct ListedHook {
    /// The hook.
    pub found: FoundHook,
    /// Names of its owner.
    pub names: OwnerNames,
}

/// A page of hooks.
#[derive(Clone, Debug, Default)]
pub struct HookPage {
    /// The hooks.
    pub hooks: Vec<ListedHook>,
    /// Position of the next page. `None`: this is the last page.
    pub next: Option<HookCursor>,
    /// Total number of matching hooks, counted for the first page only. `None`: counting would read too many rows.
    pub total: Option<u64>,
}

/// Returns a page of the hooks in `manageable`.
pub async fn page(read: &impl Read, manageable: &ManageableHooks, query: &HookQuery) -> Result<HookPage, Error> {
    let mut reader = PageReader { read, manageable, query, names_by_owner: HashMap::new() };
    if query.sort == HookSort::Id { reader.by_id().await } else { reader.sorted().await }
}

/// Reads the hooks of one page.
struct PageReader<'a, R> {
    read: &'a R,
    manageable: &'a ManageableHooks,
    query: &'a HookQuery,
    /// Names that were already read, by scope and id of the owner.
    names_by_owner: HashMap<(i32, u64), OwnerNames>,
}

impl<R: Read> PageReader<'_, R> {
    async fn by_id(&mut self) -> Result<HookPage, Error> {
        let query = self.query;
        let mut rows =
            Rows::new(self.read, self.manageable, query.descending, query.after.as_ref().map(|at| at.id)).await?;
        let quick_total = if query.after.is_some() { None } else { self.total_without_rows(&rows).await? };
        let must_count = query.after.is_none() && quick_total.is_none();
        let (mut page, mut rows_read, mut matching) = (HookPage::default(), 0, 0);
        loop {
            let step = rows.next(self.read).await?;
            if step.is_empty() {
                page.total = quick_total.or(must_count.then_some(matching));
                return Ok(page);
            }
            rows_read += step.len();
            let last = step.last().map(|row| row.id);
            for found in self.matching(step).await? {
                matching += 1;
                if page.hooks.len() < query.limit {
                    let names = self.names(&found.hook).await?;
                    page.hooks.push(ListedHook { found, names });
                } else if page.next.is_none() {
                    let at = page.hooks.last().map_or(0, |last| last.found.hook.id);
                    page.next = Some(HookCursor { key: Vec::new(), id: at });
                }
            }
            if page.next.is_some() && !must_count {
                page.total = quick_total;
                return Ok(page);
            }
            if rows_read >= ROWS_READ_MAX {
                page.total = quick_total;
                page.next = page.next.or(last.map(|id| HookCursor { key: Vec::new(), id }));
                return Ok(page);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the total if it can be determined without reading rows.
    async fn total_without_rows(&self, rows: &Rows) -> Result<Option<u64>, StoreError> {
        let all_hooks = self.manageable.owners.is_none() && self.manageable.scopes.len() == SCOPES;
        if !all_hooks || !self.query.filter.is_empty() {
            return Ok(None);
        }
        debug_assert!(rows.ids.is_none());
        if repositories::first_deleted_ms(self.read).await?.is_some() {
            return Ok(None);
        }
        let max = ROWS_READ_MAX as u64;
        let all = self.read.count(&Range::prefix(keys::hooks()), max).await?;
        let retired = self.read.count(&keys::retired_hooks(i64::MAX), max).await?;
        Ok((all < max).then(|| all.saturating_sub(retired)))
    }

    async fn sorted(&mut self) -> Result<HookPage, Error> {
        let query = self.query;
        let mut rows = Rows::new(self.read, self.manageable, false, None).await?;
        let (mut all, mut rows_read) = (Vec::new(), 0);
        loop {
            let step = rows.next(self.read).await?;
            if step.is_empty() {
                break;
            }
            rows_read += step.len();
            if rows_read > ROWS_READ_MAX {
                let reason = format!("more than {ROWS_READ_MAX} hooks cannot be sorted; filter by owner or repository");
                return Err(Error::invalid("sort", reason));
            }
            let matching = self.matching(step).await?;
            all.extend(matching.iter().map(|found| HookCursor { key: sort_key(query.sort, found), id: found.hook.id }));
            tokio::task::yield_now().await;
        }
        let total = all.len() as u64;
        let order = |a: &HookCursor, b: &HookCursor| {
            let order = (&a.key, a.id).cmp(&(&b.key, b.id));
            if query.descending { order.reverse() } else { order }
        };
        all.sort_unstable_by(order);
        let first = query.after.as_ref().map_or(0, |after| all.partition_point(|item| order(item, after).is_le()));
        let page_items = &all[first..(first + query.limit).min(all.len())];
        let next = page_items.last().filter(|_| first + page_items.len() < all.len()).cloned();
        let ids: Vec<u64> = page_items.iter().map(|item| item.id).collect();
        let mut page = HookPage { hooks: Vec::new(), next, total: query.after.is_none().then_some(total) };
        for hook in hooks::many(self.read, &ids).await? {
            let state = hooks::state(self.read, hook.id).await?;
            let names = self.names(&hook).await?;
            page.hooks.push(ListedHook { found: FoundHook { hook, state }, names });
        }
        Ok(page)
    }

    /// Returns the matching ones of `rows`, with their states.
    async fn matching(&mut self, rows: Vec<Hook>) -> Result<Vec<FoundHook>, Error> {
        let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let states = hooks::states_of(self.read, &ids).await?;
        let mut matching = Vec::new();
        for (hook, state) in rows.into_iter().zip(states) {
            if self.matches(&hook, &state) && !self.names(&hook).await?.deleted && self.has_text(&hook).await? {
                matching.push(FoundHook { hook, state });
            }
        }
        Ok(matching)
    }

    fn matches(&self, hook: &Hook, state: &HookState) -> bool {
        let filter = &self.query.filter;
        hook.retired_ms == 0
            && self.manageable.scopes.contains(&hook.scope())
            && (filter.scopes.is_empty() || filter.scopes.contains(&hook.scope()))
            && filter.active.is_none_or(|active| active == hook.active)
            && (filter.health.is_empty() || filter.health.contains(&HookHealth::of(hook, state)))
    }

    async fn has_text(&mut self, hook: &Hook) -> Result<bool, Error> {
        let text = &self.query.filter.text;
        if text.is_empty() || [&hook.name, &hook.url].iter().any(|field| field.to_lowercase().contains(text)) {
            return Ok(true);
        }
        let names = self.names(hook).await?;
        Ok([&names.owner, &names.repository].iter().any(|field| field.to_lowercase().contains(text)))
    }

    async fn names(&mut self, hook: &Hook) -> Result<OwnerNames, Error> {
        let hook_owner = (hook.scope, hook.target_id);
        if let Some(names) = self.names_by_owner.get(&hook_owner) {
            return Ok(names.clone());
        }
        let names = manageable::owner_names(self.read, hook).await?;
        self.names_by_owner.insert(hook_owner, names.clone());
        Ok(names)
    }
}

/// Number of hook scopes.
const SCOPES: usize = 5;

/// Reads hooks by id, in batches.
struct Rows {
    /// The unread range of all hooks, unless only certain owners are listed.
    range: Range,
    descending: bool,
    /// The unread ids of hooks, if only certain owners are listed.
    ids: Option<std::vec::IntoIter<u64>>,
}

impl Rows {
    async fn new(
        read: &impl Read,
        manageable: &ManageableHooks,
        descending: bool,
        after: Option<u64>,
    ) -> Result<Self, Error> {
        let mut range = Range::prefix(keys::hooks());
        match after {
            Some(id) if descending => range.high = Some(keys::hook(id)),
            Some(id) => range = range.after(&keys::hook(id)),
            None => {}
        }
        let mut ids = manageable.ids(read).await?;
        if let Some(ids) = &mut ids {
            ids.retain(|id| after.is_none_or(|after| if descending { *id < after } else { *id > after }));
            if descending {
                ids.reverse();
            }
        }
        Ok(Self { range, descending, ids: ids.map(Vec::into_iter) })
    }

    /// Returns the next rows, or none at the end. Each batch starts after the previous one, so the list ends.
    async fn next(&mut self, read: &impl Read) -> Result<Vec<Hook>, StoreError> {
        if let Some(ids) = &mut self.ids {
            loop {
                let ids: Vec<u64> = ids.take(BATCH).collect();
                let rows = hooks::many(read, &ids).await?;
                if !rows.is_empty() || ids.is_empty() {
                    return Ok(rows);
                }
            }
        }
        let scan = Scan { reverse: self.descending, ..Scan::of(self.range.clone(), BATCH) };
        let pairs = read.scan::<Hook>(&scan).await?;
        match pairs.last() {
            Some((key, _)) if self.descending => self.range.high = Some(key.clone()),
            Some((key, _)) => self.range = self.range.clone().after(key),
            None => {}
        }
        Ok(pairs.into_iter().map(|(_, row)| row).collect())
    }
}

fn sort_key(sort: HookSort, found: &FoundHook) -> Vec<u8> {
    let (hook, state) = (&found.hook, &found.state);
    let text = |text: &str| text.to_lowercase().bytes().take(SORT_KEY_MAX).collect();
    let time = |ms: i64| ms.max(0).to_be_bytes().to_vec();
    match sort {
        HookSort::Id => Vec::new(),
        HookSort::Name => text(if hook.name.is_empty() { &hook.url } else { &hook.name }),
        HookSort::Url => text(&hook.url),
        HookSort::LastDelivery => time(state.last_delivery_ms),
        HookSort::Failures => state.failures.to_be_bytes().to_vec(),
        HookSort::FailingSince => time(state.failing_since_ms),
    }
}
