//! The artifacts screen: runs of all repositories, their artifacts, and actions on them.

use farrier_common::api::EditArtifact;

use super::prelude::*;
use crate::ui::{
    net::Existing,
    runs::{RunCompactor, RunsBatch},
};

fn is_list(request: &Request) -> bool {
    matches!(request, Request::Runs(_))
}

/// Opens the artifacts screen with the cursor on the first artifact.
fn at_artifacts() -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    open_artifacts(&mut screen);
    screen.keys("jj");
    screen.take_requests();
    screen
}

/// Returns the rows of the list, without the detail pane.
fn rows(screen: &TestScreen) -> Vec<String> {
    let cut = |line: &str| line.chars().take(74).collect::<String>().trim_end_matches(['│', ' ']).to_owned();
    let text = screen.text();
    let body = usize::from(screen.app.world.size.height) - 3;
    text.lines().skip(1).take(body).map(cut).collect()
}

#[track_caller]
fn row(screen: &TestScreen, name: &str) -> String {
    rows(screen).into_iter().find(|row| row.contains(name)).unwrap_or_else(|| panic!("{name}: {}", screen.text()))
}

fn has(screen: &TestScreen, name: &str) -> bool {
    rows(screen).iter().any(|row| row.contains(name))
}

/// Returns the order of names in the list.
#[track_caller]
fn order<const N: usize>(screen: &TestScreen, names: [&str; N]) -> [usize; N] {
    let text = rows(screen).join("\n");
    names.map(|name| text.find(name).unwrap_or_else(|| panic!("{name}: {text}")))
}

#[test]
fn a_filter_shows_the_same_rows_whether_or_not_it_was_prepared() {
    let filtered = |pause: Duration| {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys("5");
        screen.answer(|request| *request == Request::Runs(None), Ok(tree()));
        screen.keys("h/");
        screen.advance(pause);
        screen.keys("sbom");
        let shown = rows(&screen).join("\n");
        screen.press(Key::Esc);
        assert!(has(&screen, "▸ run 9"), "the run is folded again: {}", screen.text());
        shown
    };
    let shown = filtered(Duration::from_millis(1));
    assert_eq!(shown, filtered(Duration::ZERO));
    assert!(shown.contains("sbom.json") && !shown.contains("dist-linux.zip"), "{shown}");
}

#[test]
fn runs_are_listed_expanded_and_fold_to_a_summary_row() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys("5");
    assert_eq!(screen.take_requests(), [Request::Runs(None)]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    assert!(row(&screen, "run 9").contains("infra/gateway  main a1b2c3d"), "{}", screen.text());
    assert!(row(&screen, "run 8").contains("FAILURE") && row(&screen, "run 8").contains('!'), "{}", screen.text());
    let dist = row(&screen, "dist-linux.zip");
    assert!(dist.contains("30.0 MiB    11:59  ready         89d 23h"), "{dist}");
    assert!(row(&screen, "junit.xml").contains('!') && row(&screen, "junit.xml").ends_with("41m"), "{}", screen.text());
    assert!(
        screen.text().contains("2 runs, 3 artifacts, 68.6 MiB") && screen.text().contains("junit.xml expires in 41m"),
        "{}",
        screen.text()
    );

    // A folded run shows the number and the total size of its artifacts.
    screen.keys("Gh");
    assert!(row(&screen, ">").contains("job build-linux  (1)"), "{}", screen.text());
    screen.keys("hh");
    let folded = row(&screen, "run 8");
    assert!(folded.contains("▸ run 8 (1)  web/site"), "{folded}");
    assert!(folded.contains("10.0 MiB") && !has(&screen, "junit.xml"), "{folded}");
    screen.keys("l");
    assert!(has(&screen, "job build-linux  (1)") && !has(&screen, "junit.xml"), "{}", screen.text());
    screen.keys("jl\nk\n");
    assert!(row(&screen, ">").contains("▸ run 8"), "{}", screen.text());
    // `h` on an artifact moves to its job.
    screen.keys("gjjh");
    assert!(row(&screen, ">").contains("job build-linux  (2)"), "{}", screen.text());
}

#[test]
fn partial_batches_are_shown_on_first_load_but_not_during_a_refresh() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("5");
    let Answer::Runs(all) = tree() else { unreachable!() };
    screen.advance(Duration::from_secs(1));
    let first = RunsBatch { runs: all.runs.clone(), artifacts: Vec::new(), last: false, cut: false };
    screen.answer(is_list, Ok(Answer::Runs(Box::new(first))));
    assert!(has(&screen, "run 9") && !has(&screen, "sbom.json"), "{}", screen.text());
    let rest = RunsBatch { runs: Vec::new(), artifacts: all.artifacts.clone(), last: true, cut: false };
    screen.answer(is_list, Ok(Answer::Runs(Box::new(rest))));
    assert!(has(&screen, "sbom.json"), "{}", screen.text());

    // A refresh keeps the old rows until the last batch has arrived, then reports removed rows.
    screen.keys("jj");
    screen.advance(Duration::from_secs(6));
    let fewer = RunsBatch { runs: all.runs.clone(), artifacts: all.artifacts[1..].to_vec(), last: false, cut: false };
    screen.answer(is_list, Ok(Answer::Runs(Box::new(fewer))));
    assert!(has(&screen, "dist-linux.zip"), "{}", screen.text());
    screen.answer(is_list, Ok(Answer::Runs(Box::new(RunsBatch { last: true, ..RunsBatch::default() }))));
    assert!(screen.text().contains("dist-linux.zip was removed"), "{}", screen.text());
    assert!(row(&screen, ">").contains("sbom.json"), "{}", screen.text());
}

#[test]
fn o_on_a_repository_lists_its_runs_and_esc_lists_all_runs() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys("o");
    let requests = screen.take_requests();
    assert!(
        matches!(requests.as_slice(), [Request::Runs(Some(path))] if path.to_string() == "data/lake"),
        "{requests:?}"
    );
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    assert!(
        row(&screen, "run 9").contains("run 9  ci  main") && screen.text().contains(" data/lake  1/"),
        "{}",
        screen.text()
    );
    screen.press(Key::Esc);
    assert_eq!(screen.take_requests(), [Request::Runs(None)]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    assert!(row(&screen, "run 9").contains("infra/gateway"), "{}", screen.text());
    screen.press(Key::Esc);
    assert_eq!((screen.take_requests(), screen.exit_code()), (Vec::new(), None));
}

#[test]
fn filters_match_artifacts_in_folded_runs_and_show_their_run() {
    let mut screen = at_artifacts();
    screen.keys("ggh/junit\n");
    assert!(row(&screen, "junit.xml").contains("junit.xml  run 8  web/site"), "{}", screen.text());
    assert!(!has(&screen, "dist-linux"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(has(&screen, "run 9") && !has(&screen, "junit.xml  run 8"), "{}", screen.text());
    for (filter, found, left_out) in [
        ("gateway", "sbom.json", "junit.xml"),
        ("repo:site", "junit.xml", "sbom.json"),
        ("name:zip$", "dist-linux.zip", "sbom.json"),
        ("job:build state:ready", "sbom.json", "▾ run"),
        ("size:>20m", "dist-linux.zip", "junit.xml"),
    ] {
        screen.keys(&format!("/{filter}\n"));
        assert!(has(&screen, found) && !has(&screen, left_out), "{filter}: {}", screen.text());
        screen.press(Key::Esc);
    }
    screen.keys("!");
    assert!(has(&screen, "junit.xml") && has(&screen, "run 8") && !has(&screen, "sbom.json"), "{}", screen.text());
}

#[test]
fn sorting_applies_to_runs_and_to_the_artifacts_within_each_run() {
    let mut screen = at_artifacts();
    let names = ["run 9", "dist-linux.zip", "sbom.json", "run 8"];
    assert!(order(&screen, names).is_sorted(), "{}", screen.text());
    screen.keys("S");
    assert!(order(&screen, ["run 8", "run 9", "sbom.json", "dist-linux.zip"]).is_sorted(), "{}", screen.text());
    for (down, names) in [
        (1, ["run 9", "dist-linux.zip", "sbom.json", "run 8"]),
        (2, ["run 8", "junit.xml", "run 9", "sbom.json"]),
        (3, ["run 9", "dist-linux.zip", "sbom.json", "run 8"]),
    ] {
        screen.keys("s");
        for _ in 0..down {
            screen.press(Key::Down);
        }
        screen.keys("\n");
        assert!(order(&screen, names).is_sorted(), "{down}: {}", screen.text());
    }
    assert!(screen.text().contains("sort name"), "{}", screen.text());
}

#[test]
fn artifacts_are_downloaded_and_bulk_deletion_requires_typing_the_count() {
    let mut screen = at_artifacts();
    screen.keys("d");
    let requests = screen.take_requests();
    let download = Request::Download {
        repo: "infra/gateway".parse().unwrap(),
        id: 21,
        name: "dist-linux.zip".into(),
        existing: Existing::Keep,
    };
    assert_eq!(requests, std::slice::from_ref(&download));
    let part = Answer::Progress { have: 500, size: Some(1_000) };
    screen.send(Msg::Answer(screen.app.tickets, Ok(part)));
    assert!(screen.text().contains("50 %") && screen.text().contains("Expiring next"), "{}", screen.text());
    screen.press(Key::Ctrl('c'));
    assert_eq!(screen.exit_code(), None);
    assert!(screen.text().contains("C-c again quits"));
    screen.press(Key::Ctrl('c'));
    assert_eq!(screen.exit_code(), Some(0));
    screen.press(Key::Esc);
    screen.take_requests();
    screen.keys("*D");
    screen.advance(Duration::from_millis(300));
    screen.keys("3\t\n");
    assert_eq!(screen.take_requests(), [Request::DeleteArtifacts(vec![21, 20, 7])]);
    let each = vec![(21, None), (20, Some("no".to_owned())), (7, None)];
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Each(each))));
    assert!(screen.text().contains("2 artifacts deleted, 1 failed and stays marked"), "{}", screen.text());
    assert!(screen.text().contains("1 failed, 2 deleted") && screen.text().contains("sbom.json"), "{}", screen.text());
    assert_eq!(screen.take_requests().last(), Some(&Request::Runs(None)), "the list is reloaded");
}

#[test]
fn one_artifact_is_deleted_by_y_and_kept_by_enter() {
    let mut screen = at_artifacts();
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.keys("\n");
    assert!(screen.app.layers.is_empty() && screen.take_requests().is_empty());
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::DeleteArtifacts(vec![21])]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Each(vec![(21, None)]))));
    assert!(screen.text().contains("1 artifact deleted") && !has(&screen, "dist-linux.zip"), "{}", screen.text());
}

#[test]
fn expiry_is_set_for_marked_artifacts_and_can_be_undone() {
    let mut screen = at_artifacts();
    screen.keys("  e");
    assert!(
        screen.text().contains("Set the expiry of 2 artifacts") && screen.text().contains("90 days from now"),
        "{}",
        screen.text()
    );
    screen.keys("7");
    let week = EditArtifact { days: Some(7), ..EditArtifact::default() };
    assert_eq!(screen.take_requests(), [Request::EditArtifacts(vec![(21, week.clone()), (20, week)])]);
    let each = vec![(21, Ok(1_795_867_200)), (20, Err("the artifact has expired".to_owned()))];
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Expiring(each))));
    assert!(row(&screen, "dist-linux.zip").ends_with("7d 0h"), "shown at once: {}", screen.text());
    let notice = "1 artifact set to expire, 1 failed and stays marked";
    assert!(screen.text().contains(notice) && screen.text().contains("the artifact has expired"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.text().contains("marked 1"), "{}", screen.text());
    screen.take_requests();
    screen.keys("z");
    let before = EditArtifact { expires_at: Some("2027-02-19T11:59:00Z".into()), ..EditArtifact::default() };
    assert_eq!(screen.take_requests(), [Request::EditArtifacts(vec![(21, before)])]);
}

#[test]
fn an_expiry_date_can_be_typed_and_an_invalid_one_is_reported() {
    let mut screen = at_artifacts();
    screen.keys("eo");
    assert!(screen.text().contains("Set the expiry of dist-linux.zip"), "{}", screen.text());
    screen.keys("soon");
    screen.press(Key::Ctrl('s'));
    assert!(
        screen.text().contains("'soon' is not a valid time") && screen.take_requests().is_empty(),
        "{}",
        screen.text()
    );
    screen.press(Key::Ctrl('u'));
    screen.keys("2027-01-31");
    screen.press(Key::Ctrl('s'));
    let day = EditArtifact { expires_at: Some("2027-01-31T00:00:00Z".into()), ..EditArtifact::default() };
    assert_eq!(screen.take_requests(), [Request::EditArtifacts(vec![(21, day)])]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Expiring(vec![(21, Ok(1_801_353_600))]))));
    assert!(screen.app.layers.is_empty() && screen.text().contains("1 artifact set to expire"), "{}", screen.text());
}

#[test]
fn a_signed_url_is_copied_and_shown_with_its_expiry_time() {
    let mut screen = at_artifacts();
    screen.keys("yu");
    assert!(matches!(screen.take_requests().as_slice(), [Request::SignedAddress(_, 21)]));
    let target = "/_blob/21/1/a.zip?sv=2024-11-04&se=2026-11-21T13%3A00%3A00Z&sr=b&sp=r&sig=00ff";
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Signed(target.into()))));
    let address = format!("http://forge01.lan:3000{target}");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.0 == address)));
    let text = screen.text();
    assert!(
        text.contains("sig=00ff") && text.contains("for 1h 0m,") && text.contains("until 2026-11-21 13:00:00."),
        "{text}"
    );
    screen.advance(Duration::from_millis(300));
    screen.keys("q");
    assert!(!screen.text().contains("sig="), "{}", screen.text());
    screen.keys("ya");
    let copied = "http://forge01.lan:3000/api/v1/repos/infra/gateway/actions/artifacts/21/zip";
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.0 == copied)));
}

#[test]
fn the_expiry_of_a_signed_url_of_an_older_daemon_is_shown() {
    let mut screen = at_artifacts();
    screen.keys("yu");
    screen.take_requests();
    let target = "/_blob/21/1/a.zip?op=r&exp=1795266000&sig=00ff";
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Signed(target.into()))));
    assert!(screen.text().contains("until 2026-11-21 13:00:00."), "{}", screen.text());
}

#[test]
fn zip_contents_are_listed_without_downloading_the_artifact() {
    let mut screen = at_artifacts();
    screen.keys("o");
    assert!(matches!(screen.take_requests().as_slice(), [Request::ZipContent { id: 21, .. }]));
    let lines = vec!["  97.6 KiB  bin/farrier".to_owned()];
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Content(lines))));
    assert!(screen.text().contains("Files in dist-linux.zip") && screen.text().contains("bin/farrier"));
    let mut screen = at_artifacts();
    screen.keys("gjo");
    assert!(screen.text().contains("select an artifact that is ready"), "{}", screen.text());
}

#[test]
fn run_and_artifact_commands_select_the_row_with_that_id() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.keys(":artifact 7\n");
    assert_eq!(
        (screen.app.current, screen.take_requests().as_slice()),
        (ScreenId::Artifacts, &[Request::Runs(None)][..])
    );
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    assert!(row(&screen, ">").contains("junit.xml"), "{}", screen.text());
    screen.keys("gh:run 9\n");
    assert!(row(&screen, ">").contains("▾ run 9"), "{}", screen.text());
    screen.take_requests();
    screen.keys(":artifacts infra/gateway\n");
    let sent = screen.take_requests();
    assert!(matches!(sent.last(), Some(Request::Runs(Some(path))) if path.name == "gateway"), "{sent:?}");
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    screen.keys(":artifact 999\n");
    screen.send(Msg::Answer(screen.app.tickets, Ok(tree())));
    assert!(screen.text().contains("artifact 999 not found"), "{}", screen.text());
    // `artifact down` completes to `artifact download`; it is not an artifact ID.
    screen.keys("gh:artifact down\n");
    assert!(
        screen.take_requests().iter().all(|request| matches!(request, Request::Download { .. } | Request::Runs(_))),
        "{}",
        screen.text()
    );
}

#[test]
fn cancel_requires_confirmation_and_applies_only_to_running_runs() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("5");
    let run = |id: i64, status: &str| farrier_common::api::FoundRun {
        id,
        repository: "infra/gateway".into(),
        status: status.into(),
        conclusion: if status == "completed" { "success".into() } else { String::new() },
        ..Default::default()
    };
    let mut compactor = RunCompactor::default();
    let runs = vec![compactor.run(run(9, "in_progress")), compactor.run(run(8, "completed"))];
    let part = RunsBatch { runs, last: true, ..RunsBatch::default() };
    screen.answer(|request| matches!(request, Request::Runs(_)), Ok(Answer::Runs(Box::new(part))));
    screen.keys("X");
    assert!(screen.text().contains("Cancel run 9"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::CancelRun(9)]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("run 9 cancelled"), "{}", screen.text());
    screen.keys("jX");
    assert!(
        screen.app.layers.is_empty() && screen.text().contains("no run here that is still running"),
        "{}",
        screen.text()
    );
}
