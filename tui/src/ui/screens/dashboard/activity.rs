//! Events as sentences: who did what, and the results of the deliveries.

use std::collections::{BTreeSet, HashMap};

use farrier_common::api::Event;

use super::{notified::NotifiedHooks, pushes::PushSizes};
use crate::ui::{net::PushedCommits, view::width, words};

/// Digits of an object ID that are shown.
const SHORT_ID: usize = 7;

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
    pub(super) results: NotifiedHooks,
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

fn is_zero(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte == b'0')
}

/// Returns the kind of an event, or what a push did with a branch or tag: created and deleted refs are reported by
/// another event, too, and share its line.
fn kind(event: &Event) -> &str {
    match event.kind.as_str() {
        "push" if is_zero(&event.before) => "create",
        "push" if is_zero(&event.after) => "delete",
        "push" if event.r#ref.starts_with("refs/tags/") => "move",
        kind => kind,
    }
}

/// Returns whether an event moved an existing branch from one commit to another one.
pub(super) fn moves_branch(event: &Event) -> bool {
    kind(event) == "push"
        && event.r#ref.starts_with("refs/heads/")
        && !event.before.is_empty()
        && !event.after.is_empty()
}

fn group_key(event: &Event) -> GroupKey<'_> {
    if let Some(run) = event.run_id {
        return GroupKey::Run(run);
    }
    GroupKey::Same(kind(event), &event.action, event.repository_id, event.actor_id, &event.actor)
}

/// Returns one line per event, the newest first. The events of one run, and equal events of one account and repository
/// in succession, share a line. `sizes`: the known numbers of pushed commits.
pub(super) fn activities<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    results: &HashMap<i64, NotifiedHooks>,
    sizes: &PushSizes,
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
        let mut all = NotifiedHooks::default();
        for one in group.iter().filter_map(|event| results.get(&event.id)) {
            all.add(one);
        }
        Some(Activity {
            oldest: oldest.id,
            at: newest.at.clone(),
            repository_id: newest.repository_id,
            run: newest.run_id,
            sentence: sentence(&group, sizes),
            commits: commits(&group),
            outcome: all.text(),
            results: all,
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
        [push] if moves_branch(push) => {
            format!(" ({}..{})", short(&push.before), short(&push.after))
        }
        _ => String::new(),
    }
}

/// Describes pushes of one account to one repository, the newest first. `sizes`: their known numbers of commits.
fn push_sentence(actor: &str, events: &[&Event], sizes: &PushSizes) -> String {
    let Some(event) = events.first() else { return String::new() };
    let (_, name) = reference(event);
    let repository = &event.repository;
    let known: Vec<PushedCommits> = events.iter().filter_map(|event| sizes.of(event)).collect();
    let forced = known.iter().filter(|size| size.removed > 0).count();
    let commits = |count: i64| format!("{} {}", words::count(count), if count == 1 { "commit" } else { "commits" });
    match (events.len(), known.as_slice()) {
        (1, [size]) if forced > 0 => {
            let removed = words::count(size.removed);
            format!("{actor} force-pushed {} to {name} of {repository}, {removed} removed", commits(size.added))
        }
        (1, [size]) => format!("{actor} pushed {} to {name} of {repository}", commits(size.added)),
        (1, _) => format!("{actor} pushed to {name} of {repository}"),
        (count, _) => {
            let added = known.iter().map(|size| size.added).fold(0, i64::saturating_add);
            let what = if known.len() == count { format!(" {}", commits(added)) } else { String::new() };
            let forced = if forced > 0 { format!(", {forced} forced") } else { String::new() };
            format!("{actor} pushed{what} to {repository} in {count} pushes{forced}")
        }
    }
}

/// Describes the events of one line, the newest first.
fn sentence(events: &[&Event], sizes: &PushSizes) -> String {
    let Some(event) = events.first() else { return String::new() };
    if let Some(run) = event.run_id {
        return run_sentence(run, events, &event.repository);
    }
    let repository = &event.repository;
    let actor = if event.actor.is_empty() { "an agent" } else { event.actor.as_str() };
    let (ref_kind, name) = reference(event);
    let refs: BTreeSet<&str> = events.iter().map(|event| event.r#ref.as_str()).collect();
    let plural = if refs.iter().all(|name| name.starts_with("refs/tags/")) { "tags" } else { "branches" };
    match (kind(event), event.action.as_str(), events.len()) {
        ("push", ..) => push_sentence(actor, events, sizes),
        ("move", ..) if refs.len() == 1 => format!("{actor} moved the tag {name} of {repository}"),
        ("move", ..) => format!("{actor} moved {} tags of {repository}", refs.len()),
        ("create", ..) if refs.len() == 1 => format!("{actor} created the {ref_kind} {name} in {repository}"),
        ("create", ..) => format!("{actor} created {} {plural} in {repository}", refs.len()),
        ("delete", ..) if refs.len() == 1 => format!("{actor} deleted the {ref_kind} {name} of {repository}"),
        ("delete", ..) => format!("{actor} deleted {} {plural} of {repository}", refs.len()),
        ("repository", action, 1) => format!("{actor} {action} the repository {repository}"),
        ("repository", action, count) => format!("{actor} {action} the repository {repository} {count} times"),
        ("member", action, _) => format!("{actor} {action} a collaborator of {repository}"),
        ("release", action, 1) => format!("{actor} {action} a release of {repository}"),
        ("release", action, count) => format!("{actor} {action} {count} releases of {repository}"),
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
    use crate::ui::delivery::DeliverySummary;

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

    fn delivery(event: i64, hook_id: i64, state: &str) -> DeliverySummary {
        DeliverySummary::of(&Delivery { event_id: Some(event), hook_id, state: state.into(), ..Delivery::default() })
    }

    fn texts(events: &[Event], sizes: &PushSizes) -> Vec<String> {
        activities(events, &HashMap::new(), sizes).iter().map(|line| line.text(120)).collect()
    }

    #[test]
    fn a_push_and_its_deliveries_are_one_sentence() {
        let push =
            Event { before: "0123456789".into(), after: "abcdef0123".into(), ..event(7, "push", "refs/heads/main") };
        let delivery = |hook: i64, state: &str| delivery(7, hook, state);
        let results = NotifiedHooks::by_event(&[delivery(1, "success"), delivery(2, "success"), delivery(3, "failed")]);
        let sizes = PushSizes::known([(7, PushedCommits { added: 3, removed: 0 })]);
        let lines = activities([&push], &results, &sizes);
        let sentence = "mia pushed 3 commits to main of tools/cli";
        let outcome = "; 2 hooks notified, 1 failed";
        assert_eq!(lines[0].text(99), format!("{sentence} (0123456..abcdef0){outcome}"));
        assert_eq!(lines[0].text(75), format!("{sentence}{outcome}"));
        assert!(lines[0].results.has_failures());
        let waiting = NotifiedHooks::by_event(&[delivery(1, "pending"), delivery(2, "pending")]);
        let lines = activities([&push], &waiting, &PushSizes::default());
        assert_eq!(lines[0].text(60), "mia pushed to main of tools/cli; 2 hooks waiting");
    }

    #[test]
    fn pushes_say_whether_they_were_forced_and_how_many_commits_they_had() {
        let push = |id: i64, name: &str| Event {
            before: "1".repeat(40),
            after: "2".repeat(40),
            ..event(id, "push", &format!("refs/heads/{name}"))
        };
        let size = |added, removed| PushedCommits { added, removed };
        let forced = PushSizes::known([(1, size(1, 4))]);
        let expected = ["mia force-pushed 1 commit to main of tools/cli, 4 removed (1111111..2222222)"];
        assert_eq!(texts(&[push(1, "main")], &forced), expected);
        let two = [push(2, "main"), push(1, "dev")];
        let sizes = PushSizes::known([(1, size(1, 4)), (2, size(2, 0))]);
        assert_eq!(texts(&two, &sizes), ["mia pushed 3 commits to tools/cli in 2 pushes, 1 forced"]);
        assert_eq!(texts(&two, &PushSizes::default()), ["mia pushed to tools/cli in 2 pushes"]);
    }

    #[test]
    fn moved_and_deleted_tags_are_not_pushes_to_a_branch() {
        let tag = |id: i64, before: &str, after: &str| Event {
            before: before.repeat(40),
            after: after.repeat(40),
            ..event(id, "push", "refs/tags/v1")
        };
        let all = [event(4, "delete", "refs/tags/v1"), tag(3, "2", "0"), tag(2, "1", "2")];
        let expected = ["mia deleted the tag v1 of tools/cli", "mia moved the tag v1 of tools/cli"];
        assert_eq!(texts(&all, &PushSizes::default()), expected);
    }

    #[test]
    fn events_of_one_kind_in_succession_share_a_line() {
        let all = [
            event(5, "create", "refs/heads/a"),
            event(4, "create", "refs/heads/b"),
            event(3, "delete", "refs/tags/v1"),
            event(2, "create", "refs/heads/c"),
        ];
        let lines = activities(&all, &HashMap::new(), &PushSizes::default());
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
    fn releases_have_a_sentence() {
        let release = |id: i64, action: &str| Event { action: action.into(), ..event(id, "release", "") };
        let all = [release(3, "deleted"), release(2, "published"), release(1, "published")];
        let expected = ["mia deleted a release of tools/cli", "mia published 2 releases of tools/cli"];
        assert_eq!(texts(&all, &PushSizes::default()), expected);
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
        let lines = activities(&all, &HashMap::new(), &PushSizes::default());
        let texts: Vec<String> = lines.iter().map(|line| line.text(99)).collect();
        assert_eq!(texts, ["run 52 of tools/cli started", "run 51 of tools/cli failed"]);
        assert_eq!(lines[1].run, Some(51));
    }

    #[test]
    fn a_push_that_creates_a_branch_is_not_reported_twice() {
        let push =
            |id, reference| Event { before: "0".repeat(40), after: "a".repeat(40), ..event(id, "push", reference) };
        let one = [push(2, "refs/heads/main"), event(1, "create", "refs/heads/main")];
        assert_eq!(texts(&one, &PushSizes::default())[0], "mia created the branch main in tools/cli");
        let two = [
            push(4, "refs/heads/dev"),
            event(3, "create", "refs/heads/dev"),
            push(2, "refs/heads/main"),
            event(1, "create", "refs/heads/main"),
        ];
        let delivery = |event| delivery(event, event, "success");
        let lines =
            activities(&two, &NotifiedHooks::by_event(&[delivery(1), delivery(2), delivery(3)]), &PushSizes::default());
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text(99), "mia created 2 branches in tools/cli; 3 hooks notified");
    }
}
