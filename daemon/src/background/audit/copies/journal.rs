//! Sends audit entries to the systemd journal, in its native protocol: a datagram with the fields of an entry.
//!
//! <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>

use std::{io, path::Path, time::Duration};

use farrier_proto::store::{AuditEntry, AuditResult};
use tokio::{net::UnixDatagram, time::timeout};

use crate::show;

/// Maximum time to wait for space in the queue of the journal.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Priorities of syslog.
const WARNING: &str = "4";
const INFORMATIONAL: &str = "6";

/// Sends `entries` to the socket `path`. Sets `position` to the last entry that was sent, also if an error is returned.
pub(super) async fn send(path: &Path, entries: &[AuditEntry], position: &mut u64) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    for entry in entries {
        let sent = match send_one(&socket, &datagram(entry, true)).await {
            // Longer than a datagram can be.
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                send_one(&socket, &datagram(entry, false)).await
            }
            sent => sent,
        };
        sent?;
        *position = entry.id;
    }
    Ok(())
}

async fn send_one(socket: &UnixDatagram, datagram: &[u8]) -> io::Result<()> {
    match timeout(TIMEOUT, socket.send(datagram)).await {
        Ok(sent) => sent.map(drop),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the journal accepts no entries")),
    }
}

/// Returns the datagram of an entry. `with_changes`: whether it has the changed fields.
fn datagram(row: &AuditEntry, with_changes: bool) -> Vec<u8> {
    let entry = show::audit_entry(row);
    let (actor, object) = (&entry.actor, &entry.object);
    let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let text = [entry.action.as_str(), &object.kind, &object.path(), "by", &actor.name].join(" ");
    let message = format!("{}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "), entry.result);
    let (before, after) = if with_changes { (row.before.as_str(), row.after.as_str()) } else { ("", "") };
    let mut bytes = Vec::new();
    for (name, value) in [
        ("MESSAGE", message.as_str()),
        ("PRIORITY", if row.result() == AuditResult::Done { INFORMATIONAL } else { WARNING }),
        ("SYSLOG_IDENTIFIER", "farrierd"),
        ("FARRIER_AUDIT_ID", &entry.id.to_string()),
        ("FARRIER_AT", &entry.at),
        ("FARRIER_ACTION", &entry.action),
        ("FARRIER_RESULT", &entry.result),
        ("FARRIER_REASON", &entry.reason),
        ("FARRIER_COUNT", &entry.count.to_string()),
        ("FARRIER_ACTOR_KIND", &actor.kind),
        ("FARRIER_ACTOR", &actor.name),
        ("FARRIER_ACTS_AS", &actor.acts_as),
        ("FARRIER_TOKEN_ID", &number(actor.token_id)),
        ("FARRIER_ADDRESS", &actor.address),
        ("FARRIER_UID", &number(actor.uid.map(i64::from))),
        ("FARRIER_OBJECT_KIND", &object.kind),
        ("FARRIER_OBJECT_ID", &object.id.to_string()),
        ("FARRIER_OBJECT", &object.name),
        ("FARRIER_OWNER", &object.owner),
        ("FARRIER_REPOSITORY_ID", &number(object.repository_id)),
        ("FARRIER_BEFORE", before),
        ("FARRIER_AFTER", after),
        ("FARRIER_SHORTENED", if with_changes { "" } else { "the changed fields are only in the store" }),
        ("FARRIER_REQUEST_ID", &entry.request_id),
    ] {
        if !value.is_empty() {
            put(&mut bytes, name, value);
        }
    }
    bytes
}

/// Appends a field. Values with line feeds have their length in front.
fn put(bytes: &mut Vec<u8>, name: &str, value: &str) {
    bytes.extend_from_slice(name.as_bytes());
    if value.contains('\n') {
        bytes.push(b'\n');
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        bytes.push(b'=');
    }
    bytes.extend_from_slice(value.as_bytes());
    bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram as Receiver;

    use farrier_proto::store::{AuditActor, AuditActorKind, AuditObject};

    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            id: 7,
            action: "repository.delete".into(),
            result: AuditResult::Done.into(),
            actor: Some(AuditActor {
                kind: AuditActorKind::User.into(),
                name: "alice".into(),
                uid: Some(0),
                ..AuditActor::default()
            }),
            object: Some(AuditObject {
                kind: "repository".into(),
                id: 3,
                name: "a\nFARRIER_ACTOR=mallory".into(),
                owner: "octo".into(),
            }),
            before: "{\"private\":true}".into(),
            ..AuditEntry::default()
        }
    }

    #[test]
    fn a_value_with_line_feeds_adds_no_fields() {
        let text = String::from_utf8_lossy(&datagram(&entry(), true)).into_owned();
        let value = "a\nFARRIER_ACTOR=mallory";
        assert!(text.contains(&format!("FARRIER_OBJECT\n\u{17}\0\0\0\0\0\0\0{value}\n")), "{text:?}");
        let message = "MESSAGE=repository.delete repository octo/a FARRIER_ACTOR=mallory by alice: done\nPRIORITY=6\n";
        assert!(text.starts_with(message), "{text:?}");
        for line in ["FARRIER_ACTOR=alice\n", "FARRIER_UID=0\n", "FARRIER_BEFORE={\"private\":true}\n"] {
            assert!(text.contains(line), "{line}: {text:?}");
        }
        for absent in ["FARRIER_AFTER", "FARRIER_TOKEN_ID", "FARRIER_SHORTENED"] {
            assert!(!text.contains(absent), "{absent}: {text:?}");
        }
    }

    #[tokio::test]
    async fn an_entry_that_is_too_long_is_sent_without_its_changes() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        let receiver = Receiver::bind(&path).expect("a socket");
        let long = AuditEntry { after: "x".repeat(4 << 20), ..entry() };
        let mut position = 0;
        send(&path, &[long], &mut position).await.expect("sent");
        let mut bytes = vec![0; 1 << 16];
        let length = receiver.recv(&mut bytes).expect("a datagram");
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        assert!(text.contains("FARRIER_SHORTENED=") && !text.contains("FARRIER_AFTER"), "{text}");
        assert_eq!(position, 7);
    }

    #[tokio::test]
    async fn a_missing_journal_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        send(&dir.path().join("journal"), &[entry()], &mut 0).await.expect_err("no socket");
    }
}
