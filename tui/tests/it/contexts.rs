//! Contexts of the configuration file, with two daemons.

use crate::{
    program::{CommandOutput, finish, program},
    screen::SessionOptions,
    session::Daemon,
};

/// Two daemons, with a repository each, and a configuration with a context for each of them.
struct TwoDaemons {
    lab: Daemon,
    prod: Daemon,
}

impl TwoDaemons {
    fn start() -> Self {
        let daemons = Self { lab: Daemon::start(), prod: Daemon::start() };
        daemons.lab.farrier(&["repo", "create", "admin/lab-only"]).ok();
        daemons.prod.farrier(&["repo", "create", "admin/prod-only"]).ok();
        let (lab, prod) = (daemons.lab.socket(), daemons.prod.socket());
        let (lab, prod) = (lab.display(), prod.display());
        daemons.configure(&format!(
            "[contexts.lab]\nsocket = \"{lab}\"\n[contexts.prod]\nsocket = \"{prod}\"\nread_only = true\nproduction = true\n\
             [contexts.gone]\nsocket = \"/nonexistent/s\"\n[contexts.broken]\nsocket = \"/s\"\nread_only = \"no\"\n"
        ));
        daemons
    }

    fn configure(&self, text: &str) {
        let file = self.lab.work(".config/farrier/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Runs the program without an address in its environment.
    fn run<const N: usize>(&self, words: &[&str], variables: [(&str, &str); N]) -> CommandOutput {
        finish(program(&self.lab.work(".")).args(words).envs(variables), "")
    }

    fn repositories<const N: usize>(&self, words: &[&str], variables: [(&str, &str); N]) -> String {
        let words = [words, &["repo", "list", "-q"][..]].concat();
        self.run(&words, variables).ok().stdout.trim().to_owned()
    }
}

#[test]
fn a_context_selects_the_daemon_of_a_command() {
    let daemons = TwoDaemons::start();
    assert_eq!(daemons.repositories(&["--context", "lab"], []), "admin/lab-only");
    assert_eq!(daemons.repositories(&[], [("FARRIER_CONTEXT", "prod")]), "admin/prod-only");
    assert_eq!(daemons.repositories(&["--context", "lab"], [("FARRIER_CONTEXT", "prod")]), "admin/lab-only");
    let lab = daemons.lab.socket();
    let socket = lab.to_str().unwrap();
    assert_eq!(daemons.repositories(&["--socket", socket], [("FARRIER_CONTEXT", "prod")]), "admin/lab-only");
    assert_eq!(daemons.repositories(&["--context", "prod"], [("FARRIER_SOCKET", socket)]), "admin/prod-only");
    // A token in the environment belongs to another daemon.
    let identity = daemons.run(&["--context", "lab", "status", "--json"], [("FARRIER_TOKEN", "frr_of_another")]).json();
    assert_eq!(identity["identity"], "admin");
    let both = daemons.run(&["repo", "list"], [("FARRIER_CONTEXT", "prod"), ("FARRIER_SOCKET", socket)]);
    assert_eq!(both.code, 2, "{both:?}");
    assert!(both.stderr.contains("FARRIER_CONTEXT and FARRIER_SOCKET both name a daemon"), "{both:?}");
    assert_eq!(daemons.run(&["--context", "lab", "--socket", socket, "repo", "list"], []).code, 2);
    assert_eq!(daemons.run(&["--context", "prod", "repo", "list", "--socket", socket], []).code, 2);
}

#[test]
fn a_read_only_context_refuses_commands_that_change_something() {
    let daemons = TwoDaemons::start();
    let refused = daemons.run(&["--context", "prod", "repo", "create", "admin/new"], []);
    assert!(refused.code != 0 && refused.stderr.contains("the program is read-only"), "{refused:?}");
    assert_eq!(daemons.prod.farrier(&["repo", "show", "admin/new"]).code, 3, "the repository was not created");
    daemons.run(&["--context", "lab", "repo", "create", "admin/new"], []).ok();
    // The command of a job uses the daemon of the job, not the context or the token in the environment.
    let script = format!("{} repo list -q", crate::session::FARRIER);
    let exec = ["--context", "lab", "ci", "exec", "--repo", "admin/new", "--", "sh", "-c", &script];
    let listed = daemons.run(&exec, [("FARRIER_CONTEXT", "prod"), ("FARRIER_TOKEN", "frr_of_another")]).ok();
    assert!(listed.stdout.contains("admin/lab-only") && !listed.stdout.contains("prod-only"), "{listed:?}");
}

#[test]
fn unknown_unreachable_and_invalid_contexts_have_clear_errors() {
    let daemons = TwoDaemons::start();
    let failed = |name: &str| daemons.run(&["--context", name, "repo", "list"], []);
    let unknown = failed("staging");
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(
        unknown.stderr.contains("unknown context 'staging'; known contexts: broken, gone, lab, prod"),
        "{unknown:?}"
    );
    let broken = failed("broken");
    assert!(broken.code == 2 && broken.stderr.contains("line 11: read_only must be true or false"), "{broken:?}");
    let gone = failed("gone");
    assert!(gone.code == 6 && gone.stderr.contains("/nonexistent/s"), "{gone:?}");
    // These commands need no daemon, and report the mistake.
    let checked = daemons.run(&["--context", "broken", "config", "check"], []);
    assert!(checked.code == 1 && checked.stdout.contains(":11: error: read_only must be"), "{checked:?}");
    let shown = daemons.run(&["config", "show"], []).ok().stdout;
    assert!(shown.contains("contexts.prod") && shown.contains("production, read-only"), "{shown}");
    daemons.configure("[contexts.lab\n");
    let invalid = failed("lab");
    assert!(invalid.code == 2 && invalid.stderr.contains("config.toml line "), "{invalid:?}");
}

#[test]
fn the_full_screen_changes_to_another_context_and_back() {
    let daemons = TwoDaemons::start();
    let (socket, directory) = (std::path::PathBuf::new(), daemons.lab.work("."));
    let words = &["--context", "lab"];
    let mut session = SessionOptions { socket, directory, words, env: &[], size: (120, 40), script: None }.session();
    session.wait_for_cursor_row("admin/lab-only");
    let header = |screen: &vt100::Screen| screen.rows(0, 120).next().unwrap_or_default();
    session.wait("the name of the context", |screen| header(screen).trim_end().ends_with("lab ok"));
    session.type_keys(":connect prod\r");
    session.wait_for_cursor_row("admin/prod-only");
    session.wait("the mark of production", |screen| {
        header(screen).contains("PROD prod ok") && !screen.contents().contains("lab-only")
    });
    session.type_keys("n");
    session.wait_for("the context prod is read-only");
    session.type_keys(":connect gone\r");
    session.wait_for("/nonexistent/s");
    session.wait("no row of the previous daemon", |screen| !screen.contents().contains("prod-only"));
    session.type_keys(":connect lab\r");
    session.wait_for_cursor_row("admin/lab-only");
    session.wait("the name of the context", |screen| header(screen).trim_end().ends_with("lab ok"));
    session.leave();
}
