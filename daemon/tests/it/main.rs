//! Tests of the daemon from outside: a whole daemon in process, real sockets, real clients.

mod repos;
mod serving;
mod support;
