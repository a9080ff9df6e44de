//! The section `[blobs]`.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::{
    BucketUrl,
    forms::{absolute, base_url},
    reader::ConfigReader,
};

/// `[blobs]`: where the bytes of artifacts, cache entries, files of releases, LFS objects and packs are.
#[derive(Clone, Debug, PartialEq)]
pub struct BlobsConfig {
    /// `url`: the bucket and the prefix of the objects. `None`: files in the data directory.
    pub url: Option<BucketUrl>,
    /// `endpoint`: base URL of the S3 server, to which the bucket is added. `None`: that of Amazon.
    pub endpoint: Option<Url>,
    /// `region`: the region of the bucket, which is a part of all signatures.
    pub region: String,
    /// `access_key_file`: file with the access key ID, or the name of a credential. `None`: `AWS_ACCESS_KEY_ID`.
    pub access_key_file: Option<PathBuf>,
    /// `secret_key_file`: file with the secret access key, or the name of a credential. `None`:
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_key_file: Option<PathBuf>,
    /// `ca_file`: certificate authorities of the S3 server, in PEM. `None`: those of the system.
    pub ca_file: Option<PathBuf>,
    /// `cache_bytes`: maximum size of the local copies of blocks that were read. 0: none are kept.
    pub cache_bytes: u64,
    /// `keep_deleted_secs`: how long the objects of packs stay in the bucket after their rows were deleted.
    pub keep_deleted: Duration,
}

impl Default for BlobsConfig {
    fn default() -> Self {
        Self {
            url: None,
            endpoint: None,
            region: "us-east-1".into(),
            access_key_file: None,
            secret_key_file: None,
            ca_file: None,
            cache_bytes: 1 << 30,
            keep_deleted: Duration::from_secs(7 * 86_400),
        }
    }
}

impl BlobsConfig {
    pub(super) fn read(&mut self, r: &mut ConfigReader<'_>) {
        r.parsed("blobs", "url", &mut self.url, |text: String| BucketUrl::parse(&text).map(Some));
        r.parsed("blobs", "endpoint", &mut self.endpoint, |text: String| base_url(&text).map(Some));
        r.parsed("blobs", "region", &mut self.region, |name: String| {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            let valid = !name.is_empty() && name.len() <= 64 && name.bytes().all(plain);
            if valid { Ok(name) } else { Err("expected a region such as \"eu-central-1\"".into()) }
        });
        r.parsed("blobs", "access_key_file", &mut self.access_key_file, |path: PathBuf| Ok(Some(path)));
        r.parsed("blobs", "secret_key_file", &mut self.secret_key_file, |path: PathBuf| Ok(Some(path)));
        r.parsed("blobs", "ca_file", &mut self.ca_file, |path: PathBuf| absolute(path).map(Some));
        r.value("blobs", "cache_bytes", &mut self.cache_bytes);
        r.seconds("blobs", "keep_deleted_secs", 0, &mut self.keep_deleted);
    }
}
