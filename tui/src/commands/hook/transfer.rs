//! `farrier hook export` and `import`. The daemon never returns secrets, so a hook that had one is imported inactive.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use farrier_common::{
    api::{CreateHook, Hook},
    client::{Client, HookOwner},
};
use serde::{Deserialize, Serialize};

use crate::{
    blocking,
    exit::{self, Failure},
    output::Output,
};

/// Size limit of a document.
const DOCUMENT_MAX_BYTES: u64 = 64 << 20;

#[derive(Deserialize, Serialize)]
struct Document {
    hooks: Vec<Exported>,
}

/// A hook without its ID and its secrets.
#[derive(Deserialize, Serialize)]
struct Exported {
    #[serde(flatten)]
    hook: CreateHook,
    /// Whether it had a secret or an Authorization header, which are not exported.
    #[serde(default)]
    had_secrets: bool,
}

pub(super) fn export(all: &[Hook], output: &Output) -> Result<(), Failure> {
    let hooks = all.iter().map(exported).collect();
    let document = Document { hooks };
    let text = || serde_json::to_string_pretty(&document).unwrap_or_default();
    output.object(&document, &text(), text)
}

fn exported(hook: &Hook) -> Exported {
    Exported {
        had_secrets: hook.has_secret || hook.has_authorization_header,
        hook: CreateHook {
            r#type: hook.r#type.clone(),
            config: Some(hook.config.clone()),
            events: hook.events.clone(),
            events_exact: hook.events_exact.clone(),
            branch_filter: hook.branch_filter.clone(),
            authorization_header: String::new(),
            active: hook.active,
            name: hook.name.clone(),
        },
    }
}

pub(super) async fn import(file: &Path, owner: &HookOwner, client: &Client, output: &Output) -> Result<u8, Failure> {
    let text = read(file.to_owned()).await?;
    let document: Document = serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("{} is not an export of hooks: {error}", file.display())))?;
    let mut done = 0;
    let count = document.hooks.len();
    for exported in document.hooks {
        let mut request = exported.hook;
        request.active &= !exported.had_secrets;
        match client.create_hook(owner, &request).await {
            Ok(hook) => {
                let id = hook.id.to_string();
                output.object(&hook, &id, || import_message(&hook, exported.had_secrets))?;
                done += 1;
            }
            Err(error) => output
                .error(&Failure::call(format!("creating the hook for {}", target(&request)))(error))
                .unwrap_or_default(),
        }
    }
    Ok(if done == count {
        exit::OK
    } else if done == 0 {
        exit::FAILED
    } else {
        exit::PARTLY
    })
}

fn import_message(hook: &Hook, had_secrets: bool) -> String {
    let more = if had_secrets {
        "; inactive, because its secret is not part of the export: set it, then run `farrier hook on`"
    } else {
        ""
    };
    format!("Hook {} created for {}{more}", hook.id, hook.url)
}

fn target(request: &CreateHook) -> &str {
    request.config.as_ref().and_then(|config| config.get("url")).map_or("", String::as_str)
}

async fn read(file: PathBuf) -> Result<String, Failure> {
    blocking::run(move || {
        let doing = format!("reading {}", file.display());
        let mut text = String::new();
        let read = if file == Path::new("-") {
            std::io::stdin().take(DOCUMENT_MAX_BYTES).read_to_string(&mut text)
        } else {
            std::fs::File::open(&file).and_then(|open| open.take(DOCUMENT_MAX_BYTES).read_to_string(&mut text))
        };
        read.map(|_| text).map_err(|source| Failure::io(doing, source))
    })
    .await
}
