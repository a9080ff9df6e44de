//! Users, organisations, tokens, and how callers prove who they are.

mod clients;
mod orgs;
mod requests;
mod settings;
mod sign_in;
mod tokens;
mod users;
pub mod world;
