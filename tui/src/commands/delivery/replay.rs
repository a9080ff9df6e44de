//! `farrier delivery replay`: sends a delivery once to another URL, or with another payload.

use std::path::{Path, PathBuf};

use farrier_common::{
    api::{ReplayDelivery, ReplayedDelivery},
    client::Client,
};

use super::response_text;
use crate::{
    args::ReplayArgs,
    blocking,
    commands::{key, user::without_newline},
    exit::{self, Failure},
    output::{Output, fields},
};

/// Longest payload. The daemon refuses longer ones.
const PAYLOAD_MAX_BYTES: u64 = 1 << 20;
/// Longest secret. The daemon refuses longer ones.
const SECRET_MAX_BYTES: u64 = 4_096;

pub(super) async fn run(args: ReplayArgs, client: &Client, output: &Output) -> Result<u8, Failure> {
    let delivery = args.delivery.clone();
    let request = request(args).await?;
    let doing = format!("replaying {delivery}");
    let replayed = client.replay(&delivery, &request).await.map_err(Failure::call(doing))?;
    output.page(&replayed, &replayed.guid, || text(&replayed))?;
    Ok(if replayed.error_class.is_empty() { exit::OK } else { exit::FAILED })
}

/// Reads the files for a request.
async fn request(args: ReplayArgs) -> Result<ReplayDelivery, Failure> {
    let ReplayArgs { target, secret_file, payload_file, .. } = args;
    let is_stdin = |file: &Option<PathBuf>| file.as_deref() == Some(Path::new("-"));
    if is_stdin(&secret_file) && is_stdin(&payload_file) {
        return Err(Failure::Usage("the secret and the payload cannot both be read from standard input".into()));
    }
    let secret = match secret_file {
        Some(file) => {
            let shown = file.display().to_string();
            let secret = without_newline(read(file, SECRET_MAX_BYTES, "a secret").await?);
            if secret.is_empty() {
                return Err(Failure::Usage(format!("{shown} is empty; give a file with the secret")));
            }
            Some(secret)
        }
        None => None,
    };
    let payload = match payload_file {
        Some(file) => Some(read(file, PAYLOAD_MAX_BYTES, "a JSON object").await?),
        None => None,
    };
    Ok(ReplayDelivery { url: target, secret, payload })
}

async fn read(file: PathBuf, max_bytes: u64, what: &'static str) -> Result<String, Failure> {
    blocking::run(move || key::read(&file, max_bytes, what)).await
}

fn text(replayed: &ReplayedDelivery) -> String {
    let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let result = if replayed.error.is_empty() { "accepted" } else { &replayed.error };
    let page = fields(&[
        ("request", format!("{} {}", replayed.method, replayed.url)),
        ("event", replayed.event.clone()),
        ("uuid", replayed.guid.clone()),
        ("replay of", replayed.replay_of.clone()),
        ("signed", word(replayed.signed)),
        ("edited", word(replayed.edited)),
        ("duration", format!("{:.3} s", replayed.duration)),
        ("result", result.to_owned()),
    ]);
    if replayed.status_code == 0 { page } else { page + &response_text(replayed.status_code, &replayed.response) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_has_the_response_if_there_is_one() {
        let mut replayed = ReplayedDelivery {
            method: "POST".into(),
            url: "http://h/".into(),
            error: "the receiver answered 500".into(),
            ..ReplayedDelivery::default()
        };
        replayed.response.payload = "oops\u{1b}[31m".into();
        let page = text(&replayed);
        assert!(page.contains("request    POST http://h/") && page.contains("the receiver answered 500"), "{page}");
        assert!(!page.contains("oops"), "{page}");
        let with_response = text(&ReplayedDelivery { status_code: 500, ..replayed });
        assert!(with_response.contains("\n500\n") && with_response.contains("oops"), "{with_response}");
        assert!(!with_response.contains('\u{1b}'), "{with_response}");
    }
}
