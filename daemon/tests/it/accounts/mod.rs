//! Users, organizations, tokens and authentication.

mod clients;
mod orgs;
mod own;
mod requests;
mod restrictions;
mod settings;
mod sign_in;
mod tokens;
mod users;
pub mod world;
