//! `farrier backup`: makes the daemon back up its data directory.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
};

use farrier_common::{
    api::{Backup, CreateBackup, CreateBackupStream},
    client::Client,
};

use crate::{
    blocking,
    exit::Failure,
    output::{Output, counted, fields, human_bytes},
};

pub(super) async fn run(
    directory: &Path,
    keep: Option<u32>,
    without_caches: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let is_bucket = directory.to_str().is_some_and(|text| text.starts_with("s3://"));
    let absolute = if is_bucket { Ok(directory.to_owned()) } else { std::path::absolute(directory) };
    let absolute =
        absolute.map_err(|source| Failure::io(format!("finding the directory {}", directory.display()), source))?;
    let destination = absolute.to_str().ok_or_else(|| Failure::Usage("the directory is not UTF-8".to_owned()))?;
    let request = CreateBackup { destination: destination.to_owned(), keep, without_caches };
    let bar = output.progress(destination, None);
    let progress = |backup: &Backup| {
        bar.set_message(counted(backup.files, "file"));
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

/// Writes a backup to standard output as it arrives. The exit code reports a failure.
pub(super) async fn stream(without_caches: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    const DOING: &str = "reading the backup; the tar file is not complete";
    if io::stdout().is_terminal() {
        return Err(Failure::Usage("refusing to write a backup to a terminal; use farrier backup --tar > FILE".into()));
    }
    let failed = |source: io::Error| Failure::io("writing the backup; the tar file is not complete", source);
    let mut chunks =
        client.backup_stream(&CreateBackupStream { without_caches }).await.map_err(Failure::call("backing up"))?;
    let bar = output.progress("backup", None);
    while let Some(chunk) = chunks.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => {
                let reason = client.backup().await.map(|backup| backup.error).unwrap_or_default();
                return Err(if reason.is_empty() {
                    Failure::call(DOING)(error)
                } else {
                    Failure::Other(format!("{DOING}: {reason}"))
                });
            }
        };
        bar.inc(chunk.len() as u64);
        blocking::run(move || io::stdout().lock().write_all(&chunk).map_err(failed)).await?;
    }
    blocking::run(move || io::stdout().lock().flush().map_err(failed)).await?;
    bar.finish_and_clear();
    let backup = client.backup().await.map_err(Failure::call("reading the result"))?;
    for warning in &backup.warnings {
        // A closed standard error is not an error of the backup.
        _ = output.note(&format!("warning: {warning}"));
    }
    Ok(())
}

fn page(backup: &Backup) -> String {
    let mut lines = vec![
        ("backup", backup.name.clone()),
        ("directory", backup.destination.clone()),
        ("content", format!("{}, {}", counted(backup.files, "file"), human_bytes(backup.size_bytes))),
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
