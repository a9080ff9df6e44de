//! Collaborators, rules, deploy keys, releases and mirrors of a repository.

use super::prelude::*;
use crate::ui::net::{ManagementRequest as Manage, Page, ProblemKind};

const PUBLIC_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB ci@build";

fn opened(list: &Manage, answer: Answer) -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    open_managed(&mut screen, list, Ok(answer));
    screen.take_requests();
    screen
}

/// Confirms the open question, and returns the requests.
fn confirmed(screen: &mut TestScreen) -> Vec<Request> {
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("y");
    screen.take_requests()
}

fn of_gateway(request: Manage) -> Request {
    Request::Manage("infra/gateway".parse().unwrap(), request)
}

#[test]
fn a_collaborator_is_added_and_the_list_is_loaded_again() {
    let mut screen = opened(&Manage::Collaborators, collaborators());
    screen.keys("nann\t ");
    screen.press(Key::Ctrl('s'));
    let add = of_gateway(Manage::SetCollaborator { user: "ann".into(), permission: "admin".into() });
    assert!(screen.take_requests().contains(&add), "{}", screen.text());
    screen.answer_last_of(|request| *request == add, Ok(Answer::Done));
    assert!(screen.text().contains("ann has admin access to infra/gateway"), "{}", screen.text());
    assert!(screen.take_requests().contains(&of_gateway(Manage::Collaborators)), "{}", screen.text());
}

#[test]
fn a_refused_collaborator_keeps_the_form_open() {
    let mut screen = opened(&Manage::Collaborators, collaborators());
    screen.keys("nnobody");
    screen.press(Key::Ctrl('s'));
    let refused = refusal("the user does not exist (422)");
    screen.answer_last_of(Request::changes, Err(refused));
    let text = screen.text();
    assert!(text.contains("the user does not exist") && text.contains("Add a collaborator"), "{text}");
}

#[test]
fn the_form_of_a_permission_begins_with_the_current_one() {
    let mut screen = opened(&Manage::Collaborators, collaborators());
    screen.keys("Ge");
    assert!(screen.text().contains("Permission of tomas in infra/gateway"), "{}", screen.text());
    screen.keys(" ");
    screen.press(Key::Ctrl('s'));
    let save = of_gateway(Manage::SetCollaborator { user: "tomas".into(), permission: "write".into() });
    assert!(screen.take_requests().contains(&save), "read is followed by write: {}", screen.text());
}

#[test]
fn the_form_of_a_permission_begins_with_the_one_granted_directly() {
    let Answer::Collaborators(mut page) = collaborators() else { unreachable!() };
    // A team gives more than the direct grant.
    (page.items[2].permission, page.items[2].direct) = ("admin".into(), "read".into());
    let mut screen = opened(&Manage::Collaborators, Answer::Collaborators(page));
    screen.keys("Ge");
    let text = screen.text();
    assert!(text.contains("tomas in infra/gateway (effective: admin)") && text.contains("(o) read"), "{text}");
    screen.press(Key::Ctrl('s'));
    let save = of_gateway(Manage::SetCollaborator { user: "tomas".into(), permission: "read".into() });
    assert!(screen.take_requests().contains(&save), "saving without a change grants nothing more: {}", screen.text());
}

#[test]
fn rows_are_deleted_only_after_a_confirmation() {
    let cases = [
        (Manage::Collaborators, collaborators(), "", Manage::RemoveCollaborator("mia".into())),
        (Manage::Rules, rules(), "", Manage::DeleteBranchRule { id: 1, name: "main".into() }),
        (Manage::Rules, rules(), "G", Manage::DeleteTagRule { id: 1, pattern: "v*".into() }),
        (Manage::DeployKeys, deploy_keys(), "", Manage::DeleteDeployKey { id: 4, title: "ci".into() }),
        (Manage::Releases, releases(), "G", Manage::DeleteRelease { id: 1, tag: "v1.0".into() }),
        (Manage::Mirrors, mirrors(), "G", Manage::DeletePushMirror("m2".into())),
    ];
    for (list, answer, keys, deletion) in cases {
        let mut screen = opened(&list, answer);
        screen.keys(keys);
        screen.keys("D");
        assert!(!screen.take_requests().iter().any(Request::changes), "{}", screen.text());
        let delete = of_gateway(deletion);
        let requests = confirmed(&mut screen);
        assert!(requests.contains(&delete), "{requests:?} {}", screen.text());
        screen.answer_last_of(|request| *request == delete, Ok(Answer::Done));
        let text = screen.text();
        assert!(text.contains(" of infra/gateway deleted") || text.contains("mia removed from"), "{text}");
        assert!(screen.take_requests().contains(&of_gateway(list)), "the list is loaded again: {text}");
    }
}

#[test]
fn a_row_that_is_already_gone_is_removed_from_the_list() {
    let mut screen = opened(&Manage::DeployKeys, deploy_keys());
    screen.keys("D");
    confirmed(&mut screen);
    let gone = Problem::new(ProblemKind::NotFound, "deleting deploy key ci: not found (404)");
    screen.answer_last_of(Request::changes, Err(gone));
    assert!(screen.text().contains("not found (404)"), "{}", screen.text());
    assert!(screen.take_requests().contains(&of_gateway(Manage::DeployKeys)), "{}", screen.text());
}

#[test]
fn a_question_about_a_row_that_was_removed_closes() {
    let mut screen = opened(&Manage::DeployKeys, deploy_keys());
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    let none = Page { items: Vec::new(), total: Some(0), last: true };
    screen.answer(|request| is_managed(request, &Manage::DeployKeys), Ok(Answer::DeployKeys(none)));
    assert!(screen.app.layers.is_empty() && screen.text().contains("ci was removed meanwhile"), "{}", screen.text());
}

#[test]
fn a_question_about_a_rule_closes_when_another_rule_has_its_name() {
    let mut screen = opened(&Manage::Rules, rules());
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    let Answer::Rules(mut branches, tags) = rules() else { unreachable!() };
    branches[0].id = 9;
    screen.answer(|request| is_managed(request, &Manage::Rules), Ok(Answer::Rules(branches, tags)));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("the rule was removed meanwhile"), "{}", screen.text());
}

#[test]
fn a_question_closes_when_another_repository_has_the_name_of_the_opened_one() {
    let renamed = vec![repository(1, "infra/proxy"), repository(2, "data/lake"), repository(7, "infra/gateway")];
    let replaced = vec![repository(2, "data/lake"), repository(7, "infra/gateway")];
    for items in [renamed, replaced] {
        let mut screen = opened(&Manage::Rules, rules());
        screen.keys("D");
        screen.advance(Duration::from_secs(6));
        screen.answer(|request| *request == Request::Repositories, Ok(listed(None, items)));
        assert!(screen.app.layers.is_empty(), "{}", screen.text());
        assert!(screen.text().contains("infra/gateway was removed meanwhile"), "{}", screen.text());
        assert!(!screen.take_requests().iter().any(Request::changes));
    }
}

#[test]
fn rows_of_a_repository_are_not_shown_for_a_new_one_with_its_name() {
    let mut screen = TestScreen::loaded(120, 40);
    open_managed(&mut screen, &Manage::Collaborators, Ok(collaborators()));
    assert!(screen.text().contains("tomas"), "{}", screen.text());
    screen.take_requests();
    screen.advance(Duration::from_secs(6));
    let items = vec![repository(2, "data/lake"), repository(7, "infra/gateway")];
    screen.answer(|request| *request == Request::Repositories, Ok(listed(None, items)));
    screen.keys("gj\n");
    screen.rest_cursor();
    assert!(!screen.text().contains("tomas"), "{}", screen.text());
    assert!(screen.take_requests().contains(&of_gateway(Manage::Collaborators)), "{}", screen.text());
}

#[test]
fn an_incomplete_list_shows_the_number_of_all_rows() {
    let Answer::Collaborators(page) = collaborators() else { unreachable!() };
    let screen = opened(&Manage::Collaborators, Answer::Collaborators(Page { total: Some(1_203), ..page }));
    let text = screen.text();
    assert!(text.contains("1 203 collaborators") && text.contains("1/3 of 1 203"), "{text}");
    assert!(!text.contains("searches on the daemon"), "the daemon cannot search here: {text}");
}

#[test]
fn several_marked_rows_are_not_deleted_at_once() {
    let mut screen = opened(&Manage::DeployKeys, deploy_keys());
    screen.keys("  D");
    assert!(screen.app.layers.is_empty() && screen.text().contains("needs one row"), "{}", screen.text());
}

#[test]
fn a_private_key_is_not_sent_and_a_public_key_is() {
    let mut screen = opened(&Manage::DeployKeys, deploy_keys());
    screen.keys("nci\t");
    screen.send(Msg::Paste("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n".into()));
    assert!(!screen.text().contains("BEGIN OPENSSH") && !screen.text().contains("b3Bl"), "{}", screen.text());
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("this is a private key"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(Request::changes));
    screen.press(Key::Ctrl('u'));
    screen.send(Msg::Paste(format!("{PUBLIC_KEY}\n")));
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let Some(Request::Manage(_, Manage::AddDeployKey(key))) = requests.last() else { panic!("{requests:?}") };
    assert_eq!((key.title.as_str(), key.key.as_str(), key.read_only), ("ci", PUBLIC_KEY, true));
}

#[test]
fn a_private_key_without_its_first_line_or_in_the_title_is_not_sent() {
    let pkcs8 = "-----BEGIN PRIVATE KEY----- MC4CAQAwBQYDK2VwBCIEIA== -----END PRIVATE KEY-----";
    for (title, key) in
        [("ci", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU= AAAA"), ("ci", "MIIEpAIBAAKCAQEA7b2x AAAA"), (pkcs8, PUBLIC_KEY)]
    {
        let mut screen = opened(&Manage::DeployKeys, deploy_keys());
        screen.keys("n");
        screen.send(Msg::Paste(title.into()));
        assert!(!screen.text().contains("BEGIN PRIVATE"), "{}", screen.text());
        screen.press(Key::Tab);
        screen.send(Msg::Paste(key.into()));
        screen.press(Key::Ctrl('s'));
        assert!(screen.text().contains("private key") || screen.text().contains("not a public key"));
        assert!(!screen.take_requests().iter().any(Request::changes), "{}", screen.text());
    }
}

#[test]
fn the_key_of_a_new_rule_shows_the_command_for_this_repository() {
    let mut screen = opened(&Manage::Rules, rules());
    screen.keys("n");
    assert!(screen.text().contains("farrier repo protect add 'infra/gateway' PATTERN"), "{}", screen.text());
    screen.keys("y");
    let copied = "farrier repo protect add 'infra/gateway' PATTERN";
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.0 == copied)));
}

#[test]
fn details_of_a_rule_show_who_may_push() {
    let mut screen = opened(&Manage::Rules, rules());
    screen.keys("j\n");
    let text = screen.text();
    assert!(text.contains("mia, @release") && text.contains("required"), "{text}");
}

#[test]
fn a_release_is_loaded_before_it_is_shown_and_esc_stops_loading() {
    let mut screen = opened(&Manage::Releases, releases());
    screen.keys("G\n");
    let load = of_gateway(Manage::Release(1));
    assert!(screen.take_requests().contains(&load), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.text().contains("[Releases]"), "{}", screen.text());
    assert!(!screen.app.pending.values().any(|one| one.request == load), "the request is cancelled");
    screen.keys("\n");
    screen.answer_last_of(|request| *request == load, Ok(opened_release()));
    assert!(screen.text().contains("First stable release."), "{}", screen.text());
}

#[test]
fn sync_now_runs_the_kind_of_the_selected_mirror() {
    for (keys, sync, notice) in [
        ("R", Manage::SyncPullMirror, "Sync of infra/gateway requested"),
        ("jR", Manage::SyncPushMirrors, "Push mirrors of infra/gateway synced"),
    ] {
        let mut screen = opened(&Manage::Mirrors, mirrors());
        screen.keys(keys);
        let sync = of_gateway(sync);
        assert!(screen.take_requests().contains(&sync), "{}", screen.text());
        screen.answer_last_of(|request| *request == sync, Ok(Answer::Done));
        assert!(screen.text().contains(notice), "{}", screen.text());
    }
}

#[test]
fn a_pull_mirror_cannot_be_deleted_here() {
    let mut screen = opened(&Manage::Mirrors, mirrors());
    screen.keys("D");
    assert!(screen.app.layers.is_empty() && screen.text().contains("farrier mirror convert"), "{}", screen.text());
}

#[test]
fn commands_open_the_tab_of_a_repository() {
    for (line, shown, request) in [
        ("release list data/lake", "[Releases]", Manage::Releases),
        ("repo protect list data/lake", "[Rules]", Manage::Rules),
        ("collaborators data/lake", "[Collaborators]", Manage::Collaborators),
        ("repo deploy-key list data/lake", "[Deploy keys]", Manage::DeployKeys),
        ("mirror list data/lake", "[Mirrors]", Manage::Mirrors),
    ] {
        let mut screen = TestScreen::loaded(80, 24);
        screen.keys(&format!(":{line}\n"));
        screen.rest_cursor();
        assert!(screen.text().contains(shown), "{line}: {}", screen.text());
        let expected = Request::Manage("data/lake".parse().unwrap(), request);
        assert!(screen.take_requests().contains(&expected), "{line}: {}", screen.text());
    }
}

#[test]
fn copied_rows_have_no_control_characters() {
    let Answer::DeployKeys(mut page) = deploy_keys() else { unreachable!() };
    page.items[0].key = "ssh-ed25519 AAAA x\nreboot\x1b[A".into();
    let mut screen = opened(&Manage::DeployKeys, Answer::DeployKeys(page));
    screen.keys("yk");
    let copied = "ssh-ed25519 AAAA x\u{fffd}reboot\u{fffd}[A";
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.0 == copied)));
}

#[test]
fn a_read_only_program_changes_no_rows() {
    for (list, answer, keys) in [
        (Manage::Collaborators, collaborators(), "neD\n"),
        (Manage::Rules, rules(), "D"),
        (Manage::DeployKeys, deploy_keys(), "nD"),
        (Manage::Releases, releases(), "D"),
        (Manage::Mirrors, mirrors(), "RD"),
    ] {
        let mut screen = test_terminal(80, 24).read_only();
        open_managed(&mut screen, &list, Ok(answer));
        screen.keys(keys);
        assert!(screen.app.layers.is_empty(), "{}", screen.text());
        assert!(!screen.take_requests().iter().any(Request::changes), "{}", screen.text());
    }
}
