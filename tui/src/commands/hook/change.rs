//! Creating and changing hooks. Secrets are read from standard input or generated here, because all users of the
//! machine can see command lines.

use base64::Engine as _;
use farrier_common::{api::Hook, client::Client};
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
struct Made<'a> {
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
    made: Option<String>,
}

pub(super) async fn create(args: CreateHook, client: &Client, output: &Output) -> Result<(), Failure> {
    let secrets = secrets(&args.change).await?;
    let place = args.place.api();
    let wanted = args.wanted(secrets.secret, secrets.authorization);
    let hook = client.create_hook(&place, &wanted).await.map_err(Failure::call("creating a hook"))?;
    tell(&hook, "created", secrets.made.as_deref(), output)
}

pub(super) async fn edit(args: EditHook, client: &Client, output: &Output) -> Result<(), Failure> {
    let secrets = secrets(&args.change).await?;
    let (place, id) = (args.place.of_one(), args.id);
    let wanted = args.wanted(secrets.secret, secrets.authorization);
    let hook = edited(client, &place, id, &wanted).await?;
    tell(&hook, "changed", secrets.made.as_deref(), output)
}

fn tell(hook: &Hook, done: &str, secret: Option<&str>, output: &Output) -> Result<(), Failure> {
    if let Some(warning) = &hook.warning {
        let _ = output.note(&format!("farrier: {warning}")); // a message may get lost
    }
    let id = hook.id.to_string();
    output.object(&Made { hook, secret }, &id, || match secret {
        Some(secret) => format!("Hook {id} {done}; its secret, which is not shown again:\n{secret}"),
        None => format!("Hook {id} {done}"),
    })
}

async fn secrets(change: &Change) -> Result<Secrets, Failure> {
    let made = if change.generate_secret { Some(generated()?) } else { None };
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
    Ok(Secrets { secret: secret.or_else(|| made.clone()), authorization, made })
}

/// A secret in the format of Standard Webhooks, whose libraries verify deliveries.
fn generated() -> Result<String, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Other(format!("no random bytes: {error}")))?;
    Ok(format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_are_made_are_those_of_standard_webhooks() {
        let (one, other) = (generated().unwrap(), generated().unwrap());
        let decoded = base64::engine::general_purpose::STANDARD.decode(one.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(decoded.len(), SECRET_BYTES);
        assert_ne!(one, other);
    }
}
