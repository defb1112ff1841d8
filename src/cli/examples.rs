//! The examples at the end of each help text, and the grouped list of commands.

use std::fmt::Write;

use clap::Command;
use clap::builder::Styles;

pub(super) fn examples(lines: &[&str]) -> String {
    lines.iter().fold("Examples:".to_owned(), |text, line| text + "\n  " + line)
}

/// Options that only the help of `dialectic` itself describes.
const COMMON: [&str; 2] = ["color", "version"];

pub(super) fn without_common(command: Command) -> Command {
    command.mut_subcommands(hiding_common)
}

fn hiding_common(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let hides = COMMON.contains(&argument.get_id().as_str());
        if hides { argument.hide(true) } else { argument }
    });
    command.mut_subcommands(hiding_common)
}

const WIDTH: usize = 100;

/// Replaces clap's list of subcommands, which cannot be grouped.
pub(super) fn grouped(command: Command, groups: &[(&str, &[&str])]) -> Command {
    let columns = console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).min(WIDTH));
    let text = listed(&command, groups, columns);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{text}\n{{options}}{{after-help}}"
    ))
}

fn listed(command: &Command, groups: &[(&str, &[&str])], columns: usize) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let shown: Vec<&Command> =
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help").collect();
    let indent = shown.iter().map(|one| one.get_name().len()).max().unwrap_or_default() + 4;
    let mut text = String::new();
    let named = |name: &&str| shown.iter().find(|one| one.get_name() == *name).copied();
    let groups = groups.iter().map(|(title, names)| (*title, names.iter().filter_map(named).collect::<Vec<_>>()));
    for (title, commands) in groups {
        let _ = writeln!(text, "\n{header}{title}:{header:#}");
        for one in commands {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let gap = " ".repeat(indent - 2 - one.get_name().len());
            let lines = wrapped(&about, columns.saturating_sub(indent)).join(&format!("\n{}", " ".repeat(indent)));
            let _ = writeln!(text, "  {literal}{}{literal:#}{gap}{lines}", one.get_name());
        }
    }
    text + &format!("\n{header}Options:{header:#}")
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => line.extend([" ", word]),
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The arguments of a command as a shell would split them, up to the first pipe or redirection.
    pub(in crate::cli) fn arguments(line: &str) -> Vec<String> {
        let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars() {
            match (c, quote) {
                ('|' | '>', None) if word.is_empty() => break,
                (' ', None) => all.push(std::mem::take(&mut word)),
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (c, _) => word.push(c),
            }
        }
        all.push(word);
        all.retain(|word| !word.is_empty());
        all
    }

    #[test]
    fn every_command_has_examples_that_can_be_typed() {
        fn assert_examples(command: &Command) {
            let name = command.get_bin_name().unwrap_or_default();
            let help = command.get_after_help().unwrap_or_else(|| panic!("{name} has no examples")).to_string();
            let lines = help.strip_prefix("Examples:\n").unwrap_or_else(|| panic!("{name}: {help}")).lines();
            assert!((1..=4).contains(&lines.clone().count()), "{name}");
            for line in lines {
                let typed = line.trim_start();
                let typed =
                    typed.rsplit_once("| dialectic").map_or(typed.to_owned(), |(_, rest)| format!("dialectic{rest}"));
                let parsed = crate::cli::command().try_get_matches_from(arguments(&typed));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                assert!(line.contains(name), "{line} is no example of {name}");
            }
            command.get_subcommands().filter(|below| below.get_name() != "help").for_each(assert_examples);
        }
        assert_examples(&crate::cli::command());
    }

    #[test]
    fn descriptions_stay_in_their_column() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "three", "four"]);
    }
}
