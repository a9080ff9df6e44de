//! The form for a new access token, and the request that it sends.

use farrier_common::{
    api::{CreateToken, TokenRepository},
    client::RepositoryPath,
};

use crate::{
    clock, moment,
    ui::{
        form::{Field, Form},
        net::Request,
        screens::FormKind,
    },
};

/// The scopes and what they allow, the frequent ones first.
const SCOPES: [(&str, &str); 20] = [
    ("read:repository", "fetch, read API of repositories"),
    ("write:repository", "also push, change and delete"),
    ("read:organization", "read organizations and teams"),
    ("write:organization", "also change them"),
    ("read:user", "read accounts and own data"),
    ("write:user", "also tokens, keys, settings"),
    ("read:admin", "read status, logs, audit"),
    ("write:admin", "administer users and daemon"),
    ("read:misc", "read templates, licenses"),
    ("write:misc", "also change them"),
    ("read:issue", "read issues, if supported"),
    ("write:issue", "also change them"),
    ("read:notification", "read notifications"),
    ("write:notification", "also change them"),
    ("read:package", "read packages, if supported"),
    ("write:package", "also change them"),
    ("read:activitypub", "read federation data"),
    ("write:activitypub", "also change it"),
    ("all", "everything the user may do"),
    ("public-only", "limits others to public data"),
];
/// The scopes that are chosen for a new token.
const CHOSEN: [&str; 1] = ["write:repository"];
/// The suggested periods until a token expires; the first one is the default.
const PERIODS: [&str; 4] = ["30d", "7d", "90d", "1 year"];
/// Maximum number of repositories of a token.
const REPOSITORIES_MAX: usize = 100;

fn expiry(text: &str) -> Option<String> {
    moment::future(text, clock::now()).err()
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ']).filter(|name| !name.is_empty())
}

fn repositories(text: &str) -> Option<String> {
    let count = names(text).count();
    if count > REPOSITORIES_MAX {
        return Some(format!("{count} repositories; at most {REPOSITORIES_MAX}"));
    }
    let invalid = names(text).find(|name| name.parse::<RepositoryPath>().is_err())?;
    Some(format!("{invalid} is not a repository; expected OWNER/NAME"))
}

/// Returns the form for a new token of a user.
pub(super) fn create(login: &str) -> Form {
    let scopes = SCOPES.map(|(name, meaning)| (name.to_owned(), meaning.to_owned())).to_vec();
    let mut expires = Field::line("expires_at", "Expiry", PERIODS[0])
        .checked(expiry)
        .help("such as 30d or 2030-01-02; empty: the daemon's limit, or never");
    expires.offer(&PERIODS.map(str::to_owned));
    let fields = vec![
        Field::line("name", "Name", "").required().help("what the token is for"),
        Field::many("scopes", "Scopes", scopes, &CHOSEN.map(str::to_owned))
            .required()
            .help("what requests with the token may do; write includes read"),
        expires,
        Field::line("repositories", "Repositories", "")
            .checked(repositories)
            .help("OWNER/NAME, separated by commas; empty: all that the user can access"),
    ];
    Form::new(format!("New token of {login}"), "Create", FormKind::CreateToken(login.to_owned()), fields)
}

/// Returns the request of the form, or the name of an invalid field and the reason.
pub(in crate::ui::screens) fn request(login: &str, form: &Form) -> Result<Request, (&'static str, String)> {
    let expires_at = match form.text("expires_at") {
        "" => None,
        text => Some(moment::future(text, clock::now()).map_err(|why| ("expires_at", why))?.to_string()),
    };
    let limited_to = |name: &str| {
        let path: RepositoryPath = name.parse().ok()?;
        Some(TokenRepository { owner: path.owner, name: path.name, ..TokenRepository::default() })
    };
    // The check of the field has refused invalid names.
    let repositories: Vec<TokenRepository> = names(form.text("repositories")).filter_map(limited_to).collect();
    let request = CreateToken {
        name: form.text("name").to_owned(),
        scopes: form.field("scopes").map(|field| field.names(false)).unwrap_or_default(),
        expires_at,
        repositories: (!repositories.is_empty()).then_some(repositories),
    };
    Ok(Request::CreateToken(login.to_owned(), Box::new(request)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn the_form_has_the_scopes_of_the_command() {
        let cli = Cli::command();
        let command = cli.find_subcommand("token").and_then(|token| token.find_subcommand("create")).unwrap();
        let scopes = command.get_arguments().find(|one| one.get_long() == Some("scopes")).unwrap();
        let values = scopes.get_possible_values();
        let of_command: BTreeSet<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        assert_eq!(BTreeSet::from(SCOPES.map(|(name, _)| name)), of_command);
    }

    #[test]
    fn repositories_are_separated_by_commas_or_spaces() {
        assert_eq!(repositories("tools/cli, infra/gateway"), None);
        assert_eq!(repositories("tools/cli infra").unwrap(), "infra is not a repository; expected OWNER/NAME");
        assert_eq!(repositories(&"a/b,".repeat(101)).unwrap(), "101 repositories; at most 100");
    }
}
