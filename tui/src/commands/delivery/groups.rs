//! `farrier delivery groups`: groups deliveries by hook, reason or host.

use farrier_common::{
    api::{DeliveryGroup, DeliveryGroups},
    client::Client,
};

use crate::{
    args::FilterArgs,
    commands::list,
    exit::Failure,
    output::{Output, Table, time},
};

pub(super) async fn run(by: &str, filter: FilterArgs, client: &Client, output: &Output) -> Result<(), Failure> {
    let query = super::query(filter, client).await?;
    let mut all = client.delivery_groups(by, &query).await.map_err(Failure::call("grouping deliveries"))?;
    let note = note(&all);
    let groups = std::mem::take(&mut all.groups);
    list::show(output, groups, |group| group.key.clone(), table, |_, groups| DeliveryGroups { groups, ..all })?;
    let format = output.format();
    if let (Some(note), false) = (note, format.json || format.jsonl || format.quiet) {
        let _ = output.note(&note); // a message may get lost
    }
    Ok(())
}

/// Returns which deliveries and groups are left out, if some are.
fn note(all: &DeliveryGroups) -> Option<String> {
    let mut notes = Vec::new();
    if all.truncated {
        // Of the filters, only the hook selects the rows that are examined; the others are applied to these rows.
        notes.push(format!(
            "Only the newest {} deliveries were examined; --hook examines those of a hook.",
            all.examined
        ));
    }
    let shown = i64::try_from(all.groups.len()).unwrap_or(i64::MAX);
    if all.total_count > shown {
        notes.push(format!("Showing {shown} of {} groups.", all.total_count));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn table(all: &[DeliveryGroup]) -> String {
    let mut table = Table::new(["GROUP", "HOST", "FAILED", "PENDING", "ALL", "HOOKS", "FIRST", "LAST", "EXAMPLE"]);
    for group in all {
        let key = if group.key.is_empty() { "(deleted hooks)" } else { &group.key };
        table.row([
            key.to_owned(),
            group.host.clone().unwrap_or_default(),
            group.failed.to_string(),
            group.pending.to_string(),
            group.count.to_string(),
            group.hook_count.to_string(),
            time(&group.first_at),
            time(&group.last_at),
            group.example.clone(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_says_what_is_left_out() {
        let complete = DeliveryGroups { examined: 7, total_count: 0, ..DeliveryGroups::default() };
        assert_eq!(note(&complete), None);
        let partial = DeliveryGroups { examined: 20_000, total_count: 3, truncated: true, ..complete };
        let expected =
            "Only the newest 20000 deliveries were examined; --hook examines those of a hook. Showing 0 of 3 groups.";
        assert_eq!(note(&partial).as_deref(), Some(expected));
    }
}
