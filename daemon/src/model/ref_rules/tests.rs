use proptest::prelude::*;

use super::*;

fn branch_matches(pattern: &str, name: &str) -> bool {
    NamePattern::of_branches(pattern).expect(pattern).matches(name)
}

fn tag_matches(pattern: &str, name: &str) -> bool {
    NamePattern::of_tags(pattern).expect(pattern).matches(name)
}

#[test]
fn globs_of_branches_match_whole_names_and_stars_stop_at_slashes() {
    for (pattern, fits, does_not) in [
        ("main", "main", "Main"),
        ("release/*", "release/1", "release/1/x"),
        ("release/**", "release/1/x", "release"),
        ("**", "a/b/c", ""),
        ("*", "a", "a/b"),
        ("v?", "v1", "v/"),
        ("[ab]x", "bx", "cx"),
        ("[!ab]x", "cx", "ax"),
        ("[]]", "]", "["),
        ("[a-]", "-", "b"),
        ("[a-c&&b]", "c", "d"),
        ("{a,{b,c}d}", "cd", "ad"),
        (r"\*", "*", "x"),
        ("a.b", "a.b", "axb"),
        ("a+(b)|c^$", "a+(b)|c^$", "aab"),
    ] {
        assert!(branch_matches(pattern, fits), "{pattern} {fits}");
        assert!(does_not.is_empty() || !branch_matches(pattern, does_not), "{pattern} {does_not}");
    }
}

#[test]
fn tags_are_matched_by_globs_over_slashes_or_by_parts_of_regular_expressions() {
    assert!(tag_matches("v*", "v1/rc") && !tag_matches("v*", "av1"));
    assert!(tag_matches("/^v[0-9]+$/", "v12") && !tag_matches("/^v[0-9]+$/", "v1x"));
    assert!(tag_matches("/rc/", "v1-rc2"));
    assert!(tag_matches("/(?i)RC/", "v1-rc2"));
    assert!(tag_matches("//", "//") && !tag_matches("//", "x"), "no expression between the slashes");
}

#[test]
fn patterns_that_are_too_long_too_complex_or_malformed_are_refused() {
    for bad in ["a\u{7}b", "[a", "{a", "a\\", "[z-a]", &"a".repeat(256), &"{".repeat(200), "[!"] {
        assert!(NamePattern::of_branches(bad).is_err(), "{bad}");
    }
    for bad in ["/(/", "/((a{100}){100}){100}/", r"/\pL{9999}/", "/(?<=a)b/", &format!("/{}/", "(".repeat(120))] {
        let error = NamePattern::of_tags(bad).expect_err(bad);
        assert!(!error.contains('\n') && error.len() < 200, "{error}");
    }
    assert!(FilePatterns::check(&"a;".repeat(65)).is_err());
    assert!(FilePatterns::check(&"a".repeat(5_000)).is_err());
    assert!(FilePatterns::check("a;[").is_err());
}

#[test]
fn an_expression_with_nested_repetitions_is_compared_in_linear_time() {
    // A matcher that tries all ways would not end.
    assert!(!tag_matches("/^(a+)+$/", &format!("{}b", "a".repeat(250))));
}

#[test]
fn files_are_protected_unless_a_second_list_unprotects_them() {
    let files = FilePatterns::parse("*.lock; .github/** ;", ".github/docs/**").expect("valid").expect("patterns");
    for (path, expected) in [
        ("Cargo.lock", true),
        ("CARGO.LOCK", true),
        ("sub/Cargo.lock", false),
        (".github/workflows/ci.yml", true),
        (".github/docs/a.md", false),
        ("src/main.rs", false),
    ] {
        assert_eq!(files.protects(path), expected, "{path}");
    }
    assert!(FilePatterns::parse(" ; ", "x").expect("valid").is_none());
}

fn rule(change: impl FnOnce(&mut BranchRule)) -> BranchRule {
    let mut rule = BranchRule { push: true, ..BranchRule::default() };
    change(&mut rule);
    rule
}

const NAMED: Named = Named { push: true, force_push: true, merge: true };
const STRANGER: Named = Named { push: false, force_push: false, merge: false };

fn decide(rule: &BranchRule, named: Named, kind: ChangeKind) -> String {
    match decide_branch(&CompiledBranchRule::new(rule.clone()), BranchRights::of(rule, named), "main", kind) {
        RefDecision::Allowed => "allowed".to_owned(),
        RefDecision::Refused(reason) => reason.trim_start_matches("branch main is protected: ").to_owned(),
        RefDecision::Depends(check) => {
            let signed = if check.signed { "signed, " } else { "" };
            format!("{signed}no force {}, files {}", check.no_force, check.files.is_some())
        }
    }
}

#[test]
fn a_passed_check_covers_the_same_and_weaker_ones_only() {
    let check = |no_force, files: &str, signed| {
        let files = FilePatterns::parse(files, "docs/**").expect("valid").map(Arc::new);
        ObjectCheck { no_force, files, signed }
    };
    let passed = check(true, "*.lock", false);
    for (other, expected) in [
        (check(true, "*.lock", false), true),
        (check(false, "*.lock", false), true),
        (check(true, "", false), true),
        (check(true, "*.lock;a", false), false),
        (check(true, "a", false), false),
        (check(true, "*.lock", true), false),
    ] {
        assert_eq!(passed.covers(&other), expected, "{other:?}");
    }
    assert!(!check(false, "", false).covers(&check(true, "", false)));
    assert!(!check(true, "", true).covers(&check(false, "a", false)));
}

#[test]
fn a_branch_rule_decides_by_its_fields_in_this_order() {
    use ChangeKind::{Create, Delete, Move};
    let files = |rule: &mut BranchRule| rule.protected_file_patterns = "a".into();
    let cannot = "it cannot be deleted";
    for (rule, named, kind, expected) in [
        (rule(|_| ()), NAMED, Create, "allowed"),
        (rule(|_| ()), NAMED, Move, "no force true, files false"),
        (rule(|_| ()), NAMED, Delete, cannot),
        (rule(|rule| rule.force_push = true), NAMED, Move, "allowed"),
        (rule(|rule| rule.force_push = true), Named { force_push: false, ..NAMED }, Move, "no force true, files false"),
        (rule(|rule| rule.force_push = true), NAMED, Delete, cannot),
        (rule(|rule| rule.push = false), NAMED, Create, "nobody may push to it"),
        (rule(|rule| rule.push = false), NAMED, Move, "nobody may push to it"),
        (rule(|_| ()), STRANGER, Move, "only listed users, teams and deploy keys may push to it"),
        (rule(files), NAMED, Create, "no force false, files true"),
        (rule(files), NAMED, Move, "no force true, files true"),
    ] {
        assert_eq!(decide(&rule, named, kind), expected, "{rule:?} {kind:?}");
    }
    let signed = rule(|rule| rule.require_signed_commits = true);
    for (kind, named, expected) in [
        (Create, NAMED, "signed, no force false, files false"),
        (Move, NAMED, "signed, no force true, files false"),
        (Delete, NAMED, cannot),
        (Create, STRANGER, "only listed users, teams and deploy keys may push to it"),
    ] {
        assert_eq!(decide(&signed, named, kind), expected, "{kind:?}");
    }
}

#[test]
fn the_patterns_of_files_are_compiled_once_for_all_branches_of_a_rule() {
    let compiled = CompiledBranchRule::new(rule(|rule| rule.protected_file_patterns = "a".into()));
    let files = || match decide_branch(&compiled, BranchRights::of(&compiled.row, NAMED), "main", ChangeKind::Create) {
        RefDecision::Depends(ObjectCheck { files: Some(files), .. }) => files,
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&files(), &files()));
}

#[test]
fn force_needs_the_right_to_push() {
    let rule = rule(|rule| rule.force_push = true);
    let only_force = Named { push: false, ..NAMED };
    assert!(!BranchRights::of(&rule, only_force).force_push);
}

#[test]
fn an_unused_list_is_no_list_and_a_used_empty_list_names_nobody() {
    let unused = rule(|rule| rule.push_list = Some(RuleList { users: vec![1], ..RuleList::default() }));
    assert_eq!(ListKind::Push.of(&unused), None);
    let empty = RuleList { enabled: true, ..RuleList::default() };
    let used = rule(|rule| rule.push_list = Some(empty.clone()));
    assert_eq!(ListKind::Push.of(&used), Some(&empty));
}

#[test]
fn a_tag_may_be_changed_by_those_whom_any_matching_rule_names() {
    assert_eq!(decide_tag("v1", []), None);
    assert_eq!(decide_tag("v1", [("v*", false), ("**", true)]), None);
    let refused = decide_tag("v1", [("v*", false), ("**", false)]).expect("refused");
    assert!(refused.starts_with("tag v1 is protected by the rule v*"), "{refused}");
}

#[test]
fn changed_files_are_named_without_control_characters() {
    let files = FilePatterns::parse("a**", "").expect("valid").map(Arc::new);
    let check = ObjectCheck { no_force: false, files, signed: false };
    let refused = check.refuses_files("main", [&b"b"[..], b"a\n\xff"]).expect("refused");
    assert_eq!(refused, "branch main is protected: the file a?\u{fffd} may not be changed");
    assert_eq!(check.refuses_files("main", [&b"b"[..]]), None);
}

proptest! {
    #[test]
    fn any_text_is_a_pattern_or_an_error(text in ".{0,80}", name in ".{0,40}") {
        let _ = NamePattern::of_branches(&text).map(|pattern| pattern.matches(&name));
        let _ = NamePattern::of_tags(&text).map(|pattern| pattern.matches(&name));
        let _ = FilePatterns::parse(&text, &text).map(|files| files.map(|files| files.protects(&name)));
    }

    #[test]
    fn a_name_without_special_characters_matches_only_itself(name in "[a-z./]{1,20}", other in "[a-z./]{1,20}") {
        prop_assert_eq!(branch_matches(&name, &other), name == other);
    }
}
