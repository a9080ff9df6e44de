//! Azurite, an emulator of the block-blob protocol that farrier's uploads use.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{
    Result,
    child::{Child, installed},
    client::{Over, head},
    load::{self, Content, block_id},
};

const ACCOUNT: &str = "bench";
const KEY: &[u8] = b"a key for nothing but measuring.";
/// A version of the protocol whose signatures have few fields.
const VERSION: &str = "2019-12-12";

/// A running Azurite.
pub(crate) struct Azurite {
    _child: Child,
    pub(crate) tcp: Over,
    signature: String,
}

impl Azurite {
    /// Starts Azurite; `None` if it is not installed.
    pub(crate) async fn start(dir: &Path) -> Result<Option<Self>> {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/node_modules/azurite");
        let script = module.join("dist/src/blob/main.js");
        let Some(node) = installed("node").filter(|_| script.is_file()) else { return Ok(None) };
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let data = dir.join("data");
        let (Some(script), Some(location)) = (script.to_str(), data.to_str()) else {
            return Err("the directory is not UTF-8".into());
        };
        let fixed = ["--silent", "--skipApiVersionCheck", "--loose", "--disableTelemetry"];
        let args = [&[script, "--blobPort", &port, "--location", location], &fixed[..]].concat();
        let accounts = format!("{ACCOUNT}:{}", BASE64.encode(KEY));
        let mut child = Child::start(&node, &args, &[("AZURITE_ACCOUNTS", &accounts)], dir)?;
        let tcp = Over::Tcp(format!("127.0.0.1:{port}"));
        child.answers(&tcp).await?;
        let azurite = Self { _child: child, tcp, signature: signature()? };
        azurite.put(&format!("/{ACCOUNT}/blocks?restype=container&{}", azurite.signature), &[], b"").await?;
        Ok(Some(azurite))
    }

    async fn put(&self, target: &str, headers: &[&str], body: &[u8]) -> Result<()> {
        let mut connection = self.tcp.connect().await?;
        connection.send(&head("PUT", target, body.len() as u64, headers)).await?;
        connection.send(body).await?;
        connection.expect(201).await?;
        Ok(())
    }

    /// Uploads the blocks of `content` and their list.
    pub(crate) async fn upload(&self, name: &str, content: &Content, in_flight: usize) -> Result<()> {
        let target = format!("/{ACCOUNT}/blocks/{name}?{}", self.signature);
        let of_block = target.clone();
        load::put_blocks(&self.tcp, content, in_flight, move |number| {
            format!("{of_block}&comp=block&blockid={}", block_id(number))
        })
        .await?;
        let list = content.block_list();
        self.put(&format!("{target}&comp=blocklist"), &["content-type: application/xml"], list.as_bytes()).await
    }
}

/// A shared access signature for everything in the account.
fn signature() -> Result<String> {
    let (start, end) = ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    let fields = [ACCOUNT, "rwdlac", "b", "sco", start, end, "", "https,http", VERSION, ""];
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY)?;
    mac.update(fields.join("\n").as_bytes());
    let signed = BASE64.encode(mac.finalize().into_bytes());
    let escape = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    Ok(format!(
        "sv={VERSION}&ss=b&srt=sco&sp=rwdlac&st={}&se={}&spr=https%2Chttp&sig={}",
        escape(start),
        escape(end),
        escape(&signed)
    ))
}
