//! Requests about deliveries: list, show, redeliver and recover.

use farrier_common::{
    api::Delivery,
    client::{Client, ClientError, DeliveryFilter},
};

use super::{Answer, Page, Request};

/// Number of rows that are loaded at once, newest first, and each time the user loads more.
pub(crate) const ROWS_STEP: usize = 500;

/// Number of deliveries in the summary of a hook.
const LAST: usize = 50;

/// Handles a request about deliveries.
pub(super) async fn answer(client: &Client, request: Request) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Deliveries { status, hook, event, reason, host, since, rows } => {
            let status = status.to_owned();
            let filter = DeliveryFilter { status, hook, event, reason, host, since, ..DeliveryFilter::default() };
            list(client, &filter, rows).await?
        }
        Request::DeliveryGroups(by) => {
            Answer::DeliveryGroups(Box::new(client.delivery_groups(by, &DeliveryFilter::default()).await?))
        }
        Request::DeliveryResults(hook, span) => {
            Answer::DeliveryResults(Box::new(client.delivery_results(hook, span.name()).await?))
        }
        Request::LastDeliveries(hook) => last(client, hook).await?,
        Request::Delivery(id) => Answer::Delivery(Box::new(client.delivery(&id).await?)),
        Request::PreviousDelivery(hook, event, id) => {
            Answer::PreviousDelivery(client.previous_delivery(hook, &event, id).await?.map(Box::new))
        }
        Request::Redeliver(ids) => redeliver(client, ids).await?,
        Request::Recover(id) => {
            Answer::Recovered(client.recover(u64::try_from(id).unwrap_or_default(), None).await?.count)
        }
        Request::Recoverable(hooks) => {
            let mut count = 0;
            for hook in hooks {
                count += client.recoverable(u64::try_from(hook).unwrap_or_default(), None).await?.count;
            }
            Answer::Recoverable(count)
        }
        _ => Answer::Done,
    })
}

async fn list(client: &Client, filter: &DeliveryFilter, rows: usize) -> Result<Answer, ClientError> {
    let mut pages = client.deliveries(filter);
    let mut items = Vec::new();
    while let Some(mut page) = pages.next(|page: Vec<Delivery>| (0, page), |one| one.id).await? {
        items.append(&mut page);
        if items.len() >= rows {
            break;
        }
    }
    Ok(Answer::Deliveries(Page { items, total: pages.total(), last: true }))
}

/// Loads the newest deliveries of a hook for its summary.
async fn last(client: &Client, hook: u64) -> Result<Answer, ClientError> {
    let filter = DeliveryFilter { hook: Some(hook), ..DeliveryFilter::default() };
    let page = client.deliveries(&filter).next(|page: Vec<Delivery>| (0, page), |one| one.id).await?;
    let mut rows = page.unwrap_or_default();
    rows.truncate(LAST);
    Ok(Answer::LastDeliveries(rows))
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
