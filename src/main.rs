//! The `dialectic` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    dialectic_cli::cli::main()
}
