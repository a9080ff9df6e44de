//! Quotes values for a POSIX shell.

/// Returns `text` in single quotes, so that a POSIX shell reads it as one word.
pub(crate) fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns `export NAME='VALUE'`; `None` if `name` is not a variable name or `value` contains a zero byte. An
/// invalid name could run commands when the output is passed to `eval`.
pub(crate) fn export(name: &str, value: &str) -> Option<String> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // No shell variable can contain a zero byte.
    (is_name && !value.contains('\0')).then(|| format!("export {name}={}", shell(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_the_shell() {
        assert_eq!(shell("plain"), "'plain'");
        assert_eq!(shell("it's $HOME `x` \"y\" \\ \n;"), "'it'\\''s $HOME `x` \"y\" \\ \n;'");
        assert_eq!(shell(""), "''");
    }

    #[test]
    fn invalid_variable_names_and_values_are_not_exported() {
        assert_eq!(export("A_1", "x y").as_deref(), Some("export A_1='x y'"));
        for bad in ["", "1A", "A-B", "A;rm", "A B", "Ä"] {
            assert_eq!(export(bad, "x"), None, "{bad}");
        }
        assert_eq!(export("A", "x\0y"), None);
    }
}
