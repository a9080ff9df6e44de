//! The forms for teams, their members and their repositories, and the requests that they send.

use std::collections::BTreeMap;

use farrier_common::{
    api::{CreateTeam, EditTeam, Team},
    client::RepositoryPath,
};

use crate::ui::{
    form::{Field, Form},
    net::{OrganizationRequest, Request, TeamKey},
    screens::FormKind,
};

/// The name of a field, and the error in it.
type FieldError = (&'static str, String);

/// The fields of the units in which rights have an effect: name, label and unit.
const UNITS: [(&str, &str, &str); 3] =
    [("code", "Code", "repo.code"), ("releases", "Releases", "repo.releases"), ("actions", "Actions", "repo.actions")];
/// The choices of the right in a unit.
const LEVELS: [&str; 4] = ["none", "read", "write", "admin"];
/// The choices of the access to the repositories.
const ACCESS: [&str; 2] = ["by unit", "administrators"];
/// Longest name and description of a team, in characters.
const TEXT_MAX: usize = 255;

/// Returns the error in the name of a team.
fn name(text: &str) -> Option<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !text.chars().all(is_allowed) {
        return Some("only letters, digits, '-', '_' and '.'".to_owned());
    }
    too_long(text)
}

fn too_long(text: &str) -> Option<String> {
    let length = text.chars().count();
    (length > TEXT_MAX).then(|| format!("{length} characters; at most {TEXT_MAX}"))
}

/// Returns whether the members of a team administer its repositories.
fn administers(team: &Team) -> bool {
    team.permission == "admin"
}

/// Returns the right of a team in a unit.
fn level(team: &Team, unit: &str) -> usize {
    let word = team.units_map.get(unit).filter(|_| !administers(team)).map_or("none", String::as_str);
    LEVELS.iter().position(|level| *level == word).unwrap_or(0)
}

fn fields(team: &Team) -> Vec<Field> {
    let mut fields = vec![
        Field::line("name", "Name", &team.name).required().checked(name),
        Field::line("description", "Description", &team.description).checked(too_long),
        Field::choice("access", "Access", &ACCESS, administers(team).into())
            .help("administrators may change the settings of the repositories"),
    ];
    fields.extend(UNITS.map(|(name, label, unit)| Field::choice(name, label, &LEVELS, level(team, unit))));
    fields.push(
        Field::toggle("includes_all_repositories", "All repos", team.includes_all_repositories)
            .help("the team has all repositories of the organization, also new ones"),
    );
    fields.push(
        Field::toggle("can_create_org_repo", "May create", team.can_create_org_repo)
            .help("members may create repositories in the organization"),
    );
    fields
}

/// Returns the form for a new team.
pub(super) fn create_team(org: &str) -> Form {
    let units_map = UNITS.map(|(.., unit)| (unit.to_owned(), "read".to_owned())).into();
    let team = Team { units_map, ..Team::default() };
    Form::new(format!("New team of {org}"), "Create", FormKind::CreateTeam(org.to_owned()), fields(&team))
}

/// Returns the form for a team, which is filled again with its current rights.
pub(super) fn edit_team(key: TeamKey, team: &Team) -> Form {
    let title = format!("Edit team {key}");
    Form::new(title, "Save", FormKind::EditTeam(key, other_units(team)), fields(team)).editing()
}

/// Returns the rights of a team in the units that the form does not show. They stay unchanged.
pub(in crate::ui::screens) fn other_units(team: &Team) -> BTreeMap<String, String> {
    let is_shown = |unit: &String| UNITS.iter().any(|(.., shown)| *shown == unit.as_str());
    let all = team.units_map.iter().filter(|(unit, _)| !administers(team) && !is_shown(unit));
    all.map(|(unit, right)| (unit.clone(), right.clone())).collect()
}

/// Returns the values of a team for the fields of its form.
pub(in crate::ui::screens) fn values(team: &Team) -> Vec<(&'static str, String)> {
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    let mut values = vec![
        ("name", team.name.clone()),
        ("description", team.description.trim().to_owned()),
        ("access", ACCESS[usize::from(administers(team))].to_owned()),
        ("includes_all_repositories", switch(team.includes_all_repositories)),
        ("can_create_org_repo", switch(team.can_create_org_repo)),
    ];
    values.extend(UNITS.map(|(name, _, unit)| (name, LEVELS[level(team, unit)].to_owned())));
    values
}

/// Returns whether a field has no effect: administrators have all rights.
pub(in crate::ui::screens) fn hides(form: &Form, name: &str) -> bool {
    form.is_on("access") && UNITS.iter().any(|(field, ..)| *field == name)
}

/// Returns the rights in all units. `others`: those that the form does not show.
fn units(others: &BTreeMap<String, String>, form: &Form) -> Result<BTreeMap<String, String>, FieldError> {
    let chosen = UNITS.iter().filter(|(field, ..)| form.is_on(field));
    let chosen = chosen.map(|(field, _, unit)| ((*unit).to_owned(), form.text(field).to_owned()));
    let units: BTreeMap<String, String> = others.clone().into_iter().chain(chosen).collect();
    if units.is_empty() { Err(("code", "give a right in at least one unit".to_owned())) } else { Ok(units) }
}

/// Returns the request of the form for a new team.
pub(in crate::ui::screens) fn create_request(org: &str, form: &Form) -> Result<Request, FieldError> {
    let administers = form.is_on("access");
    let request = CreateTeam {
        name: form.text("name").to_owned(),
        description: form.text("description").to_owned(),
        permission: if administers { "admin" } else { "" }.to_owned(),
        units_map: if administers { None } else { Some(units(&BTreeMap::new(), form)?) },
        includes_all_repositories: form.is_on("includes_all_repositories"),
        can_create_org_repo: form.is_on("can_create_org_repo"),
        ..CreateTeam::default()
    };
    Ok(Request::Organization(OrganizationRequest::CreateTeam(org.to_owned(), Box::new(request))))
}

/// Returns a request with only the fields that differ from the team.
pub(in crate::ui::screens) fn edit_request(
    key: &TeamKey,
    others: &BTreeMap<String, String>,
    form: &Form,
) -> Result<Request, FieldError> {
    let text = |name: &str| form.is_changed(name).then(|| form.text(name).to_owned());
    let switch = |name: &str| form.is_changed(name).then(|| form.is_on(name));
    let mut request = EditTeam {
        name: text("name"),
        description: text("description"),
        includes_all_repositories: switch("includes_all_repositories"),
        can_create_org_repo: switch("can_create_org_repo"),
        ..EditTeam::default()
    };
    let access_changed = form.is_changed("access");
    if form.is_on("access") {
        request.permission = access_changed.then(|| "admin".to_owned());
    } else if access_changed || UNITS.iter().any(|(field, ..)| form.is_changed(field)) {
        request.units_map = Some(units(others, form)?);
    }
    if request == EditTeam::default() {
        return Err(("", "Nothing was changed.".to_owned()));
    }
    Ok(Request::Organization(OrganizationRequest::EditTeam(key.clone(), Box::new(request))))
}

/// Returns the form for a new member of a team.
pub(super) fn add_member(key: TeamKey) -> Form {
    let fields = vec![Field::line("user", "User", "").required().help("joins the organization too")];
    Form::new(format!("Add a member to team {key}"), "Add", FormKind::AddTeamMember(key), fields)
}

/// Returns the form for a further repository of a team.
pub(super) fn add_repository(key: TeamKey) -> Form {
    let fields = vec![Field::line("repository", "Repository", "").required().help("a repository of the organization")];
    Form::new(format!("Add a repository to team {key}"), "Add", FormKind::AddTeamRepository(key), fields)
}

pub(in crate::ui::screens) fn member_request(key: &TeamKey, form: &Form) -> Request {
    Request::Organization(OrganizationRequest::AddTeamMember(key.clone(), form.text("user").to_owned()))
}

/// Returns the request of the form for a repository, whose owner can be omitted.
pub(in crate::ui::screens) fn repository_request(key: &TeamKey, form: &Form) -> Result<Request, FieldError> {
    let typed = form.text("repository");
    let path = if typed.contains('/') { typed.to_owned() } else { format!("{}/{typed}", key.org) };
    let path = path.parse::<RepositoryPath>().map_err(|why| ("repository", why))?;
    Ok(Request::Organization(OrganizationRequest::AddTeamRepository(key.clone(), path)))
}
