//! The address of a PostgreSQL server, `store.url`.

use std::fmt;

use tokio_postgres::{Config as ServerConfig, config::Host};

/// Port of a server without a port in the URL.
const DEFAULT_PORT: u16 = 5432;

/// The address of a server, with the database and the user, but without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    text: String,
    servers: Vec<ServerConfig>,
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
        // A host is used for the certificate only if it has an address of its own.
        let is_local =
            server.get_hosts().iter().all(is_local) && server.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
        let uses_tls = match mode {
            None => !is_local,
            Some("verify-full") => true,
            Some("disable") if is_local => false,
            Some("disable") => return Err("must not have sslmode=disable: the server is another machine".into()),
            Some(_) => return Err("must have sslmode=verify-full, or none; the certificate is always verified".into()),
        };
        let (hosts, addresses, ports) = (server.get_hosts().len(), server.get_hostaddrs(), server.get_ports());
        if (!addresses.is_empty() && addresses.len() != hosts) || (ports.len() > 1 && ports.len() != hosts) {
            return Err("must have as many values of hostaddr and of port as hosts".into());
        }
        let servers = (0..hosts).map(|number| one_server(&server, number)).collect();
        Ok(Self { text: text.to_owned(), servers, uses_tls })
    }

    /// Returns the parameters of connections to each server: one host, at most one address, and one port.
    pub fn servers(&self) -> &[ServerConfig] {
        &self.servers
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

/// Returns the parameters for the host with this number in `all`.
fn one_server(all: &ServerConfig, number: usize) -> ServerConfig {
    let mut one = ServerConfig::new();
    match &all.get_hosts()[number] {
        Host::Tcp(name) => one.host(name),
        Host::Unix(directory) => one.host_path(directory),
    };
    if let Some(address) = all.get_hostaddrs().get(number) {
        one.hostaddr(*address);
    }
    let port = all.get_ports().get(number).or(all.get_ports().first());
    one.port(port.copied().unwrap_or(DEFAULT_PORT));
    let (user, database, options) = (all.get_user(), all.get_dbname(), all.get_options());
    user.map(|user| one.user(user));
    database.map(|database| one.dbname(database));
    options.map(|options| one.options(options));
    one.channel_binding(all.get_channel_binding()).ssl_negotiation(all.get_ssl_negotiation());
    one
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
            ("postgresql://u@localhost/f?hostaddr=10.0.0.5", Ok(true)),
            ("postgresql://u@localhost/f?hostaddr=127.0.0.1", Ok(false)),
            ("postgresql://u@localhost/f?hostaddr=10.0.0.5&sslmode=disable", Err("another machine")),
            ("postgresql://u@db/f?sslmode=disable", Err("another machine")),
            ("postgresql://u@db/f?sslmode=prefer", Err("sslmode=verify-full")),
            ("postgresql://u:s3cret@db/f", Err("must not have a password")),
            ("postgresql://u@db/f?password=s3cret", Err("must not have a password")),
            ("postgresql://u:s3cret@db:port/f", Err("is not a valid address")),
            ("postgresql:///f", Err("must have a host")),
            ("postgresql://u@a,b/f?hostaddr=10.0.0.1", Err("as many values of hostaddr")),
            ("mysql://u@db/f", Err("must begin with postgresql://")),
        ] {
            match (StoreUrl::parse(text), expected) {
                (Ok(url), Ok(uses_tls)) => assert_eq!(url.uses_tls(), uses_tls, "{text}"),
                (Err(reason), Err(part)) => assert!(reason.contains(part) && !reason.contains("s3cret"), "{reason}"),
                (result, _) => panic!("{text}: {result:?}"),
            }
        }
    }

    #[test]
    fn each_server_has_its_own_address_and_port() {
        let url = "postgresql://u@db1:5433,db2:5434/f?hostaddr=10.0.0.1,10.0.0.2&options=-c%20geqo%3Doff";
        let url = StoreUrl::parse(url).expect("a URL");
        let expected = [("db1", "10.0.0.1", 5433), ("db2", "10.0.0.2", 5434)];
        assert_eq!(url.servers().len(), expected.len());
        for (server, (host, address, port)) in url.servers().iter().zip(expected) {
            assert_eq!(server.get_hosts(), [Host::Tcp(host.to_owned())]);
            assert_eq!(server.get_hostaddrs(), [address.parse::<std::net::IpAddr>().expect("an address")]);
            assert_eq!(server.get_ports(), [port]);
            assert_eq!((server.get_user(), server.get_dbname()), (Some("u"), Some("f")));
            assert_eq!(server.get_options(), Some("-c geqo=off"));
        }
        let one_port = StoreUrl::parse("postgresql://u@db1,db2/f").expect("a URL");
        assert!(one_port.servers().iter().all(|server| server.get_ports() == [DEFAULT_PORT]));
    }
}
