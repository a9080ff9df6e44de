//! The bindings in the lists of organizations and teams.

use super::{A, Binding, C, Key, O, S, bind};
use crate::ui::screens::ScreenId;

/// Keys that open the row under the cursor.
const OPEN: &[Key] = &[Key::Enter, C('l'), Key::Right];

const fn next(scope: S) -> Binding {
    bind(scope, &[C(']')], A::NextPart, "Next tab", "tab")
}

const fn previous(scope: S) -> Binding {
    bind(scope, &[C('[')], A::PreviousPart, "Previous tab", "")
}

pub(super) const ORGANIZATIONS: &[Binding] = &[
    bind(S::Users, &[C('u')], A::Screen(ScreenId::Organizations), "Show organizations and teams", "organizations")
        .words("org list")
        .also("groups members"),
    bind(S::Organizations, OPEN, A::Open, "Show teams, members and repositories of the organization", "open")
        .of(O::Organization),
    bind(S::Organizations, &[C('n')], A::New, "Create an organization", "new")
        .words("org create")
        .also("add make")
        .changes(),
    bind(S::Organizations, &[C('e')], A::Edit, "Edit the organization", "edit")
        .words("org edit")
        .also("description visibility website change")
        .of(O::Organization)
        .changes(),
    bind(S::Organizations, &[C('D')], A::Delete, "Delete the organization", "delete")
        .words("org delete")
        .also("remove destroy")
        .of(O::Organization)
        .changes(),
    next(S::Organizations),
    previous(S::Organizations),
    bind(S::Organizations, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Organization),
    bind(S::Organizations, &[C('u')], A::Screen(ScreenId::Users), "Show users", "users"),
    bind(S::Teams, OPEN, A::Open, "Show rights, members and repositories of the team", "open").of(O::Team),
    bind(S::Teams, &[C('n')], A::AddEntry, "Create a team", "new").also("add make").changes(),
    bind(S::Teams, &[C('e')], A::ChangeEntry, "Edit the team", "edit")
        .words("team edit")
        .also("rename description rights permission units change")
        .of(O::Team)
        .changes(),
    bind(S::Teams, &[C('D')], A::DeleteEntry, "Delete the team", "delete")
        .words("team delete")
        .also("remove destroy")
        .of(O::Team)
        .changes(),
    bind(S::Teams, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Team),
    next(S::Teams),
    previous(S::Teams),
    bind(S::Team, &[C('e')], A::ChangeEntry, "Edit the team", "edit")
        .also("rename description rights permission units change")
        .of(O::Team)
        .changes(),
    bind(S::Team, &[C('D')], A::DeleteEntry, "Delete the team", "delete").also("remove destroy").of(O::Team).changes(),
    bind(S::Team, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Team),
    next(S::Team),
    previous(S::Team),
    bind(S::Members, OPEN, A::Open, "Show the user", "open").of(O::Member),
    bind(S::Members, &[C('t')], A::Toggle, "Make your own membership public, or conceal it", "public/concealed")
        .also("publicize publicise hide visible toggle")
        .of(O::Member)
        .changes(),
    bind(S::Members, &[C('D')], A::DeleteEntry, "Remove members from the organization and its teams", "remove")
        .also("delete leave")
        .of(O::Member)
        .changes(),
    bind(S::Members, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Member),
    next(S::Members),
    previous(S::Members),
    bind(S::OrganizationRepositories, OPEN, A::Open, "Show the repository", "open").of(O::ListedRepository),
    bind(S::OrganizationRepositories, &[C('y')], A::Copy, "Copy name, URL or ID", "copy").of(O::ListedRepository),
    next(S::OrganizationRepositories),
    previous(S::OrganizationRepositories),
    bind(S::TeamMembers, OPEN, A::Open, "Show the user", "open").of(O::Member),
    bind(S::TeamMembers, &[C('n')], A::AddEntry, "Add a member to the team", "new").also("user invite join").changes(),
    bind(S::TeamMembers, &[C('D')], A::DeleteEntry, "Remove members from the team", "remove")
        .also("delete leave")
        .of(O::Member)
        .changes(),
    bind(S::TeamMembers, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Member),
    next(S::TeamMembers),
    previous(S::TeamMembers),
    bind(S::TeamRepositories, OPEN, A::Open, "Show the repository", "open").of(O::ListedRepository),
    bind(S::TeamRepositories, &[C('n')], A::AddEntry, "Add a repository to the team", "new")
        .also("access grant")
        .changes(),
    bind(S::TeamRepositories, &[C('D')], A::DeleteEntry, "Remove repositories from the team", "remove")
        .also("delete access revoke")
        .of(O::ListedRepository)
        .changes(),
    bind(S::TeamRepositories, &[C('y')], A::Copy, "Copy name, URL or ID", "copy").of(O::ListedRepository),
    next(S::TeamRepositories),
    previous(S::TeamRepositories),
];
