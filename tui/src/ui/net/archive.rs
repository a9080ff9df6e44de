//! Downloads archives and bundles of repositories, and gives downloaded files their names.

use std::path::{Path, PathBuf};

use farrier_common::client::{Client, RepositoryPath};

use super::Answer;
use crate::{
    blocking,
    exit::Failure,
    transfer::{
        copy::{self, Content},
        sink::Part,
    },
};

/// What to do if a file with the name of the download exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Keep it and report the conflict.
    #[default]
    Keep,
    Replace,
    /// Keep it and save the download under another name.
    Beside,
}

/// Downloads an archive or a bundle and saves it.
pub(super) async fn fetch(
    client: &Client,
    repo: &RepositoryPath,
    content: &Content,
    existing: Existing,
    part: &impl Fn(Answer),
) -> Result<Answer, Failure> {
    let name = content.name(repo);
    let directory = super::download_directory();
    let doing = format!("fetching {name}");
    let chunks = content.begin(client, repo).await.map_err(Failure::call(doing.clone()))?;
    let path = directory.join(format!("{name}.part"));
    let progress = |have| part(Answer::Progress { have, size: None });
    let received = copy::receive(chunks, path, &doing, progress).await?;
    let target = directory.join(name);
    blocking::run(move || received.save(|part| finish(part, &target, existing))).await.map(Answer::Saved)
}

/// Renames a complete file to `target`. If that exists, `existing` decides whether to keep it, replace it or use
/// another name.
pub(super) fn finish(file: Part, target: &Path, existing: Existing) -> Result<PathBuf, Failure> {
    let target = if existing == Existing::Beside { free(target) } else { target.to_path_buf() };
    file.finish(&target, existing == Existing::Replace).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Conflict(format!("{} exists", target.display())),
        _ => Failure::io(format!("saving {}", target.display()), source),
    })?;
    Ok(target)
}

/// Returns the first free name of `name-2.zip`, `name-3.zip` and so on.
fn free(target: &Path) -> PathBuf {
    let stem = target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = target.extension().map_or_else(String::new, |end| format!(".{}", end.to_string_lossy()));
    let other = |n: u32| target.with_file_name(format!("{stem}-{n}{end}"));
    (2..1_000).map(other).find(|path| !path.exists()).unwrap_or_else(|| target.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_kept_or_replaced_or_another_name_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.zip");
        let part = || {
            let mut part = Part::open(dir.path().join("x.part")).unwrap();
            part.append(b"new").unwrap();
            part
        };
        std::fs::write(&target, "old").unwrap();
        let kept = finish(part(), &target, Existing::Keep).unwrap_err();
        assert!(matches!(&kept, Failure::Conflict(text) if text.ends_with("a.zip exists")), "{kept}");
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        assert_eq!(finish(part(), &target, Existing::Beside).unwrap(), dir.path().join("a-2.zip"));
        assert_eq!(finish(part(), &target, Existing::Replace).unwrap(), target);
    }
}
