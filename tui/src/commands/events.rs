//! `farrier events`: lists and follows events.

use std::time::Duration;

use farrier_common::{
    api::Event,
    client::{Client, ClientError, EventFilter, Followed},
};

use crate::{
    args::Events,
    exit::Failure,
    output::{Output, clean_line},
};

/// Most events that the daemon returns in one response.
const LAST_MAX: usize = 1_000;
/// Events of one page.
const PAGE: usize = 500;
/// Pause before an ended stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(args: Events, client: &Client, output: &Output) -> Result<(), Failure> {
    let mut filter = EventFilter { repository: args.repo, kinds: args.kind, after: args.after, last: args.last };
    if args.follow {
        return follow(&mut filter, client, output).await;
    }
    if args.after.is_none() {
        return newest(args.last, args.limit, filter, client, output).await;
    }
    let mut left = args.limit;
    while left > 0 {
        let page = client.events(&filter, left.min(PAGE)).await.map_err(Failure::call("listing events"))?;
        if page.gap {
            gap(output);
        }
        left = left.saturating_sub(page.events.len());
        for event in &page.events {
            show(event, output)?;
        }
        filter.after = Some(page.next);
        if !page.more {
            break;
        }
    }
    Ok(())
}

/// Returns the newest events, oldest first.
async fn newest(
    last: Option<u32>,
    limit: usize,
    filter: EventFilter,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let count = last.map_or(limit, |last| usize::try_from(last).unwrap_or(usize::MAX)).min(LAST_MAX);
    let filter = EventFilter { last: u32::try_from(count).ok(), ..filter };
    let page = client.events(&filter, count).await.map_err(Failure::call("listing events"))?;
    page.events.iter().try_for_each(|event| show(event, output))
}

/// Follows events. Continues after a stream that the daemon closed, until a request fails.
async fn follow(filter: &mut EventFilter, client: &Client, output: &Output) -> Result<(), Failure> {
    let failed = |error: ClientError| Failure::call("following events")(error);
    loop {
        let mut stream = client.follow(filter).await.map_err(failed)?;
        while let Some(followed) = stream.next().await.map_err(failed)? {
            match followed {
                Followed::Event(event) => {
                    filter.after = Some(event.id);
                    show(&event, output)?;
                }
                Followed::Gap => gap(output),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn gap(output: &Output) {
    let _ = output.note("farrier: older events have been forgotten"); // a message may get lost
}

/// Prints an event on one line, in every format.
fn show(event: &Event, output: &Output) -> Result<(), Failure> {
    output.object(event, &event.id.to_string(), || line(event))
}

fn line(event: &Event) -> String {
    let conclusion = if event.conclusion.is_empty() { &event.action } else { &event.conclusion };
    let number = event.job_id.or(event.run_id).map(|id| id.to_string()).unwrap_or_default();
    let who = if event.actor.is_empty() { "-" } else { &event.actor };
    let words = [&event.at, &event.kind, &event.repository, who, conclusion, &number, &event.r#ref];
    let parts: Vec<_> = words.iter().filter(|word| !word.is_empty()).map(|word| clean_line(word)).collect();
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_formatted_as_one_line_without_control_characters() {
        let event = Event {
            at: "2026-01-02T03:04:05Z".into(),
            kind: "push".into(),
            repository: "o/n".into(),
            actor: "octo".into(),
            r#ref: "refs/heads/a\u{1b}[31m".into(),
            ..Event::default()
        };
        let line = line(&event);
        assert!(line.starts_with("2026-01-02T03:04:05Z  push  o/n  octo  refs/heads/a"), "{line}");
        assert!(!line.contains('\u{1b}'));
    }
}
