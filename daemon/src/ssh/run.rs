//! Runs the command of one channel.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use farrier_proto::store::Repository;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, server::Msg};
use tokio::{sync::mpsc, time::timeout};

use super::{
    command::{RepositoryPath, SshCommand, SshCommandError},
    connection::Connection,
    failure::SshFailure,
    input::{ChannelInput, Received},
    output::{forward, send, send_text},
    repository,
};
use crate::{
    git::ref_list::RefList,
    model::secret,
    service::{
        audit::RequestScope,
        lfs::{self, LfsAccess},
        ssh_keys::{self, KeyIdentity},
        ssh_sign_in,
        transfers::{
            Allowed, GitService, NoInput, TransferError, fetch,
            fetch_answer::{VERSION_2, ref_answer},
            push::{self, Pushed},
            refs,
        },
    },
};

/// Exit status of commands that do not exist, as in shells.
const UNKNOWN: u32 = 127;
/// Chunks that wait for git.
const QUEUE_CHUNKS: usize = 4;
/// Most titles of deploy keys in the greeting.
const TITLES_MAX: usize = 5;

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
/// whose data was received completely.
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
                    send_text(&write, line).await;
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
    let allowed = repository::allow(connection, caller, path, service).await?;
    let id = allowed.repository.id;
    if service == GitService::Receive {
        return push(connection, allowed, received, write).await;
    }
    if protocol == Some(VERSION_2) && matches!(command, Some(SshCommand::UploadPack(_))) {
        return super::fetch::serve(connection, &allowed, received, write).await;
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
    forward(connection, output, write).await
}

/// Answers a client that asks for a shell: who it is, and that there is none.
async fn greet(connection: &Connection, caller: KeyIdentity) -> Result<(), SshFailure> {
    let who = match caller {
        KeyIdentity::Account { key_id, account_id } => {
            let identity = ssh_sign_in::caller(&connection.context, key_id, account_id).await?;
            format!("you are signed in as {}", identity.label())
        }
        KeyIdentity::Deploy { key_id } => {
            let titles = ssh_keys::deploy_key_titles(&connection.context, key_id, TITLES_MAX).await?;
            format!("you are signed in with the deploy key {}", titles.join(", "))
        }
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
    let (identity, found) = repository::find(connection, caller, path, service).await?;
    let token = lfs::token(&connection.context, &identity, &found, operation)?;
    let line = serde_json::to_vec(&token).expect("the token is plain data");
    send(connection, write, Bytes::from(line)).await
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
    let capabilities = context.git.push_capabilities(id, sha256).await.map_err(TransferError::from)?;
    let write_list = move |list: &RefList| {
        let mut answer = BytesMut::new();
        refs::put_advertisement(&mut answer, list, &capabilities, sha256);
        Some(answer)
    };
    // Counted until the client has read the list.
    let memory = context.serving.memory.request(allowed.holder);
    if let Some(list) = ref_answer(context, &allowed, Some(&memory), write_list).await? {
        send(connection, write, list).await?;
        drop(memory);
    } else {
        let call = context.git.call(id, ["receive-pack", "--stateless-rpc", "--advertise-refs"]);
        let call = call.args([context.git.directory(id)]);
        forward(connection, fetch::stream(context, &allowed, call, NoInput).await?, write).await?;
    }
    let input = input(connection, received, GitService::Receive, &allowed);
    match push::serve(context, allowed, input).await? {
        Pushed::Answered(answer) => send(connection, write, answer).await,
        Pushed::Running(output) => forward(connection, output, write).await,
    }
}
