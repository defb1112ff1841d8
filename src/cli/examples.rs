//! The final help: adds examples to each command, and removes the common options.

use clap::Command;

/// Examples by command, without the program's name.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "dialectic demo",
            "dialectic debate --offline \"Design a rate limiting system\"",
            "dialectic init",
            "git diff | dialectic debate --attach - \"Is this safe to merge?\"",
        ],
    ),
    ("demo", &["dialectic demo", "dialectic demo --quiet > solution.md"]),
    ("init", &["dialectic init", "dialectic init --yes --server http://127.0.0.1:8000/v1"]),
    (
        "debate",
        &[
            "dialectic debate \"Design a rate limiting system\"",
            "dialectic debate -p problem.md --panel mixed --max-cost 0.50",
            "git diff | dialectic debate -a security,testing --attach - \"Is this safe to merge?\"",
        ],
    ),
    (
        "review",
        &[
            "dialectic review",
            "dialectic review --base main src --fail-on blocking --max-cost 0.50",
            "git diff main | dialectic review --format markdown",
        ],
    ),
    ("resume", &["dialectic resume latest", "dialectic resume vhkp --finish"]),
    ("wait", &["dialectic wait vhkp --timeout 45", "dialectic wait vhkp --strict --json"]),
    ("status", &["dialectic status vhkp", "dialectic status vhkp --json"]),
    (
        "answer",
        &["dialectic answer vhkp q1=\"500 a second\" q2=", "dialectic answer vhkp --detach --file answers.json"],
    ),
    ("stop", &["dialectic stop vhkp"]),
    (
        "list",
        &[
            "dialectic list --status failed,paused",
            "dialectic list --text queue --since 7d -n 5",
            "dialectic list --cost --since 2026-01-01",
        ],
    ),
    ("show", &["dialectic show latest", "dialectic show vhkp round 2", "dialectic show vhkp points --json"]),
    (
        "ask",
        &[
            "dialectic ask latest \"What if the budget is halved?\"",
            "dialectic ask vhkp --max-cost 0.05 \"Which part would you build first?\"",
            "dialectic ask vhkp",
        ],
    ),
    ("diff", &["dialectic diff vhkp ab12", "dialectic diff vhkp latest --json"]),
    ("rate", &["dialectic rate latest +1", "dialectic rate vhkp -1 \"Ignored the budget\""]),
    ("tag", &["dialectic tag latest storage adr-7", "dialectic tag latest --remove storage"]),
    ("rm", &["dialectic rm vhkp", "dialectic rm vhkp ab12 --yes"]),
    ("ratings", &["dialectic ratings", "dialectic ratings --json"]),
    ("memory", &["dialectic memory search rate limiting", "dialectic memory show latest"]),
    (
        "memory search",
        &["dialectic memory search rate limiting", "dialectic memory search -n 3 \"Where do we keep sessions?\""],
    ),
    ("memory show", &["dialectic memory show latest", "dialectic memory show vhkp --json"]),
    ("memory forget", &["dialectic memory forget vhkp"]),
    ("memory rebuild", &["dialectic memory rebuild"]),
    ("serve", &["dialectic serve --open", "dialectic serve --port 8080 --max-cost 0.50 --max-cost-per-day 5"]),
    ("report", &["dialectic report latest", "dialectic report vhkp -o decision.html"]),
    (
        "eval",
        &[
            "dialectic eval --offline -d latest",
            "dialectic eval -c evaluators.json -d './debates/*.json' -o scores.csv",
        ],
    ),
    (
        "lift",
        &[
            "dialectic lift examples/lift --offline",
            "dialectic lift examples/lift --judges evaluators.json --repeat 3 --dry-run",
            "dialectic lift sums.jsonl --against self-refine --max-cost 20",
        ],
    ),
    ("sweep", &["dialectic sweep plan sweep.json -o plan.jsonl", "dialectic sweep run plan.jsonl --jobs 8"]),
    (
        "sweep plan",
        &["dialectic sweep plan sweep.json -o plan.jsonl", "dialectic sweep plan sweep.json --offline > plan.jsonl"],
    ),
    (
        "sweep run",
        &[
            "dialectic sweep run plan.jsonl --jobs 8",
            "dialectic sweep run plan.jsonl --index 17 --store /shared/set",
            "dialectic sweep run plan.jsonl --shard 2/8 --wait 120",
        ],
    ),
    ("sweep status", &["dialectic sweep status plan.jsonl", "dialectic sweep status plan.jsonl --json"]),
    (
        "sweep collect",
        &["dialectic sweep collect plan.jsonl > results.jsonl", "dialectic sweep collect plan.jsonl -o results.html"],
    ),
    ("replay", &["dialectic replay latest --speed 10", "dialectic replay latest --speed max --events -"]),
    (
        "fork",
        &[
            "dialectic fork latest --at 2.critique --set debate.rounds=4",
            "dialectic fork latest --at start --model gpt-5.6-luna --provider openai",
        ],
    ),
    ("sign", &["dialectic sign latest", "dialectic sign vhkp --key ~/.ssh/id_ed25519"]),
    ("verify", &["dialectic verify latest", "dialectic verify vhkp --signers allowed_signers --json"]),
    ("config", &["dialectic config init", "dialectic config check", "dialectic config show"]),
    ("config init", &["dialectic config init", "dialectic config init review.json"]),
    ("config check", &["dialectic config check", "dialectic config check -c review.json"]),
    ("config show", &["dialectic config show", "dialectic config show --json"]),
    ("config schema", &["dialectic config schema > debate-config.schema.json"]),
    ("models", &["dialectic models", "dialectic models '*mini*' --json", "dialectic models --probe --yes"]),
    ("protocols", &["dialectic protocols", "dialectic protocols show oxford"]),
    ("protocols show", &["dialectic protocols show dialectic"]),
    ("mcp", &["dialectic mcp --max-cost 0.50 --max-cost-per-day 5 --context ."]),
    ("skill", &["dialectic skill install", "dialectic skill remove"]),
    ("skill install", &["dialectic skill install", "dialectic skill install --for claude,codex --project"]),
    ("skill remove", &["dialectic skill remove --for claude"]),
    ("skill show", &["dialectic skill show"]),
    ("completions", &["dialectic completions bash > ~/.local/share/bash-completion/completions/dialectic"]),
    ("man", &["dialectic man | man -l -", "dialectic man --dir ./man"]),
];

/// Common options, described in the program's own help.
const COMMON: [&str; 2] = ["color", "version"];

/// The command and its subcommands with examples and without common options.
pub(super) fn finished(command: Command) -> Command {
    with_examples(command, "").mut_subcommands(|below| rest(below, ""))
}

fn rest(command: Command, above: &str) -> Command {
    let path = format!("{above} {}", command.get_name()).trim().to_owned();
    let is_common = |id: &str| COMMON.contains(&id);
    let command = command.mut_args(|argument| {
        let hides = is_common(argument.get_id().as_str());
        if hides { argument.hide(true) } else { argument }
    });
    with_examples(command, &path).mut_subcommands(|below| rest(below, &path))
}

fn with_examples(command: Command, path: &str) -> Command {
    match EXAMPLES.iter().find(|(name, _)| *name == path) {
        Some((_, lines)) => {
            let lines = lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
            command.after_help(format!("Examples:\n{lines}"))
        }
        None => command,
    }
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
        fn paths(command: &Command, above: &str, found: &mut Vec<String>) {
            found.push(above.to_owned());
            for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
                paths(below, format!("{above} {}", below.get_name()).trim(), found);
            }
        }
        let mut there = Vec::new();
        paths(&crate::cli::command(), "", &mut there);
        let mut written: Vec<String> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        there.sort();
        written.sort();
        assert_eq!(there, written);
        for (path, lines) in EXAMPLES {
            assert!((1..=4).contains(&lines.len()), "{path}");
            for line in *lines {
                let parsed = crate::cli::command().try_get_matches_from(arguments(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
