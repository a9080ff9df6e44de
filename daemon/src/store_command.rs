//! The commands `farrierd store`.

use std::{io::Write as _, process::ExitCode};

use farrierd::{
    args::EngineName,
    clock::Clock,
    config::{Config, StoreEngine},
    data_dir::{self, CopyStoreError, UpgradeStoreError},
    service::audit::{self, Action, Entry, Object},
    store::value::FORMAT_LEVEL,
};

use super::{FAILED, block_on, data_exit_code, print_error};

/// Copies the store to another engine, and prints the result.
pub(super) fn copy(config: &Config, to: EngineName) -> ExitCode {
    let (engine, name) = match to {
        EngineName::Redb => (StoreEngine::Redb, "redb"),
        EngineName::Postgres => (StoreEngine::Postgres, "postgres"),
    };
    let copied = match block_on(data_dir::copy_store(config, engine)) {
        Ok(copied) => copied,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(if let CopyStoreError::DataDir(error) = &error {
                data_exit_code(error)
            } else {
                FAILED
            });
        }
    };
    let (from, to, copied) = (copied.from.display(), copied.to.display(), &copied.copied);
    // A closed standard output is not an error.
    drop(writeln!(
        std::io::stdout().lock(),
        "{to} is now a copy of {from}: {} rows, {} bytes, SHA-256 {}; {} rows were written\n\
         Set store.engine to \"{name}\", then start the daemon",
        copied.rows,
        copied.bytes,
        copied.sha256,
        copied.changed,
    ));
    ExitCode::SUCCESS
}

/// Raises the format level of the store, and prints the result.
pub(super) fn upgrade(config: &Config) -> ExitCode {
    let entry = Entry::new(Action::DataUpgrade, Object::new("data", 0, "store")).set("format_level", FORMAT_LEVEL);
    let entry = audit::row_of_command("store upgrade", entry);
    let before = match block_on(data_dir::upgrade_store(config, &entry, &Clock::system())) {
        Ok(before) => before,
        Err(error) => {
            print_error(&error);
            return ExitCode::from(match &error {
                UpgradeStoreError::DataDir(error) => data_exit_code(error),
                UpgradeStoreError::Refused(_) => FAILED,
            });
        }
    };
    let result = if before < FORMAT_LEVEL { "Store upgraded to" } else { "The store already has" };
    // A closed standard output is not an error.
    drop(writeln!(std::io::stdout().lock(), "{result} format level {FORMAT_LEVEL}"));
    ExitCode::SUCCESS
}
