//! Ignores empty paths, which scripts produce from unset variables: `--output "$OUT"`.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

/// Drops options whose path is empty. An empty limit or list of roles is kept and causes an error, since it was meant
/// to set something.
pub(super) fn without_empty(command: &Command, arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut command = command;
    let mut arguments = arguments.into_iter();
    let mut kept: Vec<OsString> = arguments.next().into_iter().collect();
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else {
            kept.push(argument);
            continue;
        };
        if text == "--" {
            kept.push(argument);
            break;
        }
        if let Some(subcommand) = command.find_subcommand(text) {
            command = subcommand;
            kept.push(argument);
        } else if takes_path(command, text) {
            match arguments.next() {
                Some(value) if value.is_empty() => {}
                value => kept.extend([argument].into_iter().chain(value)),
            }
        } else if !text.strip_suffix('=').is_some_and(|option| takes_path(command, option)) {
            kept.push(argument);
        }
    }
    kept.extend(arguments);
    kept
}

/// Whether `option`, given without a value, is an option of the command that takes one path.
fn takes_path(command: &Command, option: &str) -> bool {
    let is_named = |argument: &Arg| match option.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long) || argument.get_all_aliases().unwrap_or_default().contains(&long)
        }
        None => option
            .strip_prefix('-')
            .is_some_and(|short| argument.get_short().is_some_and(|own| short.chars().eq([own]))),
    };
    let is_path = |argument: &Arg| {
        matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
            && argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
    };
    command.get_arguments().any(|argument| is_named(argument) && is_path(argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(line: &[&str]) -> Vec<String> {
        let mut command = super::super::command();
        command.build();
        let kept = without_empty(&command, line.iter().map(OsString::from));
        kept.into_iter().map(|argument| argument.into_string().unwrap()).collect()
    }

    #[test]
    fn an_option_without_its_value_is_left_out() {
        for line in [
            &["dialectic", "debate", "-o", "", "x"][..],
            &["dialectic", "debate", "--output", "", "x"],
            &["dialectic", "debate", "--output=", "x"],
            &["dialectic", "debate", "--problem-description", "", "x"],
            &["dialectic", "debate", "--problem-file", "", "--attach", "", "x"],
        ] {
            assert_eq!(kept(line), ["dialectic", "debate", "x"], "{line:?}");
        }
    }

    #[test]
    fn everything_else_stays() {
        for line in [
            &["dialectic", "debate", ""][..],
            &["dialectic", "debate", "x", "--max-cost", "", "--agents="],
            &["dialectic", "debate", "--quiet", "", "-o", "-o", "--unknown", ""],
            &["dialectic", "debate", "--", "-o", ""],
            &["dialectic", "debate", "-p", "--output", ""],
            &["dialectic", "debate", "-o"],
            &["dialectic", "fork", "x", "--set", "", "--at", "start"],
            &["dialectic", "config", "show", "a=", "debate"],
        ] {
            assert_eq!(kept(line), line);
        }
    }
}
