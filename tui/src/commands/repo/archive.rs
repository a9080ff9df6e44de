//! `farrier repo archive`: saves a branch, tag or commit, or the whole repository, to a file.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use farrier_common::client::{Chunks, Client, RepositoryPath};
use serde::Serialize;

use crate::{
    args::ArchiveRepo,
    blocking,
    child::Signals,
    commands::save::save,
    exit::Failure,
    output::{Output, human_bytes},
    transfer::{
        copy::Content,
        names::{self, Target},
    },
};

/// The archive formats, as file name extensions.
pub(crate) const FORMATS: [&str; 3] = ["zip", "tar.gz", "bundle"];

#[derive(Serialize)]
struct Saved {
    repository: String,
    /// Absent for a bundle of the whole repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<String>,
    format: &'static str,
    path: PathBuf,
    size_in_bytes: u64,
}

pub(super) async fn run(args: ArchiveRepo, client: &Client, output: &Output) -> Result<(), Failure> {
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    if to_stdout && io::stdout().is_terminal() {
        return Err(Failure::Usage("refusing to write an archive to a terminal; use -o FILE".to_owned()));
    }
    let format = format(&args);
    let content = content(&args, format, client).await?;
    let path = destination(&args, &content);
    if !to_stdout && !args.force && path.exists() {
        return Err(Failure::Conflict(format!("{} exists; --force replaces it", path.display())));
    }
    let doing = format!("fetching {}", content.name(&args.repo));
    let chunks = content.begin(client, &args.repo).await.map_err(Failure::call(doing.as_str()))?;
    if to_stdout {
        return write_to_stdout(chunks, &doing).await;
    }
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let bytes = tokio::select! {
        saved = save(chunks, path.clone(), args.force, &doing, output) => saved?,
        _ = signals.next() => return Err(Failure::Interrupted),
    };
    let reference = match content {
        Content::Reference { reference, .. } => Some(reference),
        Content::All => None,
    };
    let saved = Saved { repository: args.repo.to_string(), r#ref: reference, format, path, size_in_bytes: bytes };
    output.object(&saved, &saved.path.display().to_string(), || {
        let size = human_bytes(i64::try_from(saved.size_in_bytes).unwrap_or(i64::MAX));
        format!("{}: {size}", saved.path.display())
    })
}

/// Returns the requested format; without one, the format from the name of the file.
fn format(args: &ArchiveRepo) -> &'static str {
    let name = args.output.as_deref().map(|path| path.to_string_lossy().to_lowercase()).unwrap_or_default();
    let named = |format: &&&str| match &args.format {
        Some(requested) => requested == **format,
        None => name.ends_with(&format!(".{format}")) || (**format == "tar.gz" && name.ends_with(".tgz")),
    };
    FORMATS.iter().find(named).unwrap_or(&"tar.gz")
}

/// Returns the content of the archive. A bundle without a reference contains everything; other archives contain
/// the tree of one commit.
async fn content(args: &ArchiveRepo, format: &'static str, client: &Client) -> Result<Content, Failure> {
    let repo: &RepositoryPath = &args.repo;
    let reference = match &args.reference {
        Some(reference) => reference.clone(),
        None if format == "bundle" => return Ok(Content::All),
        None => {
            let doing = format!("reading repository {repo}");
            client.repository(repo).await.map_err(Failure::call(doing))?.default_branch
        }
    };
    Ok(Content::Reference { reference, format })
}

fn destination(args: &ArchiveRepo, content: &Content) -> PathBuf {
    match names::target(args.output.as_deref(), Path::is_dir) {
        Target::File(path) => path,
        Target::Below(directory) if directory == Path::new(".") => content.name(&args.repo).into(),
        Target::Below(directory) => directory.join(content.name(&args.repo)),
    }
}

/// Writes the content to standard output as it arrives. The exit code reports a failure.
async fn write_to_stdout(mut chunks: Chunks, doing: &str) -> Result<(), Failure> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::io("writing the archive", source),
    };
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(Failure::call(doing))?;
        blocking::run(move || io::stdout().lock().write_all(&chunk).map_err(failed)).await?;
    }
    blocking::run(move || io::stdout().lock().flush().map_err(failed)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(format: Option<&str>, output: Option<&str>) -> ArchiveRepo {
        ArchiveRepo {
            repo: "octo/tool".parse().unwrap(),
            reference: None,
            format: format.map(str::to_owned),
            output: output.map(PathBuf::from),
            force: false,
        }
    }

    #[test]
    fn the_format_comes_from_the_option_or_the_file_extension() {
        for (option, file, expected) in [
            (None, None, "tar.gz"),
            (None, Some("-"), "tar.gz"),
            (None, Some("d/a.ZIP"), "zip"),
            (None, Some("a.tgz"), "tar.gz"),
            (None, Some("a.bundle"), "bundle"),
            (Some("bundle"), Some("a.zip"), "bundle"),
            (Some("zip"), None, "zip"),
        ] {
            assert_eq!(format(&args(option, file)), expected, "{option:?} {file:?}");
        }
    }

    #[test]
    fn an_output_directory_gets_the_default_file_name() {
        let path = |output| destination(&args(None, output), &Content::All);
        assert_eq!(path(None), Path::new("octo-tool.bundle"));
        assert_eq!(path(Some("new/")), Path::new("new/octo-tool.bundle"));
        assert_eq!(path(Some("copy.bundle")), Path::new("copy.bundle"));
    }
}
