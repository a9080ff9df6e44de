//! Arguments of `farrier logs`.

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Logs {
    /// Only records of this level and more severe ones
    #[arg(long, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub(crate) level: Option<String>,
    /// Only records that contain this text; case is ignored
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,
    /// Only records whose target begins with this text, such as `farrierd::delivery`
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Keep printing new records
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Number of newest records, at most 1000 [default: 100; with --follow, 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) limit: Option<u16>,
}
