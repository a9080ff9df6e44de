//! `farrier token …`

use farrier_common::{api::CreateToken, client::Client};
use jiff::{SpanRelativeTo, Timestamp, civil, tz::TimeZone};

use crate::{args::Token, clock, exit::Failure, output::Output};

pub(super) async fn run(command: Token, client: &Client, output: &Output) -> Result<(), Failure> {
    let Token::Create(args) = command;
    let expires_at = match &args.expires {
        Some(text) => Some(instant(text, clock::now())?.to_string()),
        None => None,
    };
    let scopes = args.scopes.iter().map(|scope| scope.trim().to_owned()).collect();
    let wanted = CreateToken { name: args.name, scopes, expires_at, repositories: None };
    let doing = format!("making a token of {}", args.user);
    let token = client.create_token(&args.user, &wanted).await.map_err(Failure::call(doing))?;
    if token.sha1.is_empty() {
        return Err(Failure::Other("the daemon made a token but did not say which".into()));
    }
    output.object(&token, &token.sha1, || token.sha1.clone())
}

/// `2030-01-02T03:04:05Z`, `2030-01-02` or `30d`, in whole seconds.
fn instant(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let later = || {
        let span: jiff::Span = text.parse().ok()?;
        let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        now.checked_add(duration).ok()
    };
    let date = || text.parse::<civil::Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    let instant = text.parse().ok().or_else(date).or_else(later);
    let instant = instant.and_then(|instant: Timestamp| Timestamp::from_second(instant.as_second()).ok());
    match instant {
        Some(instant) if instant > now => Ok(instant),
        Some(_) => Err(Failure::Usage(format!("--expires: {text} is over already"))),
        None => Err(Failure::Usage(format!("--expires: {text:?} is no time; write 2030-01-02T03:04:05Z or 30d"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_expire_at_an_instant_or_after_a_while() {
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let cases = [
            ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
            ("2030-01-02T03:04:05+02:00", "2030-01-02T01:04:05Z"),
            ("2030-01-02", "2030-01-02T00:00:00Z"),
            ("30d", "2026-02-01T03:04:05Z"),
            ("12h", "2026-01-02T15:04:05Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(instant(text, now).unwrap().to_string(), expected, "{text}");
        }
        for bad in ["", "soon", "2020-01-01", "-1h", "30"] {
            assert_eq!(instant(bad, now).unwrap_err().code(), crate::exit::USAGE, "{bad}");
        }
    }
}
