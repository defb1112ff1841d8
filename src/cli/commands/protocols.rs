//! `dialectic protocols`: lists and shows protocols.

use anstream::ColorChoice;
use clap::{Args, Subcommand};

use crate::cli::examples::examples;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_config::{ConfigError, suggestion};
use dialectic_record::protocol::{PROTOCOLS, Protocol, REVIEW, Trigger};
use dialectic_report::display::render_markdown;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(in crate::cli) struct ProtocolsArgs {
    #[command(subcommand)]
    command: Option<ProtocolsCommand>,

    /// Print this protocol's transition table as Markdown
    #[arg(value_name = "NAME")]
    protocol: Option<String>,

    /// Print the table as a Mermaid diagram
    #[arg(long, requires = "protocol")]
    mermaid: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProtocolsCommand {
    /// Draw a protocol's stages and transitions
    #[command(after_help = examples(&["dialectic protocols show dialectic"]))]
    Show {
        /// The name of the protocol
        #[arg(value_name = "NAME")]
        protocol: String,
    },
}

/// The maximum width of the output. Diagrams are never wrapped, but fit into this width.
const WIDTH: usize = 80;

pub(in crate::cli) fn run(args: &ProtocolsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let width = terminal.screen().width.unwrap_or(WIDTH).min(WIDTH);
    let text = match (&args.command, &args.protocol) {
        (Some(ProtocolsCommand::Show { protocol }), _) => shown(known(protocol)?, width),
        (None, Some(name)) if args.mermaid => known(name)?.mermaid(),
        (None, Some(name)) => known(name)?.table(),
        (None, None) => listed(width),
    };
    terminal.text(&text)
}

/// The protocol for a debate. A review needs a change, so only `dialectic review` uses its protocol.
pub(super) fn named(name: &str) -> Result<&'static Protocol, Error> {
    if name == REVIEW.name {
        return Err(UserError::input("the protocol `review` needs a change")
            .with_hint("use `dialectic review`")
            .into());
    }
    known(name)
}

fn known(name: &str) -> Result<&'static Protocol, Error> {
    Protocol::named(name).ok_or_else(|| {
        let message = format!("`{name}` is unknown {}", suggestion(name, Protocol::names().iter().copied()));
        ConfigError::Argument { option: "the protocol", message }.into()
    })
}

fn listed(width: usize) -> String {
    let entries: Vec<_> = PROTOCOLS.iter().map(|protocol| summary(protocol, width)).collect();
    let how = "`n` is the number of agents, `r` the number of rounds. Choose a protocol with `--protocol`; \
               draw one with `dialectic protocols show <NAME>`.";
    format!("{}\n{}", entries.join("\n"), wrapped("", how, width))
}

fn shown(protocol: &Protocol, width: usize) -> String {
    let common = Trigger::COMMON.map(|trigger| trigger.0).join(", ");
    let common = wrapped("", &format!("Every stage can also end with {common}."), width);
    let columns = protocol.columns();
    let fits = columns.lines().all(|line| line.chars().count() <= width);
    let table = if fits { columns } else { render_markdown(&protocol.table(), width, ColorChoice::Never) };
    format!("{}\n{}\n{table}\n{common}", summary(protocol, width), protocol.diagram())
}

fn summary(protocol: &Protocol, width: usize) -> String {
    let is_default = PROTOCOLS.first().is_some_and(|first| first.name == protocol.name);
    let default = if is_default { " (the default)" } else { "" };
    let rounds = format!("{} by default", protocol.default_rounds);
    let lines =
        [("", protocol.about), ("for     ", protocol.suits), ("calls   ", protocol.calls), ("rounds  ", &rounds)];
    let lines = lines.map(|(label, text)| wrapped(&format!("  {label}"), text, width));
    format!("{}{default}\n{}", protocol.name, lines.concat())
}

/// Wraps `text` after `label`. Further lines are indented by the width of `label`.
fn wrapped(label: &str, text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = label.to_owned();
    let is_empty = |line: &str| line.chars().count() <= label.chars().count();
    for word in text.split_whitespace() {
        if !is_empty(&line) && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(&line);
            lines.push('\n');
            line = " ".repeat(label.chars().count());
        }
        if !is_empty(&line) {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_a_terminal_and_nothing_is_lost() {
        for text in PROTOCOLS.iter().map(|protocol| shown(protocol, WIDTH)).chain([listed(WIDTH)]) {
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line == line.trim_end()), "{text}");
        }
        for width in [30, 50] {
            for protocol in PROTOCOLS {
                let (text, drawing) = (shown(protocol, width), protocol.diagram());
                let (before, behind) = text.split_once(&drawing).expect("it is drawn");
                let lines = before.lines().chain(behind.lines());
                assert!(lines.clone().all(|line| line.chars().count() <= width), "{text}");
                // Wrapping must lose no letters.
                let letters = |text: &str| {
                    let mut letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
                    letters.sort_unstable();
                    letters
                };
                let below = behind.split_once("Every stage can").map(|(table, _)| letters(table));
                let wanted = [protocol.columns(), protocol.table()].map(|table| letters(&table));
                assert!(below.is_some_and(|below| wanted.contains(&below)), "{text}");
            }
            assert!(listed(width).lines().all(|line| line.chars().count() <= width), "{}", listed(width));
        }
        for protocol in PROTOCOLS {
            let words: Vec<_> = listed(WIDTH).split_whitespace().map(str::to_owned).collect();
            for said in [protocol.about, protocol.suits, protocol.calls] {
                let said: Vec<_> = said.split_whitespace().map(str::to_owned).collect();
                assert!(words.windows(said.len()).any(|part| part == said), "{said:?}");
            }
        }
    }

    #[test]
    fn further_lines_begin_below_the_first_word() {
        let text = "word ".repeat(20);
        let first = format!("  for  {}", "word ".repeat(14).trim_end());
        let second = format!("       {}", "word ".repeat(6).trim_end());
        assert_eq!(wrapped("  for  ", &text, WIDTH), format!("{first}\n{second}\n"));
    }
}
