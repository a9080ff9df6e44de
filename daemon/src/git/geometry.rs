//! Chooses the packs that are combined: afterwards, each pack has at least twice as many objects as the next smaller
//! one. So a repository has few packs, and each object is packed again only a few times. The algorithm is that of
//! `git repack --geometric`.

/// How many times as many objects a pack must have as the next smaller one.
const FACTOR: u64 = 2;
/// Most packs that are combined at once: a transaction drops their rows.
const AT_ONCE: usize = 1_000;

/// The names of packs, divided.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Divided {
    /// The packs to combine. Empty, or at least two.
    pub combined: Vec<String>,
    /// The packs that stay, the largest last.
    pub others: Vec<String>,
}

/// Divides packs, given with their numbers of objects.
pub fn divide(mut packs: Vec<(String, u32)>) -> Divided {
    packs.sort_by(|(a_name, a), (b_name, b)| a.cmp(b).then_with(|| a_name.cmp(b_name)));
    let objects = |at: usize| u64::from(packs[at].1);
    // The packs from here on are a geometric progression.
    let mut split = packs.len().saturating_sub(1);
    while split > 0 && objects(split) >= FACTOR * objects(split - 1) {
        split -= 1;
    }
    if split > 0 {
        // The larger one of the last pair that was compared does not fit either.
        split += 1;
    }
    let mut total: u64 = (0..split).map(objects).sum();
    // The combined pack may be too large for the progression of the others.
    while split > 0 && split < packs.len() && objects(split) < FACTOR * total {
        total += objects(split);
        split += 1;
    }
    let split = split.min(AT_ONCE);
    let mut names: Vec<String> = packs.into_iter().map(|(name, _)| name).collect();
    let others = names.split_off(split);
    Divided { combined: names, others }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(objects: &[u32]) -> usize {
        let packs = objects.iter().enumerate().map(|(at, objects)| (format!("pack-{at}"), *objects)).collect();
        let Divided { combined, others } = divide(packs);
        assert_eq!(combined.len() + others.len(), objects.len());
        combined.len()
    }

    #[test]
    fn the_packs_that_disturb_the_progression_are_combined() {
        for (objects, expected) in [
            (&[][..], 0),
            (&[3], 0),
            (&[1, 2, 4, 8], 0),
            (&[3, 3], 2),
            (&[100, 3, 3], 2),
            (&[100, 3, 3, 20], 2),
            // 3 + 3 + 3 are more than half of 10.
            (&[100, 3, 3, 3, 10], 4),
            (&[60, 40, 1_000], 2),
            (&[60, 40, 199], 3),
        ] {
            assert_eq!(combined(objects), expected, "{objects:?}");
        }
        assert_eq!(combined(&[3; AT_ONCE + 500]), AT_ONCE);
    }

    #[test]
    fn pushes_of_equal_size_leave_a_logarithmic_number_of_packs() {
        let mut packs: Vec<(String, u32)> = Vec::new();
        for number in 0..10_000 {
            packs.push((format!("pack-{number}"), 3));
            if packs.len() <= 20 {
                continue;
            }
            let divided = divide(packs.clone());
            let total = packs.iter().filter(|(name, _)| divided.combined.contains(name)).map(|(_, n)| n).sum();
            packs.retain(|(name, _)| divided.others.contains(name));
            packs.push((format!("combined-{number}"), total));
            assert!(packs.len() <= 16, "{packs:?}");
        }
    }
}
