//! Organizations, teams and their members.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::ui::net::{Batch, OrganizationMember, OrganizationRequest as R, Page, ProblemKind};

fn organization() -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    open_organization(&mut screen, Ok(teams()));
    screen.take_requests();
    screen
}

fn rights(units: &[(&str, &str)]) -> BTreeMap<String, String> {
    units.iter().map(|(unit, right)| ((*unit).to_owned(), (*right).to_owned())).collect()
}

#[test]
fn a_team_is_created_with_the_chosen_rights_and_selected() {
    let mut screen = organization();
    screen.keys("nbots\t\t\t ");
    screen.press(Key::Ctrl('s'));
    let changes = organization_changes(&mut screen);
    let [R::CreateTeam(org, request)] = changes.as_slice() else { panic!("{changes:?} {}", screen.text()) };
    assert_eq!((org.as_str(), request.name.as_str(), request.permission.as_str()), ("acme", "bots", ""));
    let chosen = rights(&[("repo.actions", "read"), ("repo.code", "write"), ("repo.releases", "read")]);
    assert_eq!(request.units_map.as_ref(), Some(&chosen));
    let created = team(14, "bots", "none");
    screen.answer_last_of(Request::changes, Ok(Answer::Team(Box::new(created.clone()))));
    assert!(screen.text().contains("Team acme/bots created"), "{}", screen.text());
    assert!(organization_requests(&mut screen).contains(&R::Teams(acme())), "the list is loaded again");
    let Answer::Teams(mut all) = teams() else { unreachable!() };
    all.items.push(created);
    screen.answer_last_of(|request| *request == Request::Organization(R::Teams(acme())), Ok(Answer::Teams(all)));
    let text = screen.text();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("bots")), "{text}");
}

#[test]
fn a_team_without_any_right_is_not_sent() {
    let mut screen = organization();
    // From "read" to "none" in each unit.
    screen.keys("nbots\t\t\t   \t   \t   ");
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("give a right in at least one unit"), "{}", screen.text());
    assert_eq!(organization_changes(&mut screen), []);
    // Administrators have all rights.
    screen.press(Key::BackTab);
    screen.keys(" ");
    screen.press(Key::Ctrl('s'));
    let changes = organization_changes(&mut screen);
    let [R::CreateTeam(_, request)] = changes.as_slice() else { panic!("{changes:?} {}", screen.text()) };
    assert_eq!((request.permission.as_str(), &request.units_map), ("admin", &None));
}

#[test]
fn editing_a_team_sends_only_changed_fields_and_keeps_the_rights_in_other_units() {
    let mut screen = organization();
    screen.keys("je");
    assert!(screen.text().contains("Edit team acme/devs"), "{}", screen.text());
    let loaded = Answer::Team(Box::new(team(11, "devs", "none")));
    screen.answer(|request| *request == Request::Organization(R::LoadTeam(devs())), Ok(loaded));
    screen.take_requests();
    screen.keys("\t\t\t ");
    screen.press(Key::Ctrl('s'));
    let changes = organization_changes(&mut screen);
    let [R::EditTeam(key, request)] = changes.as_slice() else { panic!("{changes:?} {}", screen.text()) };
    assert_eq!((key, &request.name, &request.permission), (&devs(), &None, &None));
    let kept = rights(&[("repo.code", "admin"), ("repo.releases", "read"), ("repo.wiki", "read")]);
    assert_eq!(request.units_map.as_ref(), Some(&kept));
}

#[test]
fn the_team_of_owners_is_neither_edited_nor_deleted() {
    let mut screen = organization();
    for key in ["e", "D"] {
        screen.keys(key);
        assert!(screen.text().contains("the team Owners cannot be changed"), "{}", screen.text());
        assert!(screen.app.layers.is_empty());
    }
}

#[test]
fn a_team_is_deleted_by_its_number_after_its_name_is_typed() {
    let mut screen = organization();
    screen.keys("jD");
    assert!(screen.text().contains("Type devs to confirm"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("dev\t\n");
    assert_eq!(organization_changes(&mut screen), [], "the name is incomplete");
    screen.keys("\ts\t\n");
    assert_eq!(organization_changes(&mut screen), [R::DeleteTeam(devs())], "{}", screen.text());
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("Team acme/devs deleted"), "{}", screen.text());
}

#[test]
fn a_question_about_a_team_closes_when_another_team_has_its_name() {
    let mut screen = organization();
    screen.keys("jD");
    screen.advance(Duration::from_secs(16));
    let replaced = Page { items: vec![team(7, "Owners", "owner"), team(31, "devs", "none")], total: None, last: true };
    screen.answer(|request| *request == Request::Organization(R::Teams(acme())), Ok(Answer::Teams(replaced)));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("team acme/devs was removed meanwhile"), "{}", screen.text());
}

#[test]
fn a_question_about_several_members_closes_when_another_user_has_the_name_of_one() {
    let mut screen = TestScreen::loaded(80, 24);
    open_team_members(&mut screen);
    screen.keys("*D");
    assert!(screen.text().contains("Remove 2 members"), "{}", screen.text());
    screen.advance(Duration::from_secs(16));
    let Answer::Members(mut members) = team_members() else { unreachable!() };
    members.items[1].id = 3;
    let is_members = |request: &Request| *request == Request::Organization(R::TeamMembers(devs()));
    screen.answer_last_of(is_members, Ok(Answer::Members(members)));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("mia was removed meanwhile"), "{}", screen.text());
}

#[test]
fn an_opened_team_that_was_deleted_closes() {
    let mut screen = TestScreen::loaded(80, 24);
    open_team(&mut screen);
    assert!(screen.text().contains("[Rights]"), "{}", screen.text());
    screen.advance(Duration::from_secs(16));
    let owners = Page { items: vec![team(7, "Owners", "owner")], total: None, last: true };
    screen.answer(|request| *request == Request::Organization(R::Teams(acme())), Ok(Answer::Teams(owners)));
    let text = screen.text();
    assert!(text.contains("Team acme/devs was removed") && text.contains("[Teams]"), "{text}");
}

#[test]
fn members_and_repositories_of_a_team_are_added_by_its_number() {
    let mut screen = TestScreen::loaded(80, 24);
    open_team_members(&mut screen);
    screen.keys("nann");
    screen.press(Key::Ctrl('s'));
    assert_eq!(organization_changes(&mut screen), [R::AddTeamMember(devs(), "ann".into())]);
    let refused = Problem::new(ProblemKind::NotFound, "adding ann to team acme/devs: the user does not exist (404)");
    screen.answer_last_of(Request::changes, Err(refused));
    let text = screen.text();
    assert!(text.contains("the user does not exist") && text.contains("Add a member to team"), "{text}");

    let mut screen = TestScreen::loaded(80, 24);
    open_team_repositories(&mut screen);
    screen.keys("na b");
    screen.press(Key::Ctrl('s'));
    let added = R::AddTeamRepository(devs(), "acme/a b".parse().unwrap());
    assert_eq!(organization_changes(&mut screen), [added], "the daemon checks names");
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("acme/a b added to team acme/devs"), "{}", screen.text());
    assert!(organization_requests(&mut screen).contains(&R::TeamRepositories(devs())), "the list is loaded again");
    screen.advance(Duration::from_secs(1));
    screen.keys("na/b/c");
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("a repository is named OWNER/NAME"), "{}", screen.text());
}

#[test]
fn several_members_are_removed_after_their_number_is_typed_and_failures_stay_marked() {
    let mut screen = TestScreen::loaded(80, 24);
    open_team_members(&mut screen);
    screen.keys("*D");
    let text = screen.text();
    assert!(text.contains("Remove 2 members") && text.contains("admin of team acme/devs   your own account"), "{text}");
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("2\t\n");
    let requests = screen.take_requests();
    let [Request::Batch(batch)] = requests.as_slice() else { panic!("{requests:?} {}", screen.text()) };
    let Batch { items, .. } = batch.as_ref();
    let removal = |user: &str, id: i64| R::RemoveTeamMember { team: devs(), user: user.into(), id: Some(id) };
    let expected = [removal("admin", 1), removal("mia", 2)].map(Request::Organization);
    assert!(items.iter().map(|(_, request)| request).eq(&expected), "{items:?}");
    let failed = Answer::Batch(vec![Some("the last owner (403)".into()), None]);
    screen.answer_last_of(Request::changes, Ok(failed));
    assert!(screen.text().contains("1 member removed, 1 failed and stays marked"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("\x1b");
    assert!(screen.text().contains("marked 1"), "{}", screen.text());
}

#[test]
fn a_change_reloads_the_list_while_the_cursor_moves() {
    let mut screen = TestScreen::loaded(80, 24);
    open_team_members(&mut screen);
    screen.keys("jD");
    screen.advance(Duration::from_secs(1));
    screen.keys("yk");
    screen.take_requests();
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(organization_requests(&mut screen).contains(&R::TeamMembers(devs())), "{}", screen.text());
}

#[test]
fn the_repositories_of_a_team_that_has_all_do_not_change() {
    let mut screen = organization();
    screen.keys("G\n[");
    let ops = crate::ui::net::TeamKey { id: 12, org: "acme".into(), name: "ops".into() };
    let is_list = |request: &Request| *request == Request::Organization(R::TeamRepositories(ops.clone()));
    screen.answer_last_of(is_list, Ok(repositories(&["acme/gateway"])));
    for key in ["n", "D"] {
        screen.keys(key);
        assert!(screen.text().contains("the team has all"), "{}", screen.text());
        assert!(screen.app.layers.is_empty());
    }
}

#[test]
fn members_publish_and_conceal_only_their_own_membership() {
    let mut screen = TestScreen::loaded(80, 24);
    open_organization_members(&mut screen);
    screen.take_requests();
    screen.keys("t");
    let set = |public| R::SetPublic { org: acme(), user: "admin".into(), public };
    assert_eq!(organization_changes(&mut screen), [set(true)]);
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("Your membership of acme is public - z undoes"), "{}", screen.text());
    screen.keys("z");
    assert_eq!(organization_changes(&mut screen), [set(false)]);
    screen.keys("jt");
    assert_eq!(organization_changes(&mut screen), []);
    assert!(screen.text().contains("members decide themselves"), "{}", screen.text());
}

#[test]
fn many_members_are_requested_less_often() {
    let mut screen = TestScreen::loaded(80, 24);
    open_organization_members(&mut screen);
    assert_eq!(screen.app.pace(), Some(Duration::from_secs(15)));
    let member = |id: i64| OrganizationMember {
        id,
        login: format!("user-{id}"),
        full_name: String::new(),
        is_public: Some(false),
    };
    let items = (1..=9_500).map(member).collect();
    screen.keys("r");
    let is_members = |request: &Request| *request == Request::Organization(R::Members(acme()));
    screen.answer_last_of(is_members, Ok(Answer::Members(Page { items, total: Some(9_500), last: true })));
    assert_eq!(screen.app.pace(), Some(Duration::from_secs(150)));
}

#[test]
fn a_member_is_removed_from_the_organization_that_the_question_names() {
    let mut screen = TestScreen::loaded(80, 24);
    open_organization_members(&mut screen);
    screen.keys("jD");
    assert!(screen.text().contains("mia of acme"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(organization_changes(&mut screen), [R::RemoveMember { org: acme(), user: "mia".into(), id: 2 }]);
}

#[test]
fn a_command_opens_a_team_as_soon_as_it_is_loaded() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":team members ACME devs\n");
    assert_eq!(screen.app.current, ScreenId::Organizations, "{}", screen.text());
    screen.answer_last_of(|request| *request == Request::Organization(R::List), Ok(organizations()));
    screen.rest_cursor();
    screen.answer_last_of(|request| *request == Request::Organization(R::Teams(acme())), Ok(teams()));
    screen.rest_cursor();
    let is_members = |request: &Request| *request == Request::Organization(R::TeamMembers(devs()));
    screen.answer_last_of(is_members, Ok(team_members()));
    let text = screen.text();
    assert!(text.contains("acme/devs") && text.contains("[Members]") && text.contains("mia"), "{text}");
    screen.keys(":team repos acme nothing\n");
    screen.answer_last_of(|request| *request == Request::Organization(R::List), Ok(organizations()));
    screen.rest_cursor();
    screen.answer_last_of(|request| *request == Request::Organization(R::Teams(acme())), Ok(teams()));
    assert!(screen.text().contains("acme has no team nothing"), "{}", screen.text());
}

#[test]
fn commands_change_only_loaded_teams_and_complete_their_names() {
    let mut screen = organization();
    screen.keys(":team delete ");
    assert!(screen.text().contains("acme devs"), "{}", screen.text());
    screen.keys("acme devs\n");
    assert!(screen.text().contains("Delete team acme/devs"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("\x1b:team add-member infra devs ann\n");
    assert!(screen.text().contains("the teams of infra are not loaded"), "{}", screen.text());
    assert_eq!(organization_changes(&mut screen), []);
    screen.keys("\x1b:team add-member acme devs ann\n");
    assert_eq!(organization_changes(&mut screen), [R::AddTeamMember(devs(), "ann".into())]);
}

#[test]
fn teams_that_the_caller_may_not_see_show_the_reason() {
    let mut screen = TestScreen::loaded(80, 24);
    let why = "listing teams of acme: must be a member of the organization (403)";
    open_organization(&mut screen, Err(Problem::new(ProblemKind::Forbidden, why)));
    assert!(screen.text().contains("must be a member of the organization"), "{}", screen.text());
    screen.keys("]");
    screen.rest_cursor();
    let is_members = |request: &Request| *request == Request::Organization(R::Members(acme()));
    screen.answer_last_of(is_members, Ok(org_members()));
    assert!(screen.text().contains("mia"), "other tabs stay usable: {}", screen.text());
}

#[test]
fn a_target_is_not_opened_by_a_refresh_after_its_list_failed() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":team list infra\n");
    let is_list = |request: &Request| *request == Request::Organization(R::List);
    let why = "listing organizations: internal error (500)";
    screen.answer_last_of(is_list, Err(Problem::new(ProblemKind::Other, why)));
    screen.keys("r");
    screen.answer_last_of(is_list, Ok(organizations()));
    let text = screen.text();
    assert!(text.contains("VISIBILITY") && !text.contains("[Teams]"), "{text}");
}

#[test]
fn a_short_terminal_shows_the_rights_in_all_units() {
    let mut screen = TestScreen::loaded(40, 10);
    open_team(&mut screen);
    let text = screen.text();
    assert!(text.contains("code=write") && text.contains("releases=read"), "{text}");
    assert!(text.contains("the listed ones") && !text.contains("wiki"), "{text}");
}

#[test]
fn the_pane_belongs_to_the_organization_under_the_cursor() {
    let mut screen = TestScreen::loaded(120, 40);
    open_team(&mut screen);
    assert!(screen.text().contains("acme/devs"), "{}", screen.text());
    screen.take_requests();
    screen.keys("\tj");
    screen.rest_cursor();
    assert!(!screen.text().contains("acme/devs") && !screen.text().contains("by unit"), "{}", screen.text());
    let requests = organization_requests(&mut screen);
    let [R::Teams(org)] = requests.as_slice() else { panic!("{requests:?} {}", screen.text()) };
    assert_eq!((org.id, org.name.as_str()), (9, "infra"));
}
