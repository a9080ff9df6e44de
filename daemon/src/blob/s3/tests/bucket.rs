//! A bucket in memory that records requests and fails on demand.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    memory::InMemory,
    multipart::{MultipartStore, PartId},
    path::Path,
};

/// The bucket.
#[derive(Debug, Default)]
pub(super) struct FaultyBucket {
    objects: InMemory,
    failing: Mutex<Option<&'static str>>,
    calls: Mutex<Vec<&'static str>>,
    refuses_conditions: AtomicBool,
}

/// The bucket as a blob store uses it.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<FaultyBucket>);

impl FaultyBucket {
    /// All following requests of the kind `name` fail.
    pub(super) fn fail(&self, name: &'static str) {
        *self.failing.lock().expect("no panic") = Some(name);
    }

    /// All following conditional requests fail.
    pub(super) fn refuse_conditions(&self) {
        self.refuses_conditions.store(true, Ordering::Relaxed);
    }

    /// No following request fails.
    pub(super) fn work(&self) {
        *self.failing.lock().expect("no panic") = None;
    }

    /// Returns the kinds of the requests since the last call.
    pub(super) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().expect("no panic"))
    }

    /// Creates an object.
    pub(super) async fn plant(&self, name: &str) {
        self.plant_bytes(name, b"x").await;
    }

    /// Creates an object with these bytes.
    pub(super) async fn plant_bytes(&self, name: &str, bytes: &[u8]) {
        let payload = PutPayload::from(bytes.to_vec());
        self.objects.put_opts(&Path::from(name), payload, PutOptions::default()).await.expect("planted");
    }

    /// Removes an object.
    pub(super) async fn remove(&self, name: &str) {
        let locations = stream::iter([Ok(Path::from(name))]).boxed();
        self.objects.delete_stream(locations).try_collect::<Vec<_>>().await.expect("removed");
    }

    /// Returns the names of all objects.
    pub(super) async fn names(&self) -> Vec<String> {
        let all: Vec<ObjectMeta> = self.objects.list(None).try_collect().await.expect("listed");
        let mut names: Vec<String> = all.iter().map(|object| object.location.to_string()).collect();
        names.sort_unstable();
        names
    }

    fn begin(&self, name: &'static str) -> Result<()> {
        self.calls.lock().expect("no panic").push(name);
        let fails = *self.failing.lock().expect("no panic") == Some(name);
        if fails { Err(Error::Generic { store: "test", source: "it fails on purpose".into() }) } else { Ok(()) }
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bucket in memory")
    }
}

#[async_trait]
impl ObjectStore for Shared {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.0.begin("put")?;
        if options.mode != PutMode::Overwrite && self.0.refuses_conditions.load(Ordering::Relaxed) {
            return Err(Error::Generic { store: "test", source: "it has no conditional requests".into() });
        }
        self.0.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.objects.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.begin("get")?;
        self.0.objects.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.0.begin("delete") {
            Ok(()) => self.0.objects.delete_stream(locations),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.0.begin("list") {
            Ok(()) => self.0.objects.list(prefix),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.begin("copy")?;
        self.0.objects.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for Shared {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.0.begin("create")?;
        self.0.objects.create_multipart(path).await
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, part: usize, data: PutPayload) -> Result<PartId> {
        self.0.begin("part")?;
        self.0.objects.put_part(path, id, part, data).await
    }

    async fn complete_multipart(&self, path: &Path, id: &MultipartId, parts: Vec<PartId>) -> Result<PutResult> {
        self.0.begin("complete")?;
        self.0.objects.complete_multipart(path, id, parts).await
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.0.begin("abort")?;
        self.0.objects.abort_multipart(path, id).await
    }
}
