//! One large download.

use std::time::Instant;

use super::settle;
use crate::{
    Result,
    client::Over,
    farrier::Farrier,
    figures::{megabytes_per_second, mib, ratio, spread},
    load::{Content, download},
    plan::Plan,
    servers::nginx::Nginx,
    table::{Budget, Table},
};

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let content = Content::new(plan)?;
    let farrier = Farrier::start(&plan.dir("download-farrier")?).await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    farrier.upload(&job, "bench", &content, 4).await?;
    let address = farrier.address(&job, "bench").await?;
    let nginx = Nginx::start(&plan.dir("download-nginx")?).await?;
    if let Some(nginx) = &nginx {
        content.write(&nginx.file("file"))?;
    }
    settle().await;
    for (over, least) in [(&farrier.tcp, 0.9), (&farrier.unix, 0.75)] {
        let theirs = nginx.as_ref().map(|nginx| if least > 0.8 { &nginx.tcp } else { &nginx.unix });
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            if let Some(nginx) = theirs {
                other.push(rate(nginx, "/file", &content).await?);
            }
            own.push(rate(over, &address, &content).await?);
        }
        let what = format!("download {} MiB, {}; beside nginx sendfile", mib(content.size()), over.name());
        let ours = spread(&own, "MB/s");
        match theirs {
            Some(_) => {
                table.beside(&what, ours, spread(&other, "MB/s"), ratio(&own, &other), Budget::AtLeast(least));
            }
            None => table.missing(&what, ours, "nginx is not installed"),
        }
    }
    Ok(())
}

async fn rate(over: &Over, target: &str, content: &Content) -> Result<f64> {
    let begun = Instant::now();
    let length = download(over, target).await?;
    if length != content.size() {
        return Err(format!("a download of {length} bytes in place of {}", content.size()).into());
    }
    Ok(megabytes_per_second(length, begun.elapsed()))
}
