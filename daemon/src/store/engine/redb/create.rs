//! Creates the file of a new store.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use ::redb::Builder;
use rustix::{
    fs::{CWD, RenameFlags},
    io::Errno,
};

use super::{Connector, EngineError, RedbOptions, failure::failed_io};

/// Creates an empty store at `path`. redb cannot open a file whose creation was interrupted, so the file is
/// created under a temporary name and renamed when it is complete.
pub(super) fn create_file(path: &Path) -> Result<(), EngineError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut create = OpenOptions::new();
    create.read(true).write(true).create(true).truncate(true).mode(0o600);
    let file = create.open(&new).map_err(failed_io)?;
    let connect = Box::new(move |builder: &Builder| builder.create_file(file.try_clone()?));
    let created = Connector { connect, options: RedbOptions::default(), is_new: true }.open().map(drop);
    if let Err(error) = created.and_then(|()| rename_new(&new, path).map_err(failed_io)) {
        // The file never had the store's name, so it contains no acknowledged data.
        _ = std::fs::remove_file(&new);
        return Err(error);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).map_err(failed_io)
}

/// Renames the file. If another process has created the store meanwhile, that file is kept.
fn rename_new(new: &Path, path: &Path) -> std::io::Result<()> {
    match rustix::fs::renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => std::fs::remove_file(new),
        // Not every file system supports RENAME_NOREPLACE.
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(new, path),
        Err(error) => Err(error.into()),
    }
}
