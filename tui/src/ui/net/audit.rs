//! Requests about the audit log.

use farrier_common::{
    api::AuditEntry,
    client::{AuditFilter, Client, ClientError, Pages},
};

use super::{
    Answer, Page, SearchProgress,
    compact_page::{Compact, CompactPage},
};
use crate::ui::audit::{AuditCompactor, AuditSummary};

/// Status of a caller who is not an administrator.
const FORBIDDEN: u16 = 403;
/// Status for an entry that does not exist.
const NOT_FOUND: u16 = 404;
/// At most one request is sent for this many rows. The pages of a search are short when few entries match.
const ROWS_PER_REQUEST: usize = 10;

/// Loads the newest `rows` entries that pass `filter`, or only the entry `entry`. Callers that are not administrators
/// get their own entries; of the filter, only the text and the times apply to them. `part` receives the progress of a
/// search.
pub(super) async fn list(
    client: &Client,
    filter: &AuditFilter,
    entry: Option<u64>,
    rows: usize,
    part: &impl Fn(Answer),
) -> Result<Answer, ClientError> {
    let listed = match entry {
        Some(id) => one(client, id).await,
        None => load(client.audit(filter), rows, part).await,
    };
    match listed {
        Err(error) if has_status(&error, FORBIDDEN) => load(client.own_audit(filter), rows, part).await,
        listed => listed,
    }
}

fn has_status(error: &ClientError, status: u16) -> bool {
    error.status().is_some_and(|given| given.as_u16() == status)
}

/// Loads one entry. The list is empty if it does not exist.
async fn one(client: &Client, id: u64) -> Result<Answer, ClientError> {
    let items = match client.audit_entry(id).await {
        Ok(entry) => vec![AuditCompactor::default().compact(entry)],
        Err(error) if has_status(&error, NOT_FOUND) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Answer::Audit(Page { items, total: None, last: true }, SearchProgress::default()))
}

async fn load(mut pages: Pages<'_>, rows: usize, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let (mut items, mut loaded, mut requests) = (Vec::new(), 0, 0);
    let open = |page: CompactPage<AuditCompactor>| (0, page.0);
    while let Some(mut page) = pages.next(open, |one: &AuditSummary| one.id).await? {
        (loaded, requests) = (loaded + page.len(), requests + 1);
        items.append(&mut page);
        if loaded >= rows || requests >= rows.div_ceil(ROWS_PER_REQUEST) || !pages.more() {
            break;
        }
        if pages.examined().is_some() {
            let items = std::mem::take(&mut items);
            part(answer(&pages, items, false));
        }
    }
    Ok(answer(&pages, items, true))
}

fn answer(pages: &Pages<'_>, items: Vec<AuditSummary>, last: bool) -> Answer {
    let searched = SearchProgress { examined: pages.examined(), more: pages.more() };
    Answer::Audit(Page { items, total: pages.total(), last }, searched)
}

impl Compact for AuditCompactor {
    type Object = AuditEntry;
    type Row = AuditSummary;

    fn compact(&mut self, entry: AuditEntry) -> AuditSummary {
        self.compact(entry)
    }
}
