//! Requests about deliveries: list, show, redeliver and recover.

use farrier_common::{
    api::{Delivery, RecoverDeliveries, RecoveredDeliveries},
    client::{Client, ClientError, DeliveryFilter, Pages},
};

use super::{
    Answer, Page, Request,
    compact_page::{Compact, CompactPage},
};
use crate::ui::delivery::{DeliveryCompactor, DeliverySummary};

/// Number of rows that are loaded at once, newest first, and each time the user loads more. A longer list arrives in
/// parts of this size, because it must not be in memory as objects of the API.
pub(crate) const ROWS_STEP: usize = 500;

/// Number of deliveries in the summary of a hook.
const LAST: usize = 50;

/// Handles a request about deliveries. `part` receives pages before the final response.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Deliveries { status, hook, event, reason, host, since, rows } => {
            let status = status.to_owned();
            let filter = DeliveryFilter { status, hook, event, reason, host, since, ..DeliveryFilter::default() };
            list(client, &filter, rows, part).await?
        }
        Request::DeliveryGroups(by) => {
            Answer::DeliveryGroups(Box::new(client.delivery_groups(by, &DeliveryFilter::default()).await?))
        }
        Request::DeliveryResults(hook, span) => {
            Answer::DeliveryResults(Box::new(client.delivery_results(hook, span.name()).await?))
        }
        Request::LastDeliveries(hook) => last(client, hook).await?,
        Request::Delivery(id) => Answer::Delivery(Box::new(client.delivery(&id).await?)),
        Request::PreviousDelivery { hook, event, repository, id } => {
            let filter = DeliveryFilter { hook: Some(hook), event, repository, ..DeliveryFilter::default() };
            Answer::PreviousDelivery(client.previous_delivery(&filter, id).await?.map(Box::new))
        }
        Request::Redeliver(ids) => redeliver(client, ids).await?,
        Request::Recover(hooks) => recover(client, hooks).await?,
        Request::Recoverable(hooks) => {
            let mut sum = RecoveredDeliveries::default();
            for hook in hooks {
                let found = recovery(client, hook, true).await?;
                sum.count += found.count;
                sum.retried += found.retried;
            }
            Answer::Recoverable(sum)
        }
        _ => Answer::Done,
    })
}

async fn list(
    client: &Client,
    filter: &DeliveryFilter,
    rows: usize,
    part: &impl Fn(Answer),
) -> Result<Answer, ClientError> {
    let mut pages = client.deliveries(filter);
    let (mut items, mut loaded) = (Vec::new(), 0);
    while let Some(mut page) = next(&mut pages).await? {
        loaded += page.len();
        items.append(&mut page);
        if loaded >= rows {
            break;
        }
        if items.len() >= ROWS_STEP {
            let items = std::mem::take(&mut items);
            part(Answer::Deliveries(Page { items, total: pages.total(), last: false }));
        }
    }
    Ok(Answer::Deliveries(Page { items, total: pages.total(), last: true }))
}

/// Loads the newest deliveries of a hook for its summary.
async fn last(client: &Client, hook: u64) -> Result<Answer, ClientError> {
    let filter = DeliveryFilter { hook: Some(hook), ..DeliveryFilter::default() };
    let mut rows = next(&mut client.deliveries(&filter)).await?.unwrap_or_default();
    rows.truncate(LAST);
    Ok(Answer::LastDeliveries(rows))
}

/// Loads the next page.
async fn next(pages: &mut Pages<'_>) -> Result<Option<Vec<DeliverySummary>>, ClientError> {
    pages.next(|page: CompactPage<DeliveryCompactor>| (0, page.0), |one: &DeliverySummary| one.id.clone()).await
}

impl Compact for DeliveryCompactor {
    type Object = Delivery;
    type Row = DeliverySummary;

    fn compact(&mut self, delivery: Delivery) -> DeliverySummary {
        self.compact(delivery)
    }
}

/// Recovers one hook after the other. With several hooks, a refusal does not stop the rest.
async fn recover(client: &Client, hooks: Vec<i64>) -> Result<Answer, ClientError> {
    let is_one = hooks.len() == 1;
    let mut each = Vec::with_capacity(hooks.len());
    for hook in hooks {
        match recovery(client, hook, false).await {
            Ok(counts) => each.push(Ok(counts)),
            Err(error) if is_one || error.status().is_none() => return Err(error),
            Err(error) => each.push(Err(error.to_string())),
        }
    }
    Ok(Answer::Recovered(each))
}

/// Redelivers the failed deliveries of a hook and tries the waiting ones, or only counts them.
async fn recovery(client: &Client, hook: i64, dry_run: bool) -> Result<RecoveredDeliveries, ClientError> {
    let request = RecoverDeliveries { since: None, dry_run, waiting: true };
    client.recover(u64::try_from(hook).unwrap_or_default(), &request).await
}

/// Redelivers one after the other; a refusal does not stop the rest.
async fn redeliver(client: &Client, ids: Vec<String>) -> Result<Answer, ClientError> {
    let mut each = Vec::with_capacity(ids.len());
    for id in ids {
        let outcome = match client.redeliver(&id).await {
            Ok(_) => None,
            Err(error) if error.status().is_none() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        each.push((id, outcome));
    }
    Ok(Answer::EachOf(each))
}
