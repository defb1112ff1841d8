//! `dialectic protocols`: what a debate can follow.

use crate::cli::args::{ProtocolsArgs, ProtocolsCommand};
use crate::cli::terminal::Terminal;
use crate::config::ConfigError;
use crate::error::Error;
use crate::protocol::{PROTOCOLS, Protocol, Trigger};

/// The width of what is printed, whatever the terminal: a drawing cannot be broken.
const WIDTH: usize = 80;

pub(in crate::cli) fn run(args: &ProtocolsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let text = match (&args.command, &args.name) {
        (Some(ProtocolsCommand::Show { name }), _) => shown(named(name)?),
        (None, Some(name)) if args.mermaid => named(name)?.mermaid(),
        (None, Some(name)) => named(name)?.table(),
        (None, None) => listed(),
    };
    terminal.text(&text)
}

/// The protocol of that name.
pub(super) fn named(name: &str) -> Result<&'static Protocol, Error> {
    Protocol::named(name).ok_or_else(|| {
        let known: Vec<_> = PROTOCOLS.iter().map(|one| one.name).collect();
        let message = format!("`{name}` is unknown; known: {}", known.join(", "));
        ConfigError::Argument { option: "the protocol", message }.into()
    })
}

fn listed() -> String {
    let entries: Vec<_> = PROTOCOLS.iter().map(|protocol| summary(protocol)).collect();
    format!(
        "{}\n`n` is the number of agents, `r` that of rounds. Choose one with `--protocol`;\n\
         `dialectic protocols show <NAME>` draws it.\n",
        entries.join("\n")
    )
}

/// A protocol with its stages.
fn shown(protocol: &Protocol) -> String {
    let common = Trigger::COMMON.map(|trigger| trigger.0).join(", ");
    let common = wrapped("", &format!("Beside these, every stage can end with one of {common}."));
    format!("{}\n{}\n{}\n{common}", summary(protocol), protocol.diagram(), protocol.columns())
}

/// What a protocol is, when to take it and what it takes.
fn summary(protocol: &Protocol) -> String {
    let is_default = PROTOCOLS.first().is_some_and(|first| first.name == protocol.name);
    let default = if is_default { " (the default)" } else { "" };
    let rounds = format!("{}, unless you say otherwise", protocol.default_rounds);
    let lines =
        [("", protocol.about), ("for     ", protocol.suits), ("calls   ", protocol.calls), ("rounds  ", &rounds)];
    let lines = lines.map(|(label, text)| wrapped(&format!("  {label}"), text));
    format!("{}{default}\n{}", protocol.name, lines.concat())
}

/// `text` behind `label`, broken between words; further lines begin below the first word.
fn wrapped(label: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = label.to_owned();
    let is_empty = |line: &str| line.chars().count() <= label.chars().count();
    for word in text.split_whitespace() {
        if !is_empty(&line) && line.chars().count() + 1 + word.chars().count() > WIDTH {
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
        for text in PROTOCOLS.iter().map(|protocol| shown(protocol)).chain([listed()]) {
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line == line.trim_end()), "{text}");
        }
        for protocol in PROTOCOLS {
            let words: Vec<_> = listed().split_whitespace().map(str::to_owned).collect();
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
        assert_eq!(wrapped("  for  ", &text), format!("{first}\n{second}\n"));
    }
}
