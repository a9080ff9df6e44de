//! A bucket: versitygw, an S3 server that stores objects as files.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::{
    Result,
    child::{Child, installed},
    client::{Over, head},
};

const ACCESS_KEY: &str = "BENCHBENCHBENCHBENCH";
const SECRET_KEY: &str = "a-key-for-nothing-but-measuring";
const REGION: &str = "us-east-1";
const NAME: &str = "builds";
/// Size of the buffer for bodies, bytes.
const ROOM: usize = 512 << 10;
/// The only digest that a request states about its body.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// A running server with an empty bucket.
pub(crate) struct Bucket {
    _child: Child,
    tcp: Over,
    address: String,
    dir: PathBuf,
}

impl Bucket {
    /// Starts the server; `None` if it is not installed.
    pub(crate) async fn start(dir: &Path) -> Result<Option<Self>> {
        let Some(program) = installed("versitygw") else { return Ok(None) };
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        // Each directory in the root is a bucket.
        let root = dir.join("root");
        fs::create_dir_all(root.join(NAME))?;
        fs::write(dir.join("access"), ACCESS_KEY)?;
        fs::write(dir.join("secret"), SECRET_KEY)?;
        let root = root.to_str().ok_or("the directory is not UTF-8")?;
        let args = ["--port", &address, "--region", REGION, "--keep-alive", "--quiet", "posix", root];
        let keys = [("ROOT_ACCESS_KEY_ID", ACCESS_KEY), ("ROOT_SECRET_ACCESS_KEY", SECRET_KEY)];
        let mut child = Child::start(&program, &args, &keys, dir)?;
        let tcp = Over::Tcp(address.clone());
        child.answers(&tcp).await?;
        Ok(Some(Self { _child: child, tcp, address, dir: dir.to_owned() }))
    }

    /// Returns the section of a configuration file for a daemon that uses the prefix `prefix`.
    pub(crate) fn toml(&self, prefix: &str) -> String {
        let dir = self.dir.display();
        format!(
            "[blobs]\nurl = \"s3://{NAME}/{prefix}\"\nendpoint = \"http://{}\"\nregion = \"{REGION}\"\n\
             access_key_file = \"{dir}/access\"\nsecret_key_file = \"{dir}/secret\"\n",
            self.address
        )
    }

    /// Writes `file` as the object `name`, in one request.
    pub(crate) async fn put(&self, name: &str, file: &Path) -> Result<()> {
        let mut file = File::open(file)?;
        let target = format!("/{NAME}/{name}");
        let mut connection = self.tcp.connect().await?;
        connection.send(&signed("PUT", &target, file.metadata()?.len())?).await?;
        let mut room = vec![0; ROOM];
        loop {
            match file.read(&mut room)? {
                0 => break,
                read => connection.send(&room[..read]).await?,
            }
        }
        connection.expect(200).await.map(drop)
    }

    /// Downloads all objects below `prefix` into files in `into`, one after another. Returns their bytes.
    pub(crate) async fn download(&self, prefix: &str, into: &Path) -> Result<u64> {
        let mut connection = self.tcp.connect().await?;
        let (mut room, mut bytes) = (vec![0; ROOM], 0);
        for (number, name) in self.objects(prefix)?.iter().enumerate() {
            connection.send(&signed("GET", &format!("/{NAME}/{name}"), 0)?).await?;
            let mut file = File::create(into.join(number.to_string()))?;
            bytes += connection.save_body(&mut room, &mut file).await?;
        }
        Ok(bytes)
    }

    /// Returns the names of all objects below `prefix`. The server stores each as a file with its name.
    fn objects(&self, prefix: &str) -> Result<Vec<String>> {
        let bucket = self.dir.join("root").join(NAME);
        let (mut names, mut directories) = (Vec::new(), vec![bucket.join(prefix)]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    names.push(path.strip_prefix(&bucket)?.to_str().ok_or("an odd name")?.to_owned());
                }
            }
        }
        Ok(names)
    }
}

/// Builds the head of a request with a signature of version 4.
fn signed(method: &str, target: &str, length: u64) -> Result<Vec<u8>> {
    let now = jiff::Timestamp::from_millisecond(farrierd::clock::Clock::system().now_ms())?;
    let (day, date) = (now.strftime("%Y%m%d").to_string(), now.strftime("%Y%m%dT%H%M%SZ").to_string());
    let scope = format!("{day}/{REGION}/s3/aws4_request");
    let names = "host;x-amz-content-sha256;x-amz-date";
    let headers = format!("host:localhost\nx-amz-content-sha256:{UNSIGNED}\nx-amz-date:{date}\n");
    let request = format!("{method}\n{target}\n\n{headers}\n{names}\n{UNSIGNED}");
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex::encode(Sha256::digest(request)));
    let mut key = format!("AWS4{SECRET_KEY}").into_bytes();
    for part in [&day, REGION, "s3", "aws4_request", &text] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&key)?;
        mac.update(part.as_bytes());
        key = mac.finalize().into_bytes().to_vec();
    }
    let signature = hex::encode(key);
    let authorization = format!(
        "authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    let (digest, date) = (format!("x-amz-content-sha256: {UNSIGNED}"), format!("x-amz-date: {date}"));
    Ok(head(method, target, length, &[&authorization, &digest, &date]))
}
