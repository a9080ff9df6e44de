//! The daemon's command line.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use crate::config::{Config, ConfigProblem, DefaultPaths, KeyLocations, StoreEngine, file, forms, machine};

/// The farrier daemon: git hosting, CI artifacts and webhooks
///
/// Without a command, serves until it is stopped. It is managed with `farrier`.
#[derive(Debug, Parser)]
#[command(name = "farrierd", version)]
pub struct Args {
    /// Configuration file [default: none; the defaults for the current user apply]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// TCP address to listen on, instead of the configured ones; can be repeated
    #[arg(long, value_name = "ADDR:PORT", global = true)]
    pub listen: Vec<String>,
    /// TCP address to serve git over SSH on, instead of the configured ones; can be repeated
    #[arg(long, value_name = "ADDR:PORT", global = true)]
    pub ssh_listen: Vec<String>,
    /// Unix socket to listen on
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Command to run instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Commands besides serving.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Check the configuration on this machine and print every problem; exits with 78 if there are any
    CheckConfig {
        /// Check only the file, not the groups, directories, ports and host names of this machine
        #[arg(long)]
        file_only: bool,
    },
    /// Check the configuration, reload it in the running daemon, and print the result
    Reload {
        /// Expected process ID of the daemon; the reload is refused if it differs
        pid: Option<i32>,
    },
    /// Compare the store and the files of a stopped daemon
    ///
    /// Exits with 3 if damage is left, and with 4 if the store does not belong to the data directory.
    CheckData {
        /// Repair what can be repaired without losing data
        #[arg(long)]
        repair: bool,
        /// Also check every git object
        #[arg(long)]
        git: bool,
        /// Also read every artifact and compare it with its SHA-256
        #[arg(long)]
        content: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Accept a data directory that does not belong to the store: repositories without a row in the store
        /// become private repositories of admin. Deletes nothing
        #[arg(long, conflicts_with_all = ["set_aside", "repair", "git", "content"])]
        adopt: bool,
        /// Accept a data directory that does not belong to the store: files without a row in the store are moved
        /// to set-aside. Deletes nothing
        #[arg(long, conflicts_with_all = ["repair", "git", "content"])]
        set_aside: bool,
    },
    /// Replace the key that encrypts the secrets in the store of a stopped daemon
    ///
    /// Creates a new key in the key file, encrypts all secrets with it, and removes the previous key. Can be
    /// interrupted and run again.
    RotateKey {
        /// If a key is lost: remove the secrets that were encrypted with it, and deactivate their hooks
        #[arg(long)]
        discard_secrets: bool,
    },
    /// Manage the store
    Store {
        /// What to do.
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Manage the bytes of artifacts, cache entries, files of releases and LFS objects
    Blobs {
        /// What to do.
        #[command(subcommand)]
        command: BlobsCommand,
    },
    /// Back up the data directory to another directory, also while the daemon runs
    ///
    /// The backup has the store, repositories, artifacts, caches, LFS objects, files of releases, keys and the
    /// configuration file. It has secrets: keep it as safe as the data. A second backup to the same directory copies
    /// only what is new. A running daemon makes the backup itself, with its own permissions.
    Backup {
        /// Directory of backups; created if it does not exist. Or `s3://BUCKET/PREFIX`, with the server and the keys of
        /// `[blobs]`. `-` writes one tar file to standard output
        directory: PathBuf,
        /// Keep the newest N backups, this one included, and remove older ones afterwards
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        keep: Option<u32>,
        /// Leave out cache entries, which jobs create again
        #[arg(long)]
        without_caches: bool,
        /// Make no backup; read all backups in the directory, or a tar file, and compare them with their checksums
        #[arg(long, conflicts_with_all = ["keep", "without_caches"])]
        verify: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore a backup: a directory or a tar file of `farrierd backup`, or a copy of the store
    ///
    /// A directory of backups, a bucket or a tar file is restored to a new data directory (--data-dir), which must not
    /// exist or be empty. A copy of the store replaces the store of a stopped daemon; it must be complete, belong to
    /// the data directory and not be older than its files, and the replaced store is set aside.
    Restore {
        /// Directory of backups, `s3://BUCKET/PREFIX`, a tar file, or a copy of the store; it is not changed
        source: PathBuf,
        /// The source is a tar file of `farrierd backup -` or `farrier backup --tar`
        #[arg(long)]
        from_tar: bool,
        /// Name of the backup in the directory [default: the newest]
        #[arg(long, value_name = "NAME")]
        backup: Option<String>,
        /// Check everything and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Commands for the store.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum StoreCommand {
    /// Copy the store of a stopped daemon from the file in the data directory to PostgreSQL, or back
    ///
    /// The target must be empty. The source is not changed. All rows are compared after copying. If the command is
    /// interrupted, the target cannot be used; run the command again to continue.
    Copy {
        /// Engine to copy to; the other one is the source. store.url names the PostgreSQL server
        #[arg(long, value_name = "ENGINE")]
        to: EngineName,
    },
    /// Raise the format level of a store that several daemons share, when all of them have this version
    ///
    /// Can run while the daemons run. Earlier releases refuse to use the store afterwards. If a daemon of an earlier
    /// release runs, nothing is changed. A daemon that uses the store alone raises the level when it starts.
    Upgrade,
}

/// Commands for the bytes of artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum BlobsCommand {
    /// Copy the blocks from the data directory to the bucket `blobs.url`, or back
    ///
    /// Copies only what the target does not have, and removes nothing. Can run while the daemon uses the source; stop
    /// the daemon and run it again to copy the rest. Packs of repositories are not copied: the daemon stores them in
    /// the bucket when it runs.
    Copy {
        /// Where to copy to; the other place is the source
        #[arg(long, value_name = "PLACE")]
        to: PlaceName,
    },
}

/// The name of a place for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlaceName {
    /// The bucket of `blobs.url`
    Bucket,
    /// The directory `artifacts` in the data directory
    Directory,
}

/// The name of an engine, as in `store.engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// A file in the data directory
    Redb,
    /// A PostgreSQL server
    Postgres,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArgsError {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The configuration is not valid.
    #[error("the configuration has {} problem{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Problems(Vec<ConfigProblem>),
}

/// Returns the configuration: flags override the file, and the file overrides the defaults.
pub fn configuration(args: &Args, paths: DefaultPaths) -> Result<Config, ArgsError> {
    let merged = merge(args, paths)?;
    if merged.problems.is_empty() { Ok(merged.config) } else { Err(ArgsError::Problems(merged.problems)) }
}

/// Finds all problems of the configuration, for `check-config`. `file_only` omits checks that depend on this machine.
/// Returns warnings if there are no problems.
pub fn check(args: &Args, paths: DefaultPaths, file_only: bool) -> Result<Vec<ConfigProblem>, ArgsError> {
    let Merged { config, locations, mut problems } = merge(args, paths)?;
    if !file_only {
        let found = machine::problems(&config, &locations).into_iter();
        // A key with an invalid value has its default here, so a check of that value would be meaningless.
        let new = found.filter(|new| problems.iter().all(|known| known.key != new.key)).collect::<Vec<_>>();
        problems.extend(new);
        problems.sort_by_key(|problem| problem.line);
    }
    if problems.is_empty() { Ok(machine::warnings(&config, &locations)) } else { Err(ArgsError::Problems(problems)) }
}

/// The merged configuration, with its problems.
struct Merged {
    config: Config,
    locations: KeyLocations,
    problems: Vec<ConfigProblem>,
}

fn merge(args: &Args, paths: DefaultPaths) -> Result<Merged, ArgsError> {
    let paths = match &args.data_dir {
        Some(dir) => paths.with_data_dir(std::path::absolute(dir).unwrap_or_else(|_| dir.clone())),
        None => paths,
    };
    let data_dir = paths.data_dir.clone();
    let mut config = Config::defaults(&paths);
    let (mut locations, mut problems) = (KeyLocations::default(), Vec::new());
    if let Some(path) = &args.config {
        config.file = Some(std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let text = std::fs::read_to_string(path).map_err(|source| ArgsError::Read { path: path.clone(), source })?;
        (locations, problems) = file::read(&text, &mut config);
    }
    // `reload` does not need the daemon's secrets: systemd makes credentials available to the daemon only, and the
    // daemon reads them itself.
    if !matches!(args.command, Some(Command::Reload { .. })) {
        problems.extend(proxy_credentials(&mut config, &paths, &locations).err());
        problems.extend(store_password(&mut config, &paths, &locations).err());
        problems.extend(bucket_keys(&mut config, &paths, &locations));
    }
    if config.store.engine == StoreEngine::Postgres && config.store.url.is_none() {
        problems.push(locations.problem("store.engine", "\"postgres\"", "needs store.url"));
    }
    if args.data_dir.is_some() {
        config.data_dir = data_dir;
        locations.replaced_by_flag("data_dir");
    }
    if !args.listen.is_empty() {
        config.server.listen.clear();
        locations.replaced_by_flag("server.listen");
        for text in &args.listen {
            match forms::listen_address(text) {
                Ok(address) => config.server.listen.push(address),
                Err(reason) => problems.push(ConfigProblem::new("--listen", &format!("{text:?}"), reason)),
            }
        }
    }
    if !args.ssh_listen.is_empty() {
        config.ssh.listen.clear();
        config.ssh.listen_by_default = false;
        locations.replaced_by_flag("ssh.listen");
        for text in &args.ssh_listen {
            match forms::listen_address(text) {
                Ok(address) => config.ssh.listen.push(address),
                Err(reason) => problems.push(ConfigProblem::new("--ssh-listen", &format!("{text:?}"), reason)),
            }
        }
    }
    if let Some(path) = &args.socket {
        config.socket.path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        locations.replaced_by_flag("socket.path");
    }
    Ok(Merged { config, locations, problems })
}

/// Adds the credentials in `webhook.proxy_auth_file` to the proxy's URL.
fn proxy_credentials(config: &mut Config, paths: &DefaultPaths, locations: &KeyLocations) -> Result<(), ConfigProblem> {
    let Some(file) = &config.webhook.proxy_auth_file else { return Ok(()) };
    // Without the value: a user may have entered the password itself by mistake.
    let problem = |reason: String| ConfigProblem {
        value: String::new(),
        ..locations.problem("webhook.proxy_auth_file", "", reason)
    };
    let none = "is the name of a credential, but the service manager provides none; use the absolute path of a file";
    let path = paths.secret(file).ok_or_else(|| problem(none.to_owned()))?;
    let text = std::fs::read_to_string(&path).map_err(|error| problem(unreadable_secret(file, &error)))?;
    let url = config.webhook.proxy_url.as_mut().ok_or_else(|| problem("needs webhook.proxy_url".to_owned()))?;
    let (user, password) = text.trim_end().split_once(':').ok_or_else(|| problem("must hold user:password".into()))?;
    let set = url.set_username(&escaped(user)).and_then(|()| url.set_password(Some(&escaped(password))));
    set.map_err(|()| problem("cannot be used with webhook.proxy_url".to_owned()))
}

/// Finds the file of `store.password_file`, which the engine reads for each connection.
fn store_password(config: &mut Config, paths: &DefaultPaths, locations: &KeyLocations) -> Result<(), ConfigProblem> {
    let Some(file) = &config.store.password_file else { return Ok(()) };
    config.store.password_file = Some(secret_file("store.password_file", file, paths, locations)?);
    Ok(())
}

/// Finds the files of `blobs.access_key_file` and `blobs.secret_key_file`, which are read when the bucket is opened.
fn bucket_keys(config: &mut Config, paths: &DefaultPaths, locations: &KeyLocations) -> Vec<ConfigProblem> {
    let blobs = &mut config.blobs;
    let mut problems = Vec::new();
    let files =
        [("blobs.access_key_file", &mut blobs.access_key_file), ("blobs.secret_key_file", &mut blobs.secret_key_file)];
    for (key, file) in files {
        let Some(name) = file.as_deref() else { continue };
        match secret_file(key, name, paths, locations) {
            Ok(path) => *file = Some(path),
            Err(problem) => problems.push(problem),
        }
    }
    if blobs.access_key_file.is_some() != blobs.secret_key_file.is_some() {
        let reason = "blobs.access_key_file and blobs.secret_key_file must be set together";
        let problem = locations.problem("blobs.access_key_file", "", reason);
        // Without the value, see `secret_file`.
        problems.push(ConfigProblem { value: String::new(), ..problem });
    }
    problems
}

/// Returns the path of the secret in `file`, the value of `key`, if it can be read.
fn secret_file(
    key: &'static str,
    file: &Path,
    paths: &DefaultPaths,
    locations: &KeyLocations,
) -> Result<PathBuf, ConfigProblem> {
    // Without the value: a user may have entered the secret itself by mistake.
    let problem = |reason: String| ConfigProblem { value: String::new(), ..locations.problem(key, "", reason) };
    let none = "is the name of a credential, but the service manager provides none; use the absolute path of a file";
    let path = paths.secret(file).ok_or_else(|| problem(none.to_owned()))?;
    std::fs::File::open(&path).map_err(|error| problem(unreadable_secret(file, &error)))?;
    Ok(path)
}

/// Returns the reason of a problem with the file of a secret. Without the name of a credential, because a user may have
/// entered the password itself by mistake.
fn unreadable_secret(file: &Path, error: &std::io::Error) -> String {
    if file.is_absolute() {
        format!("{} cannot be read: {error}", file.display())
    } else {
        format!("the credential with this name cannot be read: {error}")
    }
}

/// Percent-encodes credentials for a URL.
fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests;
