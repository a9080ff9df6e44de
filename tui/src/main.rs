//! The `farrier` program: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    farrier::main(std::env::args_os())
}
