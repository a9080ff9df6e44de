//! Checks of the command lines of SSH clients.

use crate::ssh::command::SshCommand;

/// Checks a command line: the names in its path cannot leave the directory of repositories, and a path that is quoted
/// again is the same path.
pub fn ssh_command(input: &[u8]) {
    let Ok(command) = SshCommand::parse(input) else { return };
    assert!(input.len() <= 4_096 && !input.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r')));
    let (SshCommand::UploadPack(path) | SshCommand::ReceivePack(path) | SshCommand::UploadArchive(path)) = &command
    else {
        return;
    };
    assert!(!path.to_string().chars().any(char::is_control), "the path is shown in terminals");
    let Some((owner, name)) = path.names() else { return };
    for part in [owner, name] {
        assert!(!part.is_empty() && !part.contains('/') && part != "." && part != "..", "{part:?}");
    }
    let quoted = format!("{} '{}'", command.name(), format!("{owner}/{name}").replace('\'', "'\\''"));
    if let Ok(again) = SshCommand::parse(quoted.as_bytes()) {
        let (SshCommand::UploadPack(path) | SshCommand::ReceivePack(path) | SshCommand::UploadArchive(path)) = &again
        else {
            panic!("{quoted:?} is another command")
        };
        assert_eq!(path.names(), Some((owner, name)), "{quoted:?}");
    } else {
        assert!(quoted.len() > 4_096, "{quoted:?} cannot be read");
    }
}
