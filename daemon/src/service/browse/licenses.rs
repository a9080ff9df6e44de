//! Finds the licenses of a repository: files in the root directory of the default branch whose text is that of a known
//! license.

use super::{Browse, objects};
use crate::{
    git::read::tree::{EntryKind, TreeEntry},
    service::{Error, templates},
};

/// Longest file to compare, in bytes, and most files.
const FILE_MAX_BYTES: u64 = 128 << 10;
const FILES_MAX: usize = 5;
/// Prefixes of the names of files that may contain a license, in lower case.
const NAMES: [&str; 4] = ["license", "licence", "copying", "unlicense"];
/// The text of the Apache license ends here. The instructions after it are often left out.
const END_OF_TERMS: &str = "END OF TERMS AND CONDITIONS";

/// Returns the keys of the licenses of the default branch, sorted.
pub async fn licenses(browse: &Browse) -> Result<Vec<&'static str>, Error> {
    let branch = format!("refs/heads/{}", browse.found.repository.default_branch);
    let Some(tip) = browse.git.infos(&[branch]).await?.into_iter().flatten().next() else { return Ok(Vec::new()) };
    let is_candidate = |entry: &TreeEntry| {
        let name = entry.path.to_lowercase();
        entry.entry_kind() == EntryKind::File
            && entry.size <= FILE_MAX_BYTES
            && NAMES.iter().any(|begin| name.starts_with(begin))
    };
    let mut found = Vec::new();
    let entries = browse.git.tree(&tip.id, false).await?;
    for entry in entries.iter().filter(|entry| is_candidate(entry)).take(FILES_MAX) {
        let content = objects::content(browse, &entry.id, entry.size).await?.unwrap_or_default();
        found.extend(detected(&String::from_utf8_lossy(&content)));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the key of the license with this text. Placeholders, line breaks, letter case and punctuation are not
/// compared.
fn detected(text: &str) -> Option<&'static str> {
    let text = words(text);
    let is_text = |body: &str| {
        let terms = body.split(END_OF_TERMS).next().unwrap_or(body);
        let parts = terms.split("[year]").flat_map(|part| part.split("[fullname]")).map(words);
        // The parts between placeholders are short. The longest part is the license without its title.
        parts.max_by_key(String::len).is_some_and(|part| !part.is_empty() && text.contains(&part))
    };
    templates::licenses().iter().find(|license| is_text(license.body)).map(|license| license.key)
}

/// Returns a text in lower case, with single spaces between its words.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_license_is_found_with_other_line_breaks_and_a_holder() {
        for license in templates::licenses() {
            let text = license.body.replace("[year]", "2026").replace("[fullname]", "Octo Cat").replace('\n', "\r\n  ");
            assert_eq!(detected(&text), Some(license.key));
        }
        assert_eq!(detected("all rights reserved"), None);
        assert_eq!(detected(""), None);
    }
}
