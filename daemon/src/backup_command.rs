//! The commands `farrierd backup` and `farrierd restore`.

use std::{fmt::Write as _, io::Write as _, path::Path, process::ExitCode};

use farrier_common::{
    api::{Backup, CreateBackup},
    client::{Client, ClientError, Endpoint},
};
use farrierd::{
    backup::{self, BackupRequest, FinishedBackup, OfflineBackupError, RestoreRequest, VerifiedBackups},
    clock::Clock,
    config::Config,
    data_dir,
    service::{audit, backups},
    store::Store,
};
use serde::Serialize;

use super::{DAMAGED, FAILED, block_on, data_exit_code, failed, print_error};

/// Backs up the data directory, through the daemon if one runs, and prints the result.
pub(super) fn create(config: &Config, directory: &Path, keep: Option<u32>, json: bool) -> ExitCode {
    let destination = match std::path::absolute(directory) {
        Ok(path) => path,
        Err(error) => return failed(&error),
    };
    let clock = Clock::system();
    let count = keep.and_then(|keep| usize::try_from(keep).ok());
    let request = BackupRequest { destination: destination.clone(), keep: count };
    let name = destination.display().to_string();
    let record =
        async |store: &Store| audit::record_offline(store, "backup", backups::entry(&name, keep), clock.now_ms()).await;
    let finished = match block_on(backup::create_offline(config, &request, &clock, record)) {
        Ok(Some(finished)) => finished,
        Ok(None) => match block_on(through_daemon(config, &name, keep)) {
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
        Err(error) => {
            print_error(&error);
            return ExitCode::from(if let OfflineBackupError::DataDir(error) = &error {
                data_exit_code(error)
            } else {
                FAILED
            });
        }
    };
    for warning in &finished.warnings {
        eprintln!("warning: {warning}");
    }
    print(&finished, json, || created_text(&finished, &destination))
}

/// Makes the daemon that uses the data directory back it up, and waits for the end.
async fn through_daemon(config: &Config, destination: &str, keep: Option<u32>) -> Result<Backup, ClientError> {
    let client = Client::new(Endpoint::Unix(config.socket.path.clone()), None)?;
    let request = CreateBackup { destination: destination.to_owned(), keep };
    client.back_up(&request, |_| {}).await
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

fn created_text(finished: &FinishedBackup, destination: &Path) -> String {
    let FinishedBackup { name, files, bytes, added_bytes, removed, .. } = finished;
    let destination = destination.display();
    let mut text = format!(
        "backup {name} in {destination} is complete: {files} files, {bytes} bytes; {added_bytes} bytes copied\n"
    );
    for name in removed {
        _ = writeln!(text, "backup {name} was removed");
    }
    text + "The backup has the keys and secrets of the data. Keep it as safe as the data directory\n"
}

/// Reads all backups in a directory, compares them with their checksums, and prints the result.
pub(super) fn verify(directory: &Path, json: bool) -> ExitCode {
    let verified = match backup::verify(directory) {
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
    }
    text + if damage.is_empty() { "no damage was found\n" } else { "damage was found\n" }
}

/// Restores a directory of backups to a new data directory, or replaces the store with a copy, and prints the result.
pub(super) fn restore(config: &Config, source: &Path, name: Option<&str>, dry_run: bool) -> ExitCode {
    if source.is_dir() {
        return restore_directory(config, source, name, dry_run);
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

fn restore_directory(config: &Config, source: &Path, name: Option<&str>, dry_run: bool) -> ExitCode {
    let data_dir = config.data_dir.clone();
    let (source, name) = (source.to_owned(), name.map(str::to_owned));
    let request = RestoreRequest { source, name, data_dir: data_dir.clone(), dry_run };
    let restored = match block_on(backup::restore(request, &Clock::system())) {
        Ok(restored) => restored,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(if error.is_damage() { DAMAGED } else { FAILED });
        }
    };
    let (name, manifest, data_dir) = (&restored.name, &restored.manifest, data_dir.display());
    for warning in &manifest.warnings {
        eprintln!("warning: {warning}");
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
