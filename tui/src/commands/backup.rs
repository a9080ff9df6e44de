//! `farrier backup`: makes the daemon back up its data directory.

use std::path::Path;

use farrier_common::{
    api::{Backup, CreateBackup},
    client::Client,
};

use crate::{
    exit::Failure,
    output::{Output, fields, human_bytes},
};

pub(super) async fn run(directory: &Path, keep: Option<u32>, client: &Client, output: &Output) -> Result<(), Failure> {
    let absolute = std::path::absolute(directory)
        .map_err(|source| Failure::io(format!("finding the directory {}", directory.display()), source))?;
    let destination = absolute.to_str().ok_or_else(|| Failure::Usage("the directory is not UTF-8".to_owned()))?;
    let request = CreateBackup { destination: destination.to_owned(), keep };
    let bar = output.progress(destination, None);
    let progress = |backup: &Backup| {
        bar.set_message(format!("{} files", backup.files));
        bar.set_position(u64::try_from(backup.size_bytes).unwrap_or_default());
    };
    let backup = client.back_up(&request, progress).await;
    bar.finish_and_clear();
    let backup = backup.map_err(Failure::call(format!("backing up to {destination}")))?;
    if backup.state != "done" {
        return Err(Failure::Other(format!("backing up to {destination}: {}", backup.error)));
    }
    output.page(&backup, &backup.name, || page(&backup))
}

fn page(backup: &Backup) -> String {
    let mut lines = vec![
        ("backup", backup.name.clone()),
        ("directory", backup.destination.clone()),
        ("content", format!("{} files, {}", backup.files, human_bytes(backup.size_bytes))),
        ("copied", human_bytes(backup.added_bytes)),
    ];
    lines.extend(backup.removed.iter().map(|name| ("removed", name.clone())));
    lines.extend(backup.warnings.iter().map(|warning| ("warning", warning.clone())));
    fields(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_removed_backups_and_warnings() {
        let backup = Backup {
            name: "20260102T030405Z".into(),
            files: 7,
            size_bytes: 3 << 20,
            removed: vec!["20260101T030405Z".into()],
            warnings: vec!["repository 7 has no directory".into()],
            ..Backup::default()
        };
        let page = page(&backup);
        for text in ["7 files, 3.0 MiB", "20260101T030405Z", "repository 7 has no directory"] {
            assert!(page.contains(text), "{page}");
        }
    }
}
