//! The commands. [`Command`] lists them all.

mod answer;
mod ask;
pub(super) mod completions;
mod config;
mod debate;
mod demo;
mod eval;
mod fork;
mod init;
mod list;
mod mcp;
mod models;
mod protocols;
mod report;
mod requests;
mod resume;
pub(super) mod review;
mod rm;
pub(super) mod serve;
pub(super) mod show;
mod skill;
mod sweep;
mod verify;
mod wait;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::error::Error;
use dialectic_report::display::ColorMode;

use super::args::{COLORS, DebateArg, RunArgs, choice};
use super::examples::{examples, grouped, without_common};
use super::terminal::Terminal;

/// Language-model agents debate a problem, and a judge hands back one answer.
#[derive(Debug, Parser)]
#[command(name = "dialectic", version, propagate_version = true, max_term_width = 100, args_override_self = true)]
#[command(after_help = examples(&[
    "dialectic demo",
    "dialectic debate --offline \"Design a rate limiting system\"",
    "dialectic init",
    "git diff | dialectic debate --attach - \"Is this safe to merge?\"",
]))]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,

    /// When to use colour [default: auto]
    // Place this option after each command's own options. Clap's default position depends on the number of commands.
    #[arg(long, global = true, value_parser = choice(COLORS), value_name = "WHEN", display_order = 900)]
    pub(super) color: Option<ColorMode>,
}

/// Defines the command line. The completions, the manual and the documentation are generated from this definition.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    // `build` adds the global options to every subcommand, where `without_common` hides them.
    command.build();
    grouped(without_common(command), GROUPS)
}

/// Declares [`Command`] and `GROUPS` from one table. Each row consists of a command's description, arguments and name,
/// the field with the run options (if the command runs a debate), the function and the examples.
macro_rules! commands {
    ($($group:literal {
        $($(#[$about:meta])* $name:ident($args:ty) = $command:literal $(with $run:ident)?, $function:expr, [$($example:literal,)+];)+
    })+) => {
        #[derive(Debug, Subcommand)]
        pub(super) enum Command {
            $($($(#[$about])* #[command(after_help = examples(&[$($example),+]))] $name($args),)+)+
        }

        impl Command {
            pub(super) fn run(&self, terminal: &mut Terminal) -> Result<(), Error> {
                match self {
                    $($(
                        Self::$name(args) => $function(args, terminal),
                    )+)+
                }
            }

            /// The command's name and run options; `None` for a command that does not run a debate.
            pub(super) fn run_args(&self) -> Option<(&'static str, &RunArgs)> {
                $($($(
                    if let Self::$name(args) = self {
                        return Some(($command, &args.$run));
                    }
                )?)+)+
                None
            }
        }

        /// The groups in the help, with their commands, in display order.
        pub(super) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$($command),+])),+];
    };
}

commands! {
    "Debate" {
        /// Debate a problem and print the solution
        Debate(Box<debate::DebateArgs>) = "debate" with run, debate::run, [
            "dialectic debate \"Design a rate limiting system\"",
            "dialectic debate -p problem.md --mixed --max-cost 0.50",
            "git diff | dialectic debate -a security,testing --attach - \"Is this safe to merge?\"",
        ];
        /// Review a change with agents that confirm or refute each other's findings
        Review(Box<review::ReviewArgs>) = "review" with run, review::run, [
            "dialectic review",
            "dialectic review --base main src --fail-on blocking --max-cost 0.50",
            "git diff main | dialectic review --format markdown",
        ];
        /// Continue a paused, failed or killed debate from its last finished call
        Resume(resume::ResumeArgs) = "resume" with run, resume::run, [
            "dialectic resume latest",
            "dialectic resume vhkp --finish",
        ];
        /// Ask the judge a question about a finished debate
        Ask(ask::AskArgs) = "ask", ask::run, [
            "dialectic ask latest \"What if the budget is halved?\"",
            "dialectic ask vhkp --max-cost 0.05 \"Which part would you build first?\"",
        ];
        /// Fork a past debate: continue from an earlier point with changes
        Fork(Box<fork::ForkArgs>) = "fork" with run, fork::run, [
            "dialectic fork latest --at 2.critiques --set debate.rounds=4",
            "dialectic fork latest --at start --model openai/gpt-5.6-luna",
        ];
        /// Watch, start and steer debates in a browser or over an HTTP API
        Serve(serve::ServeArgs) = "serve", serve::run, [
            "dialectic serve --open",
            "dialectic serve --port 8080 --max-cost 0.50 --max-cost-per-day 5",
        ];
    }
    "Without a terminal" {
        /// Wait for a running debate and exit with its exit code
        Wait(wait::WaitArgs) = "wait", wait::run, [
            "dialectic wait vhkp --timeout 45",
            "dialectic wait vhkp --timeout 0 --json",
        ];
        /// Answer a debate's questions and continue it
        Answer(answer::AnswerArgs) = "answer" with run, answer::run, [
            "dialectic answer vhkp q1=\"500 a second\" q2=",
            "dialectic answer vhkp --detach --file answers.json",
        ];
        /// Print the requests of a `-m host` debate: model calls for you to answer
        Requests(requests::RequestsArgs) = "requests", requests::run, [
            "dialectic requests vhkp --wait 45",
            "dialectic requests vhkp 3fa9c1d2",
        ];
        /// Reply to a request from a `-m host` debate
        Reply(requests::ReplyArgs) = "reply", requests::reply, [
            "dialectic reply vhkp 3fa9c1d2 answer.md --by fable-5.5",
        ];
        /// End a debate early with an answer from its current texts
        Stop(DebateArg) = "stop", wait::stop, [
            "dialectic stop vhkp",
        ];
    }
    "Read" {
        /// Replay a hand-written debate in 20 seconds; needs no key or network
        Demo(demo::DemoArgs) = "demo", demo::run, [
            "dialectic demo",
            "dialectic demo --quiet > solution.md",
        ];
        /// List the saved debates, newest first
        List(list::ListArgs) = "list", list::run, [
            "dialectic list --status failed,paused",
            "dialectic list --text queue --since 7d -n 5",
            "dialectic list --cost --since 2026-01-01",
        ];
        /// Show a saved debate or a part of it
        Show(show::ShowArgs) = "show", show::run, [
            "dialectic show latest",
            "dialectic show vhkp round 2",
            "dialectic show vhkp points --json",
        ];
        /// Write a report on a saved debate in Markdown, HTML or another format
        Report(report::ReportArgs) = "report", report::run, [
            "dialectic report latest",
            "dialectic report vhkp -o decision.html",
        ];
    }
    "Maintain" {
        /// Remove debates
        Rm(rm::RmArgs) = "rm", rm::run, [
            "dialectic rm vhkp",
            "dialectic rm vhkp ab12 --yes",
        ];
        /// Check a debate's record for damage
        Verify(verify::VerifyArgs) = "verify", verify::run, [
            "dialectic verify latest",
            "dialectic verify latest --head | ssh-keygen -Y sign -n dialectic -f ~/.ssh/id_ed25519 > answer.sig",
        ];
    }
    "Measure" {
        /// Have evaluators score the solutions of saved debates
        Eval(eval::EvalArgs) = "eval", eval::run, [
            "dialectic eval latest",
            "dialectic eval -c evaluators.json -d './debates/*.json' -o scores.csv",
            "dialectic eval -c evaluators.json --pairwise vhkp ab12 --repeat 3",
            "dialectic eval -c evaluators.json --pairwise plan.jsonl:council plan.jsonl:single",
        ];
        /// Run sets of debates on Slurm, GNU parallel or Kubernetes
        #[command(subcommand, disable_help_subcommand = true)]
        Sweep(sweep::SweepCommand) = "sweep", sweep::run, [
            "dialectic sweep plan sweep.json -o plan.jsonl",
            "dialectic sweep run plan.jsonl --jobs 8",
        ];
    }
    "Set up" {
        /// Choose a provider and model for all directories
        Init(init::InitArgs) = "init", init::run, [
            "dialectic init",
            "dialectic init --yes --server http://127.0.0.1:8000/v1",
        ];
        /// Write, check and show configurations
        #[command(subcommand, disable_help_subcommand = true)]
        Config(config::ConfigCommand) = "config", config::run, [
            "dialectic config init",
            "dialectic config check",
            "dialectic config show",
        ];
        /// List the models you can use, with their context windows and prices
        Models(models::ModelsArgs) = "models", models::run, [
            "dialectic models",
            "dialectic models '*mini*' --json",
            "dialectic models --probe --yes",
        ];
        /// List the protocols or print one
        Protocols(protocols::ProtocolsArgs) = "protocols", protocols::run, [
            "dialectic protocols",
            "dialectic protocols show oxford",
        ];
    }
    "For programs" {
        /// Run debates for coding agents over the Model Context Protocol (MCP)
        Mcp(mcp::McpArgs) = "mcp", mcp::run, [
            "dialectic mcp --max-cost 0.50 --max-cost-per-day 5 --context .",
        ];
        /// Print or install the skill that teaches coding agents to use this program
        Skill(skill::SkillArgs) = "skill", skill::run, [
            "dialectic skill install",
            "dialectic skill install .claude/skills",
        ];
        /// Print a shell completion script
        Completions(completions::CompletionsArgs) = "completions", completions::completions, [
            "dialectic completions bash > ~/.local/share/bash-completion/completions/dialectic",
        ];
        /// Print the manual page
        Man(completions::ManArgs) = "man", |args, terminal| completions::man(command(), args, terminal), [
            "dialectic man | man -l -",
            "dialectic man --dir ./man",
        ];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        for one in command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set()) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one.get_name())).count();
            assert_eq!(groups, 1, "{}", one.get_name());
        }
    }
}
