//! Tests of the daemon from outside: a whole daemon in process, real sockets, real clients.

#![allow(unreachable_pub, reason = "nothing is outside of a test binary")]

mod access_matrix;
mod accounts;
mod artifacts;
mod deliveries;
mod git;
mod gitapi;
mod hooks;
mod hostile;
mod kill;
mod parsers;
mod repos;
mod serving;
mod support;
