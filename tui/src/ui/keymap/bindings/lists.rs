//! The bindings in the lists that belong to a repository or to a user, such as collaborators, tokens and keys.

use super::{A, Binding, C, Key, O, S, bind};

/// Keys that open the row under the cursor.
const OPEN: &[Key] = &[Key::Enter, C('l'), Key::Right];

pub(super) const LISTS: &[Binding] = &[
    bind(S::Releases, OPEN, A::Open, "Show the release, its files and its text", "open").also("view notes assets"),
    bind(S::Releases, &[C('D')], A::DeleteEntry, "Delete the release", "delete release")
        .also("remove")
        .of(O::Repository)
        .changes(),
    bind(S::Rules, OPEN, A::Open, "Show all settings of the rule", "open").also("view details protection"),
    bind(S::Rules, &[C('n')], A::AddEntry, "Show the command that adds a rule", "new rule")
        .also("add create protect branch tag"),
    bind(S::Rules, &[C('D')], A::DeleteEntry, "Delete the rule", "delete rule")
        .also("remove unprotect protection")
        .of(O::Repository)
        .changes(),
    bind(S::Collaborators, &[C('n')], A::AddEntry, "Add a collaborator", "new")
        .also("create invite share access permission member")
        .changes(),
    bind(S::Collaborators, &[C('e'), Key::Enter], A::ChangeEntry, "Change the permission of the collaborator", "edit")
        .also("access read write admin")
        .of(O::Repository)
        .changes(),
    bind(S::Collaborators, &[C('D')], A::DeleteEntry, "Remove the collaborator", "remove")
        .also("delete revoke access")
        .of(O::Repository)
        .changes(),
    bind(S::DeployKeys, OPEN, A::Open, "Show all fields of the deploy key", "open").also("view fingerprint"),
    bind(S::DeployKeys, &[C('n')], A::AddEntry, "Add a deploy key", "new key").also("create ssh").changes(),
    bind(S::DeployKeys, &[C('D')], A::DeleteEntry, "Delete the deploy key", "delete key")
        .also("remove revoke ssh")
        .of(O::Repository)
        .changes(),
    bind(S::Mirrors, OPEN, A::Open, "Show all fields of the mirror", "open").also("view error state"),
    bind(S::Mirrors, &[C('R')], A::SyncMirrors, "Sync the pull mirror now, or run all push mirrors", "sync now")
        .also("update fetch push run")
        .of(O::Repository)
        .changes(),
    bind(S::Mirrors, &[C('D')], A::DeleteEntry, "Delete the push mirror", "delete mirror")
        .also("remove")
        .of(O::Repository)
        .changes(),
    bind(S::Tokens, &[Key::Enter, C('l'), Key::Right], A::Open, "Show all fields of the token", "open").of(O::Token),
    bind(S::Tokens, &[C('N'), C('n')], A::NewToken, "Create a token of the user", "new token")
        .also("add make access key")
        .changes(),
    bind(S::Tokens, &[C('D')], A::Revoke, "Revoke the token", "revoke").also("delete remove").of(O::Token).changes(),
    bind(S::Tokens, &[C('o')], A::AuditTrail, "Show the audit trail", "audit").also("history who"),
    bind(S::Tokens, &[C('y')], A::Copy, "Copy name or ID", "copy").of(O::Token),
    bind(S::Users, &[C(']')], A::NextPart, "Tokens or keys of the user", "").also("ssh openpgp"),
    bind(S::Users, &[C('[')], A::PreviousPart, "Tokens or keys of the user", ""),
    bind(S::Tokens, &[C(']')], A::NextPart, "Keys of the user", "keys").also("ssh openpgp tab"),
    bind(S::Tokens, &[C('[')], A::PreviousPart, "Keys of the user", ""),
    bind(S::AccountKeys, OPEN, A::Open, "Show all fields of the key", "open").also("view fingerprint").of(O::Key),
    bind(S::AccountKeys, &[C('n')], A::AddEntry, "Add an SSH key to the user", "new key").also("create").changes(),
    bind(S::AccountKeys, &[C('D')], A::DeleteEntry, "Delete the key", "delete")
        .also("remove revoke")
        .of(O::Key)
        .changes(),
    bind(S::AccountKeys, &[C('y')], A::Copy, "Copy fingerprint, title or public key", "copy").of(O::Key),
    bind(S::AccountKeys, &[C('o')], A::AuditTrail, "Show the audit trail", "audit").also("history who"),
    bind(S::AccountKeys, &[C(']')], A::NextPart, "Tokens of the user", "tokens").also("tab"),
    bind(S::AccountKeys, &[C('[')], A::PreviousPart, "Tokens of the user", ""),
];
