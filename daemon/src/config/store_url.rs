//! The address of a PostgreSQL server, `store.url`.

use std::fmt;

use tokio_postgres::{Config as ServerConfig, config::Host};

/// The address of a server, with the database and the user, but without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    text: String,
    server: ServerConfig,
    uses_tls: bool,
}

impl StoreUrl {
    /// Parses `postgresql://USER@HOST:PORT/DATABASE`, with several hosts separated by commas. The parameter `sslmode`
    /// may be `verify-full`, or `disable` for servers on this machine.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected a URL such as \"postgresql://farrier@db.example.org/farrier\"";
        if !text.starts_with("postgresql://") && !text.starts_with("postgres://") {
            return Err(format!("must begin with postgresql://; {expected}"));
        }
        let (rest, mode) = without_ssl_mode(text);
        // Without the text of the error, which may contain a part of a password.
        let server: ServerConfig = rest.parse().map_err(|_| format!("is not a valid address; {expected}"))?;
        if server.get_password().is_some() {
            return Err("must not have a password; use store.password_file".into());
        }
        if server.get_hosts().is_empty() {
            return Err(format!("must have a host; {expected}"));
        }
        let is_local = server.get_hosts().iter().all(is_local);
        let uses_tls = match mode {
            None => !is_local,
            Some("verify-full") => true,
            Some("disable") if is_local => false,
            Some("disable") => return Err("must not have sslmode=disable: the server is another machine".into()),
            Some(_) => return Err("must have sslmode=verify-full, or none; the certificate is always verified".into()),
        };
        Ok(Self { text: text.to_owned(), server, uses_tls })
    }

    /// Returns the parameters of connections.
    pub fn server(&self) -> &ServerConfig {
        &self.server
    }

    /// Returns whether connections are encrypted and the server's certificate is verified. Only connections within this
    /// machine are not.
    pub fn uses_tls(&self) -> bool {
        self.uses_tls
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits the parameter `sslmode` from a URL. `tokio_postgres` does not know all of its values.
fn without_ssl_mode(url: &str) -> (String, Option<&str>) {
    let Some((address, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (modes, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("sslmode="));
    let rest = if others.is_empty() { address.to_owned() } else { format!("{address}?{}", others.join("&")) };
    (rest, modes.last().map(|pair| &pair["sslmode=".len()..]))
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_other_machines_use_tls() {
        for (text, expected) in [
            ("postgresql://farrier@db.example.org/farrier", Ok(true)),
            ("postgres://farrier@10.0.0.1,10.0.0.2:5433/farrier", Ok(true)),
            ("postgresql://u@127.0.0.1/f", Ok(false)),
            ("postgresql://u@localhost/f", Ok(false)),
            ("postgresql:///farrier?host=/run/postgresql", Ok(false)),
            ("postgresql://u@127.0.0.1/f?sslmode=verify-full", Ok(true)),
            ("postgresql://u@127.0.0.1/f?sslmode=disable&connect_timeout=3", Ok(false)),
            ("postgresql://u@127.0.0.1,db/f", Ok(true)),
            ("postgresql://u@db/f?sslmode=disable", Err("another machine")),
            ("postgresql://u@db/f?sslmode=prefer", Err("sslmode=verify-full")),
            ("postgresql://u:s3cret@db/f", Err("must not have a password")),
            ("postgresql://u@db/f?password=s3cret", Err("must not have a password")),
            ("postgresql://u:s3cret@db:port/f", Err("is not a valid address")),
            ("postgresql:///f", Err("must have a host")),
            ("mysql://u@db/f", Err("must begin with postgresql://")),
        ] {
            match (StoreUrl::parse(text), expected) {
                (Ok(url), Ok(uses_tls)) => assert_eq!(url.uses_tls(), uses_tls, "{text}"),
                (Err(reason), Err(part)) => assert!(reason.contains(part) && !reason.contains("s3cret"), "{reason}"),
                (result, _) => panic!("{text}: {result:?}"),
            }
        }
    }
}
