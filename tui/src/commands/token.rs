//! `farrier token`: lists, creates and revokes access tokens.

use farrier_common::{
    api::{AccessToken, CreateToken, TokenRepository},
    client::{Client, RepositoryPath},
};
use jiff::Timestamp;
use serde::Serialize;

use super::list;
use crate::{
    args::{self, Token},
    clock,
    exit::Failure,
    moment,
    output::{Output, Table, time},
};

#[derive(Serialize)]
struct Tokens {
    total_count: usize,
    tokens: Vec<AccessToken>,
}

pub(super) async fn run(command: Token, client: &Client, output: &Output) -> Result<(), Failure> {
    let args = match command {
        Token::Create(args) => args,
        Token::List { user, limit } => return list_of(&user, limit.items(), client, output).await,
        Token::Revoke { user, token } => {
            let ended = client.delete_token(&user, &token).await;
            ended.map_err(Failure::call(format!("revoking token {token} of {user}")))?;
            return output
                .object(&serde_json::json!({ "revoked": token }), &token, || format!("Token {token} revoked"));
        }
    };
    let (user, request) = creation(args)?;
    let doing = format!("creating a token for {user}");
    let token = client.create_token(&user, &request).await.map_err(Failure::call(doing))?;
    if token.sha1.is_empty() {
        return Err(Failure::Other("the daemon created a token but did not return it".into()));
    }
    output.object(&token, &token.sha1, || token.sha1.clone())
}

/// Returns the user of a new token, and the request for it.
pub(crate) fn creation(args: args::CreateToken) -> Result<(String, CreateToken), Failure> {
    let expires_at = match &args.expires {
        Some(text) => Some(expiry(text, clock::now())?.to_string()),
        None => None,
    };
    let scopes = args.scopes.iter().map(|scope| scope.trim().to_owned()).collect();
    let repositories: Vec<TokenRepository> = args.repositories.into_iter().map(limited_to).collect();
    let repositories = (!repositories.is_empty()).then_some(repositories);
    Ok((args.user, CreateToken { name: args.name, scopes, expires_at, repositories }))
}

fn limited_to(path: RepositoryPath) -> TokenRepository {
    TokenRepository { owner: path.owner, name: path.name, ..TokenRepository::default() }
}

/// Returns the repositories that a token can access.
fn reach(token: &AccessToken) -> String {
    let Some(all) = &token.repositories else { return "all".to_owned() };
    let path = |one: &TokenRepository| one.full_name.clone().unwrap_or_else(|| format!("{}/{}", one.owner, one.name));
    all.iter().map(path).collect::<Vec<_>>().join(" ")
}

async fn list_of(user: &str, limit: usize, client: &Client, output: &Output) -> Result<(), Failure> {
    let all = list::first(limit, client.tokens(user), |page: Vec<AccessToken>| page, |token| token.id).await;
    let all = all.map_err(Failure::call(format!("listing tokens of {user}")))?;
    list::show(output, all, |token| token.id, table, |total_count, tokens| Tokens { total_count, tokens })
}

fn table(all: &[AccessToken]) -> String {
    let mut table = Table::new(["ID", "LAST EIGHT", "LAST USED", "FROM", "EXPIRES", "NAME", "REPOSITORIES", "SCOPES"]);
    for token in all {
        let or = |at: &Option<String>, none: &str| at.as_deref().map_or_else(|| none.to_owned(), time);
        table.row([
            token.id.to_string(),
            token.token_last_eight.clone(),
            last_used(token),
            token.last_used_address.clone().unwrap_or_default(),
            if token.expired { "expired".to_owned() } else { or(&token.expires_at, "never") },
            token.name.clone(),
            reach(token),
            token.scopes.join(" "),
        ]);
    }
    table.render()
}

/// Returns the time of the last use. The API has the year 1 for a token that was never used.
fn last_used(token: &AccessToken) -> String {
    let is_set = !token.last_used_at.is_empty() && !token.last_used_at.starts_with("0001-");
    if is_set { time(&token.last_used_at) } else { "never".to_owned() }
}

/// Parses the value of `--expires`.
fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    moment::future(text, now).map_err(|problem| Failure::Usage(format!("--expires: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_expiry_is_parsed_as_timestamp_date_or_duration() {
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let cases = [
            ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
            ("2030-01-02T03:04:05+02:00", "2030-01-02T01:04:05Z"),
            ("2030-01-02", "2030-01-02T00:00:00Z"),
            ("30d", "2026-02-01T03:04:05Z"),
            ("12h", "2026-01-02T15:04:05Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(expiry(text, now).unwrap().to_string(), expected, "{text}");
        }
        for bad in ["", "soon", "2020-01-01", "-1h", "30"] {
            assert_eq!(expiry(bad, now).unwrap_err().code(), crate::exit::USAGE, "{bad}");
        }
    }
}
