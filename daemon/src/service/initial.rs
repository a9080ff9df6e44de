//! Creates the first commit of a repository.

use farrier_common::api::{CommitIdentity, CreateRepository};
use farrier_proto::store::Repository;

use super::{Context, Error, access, templates};
use crate::{
    clock::Millis,
    model::identity::{Account, Identity},
    store::owners::Owner,
};

const LICENSE_MAX_CHARS: usize = 100;

/// The files of the first commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    files: Vec<(&'static str, String)>,
}

impl Content {
    /// Returns the files that `input` requests. `None`: no first commit.
    pub(super) fn from_input(input: &CreateRepository, owner: &Owner, now: Millis) -> Result<Option<Self>, Error> {
        if !input.auto_init {
            return Ok(None);
        }
        let mut files = vec![("README.md", readme(input)?)];
        files.extend(gitignore(&input.gitignores)?.map(|text| (".gitignore", text)));
        files.extend(license(&input.license, owner, now)?.map(|text| ("LICENSE", text)));
        Ok(Some(Self { files }))
    }

    /// Returns the commit as input for `git fast-import`.
    fn stream(&self, branch: &str, author: &str, now: Millis) -> Vec<u8> {
        use std::fmt::Write as _;
        let mut text = String::new();
        let at = now.div_euclid(1_000);
        let _ = write!(text, "commit refs/heads/{branch}\nauthor {author} {at} +0000\ncommitter {author} {at} +0000\n");
        let message = "Initial commit\n";
        let _ = write!(text, "data {}\n{message}", message.len());
        for (path, content) in &self.files {
            let _ = write!(text, "M 100644 inline {path}\ndata {}\n{content}\n", content.len());
        }
        text.push_str("done\n");
        text.into_bytes()
    }
}

fn readme(input: &CreateRepository) -> Result<String, Error> {
    match input.readme.as_str() {
        "" | "Default" if input.description.is_empty() => Ok(format!("# {}\n", input.name)),
        // Servers of the API family end the file without a line break, and clients compare its bytes.
        "" | "Default" => Ok(format!("# {}\n\n{}", input.name, input.description)),
        _ => Err(Error::invalid("readme", "is unknown; the only template is Default")),
    }
}

/// Concatenates the selected templates, each under its name.
fn gitignore(names: &str) -> Result<Option<String>, Error> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let sections = names.map(|name| {
        let Some(text) = templates::gitignore(name) else {
            let known = templates::gitignores().collect::<Vec<_>>().join(", ");
            return Err(Error::invalid("gitignores", format!("{name:?} is unknown; known are {known}")));
        };
        Ok(format!("# ---> {name}\n{text}"))
    });
    let sections = sections.collect::<Result<Vec<_>, _>>()?;
    Ok((!sections.is_empty()).then(|| sections.join("\n")))
}

fn license(key: &str, owner: &Owner, now: Millis) -> Result<Option<String>, Error> {
    if key.is_empty() {
        return Ok(None);
    }
    if key.chars().count() > LICENSE_MAX_CHARS {
        return Err(Error::invalid("license", format!("MaxSize: is longer than {LICENSE_MAX_CHARS} characters")));
    }
    let Some(license) = templates::license(key) else {
        let known = templates::licenses().iter().map(|license| license.key).collect::<Vec<_>>().join(", ");
        return Err(Error::invalid("license", format!("{key:?} is unknown; known are {known}")));
    };
    let full_name = match owner {
        Owner::User(user) => &user.full_name,
        Owner::Org(org) => &org.full_name,
    };
    let holder = if full_name.is_empty() { owner.name() } else { full_name };
    let year = jiff::Timestamp::from_millisecond(now).map_or(1970, |at| at.to_zoned(jiff::tz::TimeZone::UTC).year());
    Ok(Some(license.body.replace("[year]", &year.to_string()).replace("[fullname]", holder)))
}

/// Creates the first commit of `row` with the caller as author and returns its id.
pub(super) async fn commit(
    context: &Context,
    identity: &Identity,
    row: &Repository,
    content: &Content,
) -> Result<String, Error> {
    let author = author(context, identity)?;
    let stream = content.stream(&row.default_branch, &author, context.now_ms());
    let failed = || Error::git("creating the first commit");
    // As a pack, like all objects: git would write so few of them one by one.
    let import = context.git.call(row.id, ["fast-import", "--quiet", "--done"]).config("fastimport.unpackLimit", "1");
    import.stdin(stream).run().await.map_err(failed())?;
    let name = format!("refs/heads/{}", row.default_branch);
    let shown = context.git.call(row.id, ["rev-parse", "--verify"]).operands([name]).run().await.map_err(failed())?;
    Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
}

/// Returns the caller as `name <address>`.
fn author(context: &Context, caller: &Identity) -> Result<String, Error> {
    let CommitIdentity { name, email } = identity(context, access::require_account(caller)?);
    Ok(format!("{name} <{email}>"))
}

/// Returns the name and the email address for commits of an account, without characters that would end either in a
/// commit object.
pub(super) fn identity(context: &Context, account: &Account) -> CommitIdentity {
    let user = &account.user;
    let plain = |text: &str| text.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect::<String>();
    let name = if user.full_name.trim().is_empty() { &user.name } else { &user.full_name };
    let address = if user.email.is_empty() || user.hide_email {
        let host = url::Url::parse(&context.root_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        format!("{}@noreply.{}", user.name.to_lowercase(), host.as_deref().unwrap_or("localhost"))
    } else {
        user.email.clone()
    };
    CommitIdentity { name: plain(name).trim().to_owned(), email: plain(&address) }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::User;

    use super::*;

    fn content(input: &CreateRepository) -> Result<Option<Content>, Error> {
        let owner = Owner::User(User { name: "octo".into(), full_name: "Octo Cat".into(), ..User::default() });
        Content::from_input(input, &owner, 1_767_323_045_999)
    }

    #[test]
    fn every_template_creates_its_file() {
        let input = CreateRepository {
            name: "tool".into(),
            description: "does it".into(),
            auto_init: true,
            gitignores: "Rust, Go".into(),
            license: "mit".into(),
            readme: "Default".into(),
            ..CreateRepository::default()
        };
        let files = content(&input).expect("known").expect("files").files;
        assert_eq!(files.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["README.md", ".gitignore", "LICENSE"]);
        assert_eq!(files[0].1, "# tool\n\ndoes it");
        assert!(files[1].1.starts_with("# ---> Rust\n") && files[1].1.contains("\n\n# ---> Go\n"), "{}", files[1].1);
        assert!(files[2].1.contains("2026 Octo Cat"), "{}", files[2].1);
    }

    #[test]
    fn unknown_templates_are_errors_only_if_a_commit_is_requested() {
        let unknown =
            |auto_init| CreateRepository { auto_init, gitignores: "Rust,Cobol".into(), ..CreateRepository::default() };
        assert_eq!(content(&unknown(false)).expect("ignored"), None);
        let error = content(&unknown(true)).expect_err("unknown").to_string();
        assert!(error.contains("Cobol") && error.contains("Rust"), "{error}");
    }

    #[test]
    fn the_first_commit_is_one_import_stream() {
        let content = Content { files: vec![("a", "x\n".into())] };
        let stream = content.stream("main", "O <o@x>", 1_999);
        let expected = "commit refs/heads/main\nauthor O <o@x> 1 +0000\ncommitter O <o@x> 1 +0000\n\
                        data 15\nInitial commit\nM 100644 inline a\ndata 2\nx\n\ndone\n";
        assert_eq!(String::from_utf8(stream).expect("text"), expected);
    }
}
