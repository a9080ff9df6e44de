//! The artifacts screen: runs of all repositories, their artifacts, and actions on them.

use farrier_common::api::EditArtifact;

use super::prelude::*;
use crate::ui::{
    net::Existing,
    runs::{RunCompactor, RunsBatch},
};

fn is_list(ask: &Ask) -> bool {
    matches!(ask, Ask::Runs(_))
}

/// Opens the artifacts screen with the cursor on the first artifact.
fn at_artifacts() -> Story {
    let mut story = Story::settled(120, 40);
    on_artifacts(&mut story);
    story.keys("jj");
    story.asked();
    story
}

/// Returns the rows of the list, without the detail pane.
fn rows(story: &Story) -> Vec<String> {
    let cut = |line: &str| line.chars().take(74).collect::<String>().trim_end_matches(['│', ' ']).to_owned();
    let text = story.text();
    let body = usize::from(story.app.world.size.height) - 3;
    text.lines().skip(1).take(body).map(cut).collect()
}

#[track_caller]
fn row(story: &Story, name: &str) -> String {
    rows(story).into_iter().find(|row| row.contains(name)).unwrap_or_else(|| panic!("{name}: {}", story.text()))
}

fn has(story: &Story, name: &str) -> bool {
    rows(story).iter().any(|row| row.contains(name))
}

/// Returns the order of names in the list.
#[track_caller]
fn order<const N: usize>(story: &Story, names: [&str; N]) -> [usize; N] {
    let text = rows(story).join("\n");
    names.map(|name| text.find(name).unwrap_or_else(|| panic!("{name}: {text}")))
}

#[test]
fn runs_are_listed_expanded_and_fold_to_a_summary_row() {
    let mut story = Story::settled(120, 40);
    story.asked();
    story.keys("5");
    assert_eq!(story.asked(), [Ask::Runs(None)]);
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    assert!(row(&story, "run 9").contains("infra/gateway  main a1b2c3d"), "{}", story.text());
    assert!(row(&story, "run 8").contains("FAILURE") && row(&story, "run 8").contains('!'), "{}", story.text());
    let dist = row(&story, "dist-linux.zip");
    assert!(dist.contains("30.0 MiB    11:59  ready         89d 23h"), "{dist}");
    assert!(row(&story, "junit.xml").contains('!') && row(&story, "junit.xml").ends_with("41m"), "{}", story.text());
    assert!(
        story.text().contains("2 runs, 3 artifacts, 68.6 MiB") && story.text().contains("junit.xml expires in 41m"),
        "{}",
        story.text()
    );

    // A folded run shows the number and the total size of its artifacts.
    story.keys("Gh");
    assert!(row(&story, ">").contains("job build-linux  (1)"), "{}", story.text());
    story.keys("hh");
    let folded = row(&story, "run 8");
    assert!(folded.contains("▸ run 8 (1)  web/site"), "{folded}");
    assert!(folded.contains("10.0 MiB") && !has(&story, "junit.xml"), "{folded}");
    story.keys("l");
    assert!(has(&story, "job build-linux  (1)") && !has(&story, "junit.xml"), "{}", story.text());
    story.keys("jl\nk\n");
    assert!(row(&story, ">").contains("▸ run 8"), "{}", story.text());
    // `h` on an artifact moves to its job.
    story.keys("gjjh");
    assert!(row(&story, ">").contains("job build-linux  (2)"), "{}", story.text());
}

#[test]
fn partial_batches_are_shown_on_first_load_but_not_during_a_refresh() {
    let mut story = Story::settled(80, 24);
    story.keys("5");
    let Answer::Runs(all) = tree() else { unreachable!() };
    story.pass(Duration::from_secs(1));
    let first = RunsBatch { runs: all.runs.clone(), artifacts: Vec::new(), last: false, cut: false };
    story.answer(is_list, Ok(Answer::Runs(Box::new(first))));
    assert!(has(&story, "run 9") && !has(&story, "sbom.json"), "{}", story.text());
    let rest = RunsBatch { runs: Vec::new(), artifacts: all.artifacts.clone(), last: true, cut: false };
    story.answer(is_list, Ok(Answer::Runs(Box::new(rest))));
    assert!(has(&story, "sbom.json"), "{}", story.text());

    // A refresh keeps the old rows until the last batch has arrived, then reports removed rows.
    story.keys("jj");
    story.pass(Duration::from_secs(6));
    let fewer = RunsBatch { runs: all.runs.clone(), artifacts: all.artifacts[1..].to_vec(), last: false, cut: false };
    story.answer(is_list, Ok(Answer::Runs(Box::new(fewer))));
    assert!(has(&story, "dist-linux.zip"), "{}", story.text());
    story.answer(is_list, Ok(Answer::Runs(Box::new(RunsBatch { last: true, ..RunsBatch::default() }))));
    assert!(story.text().contains("dist-linux.zip was removed"), "{}", story.text());
    assert!(row(&story, ">").contains("sbom.json"), "{}", story.text());
}

#[test]
fn o_on_a_repository_lists_its_runs_and_esc_lists_all_runs() {
    let mut story = Story::settled(120, 40);
    story.asked();
    story.keys("o");
    let asked = story.asked();
    assert!(matches!(asked.as_slice(), [Ask::Runs(Some(path))] if path.to_string() == "data/lake"), "{asked:?}");
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    assert!(
        row(&story, "run 9").contains("run 9  ci  main") && story.text().contains(" data/lake  1/"),
        "{}",
        story.text()
    );
    story.press(Key::Esc);
    assert_eq!(story.asked(), [Ask::Runs(None)]);
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    assert!(row(&story, "run 9").contains("infra/gateway"), "{}", story.text());
    story.press(Key::Esc);
    assert_eq!((story.asked(), story.quits()), (Vec::new(), None));
}

#[test]
fn filters_match_artifacts_in_folded_runs_and_show_their_run() {
    let mut story = at_artifacts();
    story.keys("ggh/junit\n");
    assert!(row(&story, "junit.xml").contains("junit.xml  run 8  web/site"), "{}", story.text());
    assert!(!has(&story, "dist-linux"), "{}", story.text());
    story.press(Key::Esc);
    assert!(has(&story, "run 9") && !has(&story, "junit.xml  run 8"), "{}", story.text());
    for (filter, found, left_out) in [
        ("gateway", "sbom.json", "junit.xml"),
        ("repo:site", "junit.xml", "sbom.json"),
        ("name:zip$", "dist-linux.zip", "sbom.json"),
        ("job:build state:ready", "sbom.json", "▾ run"),
        ("size:>20m", "dist-linux.zip", "junit.xml"),
    ] {
        story.keys(&format!("/{filter}\n"));
        assert!(has(&story, found) && !has(&story, left_out), "{filter}: {}", story.text());
        story.press(Key::Esc);
    }
    story.keys("!");
    assert!(has(&story, "junit.xml") && has(&story, "run 8") && !has(&story, "sbom.json"), "{}", story.text());
}

#[test]
fn sorting_applies_to_runs_and_to_the_artifacts_within_each_run() {
    let mut story = at_artifacts();
    let names = ["run 9", "dist-linux.zip", "sbom.json", "run 8"];
    assert!(order(&story, names).is_sorted(), "{}", story.text());
    story.keys("S");
    assert!(order(&story, ["run 8", "run 9", "sbom.json", "dist-linux.zip"]).is_sorted(), "{}", story.text());
    for (down, names) in [
        (1, ["run 9", "dist-linux.zip", "sbom.json", "run 8"]),
        (2, ["run 8", "junit.xml", "run 9", "sbom.json"]),
        (3, ["run 9", "dist-linux.zip", "sbom.json", "run 8"]),
    ] {
        story.keys("s");
        for _ in 0..down {
            story.press(Key::Down);
        }
        story.keys("\n");
        assert!(order(&story, names).is_sorted(), "{down}: {}", story.text());
    }
    assert!(story.text().contains("sort name"), "{}", story.text());
}

#[test]
fn artifacts_are_downloaded_and_bulk_deletion_requires_typing_the_count() {
    let mut story = at_artifacts();
    story.keys("d");
    let asked = story.asked();
    let download = Ask::Download {
        repo: "infra/gateway".parse().unwrap(),
        id: 21,
        name: "dist-linux.zip".into(),
        existing: Existing::Keep,
    };
    assert_eq!(asked, std::slice::from_ref(&download));
    let part = Answer::Progress { have: 500, size: Some(1_000) };
    story.tell(Msg::Answer(story.app.tickets, Ok(part)));
    assert!(story.text().contains("50 %") && story.text().contains("Expiring next"), "{}", story.text());
    story.press(Key::Ctrl('c'));
    assert_eq!(story.quits(), None);
    assert!(story.text().contains("Ctrl-C again quits"));
    story.press(Key::Ctrl('c'));
    assert_eq!(story.quits(), Some(0));
    story.press(Key::Esc);
    story.asked();
    story.keys("*D");
    story.pass(Duration::from_millis(300));
    story.keys("3\t\n");
    assert_eq!(story.asked(), [Ask::DeleteArtifacts(vec![21, 20, 7])]);
    let each = vec![(21, None), (20, Some("no".to_owned())), (7, None)];
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Each(each))));
    assert!(story.text().contains("2 artifacts deleted, 1 failed and stay marked"), "{}", story.text());
    assert!(story.text().contains("1 failed, 2 deleted") && story.text().contains("sbom.json"), "{}", story.text());
    assert_eq!(story.asked().last(), Some(&Ask::Runs(None)), "the list is reloaded");
}

#[test]
fn one_artifact_is_deleted_by_y_and_kept_by_enter() {
    let mut story = at_artifacts();
    story.keys("D");
    story.pass(Duration::from_millis(300));
    story.keys("\n");
    assert!(story.app.layers.is_empty() && story.asked().is_empty());
    story.keys("D");
    story.pass(Duration::from_millis(300));
    story.keys("y");
    assert_eq!(story.asked(), [Ask::DeleteArtifacts(vec![21])]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Each(vec![(21, None)]))));
    assert!(story.text().contains("1 artifact deleted") && !has(&story, "dist-linux.zip"), "{}", story.text());
}

#[test]
fn expiry_is_set_for_marked_artifacts_and_can_be_undone() {
    let mut story = at_artifacts();
    story.keys("  e");
    assert!(
        story.text().contains("Expire 2 artifacts") && story.text().contains("90 days from now"),
        "{}",
        story.text()
    );
    story.keys("7");
    let week = EditArtifact { days: Some(7), ..EditArtifact::default() };
    assert_eq!(story.asked(), [Ask::EditArtifacts(vec![(21, week.clone()), (20, week)])]);
    let each = vec![(21, Ok(1_795_867_200)), (20, Err("the artifact has expired".to_owned()))];
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Expiring(each))));
    assert!(row(&story, "dist-linux.zip").ends_with("7d 0h"), "shown at once: {}", story.text());
    let told = "1 artifact set to expire, 1 failed and stay marked";
    assert!(story.text().contains(told) && story.text().contains("the artifact has expired"), "{}", story.text());
    story.press(Key::Esc);
    assert!(story.text().contains("marked 1"), "{}", story.text());
    story.asked();
    story.keys("z");
    let before = EditArtifact { expires_at: Some("2027-02-19T11:59:00Z".into()), ..EditArtifact::default() };
    assert_eq!(story.asked(), [Ask::EditArtifacts(vec![(21, before)])]);
}

#[test]
fn an_expiry_date_can_be_typed_and_an_invalid_one_is_reported() {
    let mut story = at_artifacts();
    story.keys("eo");
    assert!(story.text().contains("Expire dist-linux.zip"), "{}", story.text());
    story.keys("soon");
    story.press(Key::Ctrl('s'));
    assert!(story.text().contains("'soon' is not a valid time") && story.asked().is_empty(), "{}", story.text());
    story.press(Key::Ctrl('u'));
    story.keys("2027-01-31");
    story.press(Key::Ctrl('s'));
    let day = EditArtifact { expires_at: Some("2027-01-31T00:00:00Z".into()), ..EditArtifact::default() };
    assert_eq!(story.asked(), [Ask::EditArtifacts(vec![(21, day)])]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Expiring(vec![(21, Ok(1_801_353_600))]))));
    assert!(story.app.layers.is_empty() && story.text().contains("1 artifact set to expire"), "{}", story.text());
}

#[test]
fn a_signed_url_is_copied_and_shown_with_its_expiry_time() {
    let mut story = at_artifacts();
    story.keys("yu");
    assert!(matches!(story.asked().as_slice(), [Ask::SignedAddress(_, 21)]));
    let target = "/_blob/21/1/a.zip?op=r&exp=1795266000&sig=00ff";
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Signed(target.into()))));
    let address = format!("http://forge01.lan:3000{target}");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if *text == address)));
    let text = story.text();
    assert!(
        text.contains("sig=00ff") && text.contains("for 1h 0m,") && text.contains("until 2026-11-21 13:00:00."),
        "{text}"
    );
    story.pass(Duration::from_millis(300));
    story.keys("qya");
    let copied = "http://forge01.lan:3000/api/v1/repos/infra/gateway/actions/artifacts/21/zip";
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text == copied)));
}

#[test]
fn zip_contents_are_listed_without_downloading_the_artifact() {
    let mut story = at_artifacts();
    story.keys("o");
    assert!(matches!(story.asked().as_slice(), [Ask::ZipContent { id: 21, .. }]));
    let lines = vec!["  97.6 KiB  bin/farrier".to_owned()];
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Content(lines))));
    assert!(story.text().contains("Files in dist-linux.zip") && story.text().contains("bin/farrier"));
    let mut story = at_artifacts();
    story.keys("gjo");
    assert!(story.text().contains("select an artifact that is ready"), "{}", story.text());
}

#[test]
fn run_and_artifact_commands_select_the_row_with_that_id() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys(":artifact 7\n");
    assert_eq!((story.app.current, story.asked().as_slice()), (ScreenId::Artifacts, &[Ask::Runs(None)][..]));
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    assert!(row(&story, ">").contains("junit.xml"), "{}", story.text());
    story.keys("gh:run 9\n");
    assert!(row(&story, ">").contains("▾ run 9"), "{}", story.text());
    story.asked();
    story.keys(":artifacts infra/gateway\n");
    assert!(matches!(story.asked().as_slice(), [Ask::Runs(Some(path))] if path.name == "gateway"));
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    story.keys(":artifact 999\n");
    story.tell(Msg::Answer(story.app.tickets, Ok(tree())));
    assert!(story.text().contains("artifact 999 not found"), "{}", story.text());
    // `artifact down` completes to `artifact download`; it is not an artifact ID.
    story.keys("gh:artifact down\n");
    assert!(story.asked().iter().all(|ask| matches!(ask, Ask::Download { .. } | Ask::Runs(_))), "{}", story.text());
}

#[test]
fn cancel_requires_confirmation_and_applies_only_to_running_runs() {
    let mut story = Story::settled(120, 40);
    story.keys("5");
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
    story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(Answer::Runs(Box::new(part))));
    story.keys("X");
    assert!(story.text().contains("Cancel run 9"), "{}", story.text());
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y");
    assert_eq!(story.asked(), [Ask::CancelRun(9)]);
    story.answer_last(Ok(Answer::Done));
    assert!(story.text().contains("run 9 cancelled"), "{}", story.text());
    story.keys("jX");
    assert!(
        story.app.layers.is_empty() && story.text().contains("no run here that is still running"),
        "{}",
        story.text()
    );
}
