//! Hooks of all places that a caller may manage, in pages.
//!
//! A list by number is walked from the cursor on. Any other order needs every matching hook, so it is
//! refused when there are too many of them.

use std::collections::HashMap;

use farrier_proto::store::{Hook, HookScope, HookState};

use super::{Found, Health, Home, Reach, reach};
use crate::{
    service::Error,
    store::{
        Read, StoreError,
        engine::{Range, Scan},
        hooks, keys, repositories,
    },
};

/// Rows that are read at a time.
const STEP: usize = 256;
/// Rows that one request looks at.
const LOOK_MAX: usize = 50_000;
/// Bytes of a name or an address that decide the order; equal beginnings are ordered by number.
const SORT_KEY_MAX: usize = 64;

/// What the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By number: in order of creation.
    #[default]
    Id,
    /// By name, or by address where there is no name.
    Name,
    /// By address.
    Url,
    /// By the time of the last attempt.
    LastDelivery,
    /// By the number of failures since the last success.
    Failures,
    /// By the time since which deliveries fail.
    FailingSince,
}

/// Which hooks are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these kinds; empty: of all.
    pub scopes: Vec<HookScope>,
    /// Only active or only inactive ones.
    pub active: Option<bool>,
    /// Only those that are doing like this; empty: all.
    pub health: Vec<Health>,
    /// Only those whose name, address, owner or repository contains this, in lower case.
    pub text: String,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.scopes.is_empty() && self.active.is_none() && self.health.is_empty() && self.text.is_empty()
    }
}

/// The last item of the page before: its sort key and its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Empty for lists by number.
    pub key: Vec<u8>,
    /// Number of the hook.
    pub id: u64,
}

/// Which page is wanted.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Which hooks.
    pub filter: Filter,
    /// The order.
    pub sort: Sort,
    /// From the last to the first.
    pub descending: bool,
    /// Behind this item; `None`: from the beginning.
    pub after: Option<Cursor>,
    /// Most items.
    pub limit: usize,
}

/// A hook and whose it is.
#[derive(Clone, Debug)]
pub struct Managed {
    /// The hook.
    pub found: Found,
    /// Whose it is.
    pub home: Home,
}

/// Some hooks in order.
#[derive(Clone, Debug, Default)]
pub struct HookPage {
    /// The hooks.
    pub hooks: Vec<Managed>,
    /// Where the next page begins; `None`: there is none.
    pub next: Option<Cursor>,
    /// How many match on all pages, counted for the first page only; `None`: more than one request looks at.
    pub total: Option<u64>,
}

/// A page of the hooks within `reach`.
pub async fn page(read: &impl Read, reach: &Reach, query: &ListQuery) -> Result<HookPage, Error> {
    let mut walk = Walk { read, reach, query, homes: HashMap::new() };
    if query.sort == Sort::Id { walk.by_number().await } else { walk.sorted().await }
}

struct Walk<'a, R> {
    read: &'a R,
    reach: &'a Reach,
    query: &'a ListQuery,
    /// Owners that were looked up, by kind and number of the place.
    homes: HashMap<(i32, u64), Home>,
}

impl<R: Read> Walk<'_, R> {
    async fn by_number(&mut self) -> Result<HookPage, Error> {
        let query = self.query;
        let mut rows = Rows::new(self.read, self.reach, query.descending, query.after.as_ref().map(|at| at.id)).await?;
        let known = if query.after.is_some() { None } else { self.known_total(&rows).await? };
        let counts = query.after.is_none() && known.is_none();
        let (mut page, mut looked, mut matching) = (HookPage::default(), 0, 0);
        loop {
            let step = rows.next(self.read).await?;
            if step.is_empty() {
                page.total = known.or(counts.then_some(matching));
                return Ok(page);
            }
            looked += step.len();
            let last = step.last().map(|row| row.id);
            for found in self.matching(step).await? {
                matching += 1;
                if page.hooks.len() < query.limit {
                    let home = self.home(&found.hook).await?;
                    page.hooks.push(Managed { found, home });
                } else if page.next.is_none() {
                    let at = page.hooks.last().map_or(0, |managed| managed.found.hook.id);
                    page.next = Some(Cursor { key: Vec::new(), id: at });
                }
            }
            if page.next.is_some() && !counts {
                page.total = known;
                return Ok(page);
            }
            if looked >= LOOK_MAX {
                page.total = known;
                page.next = page.next.or(last.map(|id| Cursor { key: Vec::new(), id }));
                return Ok(page);
            }
            tokio::task::yield_now().await;
        }
    }

    /// The total where it is known without looking at rows.
    async fn known_total(&self, rows: &Rows) -> Result<Option<u64>, StoreError> {
        let everything = self.reach.places.is_none() && self.reach.scopes.len() == SCOPES;
        if !everything || !self.query.filter.is_empty() {
            return Ok(None);
        }
        debug_assert!(rows.numbers.is_none());
        if repositories::first_deleted_ms(self.read).await?.is_some() {
            return Ok(None);
        }
        let most = LOOK_MAX as u64;
        let all = self.read.count(&Range::prefix(keys::hooks()), most).await?;
        let retired = self.read.count(&keys::retired_hooks(i64::MAX), most).await?;
        Ok((all < most).then(|| all.saturating_sub(retired)))
    }

    async fn sorted(&mut self) -> Result<HookPage, Error> {
        let query = self.query;
        let mut rows = Rows::new(self.read, self.reach, false, None).await?;
        let (mut all, mut looked) = (Vec::new(), 0);
        loop {
            let step = rows.next(self.read).await?;
            if step.is_empty() {
                break;
            }
            looked += step.len();
            if looked > LOOK_MAX {
                let reason = format!("more than {LOOK_MAX} hooks cannot be sorted; filter by owner or repository");
                return Err(Error::invalid("sort", reason));
            }
            let matching = self.matching(step).await?;
            all.extend(matching.iter().map(|found| Cursor { key: sort_key(query.sort, found), id: found.hook.id }));
            tokio::task::yield_now().await;
        }
        let total = all.len() as u64;
        let order = |a: &Cursor, b: &Cursor| {
            let order = (&a.key, a.id).cmp(&(&b.key, b.id));
            if query.descending { order.reverse() } else { order }
        };
        all.sort_unstable_by(order);
        let first = query.after.as_ref().map_or(0, |after| all.partition_point(|item| order(item, after).is_le()));
        let shown = &all[first..(first + query.limit).min(all.len())];
        let next = shown.last().filter(|_| first + shown.len() < all.len()).cloned();
        let ids: Vec<u64> = shown.iter().map(|item| item.id).collect();
        let mut page = HookPage { hooks: Vec::new(), next, total: query.after.is_none().then_some(total) };
        for hook in hooks::many(self.read, &ids).await? {
            let state = hooks::state(self.read, hook.id).await?;
            let home = self.home(&hook).await?;
            page.hooks.push(Managed { found: Found { hook, state }, home });
        }
        Ok(page)
    }

    /// Those of `rows` that are wanted, with their states.
    async fn matching(&mut self, rows: Vec<Hook>) -> Result<Vec<Found>, Error> {
        let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let states = hooks::states_of(self.read, &ids).await?;
        let mut matching = Vec::new();
        for (hook, state) in rows.into_iter().zip(states) {
            if self.fits(&hook, &state) && !self.home(&hook).await?.deleted && self.has_text(&hook).await? {
                matching.push(Found { hook, state });
            }
        }
        Ok(matching)
    }

    fn fits(&self, hook: &Hook, state: &HookState) -> bool {
        let filter = &self.query.filter;
        hook.retired_ms == 0
            && self.reach.scopes.contains(&hook.scope())
            && (filter.scopes.is_empty() || filter.scopes.contains(&hook.scope()))
            && filter.active.is_none_or(|active| active == hook.active)
            && (filter.health.is_empty() || filter.health.contains(&Health::of(hook, state)))
    }

    async fn has_text(&mut self, hook: &Hook) -> Result<bool, Error> {
        let text = &self.query.filter.text;
        if text.is_empty() || [&hook.name, &hook.url].iter().any(|field| field.to_lowercase().contains(text)) {
            return Ok(true);
        }
        let home = self.home(hook).await?;
        Ok([&home.owner, &home.repository].iter().any(|field| field.to_lowercase().contains(text)))
    }

    async fn home(&mut self, hook: &Hook) -> Result<Home, Error> {
        let hook_owner = (hook.scope, hook.target_id);
        if let Some(home) = self.homes.get(&hook_owner) {
            return Ok(home.clone());
        }
        let home = reach::home(self.read, hook).await?;
        self.homes.insert(hook_owner, home.clone());
        Ok(home)
    }
}

/// Kinds of hooks.
const SCOPES: usize = 5;

/// Rows by number, a step at a time.
struct Rows {
    /// What is left to read of every hook, where no places are named.
    range: Range,
    descending: bool,
    /// What is left to read of the hooks at named places.
    numbers: Option<std::vec::IntoIter<u64>>,
}

impl Rows {
    async fn new(read: &impl Read, reach: &Reach, descending: bool, after: Option<u64>) -> Result<Self, Error> {
        let mut range = Range::prefix(keys::hooks());
        match after {
            Some(id) if descending => range.high = Some(keys::hook(id)),
            Some(id) => range = range.after(&keys::hook(id)),
            None => {}
        }
        let mut numbers = reach.numbers(read).await?;
        if let Some(numbers) = &mut numbers {
            numbers.retain(|id| after.is_none_or(|after| if descending { *id < after } else { *id > after }));
            if descending {
                numbers.reverse();
            }
        }
        Ok(Self { range, descending, numbers: numbers.map(Vec::into_iter) })
    }

    /// The next rows; none at the end. Every step reads what the one before has not, so the walk ends.
    async fn next(&mut self, read: &impl Read) -> Result<Vec<Hook>, StoreError> {
        if let Some(numbers) = &mut self.numbers {
            loop {
                let ids: Vec<u64> = numbers.take(STEP).collect();
                let rows = hooks::many(read, &ids).await?;
                if !rows.is_empty() || ids.is_empty() {
                    return Ok(rows);
                }
            }
        }
        let scan = Scan { reverse: self.descending, ..Scan::of(self.range.clone(), STEP) };
        let pairs = read.scan::<Hook>(&scan).await?;
        match pairs.last() {
            Some((key, _)) if self.descending => self.range.high = Some(key.clone()),
            Some((key, _)) => self.range = self.range.clone().after(key),
            None => {}
        }
        Ok(pairs.into_iter().map(|(_, row)| row).collect())
    }
}

fn sort_key(sort: Sort, found: &Found) -> Vec<u8> {
    let (hook, state) = (&found.hook, &found.state);
    let text = |text: &str| text.to_lowercase().bytes().take(SORT_KEY_MAX).collect();
    let time = |ms: i64| ms.max(0).to_be_bytes().to_vec();
    match sort {
        Sort::Id => Vec::new(),
        Sort::Name => text(if hook.name.is_empty() { &hook.url } else { &hook.name }),
        Sort::Url => text(&hook.url),
        Sort::LastDelivery => time(state.last_delivery_ms),
        Sort::Failures => state.failures.to_be_bytes().to_vec(),
        Sort::FailingSince => time(state.failing_since_ms),
    }
}
