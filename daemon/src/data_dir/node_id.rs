//! The ID of the node: a random number in a file of the data directory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use crate::model::secret;

/// Name of the file. Backups do not contain it, because a restored directory is another node.
const FILE: &str = "node-id";
/// Temporary name while the file is written.
const NEW_FILE: &str = ".node-id.new";

/// Returns the ID of the node whose data directory this is. Creates it at the first call.
pub(crate) fn node_id(data_dir: &Path) -> io::Result<u64> {
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => u64::from_str_radix(text.trim(), 16).map_err(|_| {
            let text = format!("{} must contain 16 hexadecimal digits; delete it to get a new ID", path.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(data_dir),
        Err(error) => Err(error),
    }
}

fn create(data_dir: &Path) -> io::Result<u64> {
    let id = u64::from_be_bytes(secret::random_bytes());
    let new = data_dir.join(NEW_FILE);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(format!("{id:016x}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, data_dir.join(FILE))?;
    File::open(data_dir)?.sync_all()?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_created_once_and_a_damaged_one_is_refused() {
        let (dir, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let id = node_id(dir.path()).expect("an ID");
        assert_eq!(node_id(dir.path()).expect("an ID"), id);
        assert_ne!(node_id(other.path()).expect("an ID"), id);
        for damaged in ["", "no number", "12345678901234567"] {
            fs::write(dir.path().join(FILE), damaged).expect("written");
            let error = node_id(dir.path()).expect_err("refused").to_string();
            assert!(error.contains("node-id must contain 16 hexadecimal digits"), "{error}");
        }
    }
}
