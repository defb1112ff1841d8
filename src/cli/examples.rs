//! The final help: examples of each command, without the common options.

use clap::Command;

/// The end of a command's help.
pub(super) fn examples(lines: &[&str]) -> String {
    lines.iter().fold("Examples:".to_owned(), |text, line| text + "\n  " + line)
}

/// Common options, described in the program's own help.
const COMMON: [&str; 2] = ["color", "version"];

/// The command, whose subcommands hide the common options.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments of an example as a shell would split them, up to the first pipe or redirection.
    fn arguments(line: &str) -> Vec<String> {
        let line = line.rsplit_once("| dialectic").map_or(line.to_owned(), |(_, rest)| format!("dialectic{rest}"));
        let (mut all, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars() {
            match (c, quote) {
                ('|' | '>', None) => break,
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
                let parsed = crate::cli::command().try_get_matches_from(arguments(line.trim_start()));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                assert!(line.contains(name), "{line} is no example of {name}");
            }
            command.get_subcommands().filter(|below| below.get_name() != "help").for_each(assert_examples);
        }
        assert_examples(&crate::cli::command());
    }
}
