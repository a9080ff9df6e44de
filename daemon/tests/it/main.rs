//! Integration tests of the daemon: a complete daemon in the test process, real sockets, real clients.

#![allow(unreachable_pub, reason = "nothing is outside of a test binary")]

mod access_matrix;
mod accounts;
mod artifacts;
mod audit;
mod backups;
mod cache_server;
mod caches;
mod check_data;
mod cluster;
mod conditional;
mod data_dir;
mod deleted;
mod deliveries;
mod git;
mod gitapi;
mod hooks;
mod hostile;
mod id_tokens;
mod kill;
mod layers;
mod lfs;
mod mirrors;
mod model;
mod nodes;
mod openapi;
mod pages;
mod parsers;
mod recorded;
mod ref_rules;
mod ref_writers;
mod reliability;
mod repos;
mod runs;
mod security_page;
mod service;
mod serving;
mod several_nodes;
mod signatures;
mod ssh;
mod ssh_keys;
mod store_postgres;
mod summaries;
mod support;
mod teams;
