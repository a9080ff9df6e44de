//! Creating, editing and deleting organizations.

use farrier_common::api::EditOrg;

use super::prelude::*;
use crate::ui::net::{OrganizationKey, OrganizationRequest as R, Page};

fn listed() -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    open_organizations(&mut screen);
    screen.take_requests();
    screen
}

fn is_list(request: &Request) -> bool {
    *request == Request::Organization(R::List)
}

/// Opens the form of the first organization, whose request is answered with an organization that has this number.
fn editing(id: i64) -> TestScreen {
    let mut screen = listed();
    screen.keys("e");
    assert!(screen.text().contains("Edit acme"), "{}", screen.text());
    let loaded = Answer::Organization(Box::new(organization(id, "acme", "public", "Acme Works")));
    screen.answer(|request| *request == Request::Organization(R::Load(acme())), Ok(loaded));
    screen.take_requests();
    screen
}

#[test]
fn an_organization_is_created_with_the_form_and_selected() {
    let mut screen = listed();
    screen.keys("nzeta\tZeta Works\t\t ");
    screen.press(Key::Ctrl('s'));
    let changes = organization_changes(&mut screen);
    let [R::Create(None, request)] = changes.as_slice() else { panic!("{changes:?} {}", screen.text()) };
    let fields = [&request.username, &request.full_name, &request.visibility].map(String::as_str);
    assert_eq!(fields, ["zeta", "Zeta Works", "limited"]);
    let created = organization(21, "zeta", "limited", "Zeta Works");
    screen.answer_last_of(Request::changes, Ok(Answer::Organization(Box::new(created.clone()))));
    assert!(screen.text().contains("Organization zeta created"), "{}", screen.text());
    let Answer::AllOrganizations(mut all) = organizations() else { unreachable!() };
    all.items.append(&mut organization_rows(vec![created]));
    screen.answer_last_of(is_list, Ok(Answer::AllOrganizations(all)));
    let text = screen.text();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("zeta")), "{text}");
}

#[test]
fn an_invalid_name_of_an_organization_is_not_sent() {
    let mut screen = listed();
    screen.keys("nbad name");
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("only letters and digits"), "{}", screen.text());
    assert_eq!(organization_changes(&mut screen), []);
}

#[test]
fn editing_an_organization_sends_only_changed_fields() {
    let mut screen = editing(7);
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("Nothing was changed."), "{}", screen.text());
    screen.keys("\t!");
    screen.press(Key::Ctrl('s'));
    let description = Some("services of the edge!".to_owned());
    let expected = R::Edit(acme(), Box::new(EditOrg { description, ..EditOrg::default() }));
    assert_eq!(organization_changes(&mut screen), [expected], "{}", screen.text());
    let saved = Answer::Organization(Box::new(organization(7, "acme", "public", "Acme Works")));
    screen.answer_last_of(Request::changes, Ok(saved));
    assert!(screen.text().contains("Organization acme saved"), "{}", screen.text());
}

#[test]
fn an_organization_that_got_the_name_of_another_one_is_not_edited() {
    let mut screen = editing(99);
    screen.keys("\t!");
    screen.press(Key::Ctrl('s'));
    assert_eq!(organization_changes(&mut screen), [], "{}", screen.text());
}

#[test]
fn an_organization_is_deleted_after_its_name_is_typed() {
    let mut screen = listed();
    screen.keys("D");
    assert!(screen.text().contains("Type acme to confirm"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("acm\t\n");
    assert_eq!(organization_changes(&mut screen), [], "the name is incomplete");
    screen.keys("\te\t\n");
    assert_eq!(organization_changes(&mut screen), [R::Delete(acme())], "{}", screen.text());
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("Organization acme deleted"), "{}", screen.text());
    assert_eq!(organization_requests(&mut screen), [R::List], "the teams of a deleted organization are not requested");
}

#[test]
fn a_question_about_an_organization_closes_when_another_one_has_its_name() {
    let mut screen = listed();
    screen.keys("D");
    screen.advance(Duration::from_secs(16));
    let items = vec![organization(31, "acme", "public", ""), organization(9, "infra", "private", "")];
    screen.answer(
        is_list,
        Ok(Answer::AllOrganizations(Page { items: organization_rows(items), total: Some(2), last: true })),
    );
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("organization acme was removed meanwhile"), "{}", screen.text());
}

#[test]
fn commands_change_only_loaded_organizations() {
    let mut screen = listed();
    screen.keys(":org create zeta --visibility private\n");
    let created = organization_changes(&mut screen);
    let [R::Create(None, request)] = created.as_slice() else { panic!("{created:?} {}", screen.text()) };
    assert_eq!((request.username.as_str(), request.visibility.as_str()), ("zeta", "private"));
    screen.keys(":org edit nothing --description d\n");
    assert!(screen.text().contains("the organization nothing is not loaded"), "{}", screen.text());
    screen.keys("\x1b:org edit infra --description d\n");
    let edited = organization_changes(&mut screen);
    let infra = OrganizationKey { id: 9, name: "infra".into() };
    assert!(matches!(edited.as_slice(), [R::Edit(org, _)] if *org == infra), "{edited:?} {}", screen.text());
    screen.keys(":org delete ACME\n");
    assert!(screen.text().contains("Delete organization acme"), "{}", screen.text());
}

#[test]
fn the_tab_names_the_screen_of_organizations() {
    for (width, name) in [(80, "[7 Orgs]"), (140, "[7 Organizations]")] {
        let mut screen = TestScreen::loaded(width, 24);
        open_organizations(&mut screen);
        let header = screen.text().lines().next().unwrap_or_default().to_owned();
        assert!(header.contains(name), "{header}");
        screen.keys("u");
        let header = screen.text().lines().next().unwrap_or_default().to_owned();
        assert!(header.contains("[7 Users]"), "{header}");
    }
}
