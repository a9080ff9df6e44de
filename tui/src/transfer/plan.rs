//! Decides how files are uploaded.

use std::path::{Path, PathBuf};

use farrier_common::names::check_artifact;

use crate::exit::Failure;

pub(crate) const ZIP: &str = "application/zip";

/// An upload of one unchanged file or of a zip file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Name of the artifact.
    pub(crate) name: String,
    /// Media type of the content.
    pub(crate) mime_type: String,
    /// The file to upload unchanged; `None`: all paths are packed in a zip file.
    pub(crate) raw: Option<PathBuf>,
}

/// Decides what is uploaded, and under which name. As in the official client, a file that is uploaded unchanged
/// gives the artifact its own name.
pub(crate) fn plan(
    paths: &[PathBuf],
    name: Option<&str>,
    raw: bool,
    is_directory: impl Fn(&Path) -> bool,
) -> Result<Plan, Failure> {
    let single = match paths {
        [path] if !is_directory(path) => Some(path),
        _ => None,
    };
    if raw && single.is_none() {
        return Err(Failure::Usage("--raw requires exactly one file".into()));
    }
    let as_it_is = single.filter(|_| raw || name.is_none());
    let name = match (name, paths) {
        (Some(name), _) => name.to_owned(),
        (None, [path]) => base_name(path)?,
        // The default name of the official action.
        (None, _) => "artifact".to_owned(),
    };
    check_artifact(&name).map_err(|error| Failure::Usage(format!("the artifact's name {name:?} {error}")))?;
    let mime_type = as_it_is.map_or_else(|| ZIP.to_owned(), |path| mime_type(path));
    Ok(Plan { name, mime_type, raw: as_it_is.cloned() })
}

fn base_name(path: &Path) -> Result<String, Failure> {
    // `.` and `..` are resolved to the names of their directories.
    let named = if path.file_name().is_some() { path.to_owned() } else { path.canonicalize().unwrap_or_default() };
    let name = named.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| Failure::Usage(format!("--name is required for {}", path.display())))
}

fn mime_type(path: &Path) -> String {
    mime_guess::from_path(path).first_or_octet_stream().essence_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(paths: &[&str], name: Option<&str>, raw: bool) -> Result<Plan, Failure> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        plan(&paths, name, raw, |path| path.starts_with("dir"))
    }

    #[test]
    fn a_single_file_is_uploaded_raw_unless_it_is_renamed() {
        let cases = [
            (planned(&["a/raw.txt"], None, false), "raw.txt", "text/plain", true),
            (planned(&["a/raw.txt"], Some("x"), false), "x", ZIP, false),
            (planned(&["a/raw.txt"], Some("x"), true), "x", "text/plain", true),
            (planned(&["a/app.zip"], None, false), "app.zip", ZIP, true),
            (planned(&["a/odd.xyzzy"], None, false), "odd.xyzzy", "application/octet-stream", true),
            (planned(&["dir/"], None, false), "dir", ZIP, false),
            (planned(&["dir", "b"], None, false), "artifact", ZIP, false),
            (planned(&["a", "b"], Some("x"), false), "x", ZIP, false),
        ];
        for (plan, name, mime, raw) in cases {
            let plan = plan.unwrap();
            assert_eq!((plan.name.as_str(), plan.mime_type.as_str(), plan.raw.is_some()), (name, mime, raw));
        }
    }

    #[test]
    fn invalid_combinations_are_usage_errors() {
        for refused in [
            planned(&["dir"], None, true),
            planned(&["a", "b"], Some("x"), true),
            planned(&["a"], Some("x/y"), false),
            planned(&["a"], Some(""), false),
            planned(&["a:b"], None, false),
        ] {
            assert_eq!(refused.unwrap_err().code(), crate::exit::USAGE);
        }
    }
}
