//! Events as sentences: who did what, and the results of the deliveries.

use std::collections::{BTreeSet, HashMap};

use farrier_common::api::Event;

use crate::ui::{delivery::DeliverySummary, view::width};

/// Digits of an object ID that are shown.
const SHORT_ID: usize = 7;

/// The deliveries of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryResults {
    succeeded: usize,
    failed: usize,
    pending: usize,
}

impl DeliveryResults {
    /// Counts deliveries by event. Deliveries of an older daemon do not name their event.
    pub(super) fn by_event(deliveries: &[DeliverySummary]) -> HashMap<i64, Self> {
        let mut results: HashMap<i64, Self> = HashMap::new();
        for delivery in deliveries {
            let Some(event) = delivery.event_id() else { continue };
            let result = results.entry(event).or_default();
            match delivery.state() {
                "success" => result.succeeded += 1,
                "failed" => result.failed += 1,
                "pending" => result.pending += 1,
                _ => {}
            }
        }
        results
    }

    fn plus(self, other: Self) -> Self {
        Self {
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            pending: self.pending + other.pending,
        }
    }

    pub(super) fn has_failures(self) -> bool {
        self.failed > 0
    }

    /// Formats `2 deliveries succeeded, 1 failed`; empty without deliveries.
    fn text(self) -> String {
        let mut parts = Vec::new();
        for (count, word) in [(self.succeeded, "succeeded"), (self.failed, "failed"), (self.pending, "waiting")] {
            if count > 0 {
                let subject = if parts.is_empty() { deliveries(count) } else { count.to_string() };
                parts.push(format!("{subject} {word}"));
            }
        }
        parts.join(", ")
    }
}

fn deliveries(count: usize) -> String {
    if count == 1 { "1 delivery".to_owned() } else { format!("{count} deliveries") }
}

/// One line: an event, or several events of the same kind in succession.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    /// ID of the oldest event, which stays the same while newer events join the line.
    pub(super) oldest: i64,
    /// Time of the newest event.
    pub(super) at: String,
    pub(super) repository_id: i64,
    pub(super) run: Option<i64>,
    /// Who did what. The commits of a push are separate, so that they can be left out.
    sentence: String,
    commits: String,
    pub(super) results: DeliveryResults,
    /// The results of the deliveries; empty without deliveries.
    outcome: String,
}

impl Activity {
    /// Returns the sentence, without the commits if it has more than `room` cells otherwise.
    pub(super) fn text(&self, room: u16) -> String {
        let outcome = if self.outcome.is_empty() { String::new() } else { format!("; {}", self.outcome) };
        let full = format!("{}{}{outcome}", self.sentence, self.commits);
        if width(&full) <= room { full } else { format!("{}{outcome}", self.sentence) }
    }
}

/// What events of one line have in common.
#[derive(PartialEq, Eq)]
enum GroupKey<'a> {
    /// A run and its jobs.
    Run(i64),
    /// Events of one kind, account and repository.
    Same(&'a str, &'a str, i64, i64, &'a str),
}

/// Returns whether a push created its branch or tag. Another event reports the creation, too.
fn is_creation(event: &Event) -> bool {
    event.kind == "push" && !event.before.is_empty() && event.before.bytes().all(|byte| byte == b'0')
}

fn group_key(event: &Event) -> GroupKey<'_> {
    if let Some(run) = event.run_id {
        return GroupKey::Run(run);
    }
    let kind = if is_creation(event) { "create" } else { &event.kind };
    GroupKey::Same(kind, &event.action, event.repository_id, event.actor_id, &event.actor)
}

/// Returns one line per event, the newest first. The events of one run, and equal events of one account and repository
/// in succession, share a line.
pub(super) fn activities<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    results: &HashMap<i64, DeliveryResults>,
) -> Vec<Activity> {
    let mut groups: Vec<Vec<&Event>> = Vec::new();
    for event in events {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| group_key(last) == group_key(event)) => {
                group.push(event);
            }
            _ => groups.push(vec![event]),
        }
    }
    let line = |group: Vec<&Event>| {
        let (newest, oldest) = (*group.first()?, *group.last()?);
        let of_event = |event: &&Event| results.get(&event.id).copied().unwrap_or_default();
        let results = group.iter().map(of_event).fold(DeliveryResults::default(), DeliveryResults::plus);
        Some(Activity {
            oldest: oldest.id,
            at: newest.at.clone(),
            repository_id: newest.repository_id,
            run: newest.run_id,
            sentence: sentence(&group),
            commits: commits(&group),
            outcome: results.text(),
            results,
        })
    };
    groups.into_iter().filter_map(line).collect()
}

/// Returns the name of a branch or tag, and its kind.
fn reference(event: &Event) -> (&'static str, &str) {
    let name = event.r#ref.as_str();
    match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
        (Some(branch), _) => ("branch", branch),
        (_, Some(tag)) => ("tag", tag),
        _ => ("ref", name),
    }
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Formats the commits of a push: ` (3f2a9c1..8be1c02)`. Empty for other events.
fn commits(events: &[&Event]) -> String {
    match events {
        [push] if push.kind == "push" && !is_creation(push) && !push.before.is_empty() && !push.after.is_empty() => {
            format!(" ({}..{})", short(&push.before), short(&push.after))
        }
        _ => String::new(),
    }
}

/// Describes the events of one line, the newest first.
fn sentence(events: &[&Event]) -> String {
    let Some(event) = events.first() else { return String::new() };
    if let Some(run) = event.run_id {
        return run_sentence(run, events, &event.repository);
    }
    let repository = &event.repository;
    let actor = if event.actor.is_empty() { "an agent" } else { event.actor.as_str() };
    let (kind, name) = reference(event);
    let refs: BTreeSet<&str> = events.iter().map(|event| event.r#ref.as_str()).collect();
    let plural = if refs.iter().all(|name| name.starts_with("refs/tags/")) { "tags" } else { "branches" };
    let word = if is_creation(event) { "create" } else { event.kind.as_str() };
    match (word, event.action.as_str(), events.len()) {
        ("push", _, 1) => format!("{actor} pushed to {name} of {repository}"),
        ("push", _, count) => format!("{actor} pushed {count} times to {repository}"),
        ("create", ..) if refs.len() == 1 => format!("{actor} created the {kind} {name} in {repository}"),
        ("create", ..) => format!("{actor} created {} {plural} in {repository}", refs.len()),
        ("delete", ..) if refs.len() == 1 => format!("{actor} deleted the {kind} {name} of {repository}"),
        ("delete", ..) => format!("{actor} deleted {} {plural} of {repository}", refs.len()),
        ("repository", action, 1) => format!("{actor} {action} the repository {repository}"),
        ("repository", action, count) => format!("{actor} {action} the repository {repository} {count} times"),
        ("member", action, _) => format!("{actor} {action} a collaborator of {repository}"),
        (kind, "", _) => format!("{actor}: {kind} in {repository}"),
        (kind, action, _) => format!("{actor}: {kind} {action} in {repository}"),
    }
}

/// Describes the state of a run after its events, the newest first.
fn run_sentence(run: i64, events: &[&Event], repository: &str) -> String {
    let of_run = events.iter().find(|event| event.kind == "workflow_run").or(events.first());
    let state = of_run.map_or(String::new(), |event| match (event.action.as_str(), event.conclusion.as_str()) {
        ("completed", "success") => "succeeded".to_owned(),
        ("completed", "failure") => "failed".to_owned(),
        ("completed", conclusion) if !conclusion.is_empty() => format!("ended: {conclusion}"),
        ("requested" | "in_progress" | "queued", _) => "started".to_owned(),
        (action, _) => action.to_owned(),
    });
    format!("run {run} of {repository} {state}")
}

#[cfg(test)]
mod tests {
    use farrier_common::api::Delivery;

    use super::*;

    fn event(id: i64, kind: &str, reference: &str) -> Event {
        Event {
            id,
            kind: kind.into(),
            actor: "mia".into(),
            repository: "tools/cli".into(),
            r#ref: reference.into(),
            at: format!("2026-11-21T11:59:0{id}Z"),
            ..Event::default()
        }
    }

    fn delivery(event: i64, state: &str) -> DeliverySummary {
        DeliverySummary::of(&Delivery { event_id: Some(event), state: state.into(), ..Delivery::default() })
    }

    #[test]
    fn a_push_and_its_deliveries_are_one_sentence() {
        let push =
            Event { before: "0123456789".into(), after: "abcdef0123".into(), ..event(7, "push", "refs/heads/main") };
        let delivery = |state: &str| delivery(7, state);
        let results = DeliveryResults::by_event(&[delivery("success"), delivery("success"), delivery("failed")]);
        let lines = activities([&push], &results);
        assert_eq!(
            lines[0].text(99),
            "mia pushed to main of tools/cli (0123456..abcdef0); 2 deliveries succeeded, 1 failed"
        );
        assert_eq!(lines[0].text(72), "mia pushed to main of tools/cli; 2 deliveries succeeded, 1 failed");
        assert!(lines[0].results.has_failures());
        let waiting = DeliveryResults::by_event(&[delivery("pending"), delivery("pending")]);
        assert!(activities([&push], &waiting)[0].text(99).ends_with("; 2 deliveries waiting"));
    }

    #[test]
    fn events_of_one_kind_in_succession_share_a_line() {
        let all = [
            event(5, "create", "refs/heads/a"),
            event(4, "create", "refs/heads/b"),
            event(3, "delete", "refs/tags/v1"),
            event(2, "create", "refs/heads/c"),
        ];
        let lines = activities(&all, &HashMap::new());
        let texts: Vec<String> = lines.iter().map(|line| line.text(99)).collect();
        assert_eq!(
            texts,
            [
                "mia created 2 branches in tools/cli",
                "mia deleted the tag v1 of tools/cli",
                "mia created the branch c in tools/cli",
            ]
        );
        assert_eq!(lines[1].oldest, 3);
    }

    #[test]
    fn the_events_of_a_run_and_its_jobs_share_a_line() {
        let of_run = |kind: &str, action: &str, conclusion: &str, run: i64| Event {
            action: action.into(),
            conclusion: conclusion.into(),
            run_id: Some(run),
            ..event(1, kind, "")
        };
        let all = [
            of_run("workflow_job", "in_progress", "", 52),
            of_run("workflow_run", "requested", "", 52),
            of_run("workflow_run", "completed", "failure", 51),
            of_run("workflow_job", "completed", "success", 51),
            of_run("workflow_run", "requested", "", 51),
        ];
        let lines = activities(&all, &HashMap::new());
        let texts: Vec<String> = lines.iter().map(|line| line.text(99)).collect();
        assert_eq!(texts, ["run 52 of tools/cli started", "run 51 of tools/cli failed"]);
        assert_eq!(lines[1].run, Some(51));
    }

    #[test]
    fn a_push_that_creates_a_branch_is_not_reported_twice() {
        let push =
            |id, reference| Event { before: "0".repeat(40), after: "a".repeat(40), ..event(id, "push", reference) };
        let one = [push(2, "refs/heads/main"), event(1, "create", "refs/heads/main")];
        assert_eq!(activities(&one, &HashMap::new())[0].text(99), "mia created the branch main in tools/cli");
        let two = [
            push(4, "refs/heads/dev"),
            event(3, "create", "refs/heads/dev"),
            push(2, "refs/heads/main"),
            event(1, "create", "refs/heads/main"),
        ];
        let delivery = |event| delivery(event, "success");
        let lines = activities(&two, &DeliveryResults::by_event(&[delivery(1), delivery(2), delivery(3)]));
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text(99), "mia created 2 branches in tools/cli; 3 deliveries succeeded");
    }
}
