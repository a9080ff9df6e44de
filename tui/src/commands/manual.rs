//! `farrier completion` and `farrier man`: what packages install, printed by the program itself.

use clap_complete::Shell;

use crate::{exit::Failure, output::Output};

/// Prints the completion script of `shell`.
pub(super) fn completion(shell: Shell, output: &Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "farrier", &mut script);
    output.text(&String::from_utf8_lossy(&script))
}

/// Prints the manual page of the program, or of the command that `words` name, in roff.
pub(super) fn page(words: &[String], output: &Output) -> Result<(), Failure> {
    let mut command = crate::command();
    command.build();
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            return Err(Failure::Usage(format!("there is no command `{}`", words.join(" "))));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut page);
    written.map_err(|source| Failure::io("writing the manual page", source))?;
    output.text(&String::from_utf8_lossy(&page))
}
