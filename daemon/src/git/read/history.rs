//! Parses the output of `git log -z --raw --numstat`.

use std::collections::HashMap;

/// The changes of a commit relative to its first parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Object id of the commit.
    pub id: String,
    /// Changed paths with git's status letter: `A`, `M`, `D`, `T`.
    pub files: Vec<(String, char)>,
    /// Number of added lines.
    pub additions: u64,
    /// Number of deleted lines.
    pub deletions: u64,
}

/// Parses commits with their changes, in git's order.
pub fn parse(output: &[u8]) -> Vec<Changes> {
    let mut commits: Vec<Changes> = Vec::new();
    let mut tokens = output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let Some(token) = tokens.next() {
        let token = token.strip_prefix('\n').unwrap_or(&token);
        if super::rev::is_full_id(token) {
            commits.push(Changes { id: token.to_owned(), ..Changes::default() });
            continue;
        }
        let Some(commit) = commits.last_mut() else { continue };
        if token.starts_with(':') {
            let status = token.chars().next_back().unwrap_or('M');
            if let Some(path) = tokens.next() {
                commit.files.push((path.into_owned(), status));
            }
        } else if let Some((additions, deletions)) = numbers(token) {
            commit.additions += additions;
            commit.deletions += deletions;
        }
    }
    commits
}

/// Parses `added \t removed \t path`. Binary files have dashes instead of numbers and count 0.
fn numbers(token: &str) -> Option<(u64, u64)> {
    let mut fields = token.splitn(3, '\t');
    let mut number = || fields.next().map(|field| field.parse().unwrap_or(0));
    number().zip(number()).filter(|_| token.contains('\t'))
}

/// Maps each entry of `directory` (empty or with a trailing slash) to the id of the first of `commits` that
/// changed it or a path below it.
pub fn last_touched<'a>(commits: &'a [Changes], directory: &str) -> HashMap<&'a str, &'a str> {
    let mut touched = HashMap::new();
    for commit in commits {
        for (path, _) in &commit.files {
            let Some(below) = path.strip_prefix(directory) else { continue };
            let entry = below.split('/').next().unwrap_or(below);
            touched.entry(entry).or_insert(commit.id.as_str());
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_several_commits_are_parsed() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let output = format!(
            "{a}\0{b}\0\n:000000 100644 0 1 A\0x y\0:100644 000000 0 1 D\0:odd\0-\t-\tx y\x003\t4\t:odd\0{c}\0\n::100644 100644 100644 0 1 2 MM\0d/e/f\0"
        );
        let read = parse(output.as_bytes());
        assert_eq!(read.iter().map(|commit| commit.id.as_str()).collect::<Vec<_>>(), [&a, &b, &c]);
        assert_eq!(read[1].files, [("x y".to_owned(), 'A'), (":odd".to_owned(), 'D')]);
        assert_eq!((read[1].additions, read[1].deletions), (3, 4));
        assert_eq!(read[2].files, [("d/e/f".to_owned(), 'M')]);
        let touched = last_touched(&read, "d/");
        assert_eq!(touched.get("e"), Some(&c.as_str()));
        assert_eq!(last_touched(&read, "").get("x y"), Some(&b.as_str()));
        assert!(parse(b"").is_empty());
    }
}
