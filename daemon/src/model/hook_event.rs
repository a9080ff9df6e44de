//! The table of events that hooks can subscribe to: their names in requests, in responses and in the headers of
//! deliveries, and which of them farrier sends.

/// An event type, as hooks store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// The name in responses. Also the exact name in headers unless `headers` has several.
    pub name: &'static str,
    /// The request name that selects only this event. Some names select a whole group in requests.
    pub exact: &'static str,
    /// The exact name and the group name in the headers of deliveries. Reviews have three pairs.
    pub headers: &'static [(&'static str, &'static str)],
    /// Whether farrier ever sends this event. The others are stored only because clients subscribe to all events at
    /// once and expect to read back what they sent.
    pub sent: bool,
    /// What happened when the event is sent.
    pub about: &'static str,
}

macro_rules! events {
    ($($name:literal $(exact $exact:literal)? as [$(($fine:literal, $coarse:literal)),*], $sent:expr, $about:literal;)*) => {
        /// All events, in the order of responses.
        pub const EVENTS: &[HookEvent] = &[$(HookEvent {
            name: $name,
            exact: events!(@exact $name $($exact)?),
            headers: &[$(($fine, $coarse)),*],
            sent: $sent,
            about: $about,
        }),*];
    };
    (@exact $name:literal $exact:literal) => { $exact };
    (@exact $name:literal) => { $name };
}

events! {
    "create" as [("create", "create")], true, "a branch or a tag was created";
    "delete" as [("delete", "delete")], true, "a branch or a tag was removed";
    "fork" as [("fork", "fork")], true, "a repository was forked";
    "push" as [("push", "push")], true, "a branch or a tag moved";
    "issues" exact "issues_only" as [("issues", "issues")], false, "an issue changed";
    "issue_assign" as [("issue_assign", "issues")], false, "an issue was assigned";
    "issue_label" as [("issue_label", "issues")], false, "labels of an issue changed";
    "issue_milestone" as [("issue_milestone", "issues")], false, "the milestone of an issue changed";
    "issue_comment" as [("issue_comment", "issue_comment")], false, "a comment on an issue";
    "pull_request" exact "pull_request_only" as [("pull_request", "pull_request")], false, "a pull request changed";
    "pull_request_assign" as [("pull_request_assign", "pull_request")], false, "a pull request was assigned";
    "pull_request_label" as [("pull_request_label", "pull_request")], false, "labels of a pull request changed";
    "pull_request_milestone" as [("pull_request_milestone", "pull_request")], false, "its milestone changed";
    "pull_request_comment" as [("pull_request_comment", "issue_comment")], false, "a comment on a pull request";
    "pull_request_review" as [
        ("pull_request_review_approved", "pull_request_approved"),
        ("pull_request_review_rejected", "pull_request_rejected"),
        ("pull_request_review_comment", "pull_request_comment")
    ], false, "a review of a pull request";
    "pull_request_sync" as [("pull_request_sync", "pull_request")], false, "commits of a pull request changed";
    "wiki" as [("wiki", "wiki")], false, "a page of a wiki changed";
    "repository" as [("repository", "repository")], true, "a repository was created, changed, renamed or removed";
    "release" as [("release", "release")], true, "a release was published, changed or deleted";
    "package" as [("package", "package")], false, "a package was published or removed";
    "pull_request_review_request" as [("pull_request_review_request", "pull_request")], false, "a review was requested";
    "status" as [("status", "status")], true, "a status was added to a commit";
    "workflow_run" as [("workflow_run", "workflow_run")], true, "a run began or ended";
    "workflow_job" as [("workflow_job", "workflow_job")], true, "a job began or ended";
}

/// The default if a hook names no events.
pub const DEFAULT: &str = "push";

/// Returns the event with this response name.
pub fn by_name(name: &str) -> Option<&'static HookEvent> {
    EVENTS.iter().find(|event| event.name == name)
}

/// Returns those of `events` (response names) that farrier never sends.
pub fn never_sent<S: AsRef<str>>(events: &[S]) -> Vec<&str> {
    let sent = |name: &str| by_name(name).is_some_and(|event| event.sent);
    events.iter().map(AsRef::as_ref).filter(|name| !sent(name)).collect()
}

/// The result of reading a list of event names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSelection {
    /// Stored names, in the order of the table.
    pub events: Vec<String>,
    /// Names that select no event.
    pub ignored: Vec<String>,
}

/// Reads event names as the API family defines them, in any case: `issues` and `pull_request` select their groups.
pub fn read<S: AsRef<str>>(names: &[S]) -> EventSelection {
    select(names, selects)
}

/// Reads event names that each select one event, as in `events_exact` of a response.
pub fn read_exact<S: AsRef<str>>(names: &[S]) -> EventSelection {
    select(names, |name, event| name == event.exact)
}

fn select<S: AsRef<str>>(names: &[S], selects: impl Fn(&str, &HookEvent) -> bool) -> EventSelection {
    let lower: Vec<String> = names.iter().map(|name| name.as_ref().trim().to_lowercase()).collect();
    let is_selected = |event: &&HookEvent| lower.iter().any(|name| selects(name, event));
    let known = |name: &str| EVENTS.iter().any(|event| selects(name, event));
    let given = names.iter().map(AsRef::as_ref).zip(&lower);
    EventSelection {
        events: EVENTS.iter().filter(is_selected).map(|event| event.name.to_owned()).collect(),
        ignored: given.filter(|(_, name)| !known(name)).map(|(given, _)| given.to_owned()).collect(),
    }
}

/// Returns whether `name` in a request selects the event.
fn selects(name: &str, event: &HookEvent) -> bool {
    match name {
        "issues" => event.name == "issues" || event.name.starts_with("issue_"),
        "pull_request" => event.name.starts_with("pull_request"),
        name => name == event.exact,
    }
}

/// Returns the names for `events_exact` of a response.
pub fn exact<S: AsRef<str>>(events: &[S]) -> Vec<String> {
    let exact = |name: &str| by_name(name).map_or_else(|| name.to_owned(), |event| event.exact.to_owned());
    events.iter().map(|name| exact(name.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_groups_and_single_events_are_accepted_in_any_case() {
        let issues = ["issues", "issue_assign", "issue_label", "issue_milestone", "issue_comment"];
        assert_eq!(read(&["Issues"]).events, issues);
        assert_eq!(read(&["issues_only"]).events, ["issues"]);
        assert_eq!(read(&["PULL_REQUEST_REVIEW"]).events, ["pull_request_review"]);
        assert_eq!(read(&["pull_request"]).events.len(), 8);
        assert_eq!(read(&["push", "create", "push"]).events, ["create", "push"]);
        let selection = read(&["*", "workflow_job", "Nothing"]);
        assert_eq!(
            (selection.events, selection.ignored),
            (vec!["workflow_job".into()], vec!["*".into(), "Nothing".into()])
        );
    }

    #[test]
    fn exact_event_names_are_returned_unchanged() {
        for event in EVENTS {
            let out = exact(&[event.name]);
            assert_eq!(read_exact(&out).events, [event.name], "{}", event.name);
            assert_eq!(read(&out).events, [event.name], "{}", event.name);
        }
        let all: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
        assert_eq!(read_exact(&exact(&all)).events, all);
    }

    #[test]
    fn headers_carry_the_exact_and_the_grouped_event_name() {
        let header = |name: &str| by_name(name).expect(name).headers[0].1;
        assert_eq!(header("issue_label"), "issues");
        assert_eq!(header("pull_request_comment"), "issue_comment");
        let fine = by_name("pull_request_review").expect("known").headers;
        assert_eq!(fine[2], ("pull_request_review_comment", "pull_request_comment"));
        for event in EVENTS.iter().filter(|event| event.sent) {
            assert_eq!(event.headers, [(event.name, event.name)]);
        }
    }
}
