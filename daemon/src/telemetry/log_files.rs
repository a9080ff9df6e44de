//! Writes log lines to files on a thread of their own.
//!
//! Lines on standard error are written by the thread that logs them: to wake another thread would cost more than the
//! write, and a line before a crash must not be lost.

use std::io::{BufWriter, Write};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Maximum number of lines that wait for the thread. Then threads that log wait. The queue is allocated at the start,
/// with 32 bytes for each line.
const QUEUE_LINES_MAX: usize = 16_384;
/// Maximum number of bytes that are written with one call, unless a line is longer.
const BUFFER_BYTES: usize = 64 << 10;

/// Returns a writer that hands lines to a thread, which writes them to `files`. Lines that wait together are written
/// with one call. The thread writes what it has before it waits for the next line, so no line waits for a later one.
/// If a write fails, such as on a full disk, the buffered lines are kept until the next line, and lines for which the
/// buffer has no room are lost. Dropping the guard waits at most 1.1 s until the rest is written.
pub(super) fn writer(files: impl Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    let files = BufWriter::with_capacity(BUFFER_BYTES, files);
    // The default is lossy: it would drop lines during a burst.
    NonBlockingBuilder::default().lossy(false).buffered_lines_limit(QUEUE_LINES_MAX).finish(files)
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{
            Arc, Mutex,
            atomic::{AtomicBool, Ordering},
            mpsc,
        },
        time::{Duration, Instant},
    };

    use super::*;

    /// A file whose first write waits until the sender of `gate` is dropped.
    struct SlowFile {
        gate: mpsc::Receiver<()>,
        content: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Write for SlowFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.gate.recv();
            self.content.lock().expect("no panic").push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Waits until the file has `length` bytes.
    fn wait_for(content: &Mutex<Vec<Vec<u8>>>, length: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while content.lock().expect("no panic").concat().len() < length {
            assert!(Instant::now() < end, "not all lines were written");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn lines_that_wait_together_are_written_with_few_calls_and_none_is_lost() {
        const LINES: usize = 1_000;
        let (open, gate) = mpsc::channel();
        let content = Arc::new(Mutex::new(Vec::new()));
        let (mut lines, guard) = writer(SlowFile { gate, content: content.clone() });
        let line = |number: usize| format!("{number:0>99}\n");
        for number in 0..LINES {
            lines.write_all(line(number).as_bytes()).expect("the thread runs");
        }
        drop(open);
        drop(guard);
        // On a busy machine, the guard may stop waiting before the thread has written all lines.
        wait_for(&content, LINES * 100);
        let content = content.lock().expect("no panic");
        assert_eq!(content.concat(), (0..LINES).map(line).collect::<String>().into_bytes());
        // What came before the first write, the full buffers, and the rest.
        assert!(content.len() <= 2 + LINES * 100 / BUFFER_BYTES + 1, "{}", content.len());
    }

    #[test]
    fn a_line_does_not_wait_for_the_next_one() {
        let (_, gate) = mpsc::channel();
        let content = Arc::new(Mutex::new(Vec::new()));
        let (mut lines, _guard) = writer(SlowFile { gate, content: content.clone() });
        for number in 1..=3 {
            lines.write_all(b"a line\n").expect("the thread runs");
            wait_for(&content, number * 7);
        }
    }

    /// A file that is full until `is_full` is unset.
    struct FullFile {
        is_full: Arc<AtomicBool>,
        content: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Write for FullFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.is_full.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.content.lock().expect("no panic").push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_of_a_full_disk_are_written_with_the_next_line_after_it_has_room() {
        let (is_full, content) = (Arc::new(AtomicBool::new(true)), Arc::default());
        let (mut lines, _guard) = writer(FullFile { is_full: is_full.clone(), content: Arc::clone(&content) });
        lines.write_all(b"first\n").expect("the thread runs");
        lines.write_all(b"second\n").expect("the thread runs");
        is_full.store(false, Ordering::SeqCst);
        lines.write_all(b"third\n").expect("the thread runs");
        wait_for(&content, 19);
        assert_eq!(content.lock().expect("no panic").concat(), b"first\nsecond\nthird\n");
    }
}
