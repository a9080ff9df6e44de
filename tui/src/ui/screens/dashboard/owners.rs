//! The owners that use most storage: aligned rows with a bar and the sizes of each kind.

use farrier_common::api::{StorageByOwner, StorageSizes};

use super::parts::Figure;
use crate::{
    output::human_bytes,
    ui::view::{LinePart, Role, fit, pad, width},
};

/// The least number of lines that are useful: the names of the columns, two owners, and the others.
pub(super) const ROWS_MIN: u16 = 4;
/// Limits of the width of names, in cells.
const NAME: std::ops::RangeInclusive<u16> = 6..=20;
/// Width of a size with the space before it, in cells.
const SIZE: u16 = 11;
/// Number of cells of a bar between its brackets.
const BAR: u16 = 8;
/// The names of the columns, in the order of [`StorageSizes::named`].
const KINDS: [&str; 5] = ["GIT", "LFS", "ARTIFACTS", "CACHES", "RELEASES"];

/// Returns the owners that are listed in at most `count` rows, the largest first. The last row has all others.
fn rows(storage: &StorageByOwner, count: usize) -> Vec<(String, StorageSizes)> {
    let used = storage.owners.iter().filter(|owner| owner.sizes.total() > 0);
    let mut rows: Vec<(String, StorageSizes)> = used.map(|owner| (owner.name.clone(), owner.sizes)).collect();
    let (mut others, mut sizes) = (storage.other_owners, storage.others);
    while rows.len() + usize::from(others > 0) > count {
        let Some((_, smallest)) = rows.pop() else { return Vec::new() };
        others += 1;
        sizes.increase_by(&smallest);
    }
    match others {
        0 => {}
        1 => rows.push(("1 other".to_owned(), sizes)),
        many => rows.push((format!("{many} others"), sizes)),
    }
    rows
}

/// Returns the kinds that have a column, in their order: the largest ones for which there is room.
fn kinds(rows: &[(String, StorageSizes)], columns: usize) -> Vec<usize> {
    let mut sum = StorageSizes::default();
    for (_, sizes) in rows {
        sum.increase_by(sizes);
    }
    let sums = sum.named();
    let mut kinds: Vec<usize> = (0..KINDS.len()).filter(|kind| sums[*kind].1 > 0).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(sums[*kind].1));
    kinds.truncate(columns);
    kinds.sort_unstable();
    kinds
}

fn right(text: &str) -> String {
    format!("{text:>0$}", usize::from(SIZE))
}

/// Returns a line with the names of the columns and one line per owner, at most `lines_max` of them, for rows of `room`
/// cells. Empty if there is no owner to show.
pub(super) fn figures(storage: &StorageByOwner, room: u16, lines_max: u16) -> Vec<Figure> {
    let rows = rows(storage, usize::from(lines_max.saturating_sub(1)));
    let longest = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let name_width = longest.clamp(*NAME.start(), *NAME.end());
    let columns = room.saturating_sub(1 + name_width + SIZE + BAR + 3) / SIZE;
    let kinds = kinds(&rows, usize::from(columns));
    let Some(largest) = rows.iter().map(|(_, sizes)| sizes.total()).max() else { return Vec::new() };
    let of_kinds = |cell: &dyn Fn(usize) -> String| kinds.iter().map(|kind| right(&cell(*kind))).collect::<String>();
    let names = of_kinds(&|kind| KINDS[kind].to_owned());
    let bar = " ".repeat(usize::from(BAR) + 3);
    let heading = format!("{}{}{bar}{names}", pad("OWNER", name_width), right("TOTAL"));
    let mut figures = vec![Figure::Row(vec![LinePart::Text(Role::Muted, heading)])];
    figures.extend(rows.iter().map(|(name, sizes)| {
        let named = sizes.named();
        let size = |kind: usize| if named[kind].1 == 0 { "-".to_owned() } else { human_bytes(named[kind].1) };
        let name = pad(&fit(name, name_width), name_width);
        Figure::Row(vec![
            LinePart::plain(format!("{name}{} ", right(&human_bytes(sizes.total())))),
            LinePart::Bar { role: Role::Text, share: (sizes.total(), largest), cells: BAR },
            LinePart::plain(of_kinds(&size)),
        ])
    }));
    figures
}

#[cfg(test)]
mod tests {
    use farrier_common::api::OwnerStorage;

    use super::*;
    use crate::ui::view::text_of;

    fn storage() -> StorageByOwner {
        let owner = |name: &str, git_bytes: i64, cache_bytes: i64| OwnerStorage {
            name: name.into(),
            sizes: StorageSizes { git_bytes, cache_bytes, ..StorageSizes::default() },
            ..OwnerStorage::default()
        };
        let owners = vec![owner("tools", 3 << 20, 1 << 20), owner("mia", 2 << 20, 0), owner("infra", 1 << 20, 0)];
        let others = StorageSizes { git_bytes: 512, ..StorageSizes::default() };
        StorageByOwner { owners, other_owners: 2, others, ..StorageByOwner::default() }
    }

    fn lines(room: u16, lines_max: u16) -> Vec<String> {
        let shown = figures(&storage(), room, lines_max).into_iter().map(|figure| match figure {
            Figure::Row(parts) => text_of(&parts, room).trim_end().to_owned(),
            _ => String::new(),
        });
        shown.collect()
    }

    #[test]
    fn owners_have_aligned_rows_with_the_sizes_of_each_kind() {
        let expected = [
            "OWNER         TOTAL                   GIT     CACHES",
            "tools       4.0 MiB [████████]    3.0 MiB    1.0 MiB",
            "mia         2.0 MiB [████····]    2.0 MiB          -",
            "infra       1.0 MiB [██······]    1.0 MiB          -",
            "2 others      512 B [········]      512 B          -",
        ];
        assert_eq!(lines(70, 9), expected);
    }

    #[test]
    fn owners_without_a_row_are_among_the_others() {
        let shown = lines(45, 3);
        assert_eq!(shown.len(), 3);
        assert!(shown[1].starts_with("tools ") && shown[2].starts_with("4 others "), "{shown:?}");
        assert!(shown[0].ends_with("GIT"), "the largest kind has the only column: {shown:?}");
        assert_eq!(lines(70, 1), Vec::<String>::new());
    }
}
