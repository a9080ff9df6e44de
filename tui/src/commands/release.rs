//! `farrier release`: lists, shows, creates, changes and deletes releases, and transfers their files.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use farrier_common::{
    api::{self, Release},
    client::{Client, RequestBody, stream},
};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::io::AsyncReadExt as _;

use super::{confirm, list, save};
use crate::{
    args::{self, ReleaseArgs, ReleaseText},
    blocking,
    exit::Failure,
    output::{Output, Table, fields, human_bytes, moment, time},
    transfer::names::{self, Target},
};

/// Bytes to read from a file at a time.
const CHUNK_BYTES: usize = 256 << 10;

#[derive(Serialize)]
struct Releases {
    total_count: usize,
    releases: Vec<Release>,
}

pub(super) async fn run(command: args::Release, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        args::Release::List { repo, limit } => {
            let pages = client.releases(&repo);
            let all = list::first(limit.items(), pages, |page: Vec<Release>| page, |release| release.id).await;
            let all = all.map_err(Failure::call(format!("listing releases of {repo}")))?;
            list::show(
                output,
                all,
                |release| release.tag_name.clone(),
                table,
                |total_count, releases| Releases { total_count, releases },
            )
        }
        args::Release::Show(release) => show(&find(&release, client).await?, output),
        args::Release::Create(args) => create(args, client, output).await,
        args::Release::Edit(args) => edit(args, client, output).await,
        args::Release::Delete { release, yes } => delete(&release, yes, client, output).await,
        args::Release::Upload { release, files } => upload(&release, files, client, output).await,
        args::Release::Download { release, file, output: path, force } => {
            download(&release, &file, path.as_deref(), force, client, output).await
        }
    }
}

async fn find(release: &ReleaseArgs, client: &Client) -> Result<Release, Failure> {
    let ReleaseArgs { repo, tag } = release;
    client.release(repo, tag).await.map_err(Failure::call(format!("reading release {tag} of {repo}")))
}

async fn create(args: args::CreateRelease, client: &Client, output: &Output) -> Result<(), Failure> {
    let ReleaseArgs { repo, tag } = args.release;
    let (title, notes) = text(args.text).await?;
    let request = api::CreateRelease {
        tag_name: tag.clone(),
        target_commitish: args.target.unwrap_or_default(),
        name: title.unwrap_or_default(),
        body: notes.unwrap_or_default(),
        draft: args.draft,
        prerelease: args.prerelease,
        tag_message: args.tag_message.unwrap_or_default(),
    };
    let created = client.create_release(&repo, &request).await;
    show(&created.map_err(Failure::call(format!("creating release {tag} of {repo}")))?, output)
}

async fn edit(args: args::EditRelease, client: &Client, output: &Output) -> Result<(), Failure> {
    let (title, notes) = text(args.text).await?;
    for (what, text) in [("title", &title), ("notes", &notes), ("tag message", &args.tag_message)] {
        if text.as_deref() == Some("") {
            return Err(Failure::Usage(format!("the {what} of a release cannot be emptied; give a text")));
        }
    }
    let needs_new_tag = args.tag_message.is_some() && args.rename.is_none() && args.draft != Some(true);
    let request = api::EditRelease {
        tag_name: args.rename.unwrap_or_default(),
        name: title.unwrap_or_default(),
        body: notes.unwrap_or_default(),
        draft: args.draft,
        prerelease: args.prerelease,
        tag_message: args.tag_message.unwrap_or_default(),
        ..api::EditRelease::default()
    };
    if request == api::EditRelease::default() {
        return Err(Failure::nothing_to_change("--title TEXT"));
    }
    let found = find(&args.release, client).await?;
    let ReleaseArgs { repo, tag } = &args.release;
    if needs_new_tag && !found.draft {
        return Err(Failure::Usage(format!("release {tag} is published: the message of its tag cannot be changed")));
    }
    let changed = client.edit_release(repo, found.id, &request).await;
    show(&changed.map_err(Failure::call(format!("changing release {tag} of {repo}")))?, output)
}

async fn delete(release: &ReleaseArgs, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let id = find(release, client).await?.id;
    let ReleaseArgs { repo, tag } = release;
    confirm::deletion(&format!("Release {tag} of {repo}"), tag, yes).await?;
    client.delete_release(repo, id).await.map_err(Failure::call(format!("deleting release {tag} of {repo}")))?;
    output.object(&serde_json::json!({ "deleted": tag }), tag, || format!("Release {tag} deleted"))
}

async fn upload(release: &ReleaseArgs, files: Vec<PathBuf>, client: &Client, output: &Output) -> Result<(), Failure> {
    let id = find(release, client).await?.id;
    for path in files {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let body = body(&path).await?;
        let uploaded = client.upload_to_release(&release.repo, id, &name, body).await;
        let uploaded = uploaded.map_err(Failure::call(format!("uploading {}", path.display())))?;
        output.object(&uploaded, &uploaded.name, || {
            format!("{}: {}, {}", uploaded.name, human_bytes(uploaded.size), uploaded.digest)
        })?;
    }
    Ok(())
}

/// Returns a body that reads the file at `path` while it is sent.
async fn body(path: &Path) -> Result<RequestBody, Failure> {
    let file = tokio::fs::File::open(path).await;
    let file = file.map_err(|source| Failure::io(format!("opening {}", path.display()), source))?;
    Ok(stream(unfold(file, |mut file| async move {
        let mut chunk = bytes::BytesMut::with_capacity(CHUNK_BYTES);
        match file.read_buf(&mut chunk).await {
            Ok(0) => None,
            Ok(_) => Some((Ok(chunk.freeze()), file)),
            Err(error) => Some((Err(error), file)),
        }
    })))
}

async fn download(
    release: &ReleaseArgs,
    name: &str,
    path: Option<&Path>,
    force: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let found = find(release, client).await?;
    let file = found.assets.into_iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| Failure::NotFound(format!("release {} has no file {name}", release.tag)))?;
    let path = match names::target(path, Path::is_dir) {
        Target::File(path) => path,
        Target::Below(directory) => directory.join(names::file_name(&file.name)),
    };
    if !force && path.exists() {
        return Err(Failure::Conflict(format!("{} exists; --force replaces it", path.display())));
    }
    let doing = format!("downloading {name}");
    let chunks = client.download_from_release(&file).await.map_err(Failure::call(doing.as_str()))?;
    save::save(chunks, path.clone(), force, &doing, output).await?;
    output.object(&file, &path.display().to_string(), || format!("{}: {}", path.display(), human_bytes(file.size)))
}

/// Returns the title and the notes of a release; the notes can be in a file.
async fn text(args: ReleaseText) -> Result<(Option<String>, Option<String>), Failure> {
    let ReleaseText { title, notes, notes_file } = args;
    let Some(file) = notes_file else { return Ok((title, notes)) };
    let notes = blocking::run(move || {
        let text = std::fs::read_to_string(&file);
        text.map_err(|source| Failure::io(format!("reading {}", file.display()), source))
    });
    Ok((title, Some(notes.await?)))
}

fn table(all: &[Release]) -> String {
    let mut table = Table::new(["TAG", "STATE", "CREATED", "FILES", "TITLE"]);
    for release in all {
        table.row([
            release.tag_name.clone(),
            state(release).to_owned(),
            time(&release.created_at),
            release.assets.len().to_string(),
            release.name.clone(),
        ]);
    }
    table.render()
}

fn state(release: &Release) -> &'static str {
    match (release.draft, release.prerelease) {
        (true, _) => "draft",
        (false, true) => "prerelease",
        (false, false) => "published",
    }
}

fn show(release: &Release, output: &Output) -> Result<(), Failure> {
    output.page(release, &release.tag_name, || page(release))
}

fn page(release: &Release) -> String {
    let author = release.author.as_ref().map_or("(deleted)", |author| author.login.as_str());
    let mut text = fields(&[
        ("tag", release.tag_name.clone()),
        ("title", release.name.clone()),
        ("state", state(release).to_owned()),
        ("author", author.to_owned()),
        ("created", moment(&release.created_at)),
        ("published", moment(&release.published_at)),
        ("url", release.html_url.clone()),
    ]);
    for file in &release.assets {
        text.push_str(&fields(&[("file", format!("{}, {}", file.name, human_bytes(file.size)))]));
    }
    if !release.body.is_empty() {
        let _ = write!(text, "\n{}\n", release.body.trim_end());
    }
    text
}
