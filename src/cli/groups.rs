//! Groups the commands in the program's help.

use std::fmt::Write;

use clap::Command;
use clap::builder::Styles;

use super::commands::GROUPS;

/// The maximum width of the help.
const WIDTH: usize = 100;

/// The command with its subcommands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let columns = console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).min(WIDTH));
    let text = listed(&command, columns);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{text}\n{{options}}{{after-help}}"
    ))
}

fn listed(command: &Command, columns: usize) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let shown: Vec<&Command> =
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help").collect();
    let indent = shown.iter().map(|one| one.get_name().len()).max().unwrap_or_default() + 4;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let named = |name: &&str| shown.iter().find(|one| one.get_name() == *name).copied();
    let groups = GROUPS.iter().map(|(title, names)| (*title, names.iter().filter_map(named).collect::<Vec<_>>()));
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

/// Wraps a sentence between words.
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
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::cli::command();
        for one in command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one.get_name())).count();
            assert_eq!(groups, 1, "{}", one.get_name());
        }
    }

    #[test]
    fn descriptions_stay_in_their_column() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "three", "four"]);
    }
}
