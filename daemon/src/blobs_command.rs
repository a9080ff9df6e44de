//! The command `farrierd blobs copy`.

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    time::{Duration, Instant},
};

use farrierd::{
    args::PlaceName,
    blob::BlockCopyCounts,
    config::Config,
    data_dir::{self, BlobPlace, CopyBlobsError},
};

use super::{FAILED, block_on, data_exit_code, print_error};

/// Interval of the lines that show the progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Copies blocks to another place, and prints the result.
pub(super) fn copy(config: &Config, to: PlaceName) -> ExitCode {
    let place = match to {
        PlaceName::Bucket => BlobPlace::Bucket,
        PlaceName::Directory => BlobPlace::Directory,
    };
    let (is_terminal, mut shown) = (std::io::stderr().is_terminal(), Instant::now());
    let progress = |counts: &BlockCopyCounts| {
        if is_terminal && shown.elapsed() >= PROGRESS_EVERY {
            shown = Instant::now();
            eprintln!("{} blocks copied, {} bytes", counts.copied, counts.bytes);
        }
    };
    let copied = match block_on(data_dir::copy_blobs(config, place, progress)) {
        Ok(copied) => copied,
        Err(error) => {
            print_error(&error);
            let code = if let CopyBlobsError::DataDir(error) = &error { data_exit_code(error) } else { FAILED };
            return ExitCode::from(code);
        }
    };
    let BlockCopyCounts { copied: count, bytes, present, changed } = copied.blocks;
    let next = match place {
        _ if copied.is_in_use => "A daemon uses the data directory: stop it, then run this command again",
        BlobPlace::Bucket => "Start the daemon with this configuration, then run farrierd check-data --content",
        BlobPlace::Directory => "Remove blobs.url, then run farrierd check-data --adopt",
    };
    // A closed standard output is not an error.
    drop(writeln!(
        std::io::stdout().lock(),
        "{count} blocks copied, {bytes} bytes; {present} were there, {changed} changed meanwhile\n{next}"
    ));
    ExitCode::SUCCESS
}
