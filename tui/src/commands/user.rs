//! `farrier user`: lists, shows, creates, edits, turns off and deletes users.

use std::io::Read as _;

use farrier_common::{
    api::{self, User as Account},
    client::Client,
};
use serde::Serialize;

use super::{confirm, list};
use crate::{
    args::{CreateUser, EditUser, User},
    blocking,
    exit::Failure,
    output::{Output, Table, fields, moment},
};

/// Size limit of a password on standard input, bytes. Passwords have at most 255 characters.
const PASSWORD_MAX_BYTES: u64 = 4_096;

#[derive(Serialize)]
struct Users {
    total_count: usize,
    users: Vec<Account>,
}

pub(super) async fn run(command: User, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        User::Create(args) => create(args, client, output).await,
        User::Edit(args) => show(&edit(args, client).await?, output),
        User::List { text, limit } => {
            let pages = client.users(text.as_deref());
            let all = list::first(limit.items(), pages, |page: Vec<Account>| page, |user| user.id).await;
            let all = all.map_err(Failure::call("listing users"))?;
            list::show(output, all, |user| user.login.clone(), table, |total_count, users| Users { total_count, users })
        }
        User::Show { name } => {
            show(&client.user(&name).await.map_err(Failure::call(format!("showing {name}")))?, output)
        }
        User::Off { name } => {
            let request = api::EditUser { active: Some(false), ..api::EditUser::default() };
            let closed =
                client.edit_user(&name, &request).await.map_err(Failure::call(format!("turning off {name}")))?;
            output.object(&closed, &closed.login, || format!("User {} turned off", closed.login))
        }
        User::Delete { name, purge, yes } => {
            confirm::deletion(&format!("User {name}"), &name, yes).await?;
            client.delete_user(&name, purge).await.map_err(Failure::call(format!("deleting {name}")))?;
            output.object(&serde_json::json!({ "deleted": name }), &name, || format!("User {name} deleted"))
        }
    }
}

fn show(user: &Account, output: &Output) -> Result<(), Failure> {
    output.page(user, &user.login, || {
        fields(&[
            ("account", format!("{} ({})", user.login, user.id)),
            ("name", user.full_name.clone()),
            ("email", user.email.clone()),
            ("state", state(user)),
            ("visibility", user.visibility.clone()),
            ("created", moment(&user.created)),
        ])
    })
}

/// Returns the state of a user. Only administrators and the user itself see whether it is turned off.
fn state(user: &Account) -> String {
    let words = [
        (user.is_admin, "administrator"),
        (user.restricted, "restricted"),
        (user.prohibit_login, "cannot sign in"),
        (!user.active, "inactive"),
        (user.must_change_password, "must change password"),
    ];
    words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect::<Vec<_>>().join(", ")
}

fn table(all: &[Account]) -> String {
    let mut table = Table::new(["ID", "NAME", "STATE", "EMAIL"]);
    for user in all {
        table.row([user.id.to_string(), user.login.clone(), state(user), user.email.clone()]);
    }
    table.render()
}

async fn edit(args: EditUser, client: &Client) -> Result<Account, Failure> {
    let password = if args.password_stdin { Some(read_secret("--password-stdin").await?) } else { None };
    let doing = format!("changing {}", args.name);
    let request = api::EditUser {
        // A password that an administrator sets counts as changed.
        must_change_password: password.is_some().then_some(false),
        password,
        email: args.email,
        full_name: args.full_name,
        admin: args.admin,
        active: args.active,
        restricted: args.restricted,
        visibility: args.visibility,
        ..api::EditUser::default()
    };
    if request == api::EditUser::default() && args.rename.is_none() {
        return Err(Failure::nothing_to_change("--email EMAIL"));
    }
    let changed = client.edit_user(&args.name, &request).await.map_err(Failure::call(doing.as_str()))?;
    let Some(new) = args.rename else { return Ok(changed) };
    client.rename_user(&args.name, &new).await.map_err(Failure::call(doing.as_str()))?;
    client.user(&new).await.map_err(Failure::call(doing))
}

async fn create(args: CreateUser, client: &Client, output: &Output) -> Result<(), Failure> {
    let password = if args.password_stdin { Some(read_secret("--password-stdin").await?) } else { None };
    let request = api::CreateUser {
        username: args.name,
        email: args.email,
        password,
        full_name: args.full_name,
        // Otherwise every request of the account is answered with 403 until the password is changed.
        must_change_password: Some(false),
        admin: args.admin,
        ..api::CreateUser::default()
    };
    let user = client.create_user(&request).await.map_err(Failure::call(format!("creating {}", request.username)))?;
    output.object(&user, &user.login, || format!("User {} created", user.login))
}

/// Reads standard input without the line break at its end. `option` is the option that requires it.
pub(super) async fn read_secret(option: &str) -> Result<String, Failure> {
    let text = blocking::run(|| {
        let mut text = String::new();
        let read = std::io::stdin().take(PASSWORD_MAX_BYTES).read_to_string(&mut text);
        read.map(|_| text).map_err(|source| Failure::io("reading standard input", source))
    });
    let secret = without_newline(text.await?);
    if secret.is_empty() { Err(Failure::Usage(format!("{option}: standard input was empty"))) } else { Ok(secret) }
}

/// Removes the line break that `echo` adds. Other line breaks are part of the password.
pub(super) fn without_newline(mut text: String) -> String {
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
    fn one_trailing_newline_is_removed_from_a_password() {
        for (read, password) in [("a", "a"), ("a\n", "a"), ("a\n\n", "a\n"), (" a b \n", " a b "), ("\n", "")] {
            assert_eq!(without_newline(read.into()), password);
        }
    }
}
