//! `farrier artifact download`: saves artifacts to files.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::source::{ArtifactSource, SelectedArtifact};
use crate::{
    args::{Download, Global},
    blocking,
    exit::{self, Failure},
    output::{Output, counted, human_bytes},
    transfer::{
        fetch::{self, DownloadRequest, Fetched},
        names::{self, Target},
        unpack,
    },
};

#[derive(Serialize)]
struct Saved {
    id: i64,
    name: String,
    size_in_bytes: i64,
    digest: String,
    path: PathBuf,
    /// Files in the directory `path`; absent when the artifact was not unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
}

pub(super) async fn run(args: Download, global: &Global, output: &Output) -> Result<u8, Failure> {
    let source = ArtifactSource::resolve(&args.scope, global).await?;
    let found = source.find(&args.artifact).await?;
    let newest = found.into_iter().max_by_key(|found| found.artifact.id);
    let found = newest.ok_or_else(|| Failure::NotFound(format!("artifact {} does not exist", args.artifact)))?;
    let artifact = &found.artifact;
    if artifact.expired {
        return Err(Failure::NotFound(format!("{} has expired", artifact.name)));
    }
    let (target, directory) = destination(&args, &found);
    if let Target::File(path) = &target
        && !args.extract
    {
        refuse_existing(path, args.force)?;
    }
    std::fs::create_dir_all(&directory)
        .map_err(|source| Failure::io(format!("creating {}", directory.display()), source))?;
    let request = DownloadRequest {
        size: u64::try_from(artifact.size_in_bytes).unwrap_or_default(),
        digest: artifact.digest.clone(),
        part: directory.join(names::part_name(&artifact.name, artifact.id, &artifact.digest)),
    };
    let bar = output.progress(&artifact.name, Some(request.size));
    let fetched = fetch::fetch(source.client(), &request, async || source.location(&found).await, &bar).await;
    bar.finish_and_clear();
    let saved = save(fetched?, target, &args, &found).await?;
    output.object(&saved, &saved.path.display().to_string(), || {
        let what = saved.files.map_or_else(String::new, |files| format!(", {}", counted(files, "file")));
        format!("{}: {}{what}, {}", saved.path.display(), human_bytes(saved.size_in_bytes), saved.digest)
    })?;
    Ok(exit::OK)
}

/// Returns the target and the directory for the part file. Both are on the same file system, so that the last
/// step is a rename.
fn destination(args: &Download, found: &SelectedArtifact) -> (Target, PathBuf) {
    let target = match (&args.output, args.extract) {
        // Unpacking always uses a directory.
        (Some(path), true) => Target::Below(path.clone()),
        (None, true) => Target::Below(names::file_name(&found.artifact.name).into()),
        (path, false) => names::target(path.as_deref(), Path::is_dir),
    };
    let directory = match &target {
        Target::Below(directory) => directory.clone(),
        Target::File(path) => match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        },
    };
    (target, directory)
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::Conflict(format!("{} exists; --force replaces it", path.display())));
    }
    Ok(())
}

async fn save(fetched: Fetched, target: Target, args: &Download, found: &SelectedArtifact) -> Result<Saved, Failure> {
    let artifact = &found.artifact;
    let Fetched { part, is_zip, digest } = fetched;
    let mut saved = Saved {
        id: artifact.id,
        name: artifact.name.clone(),
        size_in_bytes: artifact.size_in_bytes,
        digest,
        path: PathBuf::new(),
        files: None,
    };
    let force = args.force;
    if let (Target::Below(directory), true) = (&target, args.extract) {
        if !is_zip {
            return Err(Failure::Usage(format!("{} is not a zip file; omit --extract", artifact.name)));
        }
        let directory = directory.clone();
        saved.path.clone_from(&directory);
        let unpacked = blocking::run(move || {
            let file = std::fs::File::open(part.path());
            let file = file.map_err(|source| Failure::io(format!("opening {}", part.path().display()), source))?;
            let files = unpack::unpack(file, &directory, force)?;
            part.discard().map_err(|source| Failure::io("removing the zip file", source))?;
            Ok(files)
        });
        saved.files = Some(unpacked.await?);
        return Ok(saved);
    }
    saved.path = match target {
        Target::File(path) => path,
        Target::Below(directory) if directory == Path::new(".") => names::saved_name(&artifact.name, is_zip).into(),
        Target::Below(directory) => directory.join(names::saved_name(&artifact.name, is_zip)),
    };
    refuse_existing(&saved.path, force)?;
    let path = saved.path.clone();
    let finished = blocking::run(move || {
        let doing = format!("saving {}", path.display());
        part.finish(&path, force).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::Conflict(format!("{} exists", path.display())),
            _ => Failure::io(doing, source),
        })
    });
    finished.await?;
    Ok(saved)
}
