//! Small reference servers built with the same libraries as farrier. They run as child processes of this
//! program.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    routing::{get, put},
    serve::ListenerExt as _,
};
use bytes::Bytes;
use clap::ValueEnum;
use futures_util::StreamExt as _;
use redb::{Database, ReadableDatabase as _, TableDefinition};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::mpsc,
};

use super::replay;
use crate::{
    Result,
    child::{Child, Watch},
    client::Over,
};

/// The kind of server.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// Returns a constant JSON response.
    Hello,
    /// Returns a row of a redb file as JSON.
    Row,
    /// Writes a request body to a file, hashes it and syncs the file.
    Sink,
    /// Returns the responses of another server again.
    Replay,
}

/// A running server.
pub(crate) struct Own {
    child: Child,
    pub(crate) tcp: Over,
    pub(crate) unix: Over,
    dir: PathBuf,
}

impl Own {
    pub(crate) async fn start(kind: Kind, dir: &Path) -> Result<Self> {
        let name = kind.to_possible_value().ok_or("a server without a name")?;
        let text = dir.to_str().ok_or("the directory is not UTF-8")?;
        let mut child = Child::start(&std::env::current_exe()?, &["serve", name.get_name(), text], &[], dir)?;
        let tcp = Over::Tcp(child.line()?);
        let unix = Over::Unix(dir.join("socket"));
        child.answers(&unix).await?;
        Ok(Self { child, tcp, unix, dir: dir.to_owned() })
    }

    pub(crate) fn watch(&self) -> Watch {
        self.child.watch()
    }

    /// Removes the file that the sink has written.
    pub(crate) fn remove_file(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.dir.join("file"))?)
    }
}

/// Serves until it is killed.
pub(crate) async fn serve(kind: Kind, dir: PathBuf) -> Result<()> {
    let unix = UnixListener::bind(dir.join("socket"))?;
    let tcp = TcpListener::bind("127.0.0.1:0").await?;
    let router = match kind {
        Kind::Hello => Router::new().route("/", get(hello)),
        Kind::Row => Router::new().route("/", get(row)).with_state(rows(&dir)?),
        Kind::Sink => Router::new().route("/file", put(sink)).with_state(Arc::from(dir)),
        Kind::Replay => replay::router(&dir)?,
    };
    println!("{}", tcp.local_addr()?);
    let tcp = tcp.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    let (one, other) = tokio::join!(axum::serve(tcp, router.clone()), axum::serve(unix, router));
    Ok(one.and(other)?)
}

#[derive(Serialize)]
struct Version {
    version: &'static str,
}

async fn hello() -> Json<Version> {
    Json(Version { version: "1.24.0+farrier-0.1.0" })
}

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("rows");

/// About 300 bytes of JSON.
#[derive(Deserialize, Serialize)]
struct Row {
    id: u64,
    owner: u64,
    name: String,
    full_name: String,
    description: String,
    private: bool,
    url: String,
    default_branch: String,
    created: i64,
    updated: i64,
}

fn rows(dir: &Path) -> Result<Arc<Database>> {
    let mut builder = Database::builder();
    builder.set_cache_size(32 << 20);
    let database = builder.create(dir.join("rows.redb"))?;
    let row = Row {
        id: 7,
        owner: 1,
        name: "demo".into(),
        full_name: "admin/demo".into(),
        description: "what the benches read".repeat(4),
        private: false,
        url: "http://127.0.0.1:3000/api/v1/repos/admin/demo".into(),
        default_branch: "main".into(),
        created: 1_700_000_000,
        updated: 1_700_000_000,
    };
    let transaction = database.begin_write()?;
    transaction.open_table(TABLE)?.insert(row.id, serde_json::to_vec(&row)?.as_slice())?;
    transaction.commit()?;
    Ok(Arc::new(database))
}

async fn row(State(database): State<Arc<Database>>) -> Json<Row> {
    let read = || -> Result<Row> {
        let table = database.begin_read()?.open_table(TABLE)?;
        let value = table.get(7)?.ok_or("the row is gone")?;
        Ok(serde_json::from_slice(value.value())?)
    };
    Json(read().expect("the row was written at the start"))
}

/// Most received frames that wait for the writing thread.
const FRAMES: usize = 16;

/// A separate thread writes and hashes, in parallel with receiving.
async fn sink(State(dir): State<Arc<Path>>, body: Body) -> String {
    let (send, mut receive) = mpsc::channel::<Bytes>(FRAMES);
    let writing = farrierd::tasks::begin(move || -> Result<String> {
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(dir.join("file"))?;
        let mut state = Sha256::new();
        while let Some(bytes) = receive.blocking_recv() {
            file.write_all(&bytes)?;
            state.update(&bytes);
        }
        file.sync_all()?;
        File::open(&dir)?.sync_all()?;
        Ok(hex::encode(state.finalize()))
    });
    let mut body = body.into_data_stream();
    while let Some(bytes) = body.next().await {
        send.send(bytes.expect("the client stays")).await.expect("the writer stays");
    }
    drop(send);
    writing.await.expect("the disk has room")
}
