//! Handles responses about organizations, their teams, members and repositories.

use super::{Organizations, actions::set_public};
use crate::ui::{
    bulk,
    list::ListView as _,
    net::{Answer, Batch, OrganizationRequest, Problem, Request},
    screens::Screen as _,
    world::{Cmd, Env},
};

/// Returns whether a request changes an organization or a team.
fn is_change(request: &Request) -> bool {
    matches!(request, Request::Organization(one) if one.changes())
}

impl Organizations {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        let world = env.world;
        match (request, result) {
            (_, Ok(Answer::AllOrganizations(page))) if self.rows.awaits(request) => {
                if let Some(gone) = self.rows.take(page.clone(), world) {
                    env.notify(format!("Organization {} was removed", gone.name()));
                }
                self.find_target(page.last, env);
                self.request_pane(false, env);
            }
            (_, Ok(Answer::Teams(page))) if self.teams.awaits(request) => {
                self.teams.take(page.clone(), world);
                if page.last {
                    self.find_team(true, env);
                    self.update_team(env);
                }
            }
            (_, Ok(Answer::Members(page))) if self.members.awaits(request) => {
                self.members.take(page.clone(), world);
            }
            (_, Ok(Answer::Members(page))) if self.team_members.awaits(request) => {
                self.team_members.take(page.clone(), world);
            }
            (_, Ok(Answer::Repositories(page))) if self.repositories.awaits(request) => {
                self.repositories.take(page.clone(), world);
            }
            (_, Ok(Answer::Repositories(page))) if self.team_repositories.awaits(request) => {
                self.team_repositories.take(page.clone(), world);
            }
            (Request::Organization(change), Ok(answer)) if change.changes() => self.changed(change, answer, env),
            (Request::Batch(batch), Ok(Answer::Batch(each))) => {
                self.report(batch, each, env);
                self.reload(env);
            }
            // Another client may have removed the row. The application reports the error.
            (request, Err(problem)) if is_change(request) && !problem.is_unreachable() => self.reload(env),
            (request, Err(problem)) => {
                self.forget_target(request);
                if let Some(list) = self.lists_mut().into_iter().find(|list| list.awaits(request)) {
                    list.fail(problem.clone());
                }
            }
            _ => {}
        }
    }

    /// Shows the current rights of the opened team, or closes it if it was deleted.
    fn update_team(&mut self, env: &mut Env) {
        let Some(open) = &self.team else { return };
        let now = self.teams.list.rows().iter().find(|team| team.id == open.id).cloned();
        if now.is_some() {
            self.team = now;
        } else {
            env.notify(format!("Team {} was removed", self.key(open)));
            self.close_team(env);
        }
    }

    /// Reports a change, and requests the lists again.
    fn changed(&mut self, change: &OrganizationRequest, answer: &Answer, env: &mut Env) {
        match (change, answer) {
            (OrganizationRequest::Create(..), Answer::Organization(org)) => self.rows.list.select(org.id),
            (OrganizationRequest::Delete(org), _) => {
                env.notify(change.done());
                return self.deleted(org.id, env);
            }
            (OrganizationRequest::CreateTeam(..), Answer::Team(team)) => self.teams.list.select(team.id),
            (OrganizationRequest::DeleteTeam(team), _) if self.team.as_ref().is_some_and(|one| one.id == team.id) => {
                self.close_team(env);
            }
            (OrganizationRequest::SetPublic { org, user, public }, _) => {
                env.notify(format!("{} - z undoes", change.done()));
                env.push(Cmd::Undo(Box::new(Cmd::Send(set_public(org, user, !public)))));
                return self.reload(env);
            }
            _ => {}
        }
        env.notify(change.done());
        self.reload(env);
    }

    /// Requests the list without a deleted organization. Its teams are not requested, because the daemon has none.
    fn deleted(&mut self, id: i64, env: &mut Env) {
        for list in self.lists_mut() {
            list.stop(env);
        }
        if self.shown.as_ref().is_some_and(|org| org.id == id) {
            self.in_pane = false;
        }
        self.rows.request(Request::Organization(OrganizationRequest::List), env);
    }

    /// Drops responses that may be older than a change, and requests the visible lists again.
    fn reload(&mut self, env: &mut Env) {
        for list in self.lists_mut() {
            list.stop(env);
        }
        self.refresh(env);
    }

    /// Reports the result of an action on several rows. Those for which it failed stay marked.
    fn report(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed =
            || batch.items.iter().zip(each).filter_map(|((name, request), why)| Some((name, request, why.as_ref()?)));
        self.members.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::Organization(OrganizationRequest::RemoveMember { id, .. }) => Some(*id),
            _ => None,
        }));
        self.team_members.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::Organization(OrganizationRequest::RemoveTeamMember { id, .. }) => *id,
            _ => None,
        }));
        self.team_repositories.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::Organization(OrganizationRequest::RemoveTeamRepository { id, .. }) => *id,
            _ => None,
        }));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }
}
