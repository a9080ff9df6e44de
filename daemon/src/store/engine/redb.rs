//! stub
pub struct RedbEngine;
pub struct RedbOptions;
