//! `dialectic protocols`: what a debate can follow.

use crate::cli::args::ProtocolsArgs;
use crate::cli::terminal::Terminal;
use crate::config::ConfigError;
use crate::error::Error;
use crate::protocol::{PROTOCOLS, Protocol};

pub(in crate::cli) fn run(args: &ProtocolsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let Some(name) = &args.name else {
        let lines: Vec<_> = PROTOCOLS.iter().map(|one| format!("{:<14}{}", one.name, one.about)).collect();
        return terminal.text(&lines.join("\n"));
    };
    let protocol = Protocol::named(name).ok_or_else(|| {
        let known: Vec<_> = PROTOCOLS.iter().map(|one| one.name).collect();
        let message = format!("`{name}` is unknown; known: {}", known.join(", "));
        ConfigError::Argument { option: "the protocol", message }
    })?;
    terminal.text(&if args.mermaid { protocol.mermaid() } else { protocol.table() })
}
