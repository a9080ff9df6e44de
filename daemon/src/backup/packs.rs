//! Packs of repositories that are in a bucket or in the store.
//!
//! The files in the copy of a repository are used if they are complete. Otherwise the pack is fetched, also if its
//! files disappear because another node has dropped it. Its content is compared with the digests in its row before it
//! is added.

use std::path::PathBuf;

use farrier_proto::store::{InlinePack, StoredPack};
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::{
    BackupError,
    create::BackupRun,
    fetched::{FetchDirectory, FetchedFile},
    repositories::pack_path,
    source::BucketSource,
    writer::BackupWriter,
};
use crate::{
    blob::{BlobError, PackFile, PackObject},
    copies::facts,
    git::{Git, PackPaths},
    store::{
        Snapshot,
        packs::{Packs, inline},
    },
    tasks,
};

/// Packs that are fetched at the same time.
const AT_ONCE: usize = 4;

/// Where the files of a pack are.
enum PackFiles {
    /// In the copy of the repository. They may disappear.
    OfCopy(PackPaths),
    /// Elsewhere.
    Other(FetchedPack),
}

/// The files of a pack that were fetched, or why there are none.
enum FetchedPack {
    Files(PackPaths, [FetchedFile; 2]),
    /// The pack is missing, or its content is damaged.
    Unusable(String),
}

impl BackupRun<'_> {
    /// Adds the packs of a manifest. `sha256`: the repository has object ids of this kind.
    pub(super) async fn add_packs(
        &mut self,
        snapshot: &Snapshot,
        (repository, sha256): (u64, bool),
        bucket: &BucketSource,
        packs: Packs,
    ) -> Result<(), BackupError> {
        let left = self.write(move |writer| without_known(writer, repository, packs)).await?;
        let (git, directory) = (self.source.git.clone(), self.scratch.clone());
        let fetch = PackFetch { git: &git, bucket, snapshot, directory: &directory, repository, sha256 };
        let found: Vec<_> = left
            .into_iter()
            .map(|(name, row)| {
                let fetch = &fetch;
                let found = async move {
                    let files = fetch.files(&name, &row).await?;
                    Ok::<_, BackupError>((name, row, files))
                };
                found.boxed()
            })
            .collect();
        let mut found = stream::iter(found).buffered(AT_ONCE);
        while let Some(pack) = found.next().await {
            let (name, row, files) = pack?;
            let fetched = match files {
                PackFiles::OfCopy(paths) if self.add_pack(repository, &name, &row, paths.clone()).await? => continue,
                PackFiles::OfCopy(_) => fetch.fetch(&name, &row).await?,
                PackFiles::Other(fetched) => fetched,
            };
            self.add_fetched(repository, &name, &row, fetched).await?;
        }
        Ok(())
    }

    async fn add_fetched(
        &mut self,
        repository: u64,
        name: &str,
        row: &StoredPack,
        fetched: FetchedPack,
    ) -> Result<(), BackupError> {
        let problem = match fetched {
            FetchedPack::Files(paths, _removed) if self.add_pack(repository, name, row, paths.clone()).await? => {
                return Ok(());
            }
            FetchedPack::Files(..) => "its files disappeared".to_owned(),
            FetchedPack::Unusable(problem) => problem,
        };
        self.warnings.push(format!(
            "repository {repository}: the pack {name} cannot be used: {problem}; run farrierd check-data"
        ));
        Ok(())
    }

    /// Adds the files of a pack. Returns `false` if one of them disappeared, and adds none then.
    async fn add_pack(
        &mut self,
        repository: u64,
        name: &str,
        row: &StoredPack,
        paths: PackPaths,
    ) -> Result<bool, BackupError> {
        let [pack, index] = PackFile::ALL.map(|file| path(repository, name, file));
        let object = row.object.clone();
        self.write(move |writer| {
            let Some(of_pack) = writer.store_object(&pack, &paths.pack, &object)? else { return Ok(false) };
            let Some(of_index) = writer.store_object(&index, &paths.index, &object)? else { return Ok(false) };
            writer.add_entry(&of_pack)?;
            writer.add_entry(&of_index)?;
            Ok(true)
        })
        .await
    }
}

/// Adds the packs whose objects an earlier backup has, and returns the others.
fn without_known(writer: &mut BackupWriter, repository: u64, packs: Packs) -> Result<Packs, BackupError> {
    let mut left = Packs::new();
    for (name, row) in packs {
        let sizes = [row.bytes, row.index_bytes];
        let known = PackFile::ALL
            .into_iter()
            .zip(sizes)
            .map(|(file, bytes)| writer.known_object(&path(repository, &name, file), bytes, &row.object));
        match known.collect::<Option<Vec<_>>>() {
            Some(entries) => entries.iter().try_for_each(|entry| writer.add_known(entry))?,
            None => _ = left.insert(name, row),
        }
    }
    Ok(left)
}

fn path(repository: u64, name: &str, file: PackFile) -> String {
    format!("repositories/{repository}.git/{}", pack_path(name, file.extension()))
}

/// Finds the files of the packs of a repository.
struct PackFetch<'a> {
    git: &'a Git,
    bucket: &'a BucketSource,
    snapshot: &'a Snapshot,
    directory: &'a FetchDirectory,
    repository: u64,
    sha256: bool,
}

impl PackFetch<'_> {
    /// Returns the files in the copy of the repository, or fetches them.
    async fn files(&self, name: &str, row: &StoredPack) -> Result<PackFiles, BackupError> {
        let paths = PackPaths::new(&self.git.packs(self.repository), name);
        match self.problem(&paths, row).await {
            None => Ok(PackFiles::OfCopy(paths)),
            Some(_) => Ok(PackFiles::Other(self.fetch(name, row).await?)),
        }
    }

    async fn fetch(&self, name: &str, row: &StoredPack) -> Result<FetchedPack, BackupError> {
        let files = [self.directory.new_file(), self.directory.new_file()].map(FetchedFile);
        let [pack, index] = &files;
        let paths = PackPaths { pack: pack.0.clone(), index: index.0.clone() };
        if row.inline {
            let Some(InlinePack { pack, index }) = inline::files(self.snapshot, self.repository, name).await? else {
                return Ok(FetchedPack::Unusable("the row with its files is missing".to_owned()));
            };
            write(vec![(paths.pack.clone(), pack), (paths.index.clone(), index)]).await?;
        } else {
            let pack = PackObject { repository: self.repository, name: name.to_owned(), object: row.object.clone() };
            let fetched = tokio::try_join!(
                self.bucket.packs.fetch(&pack, PackFile::Pack, &paths.pack),
                self.bucket.packs.fetch(&pack, PackFile::Index, &paths.index),
            );
            match fetched {
                Ok(_) => {}
                Err(BlobError::PackMissing { .. }) => {
                    return Ok(FetchedPack::Unusable("it is missing in the bucket".to_owned()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(match self.problem(&paths, row).await {
            None => FetchedPack::Files(paths, files),
            Some(problem) => FetchedPack::Unusable(problem),
        })
    }

    /// Returns how the files differ from the row of the pack.
    async fn problem(&self, paths: &PackPaths, row: &StoredPack) -> Option<String> {
        let (paths, expected, sha256) = (paths.clone(), facts(row.clone()), self.sha256);
        tasks::blocking(move || paths.problem(&expected, sha256)).await
    }
}

async fn write(files: Vec<(PathBuf, Vec<u8>)>) -> Result<(), BackupError> {
    let write = move || {
        files.iter().try_for_each(|(path, content)| std::fs::write(path, content).map_err(BackupError::writing(path)))
    };
    tasks::blocking(write).await
}
