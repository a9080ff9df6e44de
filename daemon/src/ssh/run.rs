//! Runs the command of one channel.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use farrier_proto::store::Repository;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, server::Msg};
use tokio::{sync::mpsc, time::timeout};

use super::{
    command::{RepositoryPath, SshCommand, SshCommandError},
    connection::Connection,
    failure::{FAILED, SshFailure},
    input::{ChannelInput, Received},
};
use crate::{
    model::{identity::Identity, secret},
    service::{
        audit::RequestScope,
        lfs::{self, LfsAccess},
        repositories::FoundRepository,
        ssh_keys::{self, KeyIdentity},
        ssh_sign_in,
        transfers::{
            Allowed, Denied, GitService, NoInput, TransferError, access, fetch,
            output::OutputReceiver,
            push::{self, Pushed},
            refs,
        },
    },
    shares::Holder,
};

/// Exit status of commands that do not exist, as in shells.
const UNKNOWN: u32 = 127;
/// Number of the extended data that clients write to standard error.
const STDERR: u32 = 1;
/// Chunks that wait for git.
const QUEUE_CHUNKS: usize = 4;
/// Old names that are followed for one command.
const MOVES_MAX: usize = 4;

/// How long the end of a command waits for a client that does not read.
const END_WAIT: Duration = Duration::from_secs(60);

/// A command of a client.
pub(super) struct SshRequest {
    pub(super) caller: KeyIdentity,
    /// `None`: a shell.
    pub(super) line: Option<Vec<u8>>,
    /// The protocol version in `GIT_PROTOCOL`.
    pub(super) protocol: Option<String>,
    pub(super) has_terminal: bool,
}

/// Runs a command to its end and closes its channel. A command whose client disconnects is ended, except for a push
/// that git has received completely.
pub(super) async fn run(connection: &Arc<Connection>, channel: Channel<Msg>, request: SshRequest) {
    let (read, write) = channel.split();
    let id = secret::random_bytes::<8>();
    let mut digits = [0; 16];
    hex::encode_to_slice(id, &mut digits).expect("two digits a byte");
    let scope = RequestScope::new(digits, Some(connection.origin.address), None);
    let (sender, received) = mpsc::channel(QUEUE_CHUNKS);
    let end_of_line = if request.has_terminal { "\r\n" } else { "\n" };
    let serving = async {
        let status = match scope.run(answer(connection, request, received, &write)).await {
            Ok(()) => 0,
            Err(SshFailure { text, status }) => {
                if let Some(text) = text {
                    let line = format!("farrier: {text}{end_of_line}");
                    let _ = write.extended_data_bytes(STDERR, line.into_bytes()).await;
                }
                status
            }
        };
        let ending = async {
            let _ = write.exit_status(status).await;
            let _ = write.eof().await;
            let _ = write.close().await;
        };
        if timeout(END_WAIT, ending).await.is_err() {
            tracing::debug!("a client that does not read was disconnected");
            connection.kill.cancel();
        }
    };
    tokio::select! {
        () = serving => {}
        () = receive(read, sender) => {}
        () = connection.kill.cancelled() => {}
    }
}

/// Passes the data of a channel on. Returns when the client has closed the channel or the connection.
async fn receive(mut read: ChannelReadHalf, sender: mpsc::Sender<Received>) {
    while let Some(message) = read.wait().await {
        let received = match message {
            ChannelMsg::Data { data } => Received::Data(data),
            ChannelMsg::Eof => Received::Eof,
            ChannelMsg::Close => return,
            _ => continue,
        };
        if matches!(&received, Received::Data(data) if data.is_empty()) {
            continue;
        }
        // Without a reader, the data is read and dropped: the client may send more than git reads.
        let _ = sender.send(received).await;
    }
}

async fn answer(
    connection: &Connection,
    request: SshRequest,
    received: mpsc::Receiver<Received>,
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    let started = Instant::now();
    let SshRequest { caller, line, protocol, .. } = request;
    let command = line.as_deref().map(SshCommand::parse).transpose();
    let name = match &command {
        Ok(Some(command)) => command.name(),
        Ok(None) => "shell",
        Err(_) => "unknown",
    };
    let answered = match command {
        Ok(command) => execute(connection, caller, command, protocol.as_deref(), received, write).await,
        Err(SshCommandError::Unknown) => {
            Err(SshFailure { text: Some(SshCommandError::Unknown.to_string()), status: UNKNOWN })
        }
        Err(error) => Err(SshFailure::new(error.to_string())),
    };
    let status = answered.as_ref().err().map_or(0, |failure| failure.status);
    let millis = started.elapsed().as_millis();
    let (key, address) = (caller.key_id(), connection.origin.address);
    tracing::info!(command = name, %address, key, status, millis, "ssh");
    answered
}

async fn execute(
    connection: &Connection,
    caller: KeyIdentity,
    command: Option<SshCommand>,
    protocol: Option<&str>,
    received: mpsc::Receiver<Received>,
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    let context = &connection.context;
    ssh_keys::used(context, caller.key_id());
    let (path, service) = match &command {
        None => return greet(connection, caller).await,
        Some(SshCommand::UploadPack(path) | SshCommand::UploadArchive(path)) => (path, GitService::Upload),
        Some(SshCommand::ReceivePack(path)) => (path, GitService::Receive),
        Some(SshCommand::LfsAuthenticate { path, uploads }) => {
            return lfs_authenticate(connection, caller, (path, *uploads), write).await;
        }
        Some(SshCommand::LfsTransfer) => return Err(SshFailure::new("LFS is not served over SSH alone")),
    };
    let allowed = allow(connection, caller, path, service).await?;
    let id = allowed.repository.id;
    if service == GitService::Receive {
        return push(connection, allowed, received, write).await;
    }
    let command = if matches!(command, Some(SshCommand::UploadArchive(_))) {
        context.git.disable_export_subst(id).await.map_err(TransferError::from)?;
        "upload-archive"
    } else {
        "upload-pack"
    };
    let call = context.git.call(id, [command]).args([context.git.directory(id)]);
    let call = call.env("GIT_PROTOCOL", protocol.unwrap_or_default());
    let input = input(connection, received, GitService::Upload, &allowed);
    let output = fetch::stream(context, &allowed, call, input).await?;
    forward(output, write).await
}

/// Answers a client that asks for a shell: who it is, and that there is none.
async fn greet(connection: &Connection, caller: KeyIdentity) -> Result<(), SshFailure> {
    let who = match caller {
        KeyIdentity::Account { key_id, account_id } => {
            let identity = ssh_sign_in::caller(&connection.context, key_id, account_id).await?;
            format!("you are signed in as {}", identity.label())
        }
        KeyIdentity::Deploy { .. } => "you are signed in with a deploy key".to_owned(),
    };
    Err(SshFailure { text: Some(format!("{who}; this server has no shell, only git")), status: 0 })
}

/// Answers git-lfs, which asks for a token for LFS over HTTP.
async fn lfs_authenticate(
    connection: &Connection,
    caller: KeyIdentity,
    (path, uploads): (&RepositoryPath, bool),
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    let (service, operation) =
        if uploads { (GitService::Receive, LfsAccess::Upload) } else { (GitService::Upload, LfsAccess::Download) };
    let KeyIdentity::Account { key_id, account_id } = caller else {
        return Err(SshFailure::new("LFS is not available with deploy keys"));
    };
    let Some(names) = path.names() else { return Err(SshFailure::missing(path)) };
    let identity = ssh_sign_in::caller(&connection.context, key_id, account_id).await?;
    let found = find(connection, &identity, names, service).await.map_err(|denied| denial(denied, path))?;
    let token = lfs::token(&connection.context, &identity, &found, operation)?;
    let line = serde_json::to_vec(&token).expect("the token is plain data");
    send(write, Bytes::from(line)).await
}

/// Returns the caller and the repository if the caller may use `service` with it.
async fn allow(
    connection: &Connection,
    caller: KeyIdentity,
    path: &RepositoryPath,
    service: GitService,
) -> Result<Allowed, SshFailure> {
    let context = &connection.context;
    let Some((owner, name)) = path.names() else { return Err(SshFailure::missing(path)) };
    let found = match caller {
        KeyIdentity::Account { key_id, account_id } => {
            let identity = ssh_sign_in::caller(context, key_id, account_id).await?;
            find(connection, &identity, (owner, name), service).await.map(|found| (identity, found.repository))
        }
        KeyIdentity::Deploy { key_id } => access::allow_deploy_key(context, key_id, (owner, name), service).await,
    };
    let (identity, repository) = found.map_err(|denied| denial(denied, path))?;
    if let Some(scope) = RequestScope::current() {
        scope.set_caller(&identity);
    }
    let holder = Holder::caller(&identity, Some(connection.origin.address));
    Ok(Allowed { identity, repository, holder })
}

fn denial(denied: Denied, path: &RepositoryPath) -> SshFailure {
    match denied {
        Denied::Missing | Denied::Moved(_) => SshFailure::missing(path),
        Denied::NoRight => SshFailure::new(format!("you have no right to push to {path}")),
        Denied::Forbidden(text) => SshFailure::new(text),
        Denied::Failed(error) => error.into(),
    }
}

/// Returns the repository, also under an old name: clients of SSH do not follow redirects.
async fn find(
    connection: &Connection,
    identity: &Identity,
    (owner, name): (&str, &str),
    service: GitService,
) -> Result<FoundRepository, Denied> {
    let mut path = (owner.to_owned(), name.to_owned());
    for _ in 0..MOVES_MAX {
        match access::allow(&connection.context, identity, (&path.0, &path.1), service).await {
            Err(Denied::Moved(to)) => {
                let Some((owner, name)) = to.split_once('/') else { break };
                path = (owner.to_owned(), name.to_owned());
            }
            found => return found,
        }
    }
    Err(Denied::Missing)
}

fn input(
    connection: &Connection,
    received: mpsc::Receiver<Received>,
    service: GitService,
    allowed: &Allowed,
) -> ChannelInput {
    let memory = connection.context.serving.memory.request(allowed.holder);
    let max_push_bytes = connection.context.git.max_push_bytes();
    let idle = connection.context.git.timeout();
    ChannelInput::new(received, memory, service, allowed.repository.sha256, max_push_bytes, idle)
}

/// Lists the refs, then handles the push like one over HTTP.
async fn push(
    connection: &Connection,
    allowed: Allowed,
    received: mpsc::Receiver<Received>,
    write: &ChannelWriteHalf<Msg>,
) -> Result<(), SshFailure> {
    let context = &connection.context;
    let Repository { id, sha256, .. } = allowed.repository;
    if let Some(list) = context.git.ref_list(id).await.map_err(TransferError::from)? {
        let capabilities = context.git.push_capabilities(id, sha256).await.map_err(TransferError::from)?;
        send(write, refs::advertisement(&list, &capabilities, sha256).freeze()).await?;
    } else {
        let call = context.git.call(id, ["receive-pack", "--stateless-rpc", "--advertise-refs"]);
        let call = call.args([context.git.directory(id)]);
        forward(fetch::stream(context, &allowed, call, NoInput).await?, write).await?;
    }
    let input = input(connection, received, GitService::Receive, &allowed);
    match push::serve(context, allowed, input).await? {
        Pushed::Answered(answer) => send(write, answer).await,
        Pushed::Running(output) => forward(output, write).await,
    }
}

/// Sends the output of git to the client.
async fn forward(mut output: OutputReceiver, write: &ChannelWriteHalf<Msg>) -> Result<(), SshFailure> {
    while let Some(chunk) = output.recv().await {
        send(write, chunk?).await?;
    }
    Ok(())
}

async fn send(write: &ChannelWriteHalf<Msg>, bytes: Bytes) -> Result<(), SshFailure> {
    // The client is gone, so nobody reads the text.
    write.data_bytes(bytes).await.map_err(|_| SshFailure { text: None, status: FAILED })
}
