//! Makes what packages hold beside the programs: manual pages and completions, from the programs'
//! own command lines. `cargo run -p xtask -- DIR`
//!
//! A program of its own, so that neither farrier nor farrierd carries what only packages need.

use std::{fs, io, path::Path, process::ExitCode};

use clap::CommandFactory as _;
use clap_complete::Shell;

/// Directories below the one that is given, each with the file that a shell looks for.
const SHELLS: [(Shell, &str); 3] =
    [(Shell::Bash, "bash-completion"), (Shell::Zsh, "zsh-completion"), (Shell::Fish, "fish-completion")];

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1) else {
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
    fresh(&man)?;
    for program in programs() {
        clap_mangen::generate_to(program, &man)?;
    }
    for (shell, place) in SHELLS {
        let place = dir.join(place);
        fresh(&place)?;
        for mut program in programs() {
            let name = program.get_name().to_owned();
            let made = clap_complete::generate_to(shell, &mut program, &name, &place)?;
            // bash looks for a file with the program's bare name.
            if shell == Shell::Bash {
                fs::rename(made, place.join(name))?;
            }
        }
    }
    Ok(())
}

fn programs() -> [clap::Command; 2] {
    [farrier::command(), farrierd::args::Args::command()]
}

/// An empty directory: what is not made any more must not stay.
fn fresh(dir: &Path) -> io::Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_words() {
        let dir = tempfile::tempdir().expect("a directory");
        generate(dir.path()).expect("written");
        generate(dir.path()).expect("written again");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(read("man/farrierd.1").contains("data\\-dir"));
        assert!(read("man/farrierd-check-config.1").contains("check\\-config"));
        assert!(read("man/farrier-ci-exec.1").contains("\\-\\-repo"));
        for place in ["bash-completion/farrier", "zsh-completion/_farrier", "fish-completion/farrier.fish"] {
            assert!(read(place).contains("artifact"), "{place}");
        }
        assert!(read("bash-completion/farrierd").contains("check-config"));
    }
}
