//! Deliveries of webhooks: rows and the lines in which they wait.

mod enqueue;

pub use self::enqueue::{PER_EVENT_MAX, enqueue, number, uuid};
