//! The commands `farrierd backup` and `farrierd restore`.

use std::{
    error::Error as StdError,
    fmt::Write as _,
    io::{IsTerminal as _, Write as _},
    path::Path,
    process::ExitCode,
};

use farrier_common::{
    api::{Backup, CreateBackup, CreateBackupStream},
    client::{Client, ClientError, Endpoint},
};
use farrierd::{
    backup::{
        self, BackupRequest, BackupsPlace, Destination, FinishedBackup, OfflineBackupError, RestoreRequest,
        VerifiedBackups,
    },
    clock::Clock,
    config::{BucketUrl, Config},
    data_dir,
    service::{audit, backups},
    store::Store,
    tasks,
};
use serde::Serialize;

use super::{DAMAGED, FAILED, block_on, data_exit_code, failed, print_error};

/// Backs up the data directory, through the daemon if one runs, and prints the result.
pub(super) fn create(
    config: &Config,
    directory: &Path,
    keep: Option<u32>,
    without_caches: bool,
    json: bool,
) -> ExitCode {
    let (destination, name) = match (bucket(directory), std::path::absolute(directory)) {
        (Some(Ok(url)), _) => (Destination::Bucket(Box::new(config.blobs.clone()), url.clone()), url.to_string()),
        (None, Ok(path)) => (Destination::Directory(path.clone()), path.display().to_string()),
        (Some(Err(code)), _) => return code,
        (None, Err(error)) => return failed(&error),
    };
    let count = keep.and_then(|keep| usize::try_from(keep).ok());
    let request = BackupRequest { destination, keep: count, without_caches };
    let input = CreateBackup { destination: name.clone(), keep, without_caches };
    let finished = match offline(config, request, &input) {
        Ok(Some(finished)) => finished,
        Ok(None) => match block_on(through_daemon(config, &input)) {
            Ok(Backup { state, error, .. }) if state != "done" => {
                eprintln!("farrierd: the running daemon made no backup: {error}");
                return ExitCode::from(FAILED);
            }
            Ok(backup) => finished_by_daemon(backup),
            Err(error) => {
                print_error(&error);
                return ExitCode::from(FAILED);
            }
        },
        Err(code) => return code,
    };
    print_warnings(&finished.warnings);
    print(&finished, json, || created_text(&finished, &name))
}

/// Returns the bucket that an argument names; `None` for a path. Prints errors and returns the exit code.
fn bucket(argument: &Path) -> Option<Result<BucketUrl, ExitCode>> {
    let text = argument.to_str().filter(|text| text.starts_with("s3://"))?;
    Some(BucketUrl::parse(text).map_err(|reason| {
        eprintln!("farrierd: {text}: {reason}");
        ExitCode::from(FAILED)
    }))
}

/// Writes a backup to standard output as a tar file, through the daemon if one runs. Prints the result to standard
/// error.
pub(super) fn stream(config: &Config, without_caches: bool) -> ExitCode {
    if std::io::stdout().is_terminal() {
        eprintln!("farrierd: refusing to write a backup to a terminal; use farrierd backup - > FILE");
        return ExitCode::from(FAILED);
    }
    let destination = Destination::Tar(Box::new(std::io::stdout()));
    let request = BackupRequest { destination, keep: None, without_caches };
    let input = CreateBackup { destination: backups::STREAM.to_owned(), keep: None, without_caches };
    let finished = match offline(config, request, &input) {
        Ok(Some(finished)) => finished,
        Ok(None) => match block_on(stream_through_daemon(config, without_caches)) {
            Ok(backup) => finished_by_daemon(backup),
            Err(error) => return failed(error.as_ref()),
        },
        Err(code) => return code,
    };
    print_warnings(&finished.warnings);
    let FinishedBackup { name, files, bytes, .. } = &finished;
    eprintln!("backup {name} is complete: {files} files, {bytes} bytes. It has the keys and secrets of the data");
    ExitCode::SUCCESS
}

/// Makes a backup if no daemon runs; otherwise returns `None`. Prints errors and returns the exit code.
fn offline(config: &Config, request: BackupRequest, input: &CreateBackup) -> Result<Option<FinishedBackup>, ExitCode> {
    let clock = Clock::system();
    let record =
        async |store: &Store| audit::record_offline(store, "backup", backups::entry(input), clock.now_ms()).await;
    block_on(backup::create_offline(config, request, &clock, record)).map_err(|error| {
        print_error(&error);
        ExitCode::from(if let OfflineBackupError::DataDir(error) = &error { data_exit_code(error) } else { FAILED })
    })
}

fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

/// Makes the daemon that uses the data directory back it up, and waits for the end.
async fn through_daemon(config: &Config, request: &CreateBackup) -> Result<Backup, ClientError> {
    let client = Client::new(Endpoint::Unix(config.socket.path.clone()), None)?;
    client.back_up(request, |_| {}).await
}

/// Copies a backup of the daemon that uses the data directory to standard output.
async fn stream_through_daemon(config: &Config, without_caches: bool) -> Result<Backup, Box<dyn StdError>> {
    let client = Client::new(Endpoint::Unix(config.socket.path.clone()), None)?;
    let mut chunks = client.backup_stream(&CreateBackupStream { without_caches }).await?;
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => std::io::stdout().write_all(&chunk)?,
            Err(error) => {
                let reason = client.backup().await.map(|backup| backup.error).unwrap_or_default();
                return Err(if reason.is_empty() { error.into() } else { reason.into() });
            }
        }
    }
    std::io::stdout().flush()?;
    Ok(client.backup().await?)
}

fn finished_by_daemon(backup: Backup) -> FinishedBackup {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    FinishedBackup {
        name: backup.name,
        files: number(backup.files),
        bytes: number(backup.size_bytes),
        added_bytes: number(backup.added_bytes),
        removed: backup.removed,
        warnings: backup.warnings,
    }
}

fn created_text(finished: &FinishedBackup, destination: &str) -> String {
    let FinishedBackup { name, files, bytes, added_bytes, removed, .. } = finished;
    let mut text = format!(
        "backup {name} in {destination} is complete: {files} files, {bytes} bytes; {added_bytes} bytes copied\n"
    );
    for name in removed {
        _ = writeln!(text, "backup {name} was removed");
    }
    text + "The backup has the keys and secrets of the data. Keep it as safe as the data directory\n"
}

/// Reads all backups in a directory, a bucket or a tar file, compares them with their checksums, and prints the result.
pub(super) fn verify(config: &Config, path: &Path, json: bool) -> ExitCode {
    let source = match bucket(path) {
        Some(Ok(url)) => BackupsPlace::Bucket(Box::new(config.blobs.clone()), url),
        Some(Err(code)) => return code,
        None if path.is_file() => BackupsPlace::Tar(path.to_owned()),
        None => BackupsPlace::Directory(path.to_owned()),
    };
    let verified = match block_on(tasks::blocking(move || backup::verify(&source))) {
        Ok(verified) => verified,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(FAILED);
        }
    };
    match print(&verified, json, || verified_text(&verified)) {
        ExitCode::SUCCESS if !verified.damage.is_empty() => ExitCode::from(DAMAGED),
        code => code,
    }
}

fn verified_text(verified: &VerifiedBackups) -> String {
    let VerifiedBackups { backups, contents, bytes, damage } = verified;
    let mut text = format!("{} backups with {contents} contents of {bytes} bytes were read\n", backups.len());
    for found in damage {
        _ = writeln!(text, "backup {}: {}: {}", found.backup, found.path, found.reason);
        if !found.content.is_empty() {
            _ = writeln!(text, "  its content is {}", found.content);
        }
    }
    text + if damage.is_empty() { "no damage was found\n" } else { "damage was found\n" }
}

/// Restores a backup in a directory, a bucket or a tar file to a new data directory, or replaces the store with a copy,
/// and prints the result.
pub(super) fn restore(config: &Config, source: &Path, from_tar: bool, name: Option<&str>, dry_run: bool) -> ExitCode {
    if from_tar {
        return restore_backup(config, BackupsPlace::Tar(source.to_owned()), name, dry_run);
    }
    match bucket(source) {
        Some(Ok(url)) => {
            let source = BackupsPlace::Bucket(Box::new(config.blobs.clone()), url);
            return restore_backup(config, source, name, dry_run);
        }
        Some(Err(code)) => return code,
        None => {}
    }
    if source.is_dir() {
        return restore_backup(config, BackupsPlace::Directory(source.to_owned()), name, dry_run);
    }
    if name.is_some() {
        eprintln!("farrierd: --backup names a backup in a directory, but {} is not a directory", source.display());
        return ExitCode::from(FAILED);
    }
    let restored = match block_on(data_dir::restore(config, source, dry_run, Clock::system())) {
        Ok(restored) => restored,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(data_exit_code(&error));
        }
    };
    let (from, store) = (source.display(), restored.store.display());
    let mut lines = vec![if dry_run {
        format!("{from} is complete and belongs to the data; it would replace {store}. Nothing was changed")
    } else {
        format!("{store} is now a copy of {from}")
    }];
    if let Some(to) = restored.set_aside {
        lines.push(format!("the previous store was moved to {}", to.display()));
    }
    print_text(&(lines.join("\n") + "\n"))
}

fn restore_backup(config: &Config, source: BackupsPlace, name: Option<&str>, dry_run: bool) -> ExitCode {
    let (data_dir, name) = (config.data_dir.clone(), name.map(str::to_owned));
    let request = RestoreRequest { source, name, data_dir: data_dir.clone(), dry_run };
    let restored = match block_on(backup::restore(request, &Clock::system())) {
        Ok(restored) => restored,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(if error.is_damage() { DAMAGED } else { FAILED });
        }
    };
    let (name, manifest, data_dir) = (&restored.name, &restored.manifest, data_dir.display());
    print_warnings(&manifest.warnings);
    if manifest.without_caches {
        eprintln!("the backup was made without caches; jobs create them again");
    }
    if manifest.detached {
        eprintln!(
            "the backup comes from a store on PostgreSQL or from blobs in a bucket and has them as files: set \
             store.engine = \"redb\" and remove blobs.url before the start"
        );
    }
    let (files, bytes, began) = (manifest.files, manifest.bytes, &manifest.began);
    print_text(&if dry_run {
        format!("backup {name} of {began} is complete: {files} files, {bytes} bytes. Nothing was changed\n")
    } else {
        format!(
            "backup {name} of {began} was restored to {data_dir}: {files} files, {bytes} bytes\n\
             The configuration file of the backup is in {data_dir}/configuration. Run farrierd check-data --git \
             --content, then start the daemon\n"
        )
    })
}

/// Prints a result as JSON or as text.
fn print(result: &impl Serialize, json: bool, text: impl FnOnce() -> String) -> ExitCode {
    match json.then(|| serde_json::to_string(result)).transpose() {
        Ok(Some(json)) => print_text(&(json + "\n")),
        Ok(None) => print_text(&text()),
        Err(error) => failed(&error),
    }
}

/// Prints text. A closed standard output is not an error.
fn print_text(text: &str) -> ExitCode {
    drop(write!(std::io::stdout().lock(), "{text}"));
    ExitCode::SUCCESS
}
