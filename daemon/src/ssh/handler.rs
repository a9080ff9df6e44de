//! Answers the messages of a client: keys, channels, commands.

use std::{collections::HashMap, sync::Arc};

use russh::{
    Channel, ChannelId, ChannelOpenFailure, Disconnect, Pty,
    keys::ssh_key::{HashAlg, PublicKey},
    server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey},
};

use super::{
    algorithms,
    connection::Connection,
    run::{self, SshRequest},
};
use crate::service::{
    ssh_keys,
    ssh_sign_in::{self, SignedInKey},
    transfers::protocol_version,
};

/// Open channels of one connection.
const CHANNELS_MAX: usize = 10;
/// Environment variables that a client may send for one channel.
const VARIABLES_MAX: usize = 32;

/// Handles the messages of a client.
pub(super) struct ConnectionHandler {
    connection: Arc<Connection>,
    caller: Option<SignedInKey>,
    channels: HashMap<ChannelId, OpenChannel>,
}

/// What a client has set for a channel.
#[derive(Default)]
struct OpenChannel {
    /// The value of `GIT_PROTOCOL`.
    protocol: Option<String>,
    variables: usize,
    has_terminal: bool,
}

impl ConnectionHandler {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, caller: None, channels: HashMap::new() }
    }

    /// Returns the key in the format of the protocol if it may be used to sign in as `user`.
    fn usable_blob(&self, user: &str, key: &PublicKey, algorithm: &russh::keys::Algorithm) -> Option<Vec<u8>> {
        let usable = user == self.connection.context.config.ssh.user && algorithms::is_allowed(algorithm);
        key.to_bytes().ok().filter(|_| usable)
    }

    fn refuse(&self, key: &PublicKey) -> Auth {
        let fingerprint = key.fingerprint(HashAlg::Sha256);
        let address = self.connection.origin.address;
        tracing::info!(%fingerprint, %address, "an SSH key was refused");
        self.connection.key_refused();
        Auth::reject()
    }

    /// Starts the command of a channel. `line`: `None` for a shell.
    fn start(&mut self, id: ChannelId, line: Option<&[u8]>, session: &mut Session) -> Result<(), russh::Error> {
        let stopping = self.connection.context.tasks.stop().is_cancelled();
        let open = self.channels.get_mut(&id).filter(|_| !stopping);
        let started = open.and_then(|open| Some((self.connection.take(id)?, open.protocol.take(), open.has_terminal)));
        let (Some((channel, protocol, has_terminal)), Some(caller)) = (started, self.caller) else {
            return session.channel_failure(id);
        };
        session.channel_success(id)?;
        let request = SshRequest { caller: caller.identity, line: line.map(<[u8]>::to_vec), protocol, has_terminal };
        let running = self.connection.begin();
        let connection = self.connection.clone();
        self.connection.context.tasks.short(async move {
            run::run(&connection, channel, request).await;
            drop(running);
        });
        Ok(())
    }
}

impl Handler for ConnectionHandler {
    type Error = russh::Error;

    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth, russh::Error> {
        let Some(blob) = self.usable_blob(user, offer.public_key, offer.algorithm) else {
            return Ok(self.refuse(offer.public_key));
        };
        match ssh_keys::identify(&self.connection.context, &blob).await {
            Ok(Some(_)) => Ok(Auth::Accept),
            Ok(None) => Ok(self.refuse(offer.public_key)),
            Err(error) => Err(unavailable(&error)),
        }
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let Some(blob) = self.usable_blob(user, key.public_key, key.algorithm) else {
            return Ok(self.refuse(key.public_key));
        };
        // Only this key counts: the client may have offered others whose private half it does not have.
        match ssh_sign_in::sign_in(&self.connection.context, &blob, self.connection.origin.source).await {
            Ok(Some(caller)) => {
                self.caller = Some(caller);
                Ok(Auth::Accept)
            }
            Ok(None) => Ok(self.refuse(key.public_key)),
            Err(error) => Err(unavailable(&error)),
        }
    }

    async fn auth_succeeded(&mut self, session: &mut Session) -> Result<(), russh::Error> {
        let Some(caller) = self.caller else { return Err(russh::Error::Disconnect) };
        if let Err(refused) = self.connection.signed_in(caller.holder) {
            let (holder, address) = (caller.holder.label(), self.connection.origin.address);
            tracing::info!(holder, %address, "a connection over SSH was refused: {refused}");
            // Clients show the text. What they send afterwards is not read.
            session.disconnect(Disconnect::TooManyConnections, &refused.to_string(), "")?;
        }
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        let stopping = self.connection.context.tasks.stop().is_cancelled();
        if stopping || self.channels.len() >= CHANNELS_MAX {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        self.channels.insert(channel.id(), OpenChannel::default());
        self.connection.keep(channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.channels.remove(&channel);
        drop(self.connection.take(channel));
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _: &str,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        // There is no terminal, but `ssh -t` shows the message of the daemon only if it believes so.
        if let Some(open) = self.channels.get_mut(&channel) {
            open.has_terminal = true;
        }
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        value: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let Some(open) = self.channels.get_mut(&channel) else { return session.channel_failure(channel) };
        open.variables += 1;
        if open.variables > VARIABLES_MAX || name != "GIT_PROTOCOL" {
            return session.channel_failure(channel);
        }
        match protocol_version(value) {
            Some(protocol) => {
                open.protocol = Some(protocol.to_owned());
                session.channel_success(channel)
            }
            None => session.channel_failure(channel),
        }
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        self.start(channel, None, session)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        line: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.start(channel, Some(line), session)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        _: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(channel)
    }

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _: bool,
        _: &str,
        _: &str,
        _: u32,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(channel)
    }

    async fn agent_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<bool, russh::Error> {
        session.channel_failure(channel)?;
        Ok(false)
    }
}

/// Ends a connection because keys cannot be looked up. The client must not be told that its key is unknown.
fn unavailable(error: &crate::service::Error) -> russh::Error {
    tracing::error!(error = error as &dyn std::error::Error, "looking up an SSH key failed");
    russh::Error::Disconnect
}
