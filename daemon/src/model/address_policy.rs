//! Decides which hosts the daemon may connect to for users: webhook targets and import sources.
//!
//! The decision covers a host name and the address that it resolved to. The caller must resolve the name once,
//! check the result here and connect to exactly that address. Otherwise a second lookup could return another one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// A list of rules for outgoing connections. Denies what no rule allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    rules: Vec<Rule>,
    /// The list as the administrator wrote it.
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// `*`
    Any,
    /// `external`: addresses of the public Internet.
    External,
    /// `private`: addresses of private networks.
    Private,
    /// `loopback`: addresses of this machine.
    Loopback,
    /// A network or a single address.
    Net(IpNet),
    /// A pattern for host names and addresses, with wildcards.
    Host(Vec<Glyph>),
}

/// One character of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Glyph {
    /// `*`: any run of characters.
    Run,
    /// `?`: any one character.
    One,
    /// `[…]`, `[!…]`: one of these characters, or any other one.
    Set { not: bool, ranges: Vec<(char, char)> },
    /// The character itself.
    Literal(char),
}

impl AddressPolicy {
    /// Parses a comma-separated list: `external`, `private`, `loopback`, `*`, networks such as `10.0.0.0/8`, hosts
    /// such as `*.example.org`. Patterns support `*`, `?` and `[…]` and are matched against the name and the address.
    /// `[p]rivate` is a pattern for the name "private", since only the plain word is the keyword.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let (mut rules, mut invalid) = (Vec::new(), Vec::new());
        for word in words {
            match Rule::parse(word) {
                Some(rule) => rules.push(rule),
                None => invalid.push(format!("{word:?}")),
            }
        }
        if invalid.is_empty() {
            return Ok(Self { rules, text: text.trim().to_owned() });
        }
        let are = if invalid.len() == 1 { "is" } else { "are" };
        let expected = "expected host names, addresses, networks or external, private, loopback, *";
        Err(format!("{} {are} not valid; {expected}", invalid.join(" and ")))
    }

    /// Returns this list with one more entry, which allows `address`.
    pub fn extended_by(&self, address: IpAddr) -> String {
        let address = address.to_canonical();
        let entry = if address.is_loopback() { "loopback".to_owned() } else { address.to_string() };
        let now = self.text.trim_end_matches([',', ' ']);
        if now.is_empty() { entry } else { format!("{now}, {entry}") }
    }

    /// Returns the entries of a list that are a single word without wildcards and no keyword. These are host names of
    /// the local network or misspelled keywords. Expects a list that [`Self::parse`] accepts.
    pub fn single_words(text: &str) -> impl Iterator<Item = &str> {
        text.split(',').map(str::trim).filter(|word| {
            let name = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            name && matches!(Rule::parse(word), Some(Rule::Host(_)))
        })
    }

    /// Returns whether the daemon may connect to `host`, which was resolved to `address`.
    pub fn allows(&self, host: &str, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.rules.iter().any(|rule| rule.matches(host, address))
    }
}

impl Rule {
    fn parse(word: &str) -> Option<Self> {
        match word.to_lowercase().as_str() {
            "*" => Some(Self::Any),
            "external" => Some(Self::External),
            "private" => Some(Self::Private),
            "loopback" => Some(Self::Loopback),
            word => {
                if let Ok(net) = word.parse::<IpNet>() {
                    return Some(Self::Net(net));
                }
                if let Ok(address) = word.trim_matches(['[', ']']).parse::<IpAddr>() {
                    return Some(Self::Net(address.into()));
                }
                parse_pattern(word).map(Self::Host)
            }
        }
    }

    fn matches(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::External => is_external(address),
            Self::Private => is_private(address),
            Self::Loopback => address.is_loopback(),
            Self::Net(net) => net.contains(&address),
            Self::Host(pattern) => {
                matches_pattern(pattern, &host.trim_end_matches('.').to_lowercase())
                    || matches_pattern(pattern, &address.to_string())
            }
        }
    }
}

/// IPv4 networks that are not part of the public Internet.
const SPECIAL_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Networks inside the global IPv6 range that are not ordinary destinations: protocols, tunnels to IPv4,
/// documentation.
const SPECIAL_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

fn is_in_any<A: Into<IpAddr> + Copy>(address: IpAddr, nets: &[(A, u8)]) -> bool {
    nets.iter().any(|(base, bits)| IpNet::new_assert((*base).into(), *bits).contains(&address))
}

fn is_external(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => !is_in_any(address, SPECIAL_V4),
        IpAddr::V6(_) => is_in_any(address, &[GLOBAL_V6]) && !is_in_any(address, SPECIAL_V6),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private(),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// Parses a pattern. Returns `None` if it contains characters that no host name has.
fn parse_pattern(word: &str) -> Option<Vec<Glyph>> {
    let mut glyphs = Vec::new();
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        glyphs.push(match c {
            '*' => Glyph::Run,
            '?' => Glyph::One,
            '[' => set(&mut rest)?,
            c if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':') => Glyph::Literal(c),
            _ => return None,
        });
    }
    Some(glyphs)
}

/// Parses the rest of a set after its opening bracket.
fn set(rest: &mut std::str::Chars<'_>) -> Option<Glyph> {
    let (inside, behind) = rest.as_str().split_once(']')?;
    *rest = behind.chars();
    let (not, inside) = inside.strip_prefix(['!', '^']).map_or((false, inside), |inside| (true, inside));
    let mut chars: Vec<char> = inside.chars().collect();
    let mut ranges = Vec::new();
    while !chars.is_empty() {
        let range = match chars.as_slice() {
            [low, '-', high, ..] => (*low, *high),
            [one, ..] => (*one, *one),
            [] => break,
        };
        chars.drain(..if chars.get(1) == Some(&'-') && chars.len() > 2 { 3 } else { 1 });
        ranges.push(range);
    }
    (!ranges.is_empty()).then_some(Glyph::Set { not, ranges })
}

/// Returns whether `text` matches the complete `pattern`.
fn matches_pattern(pattern: &[Glyph], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&Glyph::Run) {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|glyph| glyph.matches(text[t])) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, star_end)) = star {
            star = Some((at, star_end + 1));
            (p, t) = (at + 1, star_end + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|glyph| *glyph == Glyph::Run)
}

impl Glyph {
    fn matches(&self, c: char) -> bool {
        match self {
            Self::Run | Self::One => true,
            Self::Literal(literal) => *literal == c,
            Self::Set { not, ranges } => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *not,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(policy: &str, host: &str, address: &str) -> bool {
        AddressPolicy::parse(policy).expect("a policy").allows(host, address.parse().expect("an address"))
    }

    #[test]
    fn external_allows_only_addresses_of_the_public_internet() {
        for good in ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1", "2a00:1450::1"] {
            assert!(allowed("external", "h", good), "{good}");
        }
        let refused_v4 = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ];
        let refused_v6 = [
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "100::1",
        ];
        for invalid in refused_v4.into_iter().chain(refused_v6) {
            assert!(!allowed("external", "h", invalid), "{invalid}");
        }
    }

    #[test]
    fn each_rule_allows_the_described_addresses() {
        for (policy, host, address, expected) in [
            ("", "h", "1.1.1.1", false),
            ("*", "h", "127.0.0.1", true),
            ("private", "h", "10.0.0.1", true),
            ("private", "h", "fd12::1", true),
            ("private", "h", "127.0.0.1", false),
            ("private", "h", "169.254.169.254", false),
            ("private", "h", "1.1.1.1", false),
            ("loopback", "h", "127.0.0.1", true),
            ("loopback", "h", "::1", true),
            ("loopback", "h", "::ffff:127.0.0.1", true),
            ("external, 10.0.0.0/8", "h", "10.9.9.9", true),
            ("10.0.0.7", "h", "10.0.0.7", true),
            ("10.0.0.7", "h", "10.0.0.8", false),
            ("fd00::/8", "h", "fd00::1", true),
            ("*.Example.org", "git.example.ORG", "10.0.0.1", true),
            ("*.example.org", "git.example.org.", "10.0.0.1", true),
            ("*.example.org", "example.org", "1.1.1.1", false),
            ("*.example.org", "git.example.org.evil.net", "1.1.1.1", false),
            ("git.*.org", "git.a.b.org", "1.1.1.1", true),
            ("ci-[0-3a].lan", "ci-a.lan", "10.0.0.1", true),
            ("ci-[0-3].lan", "ci-4.lan", "10.0.0.1", false),
            ("ci-[!0-3].lan", "ci-4.lan", "10.0.0.1", true),
            ("ci-?.lan", "ci-44.lan", "10.0.0.1", false),
            ("10.0.?.*", "h", "10.0.3.200", true),
            ("10.0.?.*", "h", "10.0.33.200", false),
            ("[p]rivate", "private", "127.0.0.1", true),
            ("[p]rivate", "h", "10.0.0.1", false),
            ("localhost", "localhost", "127.0.0.1", true),
            ("loopback", "localhost", "127.0.0.1", true),
        ] {
            assert_eq!(allowed(policy, host, address), expected, "{policy} {host} {address}");
        }
        for invalid in ["a b", "http://x", "10.0.0.0/40", "a/b", "[", "[]", "a[b"] {
            assert!(AddressPolicy::parse(invalid).is_err(), "{invalid}");
        }
    }
    #[test]
    fn decisions_match_those_of_the_api_family() {
        let policy = "private, External, *.myDomain.com, 169.254.1.0/24";
        for (host, address, expected) in [
            ("127.0.0.1", "127.0.0.1", false),
            ("::1", "::1", false),
            ("0.0.0.0", "0.0.0.0", false),
            ("10.0.1.1", "10.0.1.1", true),
            ("fd00::1", "fd00::1", true),
            ("8.8.8.8", "8.8.8.8", true),
            ("mydomain.com", "0.0.0.0", false),
            ("sub.mydomain.com", "0.0.0.0", true),
            ("169.254.1.1", "169.254.1.1", true),
            ("169.254.2.2", "169.254.2.2", false),
            ("168.63.129.16", "168.63.129.16", false),
        ] {
            assert_eq!(allowed(policy, host, address), expected, "{host} {address}");
        }
    }
}
