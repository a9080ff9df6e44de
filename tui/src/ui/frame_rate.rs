//! Limits the frame rate.
//!
//! At most thirty frames per second; four if writing a frame takes long, as on a slow line, so that input is not
//! delayed by a queue of old frames.

use std::time::Duration;

const FRAME: Duration = Duration::from_millis(33);
const SLOW_FRAME: Duration = Duration::from_millis(250);
/// A frame that takes longer was delayed by the line.
const LONG: Duration = Duration::from_millis(50);
/// This many delayed frames mark a line as slow, and this long without one marks it as fast again.
const LONG_ONES: u32 = 3;
const FAST_FOR: Duration = Duration::from_secs(30);

/// State of the line to the terminal.
#[derive(Debug)]
pub(super) struct FrameRate {
    slow: bool,
    /// Whether the user set it, so that it is not measured.
    is_configured: bool,
    long: u32,
    last_long: Duration,
}

impl FrameRate {
    pub(super) fn new(is_configured: bool) -> Self {
        Self { slow: is_configured, is_configured, long: 0, last_long: Duration::ZERO }
    }

    pub(super) fn is_slow(&self) -> bool {
        self.slow
    }

    /// Returns the state for a new line, with the user's setting.
    pub(super) fn for_new_line(&self) -> Self {
        Self::new(self.is_configured)
    }

    /// Returns the minimum time between two frames.
    pub(super) fn frame(&self) -> Duration {
        if self.slow { SLOW_FRAME } else { FRAME }
    }

    /// Takes the duration of a frame. Returns whether the line is slow, if that has changed.
    pub(super) fn drawn(&mut self, took: Duration, now: Duration) -> Option<bool> {
        if self.is_configured {
            return None;
        }
        if took > LONG {
            self.long += 1;
            self.last_long = now;
        } else if now.saturating_sub(self.last_long) >= FAST_FOR {
            self.long = 0;
        }
        let slow = if self.slow { self.long > 0 } else { self.long >= LONG_ONES };
        (std::mem::replace(&mut self.slow, slow) != slow).then_some(slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_slow_frames_lower_the_frame_rate_and_30_seconds_restore_it() {
        let mut frame_rate = FrameRate::new(false);
        let (long, short) = (Duration::from_millis(80), Duration::from_millis(2));
        let at = Duration::from_secs;
        assert_eq!(
            [frame_rate.drawn(long, at(1)), frame_rate.drawn(short, at(2)), frame_rate.drawn(long, at(3))],
            [None; 3]
        );
        assert_eq!((frame_rate.drawn(long, at(4)), frame_rate.frame()), (Some(true), SLOW_FRAME));
        assert_eq!(frame_rate.drawn(short, at(33)), None);
        assert_eq!((frame_rate.drawn(short, at(34)), frame_rate.frame()), (Some(false), FRAME));
        let mut configured = FrameRate::new(true);
        assert_eq!((configured.drawn(short, at(99)), configured.frame()), (None, SLOW_FRAME));
    }
}
