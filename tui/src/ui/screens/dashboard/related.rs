//! The objects that belong to the row under the cursor of the dashboard: to an event such as a push, or to a problem.

use farrier_common::api::Event;

use super::{
    Dashboard,
    actions::CursorRow,
    problems::{HealthProblem, ProblemTarget},
};
use crate::ui::{
    keymap::Object,
    screens::{Related, Selection},
};

/// Returns the run, the push, the repository and the user of an event. `path`: the repository at the time of the event.
fn of_event(event: &Event) -> Vec<Related> {
    let path = event.repository.as_str();
    let mut all: Vec<Related> = event.run_id.map(Related::run).into_iter().collect();
    if !path.is_empty() {
        all.extend(Related::of_commit(path, &event.after));
        all.extend([Related::hooks_of(path), Related::runs_in(path), Related::artifacts_of(path)]);
        all.push(Related::pushes_to(path));
    }
    all.extend((!event.actor.is_empty()).then(|| Related::user(&event.actor)));
    Related::unique(all)
}

fn of_problem(problem: &HealthProblem) -> Vec<Related> {
    match &problem.target {
        ProblemTarget::FailingHooks(ids) | ProblemTarget::DisabledHooks(ids) => match ids.as_slice() {
            [one] => vec![Related::hook(*one), Related::deliveries_of(*one)],
            _ => Vec::new(),
        },
        ProblemTarget::Run(id) => vec![Related::run(*id), Related::artifacts_of_run(*id)],
        ProblemTarget::FailingMirrors(mirrors) => match mirrors.as_slice() {
            [one] => vec![Related::repository(&one.repository), Related::pushes_to(&one.repository)],
            _ => Vec::new(),
        },
        ProblemTarget::FailedImport { path, .. } => vec![Related::repository(path)],
        // LFS objects have the quota of an owner.
        ProblemTarget::Quota { holder, .. } if holder.contains('/') => {
            vec![Related::repository(holder), Related::artifacts_of(holder)]
        }
        _ => Vec::new(),
    }
}

impl Dashboard {
    /// Returns the objects that belong to the row under the cursor.
    pub(super) fn related_objects(&self) -> Vec<Related> {
        match self.cursor_row() {
            CursorRow::Problem(problem) => of_problem(&problem),
            CursorRow::Activity(activity) => {
                let event = self.events.iter().find(|event| event.id == activity.oldest);
                event.map(of_event).unwrap_or_default()
            }
            CursorRow::Nothing => Vec::new(),
        }
    }

    /// Returns the row under the cursor.
    pub(super) fn selected(&self) -> Option<Selection> {
        let (name, rows) = match self.cursor_row() {
            CursorRow::Problem(problem) => ("problem".to_owned(), format!("{:?}", problem.target)),
            CursorRow::Activity(activity) => (format!("event {}", activity.oldest), activity.oldest.to_string()),
            CursorRow::Nothing => return None,
        };
        Some(Selection { object: Object::Event, name, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_leads_to_its_commit_its_runs_its_repository_and_its_user() {
        let event = Event {
            kind: "push".into(),
            repository: "infra/gateway".into(),
            actor: "mia".into(),
            after: "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304".into(),
            ..Event::default()
        };
        let keys: String = of_event(&event).iter().map(|one| one.key).collect();
        assert_eq!(keys, "rcpwmau");
        let keys: String = of_event(&Event { run_id: Some(7), ..Event::default() }).iter().map(|one| one.key).collect();
        assert_eq!(keys, "n");
    }
}
