//! Generates the manual pages and shell completions of the packages. `cargo run -p xtask -- DIR`
//!
//! `farrier completion` and `farrier man` print the same pages and scripts, but only for `farrier`.

use std::{fmt::Write as _, fs, io, path::Path, process::ExitCode};

use clap::CommandFactory as _;
use clap_complete::Shell;

/// The shells, each with the output directory of its completions.
const SHELLS: [(Shell, &str); 3] =
    [(Shell::Bash, "bash-completion"), (Shell::Zsh, "zsh-completion"), (Shell::Fish, "fish-completion")];

fn main() -> ExitCode {
    let argument = std::env::args_os().nth(1).filter(|argument| !argument.as_encoded_bytes().starts_with(b"-"));
    let Some(dir) = argument else {
        eprintln!("usage: xtask DIR");
        return ExitCode::from(2);
    };
    match generate(Path::new(&dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {}: {error}", Path::new(&dir).display());
            ExitCode::FAILURE
        }
    }
}

fn generate(dir: &Path) -> io::Result<()> {
    let man = dir.join("man");
    create_empty(&man)?;
    for program in programs() {
        clap_mangen::generate_to(program, &man)?;
    }
    fs::write(man.join("farrier-keys.7"), keys())?;
    for (shell, subdirectory) in SHELLS {
        let target = dir.join(subdirectory);
        create_empty(&target)?;
        for mut program in programs() {
            let name = program.get_name().to_owned();
            let generated = clap_complete::generate_to(shell, &mut program, &name, &target)?;
            if name == "farrier" {
                fs::write(&generated, farrier::completion(shell))?;
            }
            // bash loads completions from a file with the name of the program.
            if shell == Shell::Bash {
                fs::rename(generated, target.join(name))?;
            }
        }
    }
    Ok(())
}

/// Returns the manual page of the full screen's keys, generated from the key table of the program.
fn keys() -> String {
    let escape = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let mut page = String::from(
        ".TH farrier-keys 7\n.SH NAME\nfarrier\\-keys \\- keys of farrier's full screen\n.SH DESCRIPTION\n\
         Each section lists the keys of one screen or dialog. The keys of the sections GLOBAL, LIST and MOVES also \
         work on other screens, if the action applies there. The word in brackets is the name of the action in the \
         configuration file. Its table there is [keys.SECTION], with the name of the section in lower case.\n",
    );
    for (screen, rows) in farrier::keys() {
        let _ = writeln!(page, ".SH {}", escape(&screen.to_uppercase()));
        for (keys, description, action) in rows {
            // The first line must not begin with a roff control character.
            let keys = escape(&keys.join("  "));
            let _ = writeln!(page, ".TP\n\\&{keys}\n{} [{}]", escape(description), escape(&action));
        }
    }
    page.push_str(
        ".SH COMMANDS\nThese commands have no key: type a colon, then the command. The commands of the command line \
         have the same names here.\n",
    );
    for (words, description) in farrier::typed() {
        let _ = writeln!(page, ".TP\n\\&:{}\n{}", escape(&words), escape(description));
    }
    page
}

fn programs() -> [clap::Command; 2] {
    [farrier::command(), farrierd::args::Args::command()]
}

/// Creates an empty directory. Files of earlier runs are removed.
fn create_empty(dir: &Path) -> io::Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page_and_every_shell_a_completion_file() {
        let dir = tempfile::tempdir().expect("a directory");
        generate(dir.path()).expect("written");
        generate(dir.path()).expect("written again");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(read("man/farrierd.1").contains("data\\-dir"));
        assert!(read("man/farrierd-check-config.1").contains("check\\-config"));
        assert!(read("man/farrier-ci-exec.1").contains("\\-\\-repo"));
        let keys = read("man/farrier-keys.7");
        assert!(keys.contains(".SH DELIVERIES") && keys.contains("\\&R\nRedeliver [redeliver]"), "{keys}");
        assert!(
            keys.contains("\\&:connect NAME|PATH|URL\nConnect to another daemon") && keys.contains("\\&:redetect\n"),
            "{keys}"
        );
        for path in ["bash-completion/farrier", "zsh-completion/_farrier", "fish-completion/farrier.fish"] {
            assert!(read(path).contains("artifact"), "{path}");
        }
        assert!(read("bash-completion/farrierd").contains("check-config"));
    }
}
