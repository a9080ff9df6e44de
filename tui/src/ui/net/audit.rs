//! Requests about the audit log.

use farrier_common::{
    api::AuditEntry,
    client::{AuditFilter, Client, ClientError, Pages},
};

use super::{
    Answer, Page,
    compact_page::{Compact, CompactPage},
};
use crate::ui::audit::{AuditCompactor, AuditSummary};

/// Status of a caller who is not an administrator.
const FORBIDDEN: u16 = 403;

/// Loads the newest `rows` entries; those of the caller if it is not an administrator.
pub(super) async fn list(client: &Client, rows: usize) -> Result<Answer, ClientError> {
    let filter = AuditFilter::default();
    match load(client.audit(&filter), rows).await {
        Err(error) if error.status().is_some_and(|status| status.as_u16() == FORBIDDEN) => {
            load(client.own_audit(&filter), rows).await
        }
        listed => listed,
    }
}

async fn load(mut pages: Pages<'_>, rows: usize) -> Result<Answer, ClientError> {
    let mut items = Vec::new();
    let open = |page: CompactPage<AuditCompactor>| (0, page.0);
    while let Some(mut page) = pages.next(open, |one: &AuditSummary| one.id).await? {
        items.append(&mut page);
        if items.len() >= rows {
            break;
        }
    }
    Ok(Answer::Audit(Page { items, total: pages.total(), last: true }))
}

impl Compact for AuditCompactor {
    type Object = AuditEntry;
    type Row = AuditSummary;

    fn compact(&mut self, entry: AuditEntry) -> AuditSummary {
        self.compact(entry)
    }
}
