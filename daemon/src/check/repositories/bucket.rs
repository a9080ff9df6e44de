//! Compares the manifest of a repository with the objects in the bucket, and with the rows of small packs.

use std::{fs, io};

use farrier_proto::store::{InlinePack, Repository, StoredPack};

use super::{Check, CheckError, Class};
use crate::{
    blob::{BlobError, PackFile, PackObject, PackObjects},
    copies::facts,
    git::PackPaths,
    store::{
        packs::{self, bucket, inline},
        refs,
    },
    tasks,
};

/// Checks that the objects of all packs exist and have their sizes; with `--content`, also their content. The content
/// of small packs, which are rows, is always checked. Does nothing without a bucket.
pub(super) async fn check(check: &mut Check, row: &Repository, subject: &str) -> Result<(), CheckError> {
    let Some(objects) = check.packs.clone() else { return Ok(()) };
    let read = check.store.read().await?;
    let Some(version) = refs::version(&read, row.id).await? else { return Ok(()) };
    let named = packs::all(&read, row.id).await?;
    drop(read);
    let local = named.values().filter(|row| bucket::is_only_local(row)).count();
    if local > 0 || !version.has_manifest {
        let packs = if version.has_manifest { format!("{local} of its packs are") } else { "its packs may be".into() };
        let message = format!("{packs} only on this disk; the daemon stores them in the bucket when it runs");
        check.add_finding(Class::Unfinished, subject, message);
    }
    for (name, pack) in named.iter().filter(|(_, row)| row.inline) {
        let files = inline::files(&check.store.read().await?, row.id, name).await?;
        let problem = match files {
            Some(files) => wrong_files(files, pack, version.sha256).await?,
            None => Some("the row with its files is missing".to_owned()),
        };
        if let Some(problem) = problem {
            check.add_finding(Class::Damage, subject, format!("the pack {name} in the store: {problem}"));
        }
    }
    for (name, pack) in named.into_iter().filter(|(_, row)| !row.object.is_empty()) {
        let object = PackObject { repository: row.id, name, object: pack.object.clone() };
        let mut problem = wrong_size(&objects, &object, &pack).await?;
        if problem.is_none() && check.options.content {
            problem = wrong_content(&objects, &object, &pack, version.sha256).await?;
        }
        if let Some(problem) = problem {
            let message = format!("the pack {} in the bucket: {problem}", object.name);
            check.add_finding(Class::Damage, subject, message);
        }
    }
    Ok(())
}

/// Compares the files of a small pack with its row.
async fn wrong_files(files: InlinePack, row: &StoredPack, sha256: bool) -> Result<Option<String>, CheckError> {
    let expected = facts(row.clone());
    let compare = move || {
        let scratch = tempfile::tempdir()?;
        let paths = PackPaths::new(scratch.path(), "row");
        fs::write(&paths.pack, files.pack)?;
        fs::write(&paths.index, files.index)?;
        Ok(paths.problem(&expected, sha256))
    };
    let failed = |source: io::Error| BlobError::Root { doing: "comparing a small pack", source };
    Ok(tasks::blocking(compare).await.map_err(failed)?)
}

async fn wrong_size(
    objects: &PackObjects,
    object: &PackObject,
    row: &StoredPack,
) -> Result<Option<String>, CheckError> {
    let sizes = objects.sizes(object).await?;
    let expected = [row.bytes, row.index_bytes];
    let differing = PackFile::ALL.iter().zip(sizes).zip(expected).find(|((_, found), bytes)| *found != Some(*bytes));
    Ok(differing.map(|((file, found), bytes)| match found {
        Some(found) => format!("the file .{} has {found} bytes and should have {bytes}", file.extension()),
        None => format!("the file .{} is missing", file.extension()),
    }))
}

/// Fetches a pack to a temporary directory and compares its content with the digests in its row.
async fn wrong_content(
    objects: &PackObjects,
    object: &PackObject,
    row: &StoredPack,
    sha256: bool,
) -> Result<Option<String>, CheckError> {
    let failed = |source: io::Error| BlobError::Root { doing: "fetching a pack", source };
    let scratch = tasks::blocking(tempfile::tempdir).await.map_err(failed)?;
    let files = PackPaths::new(scratch.path(), "fetched");
    objects.fetch(object, PackFile::Pack, &files.pack).await?;
    objects.fetch(object, PackFile::Index, &files.index).await?;
    let expected = facts(row.clone());
    let problem = tasks::blocking(move || {
        let problem = files.problem(&expected, sha256);
        drop(scratch);
        problem
    });
    Ok(problem.await)
}
