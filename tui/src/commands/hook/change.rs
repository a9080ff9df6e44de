//! Creating and changing hooks. Secrets are read from standard input or generated here, because all users of the
//! machine can see command lines.

use base64::Engine as _;
use farrier_common::{
    api::{self, Hook},
    client::Client,
};
use serde::Serialize;

use super::edited;
use crate::{
    args::{Change, CreateHook, EditHook},
    commands::user::read_secret,
    exit::Failure,
    output::Output,
};

/// Bytes of a generated secret.
const SECRET_BYTES: usize = 32;

/// A hook, and its secret if it was generated here.
#[derive(Serialize)]
struct HookWithSecret<'a> {
    #[serde(flatten)]
    hook: &'a Hook,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

/// Secrets that were read or generated.
struct Secrets {
    secret: Option<String>,
    authorization: Option<String>,
    /// The generated secret, which is shown once.
    generated: Option<String>,
}

pub(super) async fn create(args: CreateHook, client: &Client, output: &Output) -> Result<(), Failure> {
    let secrets = secrets(&args.change).await?;
    let owner = args.owner.api();
    let request = args.request(secrets.secret, secrets.authorization);
    let hook = client.create_hook(&owner, &request).await.map_err(Failure::call("creating a hook"))?;
    print_saved(&hook, "created", secrets.generated.as_deref(), output)
}

pub(super) async fn edit(args: EditHook, client: &Client, output: &Output) -> Result<(), Failure> {
    let secrets = secrets(&args.change).await?;
    let (owner, id) = (args.owner.of_one(), args.id);
    let request = args.request(secrets.secret, secrets.authorization);
    if request == api::EditHook::default() {
        return Err(Failure::nothing_to_change("--target URL (--url is the address of the daemon)"));
    }
    let hook = edited(client, &owner, id, &request).await?;
    print_saved(&hook, "changed", secrets.generated.as_deref(), output)
}

/// Prints a created or changed hook, with the warning of the daemon and the generated secret.
fn print_saved(hook: &Hook, done: &str, secret: Option<&str>, output: &Output) -> Result<(), Failure> {
    if let Some(warning) = &hook.warning {
        let _ = output.note(&format!("farrier: {warning}")); // a message may get lost
    }
    let id = hook.id.to_string();
    output.object(&HookWithSecret { hook, secret }, &id, || match secret {
        Some(secret) => format!("Hook {id} {done}; its secret, which is not shown again:\n{secret}"),
        None => format!("Hook {id} {done}"),
    })
}

async fn secrets(change: &Change) -> Result<Secrets, Failure> {
    let generated = if change.generate_secret { Some(generate_secret()?) } else { None };
    let option = match (change.secret_stdin, change.authorization_stdin) {
        (true, _) => Some("--secret-stdin"),
        (_, true) => Some("--authorization-stdin"),
        _ => None,
    };
    let read = match option {
        Some(option) => Some(read_secret(option).await?),
        None => None,
    };
    let (secret, authorization) = if change.authorization_stdin { (None, read) } else { (read, None) };
    Ok(Secrets { secret: secret.or_else(|| generated.clone()), authorization, generated })
}

/// Returns a new secret in the format of Standard Webhooks, whose libraries verify deliveries.
fn generate_secret() -> Result<String, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Other(format!("no random bytes: {error}")))?;
    Ok(format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_secrets_have_the_standard_webhooks_format() {
        let (one, other) = (generate_secret().unwrap(), generate_secret().unwrap());
        let decoded = base64::engine::general_purpose::STANDARD.decode(one.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(decoded.len(), SECRET_BYTES);
        assert_ne!(one, other);
    }
}
