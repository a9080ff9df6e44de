//! `farrier user …`

use std::io::Read as _;

use farrier_common::{api::CreateUser, client::Client};

use crate::{args::User, blocking, exit::Failure, output::Output};

/// A password has at most 255 characters; this is a bound on nonsense.
const PASSWORD_MAX_BYTES: u64 = 4_096;

pub(super) async fn run(command: User, client: &Client, output: &Output) -> Result<(), Failure> {
    let User::Create(args) = command;
    let password = if args.password_stdin { Some(read_password().await?) } else { None };
    let wanted = CreateUser {
        username: args.name,
        email: args.email,
        password,
        full_name: args.full_name,
        // Otherwise the account answers 403 to everything until somebody changes the password.
        must_change_password: Some(false),
        admin: args.admin,
        ..CreateUser::default()
    };
    let user = client.create_user(&wanted).await.map_err(Failure::call(format!("making {}", wanted.username)))?;
    output.object(&user, &user.id.to_string(), || format!("made user {} ({})", user.login, user.id))
}

pub(super) async fn read_password() -> Result<String, Failure> {
    let text = blocking::run(|| {
        let mut text = String::new();
        let read = std::io::stdin().take(PASSWORD_MAX_BYTES).read_to_string(&mut text);
        read.map(|_| text).map_err(|source| Failure::io("reading the password", source))
    });
    let password = without_newline(text.await?);
    if password.is_empty() { Err(Failure::Usage("--password-stdin: no password came".into())) } else { Ok(password) }
}

/// Drops the one line break that `echo` adds; a password may hold others.
fn without_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_newline_is_dropped() {
        for (read, password) in [("a", "a"), ("a\n", "a"), ("a\n\n", "a\n"), (" a b \n", " a b "), ("\n", "")] {
            assert_eq!(without_newline(read.into()), password);
        }
    }
}
