//! stub
pub struct Faults;
pub struct MemoryEngine;
