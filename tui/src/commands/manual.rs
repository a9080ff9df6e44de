//! `farrier completion` and `farrier man`: print shell completions and manual pages.

use clap_complete::Shell;

use crate::{exit::Failure, output::Output};

/// Extends clap's bash script: completes `--option=value`, values with colons, and comma-separated lists. Bash
/// splits words at `=` and `:` before it calls the function.
const BASH: &str = r#"
_farrier_values() {
    local token="${COMP_WORDS[COMP_CWORD]}" prev at=$COMP_CWORD typed list
    while [[ $at -gt 1 && ( "$token" == :* || "${COMP_WORDS[at-1]}" == ":" ) ]]; do
        ((at--))
        token="${COMP_WORDS[at]}$token"
    done
    [[ $at -eq $COMP_CWORD && "$token" != "=" ]] && token="$2"
    prev="${COMP_WORDS[at-1]}"
    if [[ "$token" == "=" ]]; then
        token=""
    elif [[ "$prev" == "=" ]]; then
        prev="${COMP_WORDS[at-2]}"
    fi
    _farrier "$1" "$token" "$prev"
    if [[ ${#COMPREPLY[@]} -eq 0 && "$token" == *,* ]]; then
        list="${token%"${token##*,}"}"
        _farrier "$1" "${token##*,}" "$prev"
        COMPREPLY=("${COMPREPLY[@]/#/$list}")
    fi
    typed="${token%"${token##*:}"}"
    [[ "$COMP_WORDBREAKS" == *:* && -n "$typed" ]] && COMPREPLY=("${COMPREPLY[@]#"$typed"}")
    return 0
}
complete -F _farrier_values -o bashdefault -o default farrier
"#;

/// Returns the completion script of `shell`.
pub(crate) fn completion_script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "farrier", &mut script);
    if shell == Shell::Bash {
        script.extend_from_slice(BASH.as_bytes());
    }
    script
}

/// Prints the completion script of `shell`.
pub(super) fn completion(shell: Shell, output: &Output) -> Result<(), Failure> {
    output.text(&String::from_utf8_lossy(&completion_script(shell)))
}

/// Prints the manual page of the program, or of the command named by `words`, in roff.
pub(super) fn page(words: &[String], output: &Output) -> Result<(), Failure> {
    let mut command = crate::command();
    command.build();
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            return Err(Failure::Usage(format!("`farrier {}` is not a command", words.join(" "))));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut page);
    written.map_err(|source| Failure::io("writing the manual page", source))?;
    output.text(&String::from_utf8_lossy(&page))
}
