//! `farrier passwd`: changes the password of the caller.

use std::io::IsTerminal as _;

use farrier_common::{api::ChangePassword, client::Client};

use super::user::read_secret;
use crate::{exit::Failure, output::Output, prompt};

pub(super) async fn run(
    password_stdin: bool,
    revoke_tokens: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let passwords = if password_stdin || !std::io::stdin().is_terminal() {
        from_stdin(client.is_peer()).await?
    } else if prompt::is_possible() {
        from_terminal(client.is_peer()).await?
    } else {
        return Err(Failure::Usage("cannot ask for the password: standard error is not a terminal".into()));
    };
    let request = ChangePassword { revoke_tokens, ..passwords };
    client.change_password(&request).await.map_err(Failure::call("changing your password"))?;
    let document = serde_json::json!({ "changed": true, "revoked_tokens": revoke_tokens });
    let result = if revoke_tokens { "Password changed, tokens revoked" } else { "Password changed" };
    output.object(&document, "", || result.to_owned())
}

/// Reads the passwords from standard input. On its socket the daemon requires no old password.
async fn from_stdin(is_peer: bool) -> Result<ChangePassword, Failure> {
    let text = read_secret("passwd").await?;
    if is_peer {
        return Ok(ChangePassword { new_password: text, ..ChangePassword::default() });
    }
    split(&text).ok_or_else(|| {
        Failure::Usage("standard input must have two lines: the old password and the new password".into())
    })
}

fn split(text: &str) -> Option<ChangePassword> {
    let (old, new) = text.split_once('\n')?;
    let old_password = old.strip_suffix('\r').unwrap_or(old).to_owned();
    (!new.is_empty()).then(|| ChangePassword {
        old_password,
        new_password: new.to_owned(),
        ..ChangePassword::default()
    })
}

async fn from_terminal(is_peer: bool) -> Result<ChangePassword, Failure> {
    let old_password = if is_peer { String::new() } else { prompt::secret("Old password: ").await? };
    let new_password = prompt::secret("New password: ").await?;
    if prompt::secret("New password again: ").await? != new_password {
        return Err(Failure::Usage("the two new passwords differ; nothing was changed".into()));
    }
    Ok(ChangePassword { old_password, new_password, ..ChangePassword::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_and_the_new_password_are_read_from_two_lines() {
        let request = split("old one\r\nnew one").unwrap();
        assert_eq!((request.old_password.as_str(), request.new_password.as_str()), ("old one", "new one"));
        assert!(split("only one").is_none() && split("old\n").is_none());
    }
}
