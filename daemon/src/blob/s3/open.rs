//! Opens the bucket of the configuration.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
    time::Duration,
};

use object_store::{
    BackoffConfig, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};
use zeroize::Zeroizing;

use super::{BlobError, Bucket, S3Blobs, connector::BucketConnector, unfinished::UploadList};
use crate::{
    config::{BlobsConfig, BucketUrl},
    tasks,
};

/// Name of the directory for parts and copies of blocks, in the data directory.
const DIRECTORY: &str = "blob-cache";
/// Time limit for the head of a response, and for each following piece of its body.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// How a request is repeated after the connection failed or the server answered with a 5xx status.
const RETRIES_MAX: usize = 3;
const RETRY_TIME: Duration = Duration::from_secs(60);

impl S3Blobs {
    /// Opens the bucket `url`, for the daemon whose data directory is `data_dir`. Sends no request.
    ///
    /// Removes the copies of blocks that an earlier daemon made. They are only copies: each was read from the bucket,
    /// and their files are not synced, so a power failure may have damaged them. The caller holds the lock of the data
    /// directory, so no other daemon reads them.
    pub async fn open(config: &BlobsConfig, url: &BucketUrl, data_dir: &FilePath) -> Result<Self, BlobError> {
        let (config, url, directory) = (config.clone(), url.clone(), data_dir.join(DIRECTORY));
        tasks::blocking(move || {
            let bucket = bucket(&config, &url)?;
            let doing = "creating the directory for copies of blocks";
            create_empty(&directory).map_err(|source| BlobError::Root { doing, source })?;
            Ok::<_, BlobError>(Self { bucket: Arc::new(bucket.with_directory(&directory, config.cache_bytes)) })
        })
        .await
    }

    /// Returns whether a daemon with this data directory has used a bucket: [`S3Blobs::open`] created its directory.
    pub async fn was_used(data_dir: &FilePath) -> bool {
        let directory = data_dir.join(DIRECTORY);
        tasks::blocking(move || directory.is_dir()).await
    }

    /// Removes the directory of [`S3Blobs::open`], which has only copies. The caller holds the lock of the data
    /// directory.
    pub async fn forget_use(data_dir: &FilePath) -> io::Result<()> {
        let directory = data_dir.join(DIRECTORY);
        tasks::blocking(move || match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    /// Opens the bucket `url` without a directory on this machine. Blocks can be read, listed and removed, but not
    /// written. Sends no request.
    pub async fn without_directory(config: &BlobsConfig, url: &BucketUrl) -> Result<Self, BlobError> {
        let (config, url) = (config.clone(), url.clone());
        tasks::blocking(move || Ok::<_, BlobError>(Self { bucket: Arc::new(bucket(&config, &url)?) })).await
    }
}

fn bucket(config: &BlobsConfig, url: &BucketUrl) -> Result<Bucket, BlobError> {
    bucket_with_limits(config, url, SILENCE_MAX)
}

/// Opens a bucket with another time limit than that of the daemon.
pub(super) fn bucket_with_limits(
    config: &BlobsConfig,
    url: &BucketUrl,
    silence_max: Duration,
) -> Result<Bucket, BlobError> {
    let (client, connector) = client(config, url, silence_max)?;
    let unfinished = UploadList::new(client.clone(), connector);
    Ok(Bucket::new(Arc::new(client), Some(unfinished), url.to_string(), prefix(url)))
}

/// Opens the bucket `url` with the server and the keys of `config`, for objects that are not blocks. Returns a client,
/// and the prefix of all objects. Sends no request. Blocks.
pub fn open_bucket(config: &BlobsConfig, url: &BucketUrl) -> Result<(AmazonS3, Path), BlobError> {
    Ok((client(config, url, SILENCE_MAX)?.0, prefix(url)))
}

fn prefix(url: &BucketUrl) -> Path {
    url.prefix.iter().fold(Path::default(), |prefix, part| prefix.join(part.as_str()))
}

fn client(
    config: &BlobsConfig,
    url: &BucketUrl,
    silence_max: Duration,
) -> Result<(AmazonS3, BucketConnector), BlobError> {
    let failed = |reason: String| BlobError::Bucket { bucket: url.to_string(), reason };
    let access_key = secret(config.access_key_file.as_ref(), "AWS_ACCESS_KEY_ID", "blobs.access_key_file");
    let secret_key = secret(config.secret_key_file.as_ref(), "AWS_SECRET_ACCESS_KEY", "blobs.secret_key_file");
    let connector = BucketConnector::new(config.ca_file.as_deref(), silence_max);
    let connector = connector.map_err(|error| failed(format!("blobs.ca_file: {error}")))?;
    let backoff =
        BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(5), base: 3.0 };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&url.bucket)
        .with_region(&config.region)
        .with_access_key_id(access_key.map_err(failed)?.as_str())
        .with_secret_access_key(secret_key.map_err(failed)?.as_str())
        // Some servers have no request that deletes several objects.
        .with_disable_bulk_delete(true)
        .with_retry(RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIME })
        .with_http_connector(connector.clone());
    if let (None, Ok(token)) = (&config.access_key_file, env::var("AWS_SESSION_TOKEN")) {
        builder = builder.with_token(token);
    }
    if let Some(endpoint) = &config.endpoint {
        builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/'));
    }
    // The builder sends nothing, so its errors concern the settings only.
    let client = builder.build().map_err(|error| failed(error.to_string()))?;
    Ok((client, connector))
}

/// Reads a key from `file`, or from the environment variable `name` if there is no file. Errors name `setting` or
/// `name` and never contain the key.
fn secret(file: Option<&PathBuf>, name: &str, setting: &str) -> Result<Zeroizing<String>, String> {
    let text = match file {
        Some(file) => fs::read_to_string(file).map_err(|error| format!("{setting} cannot be read: {error}"))?,
        None => env::var(name).map_err(|_| format!("set {setting}, or the environment variable {name}"))?,
    };
    let text = Zeroizing::new(text);
    let key = text.trim();
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
    let source = if file.is_some() { setting } else { name };
    if plain {
        Ok(Zeroizing::new(key.to_owned()))
    } else {
        Err(format!("{source} has no valid key; expected one line of ASCII characters without blanks"))
    }
}

/// Creates an empty directory. Removes what is in an existing one.
fn create_empty(directory: &FilePath) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::DirBuilder::new().mode(0o700).create(directory)
}
