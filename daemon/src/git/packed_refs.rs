//! The format of `packed-refs`, the file with the refs that have no file of their own. See gitrepository-layout(5) and
//! the comments in git's `refs/packed-backend.c`. [`super::ref_list::parse_packed`] reads it.

/// Name of the file, in the directory of a repository.
pub(super) const FILE: &str = "packed-refs";
/// The lock of the file. Git takes it as well.
pub(super) const LOCK: &str = "packed-refs.lock";
/// The next content of the file.
pub(super) const NEW: &str = "packed-refs.new";
/// The first line of a complete file that is sorted by name and has the target of each tag object.
pub(super) const HEADER: &str = "# pack-refs with: peeled fully-peeled sorted \n";

/// Returns the lines of a ref. `peeled`: the object to which a tag object leads; `None` for other objects.
pub(super) fn lines(name: &str, id: &str, peeled: Option<&str>) -> String {
    match peeled {
        Some(peeled) => format!("{id} {name}\n^{peeled}\n"),
        None => format!("{id} {name}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::ref_list::{Peeled, Tip, parse_packed};

    #[test]
    fn written_refs_are_read_with_the_objects_to_which_they_lead() {
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(40));
        let refs = [("refs/heads/main", &one, None), ("refs/tags/v1", &two, Some(&one)), ("refs/tags/v2", &one, None)];
        let mut text = HEADER.to_owned();
        for (name, id, peeled) in refs {
            text.push_str(&lines(name, id, peeled.map(String::as_str)));
        }
        let tip = |id: &str, peeled: Peeled| Tip { id: id.to_owned(), peeled };
        let expected = vec![
            ("refs/heads/main", tip(&one, Peeled::Same)),
            ("refs/tags/v1", tip(&two, Peeled::To(one.clone()))),
            ("refs/tags/v2", tip(&one, Peeled::Same)),
        ];
        assert_eq!(parse_packed(&text), Some(expected));
    }
}
