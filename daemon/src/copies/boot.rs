//! The ID of the boot of the machine. Files that were not synced may be lost or incomplete after a power failure.

use std::fs;

use crate::model::secret;

/// The file in which Linux has the random ID of the boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Returns an ID of this boot, as one line without spaces. If the ID of the machine cannot be read, returns a random
/// one: the files of refs are then written again after each start of the daemon.
pub(super) fn id() -> String {
    let read = fs::read_to_string(BOOT_ID).unwrap_or_default();
    if is_id(read.trim_end()) { read.trim_end().to_owned() } else { hex::encode(secret::random_bytes::<16>()) }
}

fn is_id(text: &str) -> bool {
    (16..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_id_is_one_word_and_other_texts_are_not_ids() {
        assert!(is_id(&id()), "{}", id());
        assert!(is_id("7f6b9a3e-1c2d-4e5f-8a9b-0c1d2e3f4a5b"));
        for text in ["", "short", "7f6b9a3e-1c2d-4e5f-8a9b-0c1d2e3f4a5b\nx", "zz6b9a3e-1c2d-4e5f-8a9b-0c1d2e3f4a5b"] {
            assert!(!is_id(text), "{text:?}");
        }
    }
}
