//! One file per command: parse, resolve, run, render. [`Command`] is the table of them.

use clap::Subcommand;

use super::args::{
    AnswerArgs, AskArgs, CompletionsArgs, ConfigArgs, DebateArgs, DemoArgs, EvalArgs, ForkArgs, InitArgs, ListArgs,
    ManArgs, McpArgs, ModelsArgs, ProtocolsArgs, ReplyArgs, ReportArgs, RequestsArgs, ResumeArgs, ReviewArgs, RmArgs,
    RunArgs, ServeArgs, ShowArgs, SkillArgs, StopArgs, SweepArgs, VerifyArgs, WaitArgs,
};
use super::examples::examples;
use super::terminal::Terminal;
use crate::error::Error;

mod answer;
mod ask;
mod completions;
mod config;
mod debate;
mod demo;
mod dry_run;
mod eval;
mod fork;
mod init;
mod list;
mod man;
mod mcp;
mod models;
pub(super) mod problem;
mod protocols;
mod reply;
mod report;
mod requests;
mod resume;
mod review;
mod rm;
pub(super) mod serve;
mod show;
mod skill;
mod stop;
mod sweep;
mod verify;
mod wait;

/// Declares [`Command`], the function of each command, and the groups of the help. A row has a command's description,
/// arguments, module, options of the run and examples; modules are named like commands.
macro_rules! commands {
    ($($group:literal {
        $($(#[$about:meta])* $name:ident($args:ty) = $module:ident $(with $run:ident)?, [$($example:literal,)+];)+
    })+) => {
        #[derive(Debug, Subcommand)]
        pub(super) enum Command {
            $($($(#[$about])* #[command(after_help = examples(&[$($example),+]))] $name($args),)+)+
        }

        impl Command {
            /// Runs the command.
            pub(super) fn run(&self, terminal: &mut Terminal) -> Result<(), Error> {
                match self {
                    $($(
                        Self::$name(args) => $module::run(args, terminal),
                    )+)+
                }
            }

            /// The name and options of a command that runs a debate.
            pub(super) fn run_args(&self) -> Option<(&'static str, &RunArgs)> {
                $($($(
                    if let Self::$name(args) = self {
                        return Some((stringify!($module), &args.$run));
                    }
                )?)+)+
                None
            }
        }

        /// The commands of each group of the help, in the order of display.
        pub(super) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($module)),+])),+];
    };
}

commands! {
    "Debate" {
        /// Debate a problem and print the solution
        Debate(Box<DebateArgs>) = debate with run, [
            "dialectic debate \"Design a rate limiting system\"",
            "dialectic debate -p problem.md --mixed --max-cost 0.50",
            "git diff | dialectic debate -a security,testing --attach - \"Is this safe to merge?\"",
        ];
        /// Have several agents review a change: each finding is confirmed or refuted by the others, and the judge rules
        Review(Box<ReviewArgs>) = review with run, [
            "dialectic review",
            "dialectic review --base main src --fail-on blocking --max-cost 0.50",
            "git diff main | dialectic review --format markdown",
        ];
        /// Continue a paused, failed or killed debate from its last finished call
        Resume(ResumeArgs) = resume with run, [
            "dialectic resume latest",
            "dialectic resume vhkp --finish",
        ];
        /// Ask the judge about a finished debate
        Ask(AskArgs) = ask, [
            "dialectic ask latest \"What if the budget is halved?\"",
            "dialectic ask vhkp --max-cost 0.05 \"Which part would you build first?\"",
        ];
        /// Fork a past debate: change something and continue from there
        Fork(Box<ForkArgs>) = fork with run, [
            "dialectic fork latest --at 2.critiques --set debate.rounds=4",
            "dialectic fork latest --at start --model openai/gpt-5.6-luna",
        ];
        /// Show, start and steer debates in a browser, or through an HTTP API
        Serve(ServeArgs) = serve, [
            "dialectic serve --open",
            "dialectic serve --port 8080 --max-cost 0.50 --max-cost-per-day 5",
        ];
    }
    "Without a terminal" {
        /// Wait for the end of a debate that runs elsewhere, and exit as it did
        Wait(WaitArgs) = wait, [
            "dialectic wait vhkp --timeout 45",
            "dialectic wait vhkp --timeout 0 --json",
        ];
        /// Answer a debate's questions, so that it continues
        Answer(AnswerArgs) = answer with run, [
            "dialectic answer vhkp q1=\"500 a second\" q2=",
            "dialectic answer vhkp --detach --file answers.json",
        ];
        /// Print the model calls of a `-m host` debate that you answer
        Requests(RequestsArgs) = requests, [
            "dialectic requests vhkp --wait 45",
            "dialectic requests vhkp 3fa9c1d2",
        ];
        /// Answer a request, so that the debate continues
        Reply(ReplyArgs) = reply, [
            "dialectic reply vhkp 3fa9c1d2 answer.md --by fable-5.5",
        ];
        /// Close a debate early with its current texts, even one that another process runs
        Stop(StopArgs) = stop, [
            "dialectic stop vhkp",
        ];
    }
    "Read" {
        /// Play a hand-written debate in half a minute, without key, network or cost
        Demo(DemoArgs) = demo, [
            "dialectic demo",
            "dialectic demo --quiet > solution.md",
        ];
        /// List the saved debates, newest first
        List(ListArgs) = list, [
            "dialectic list --status failed,paused",
            "dialectic list --text queue --since 7d -n 5",
            "dialectic list --cost --since 2026-01-01",
        ];
        /// Read a saved debate, or a part of it
        Show(ShowArgs) = show, [
            "dialectic show latest",
            "dialectic show vhkp round 2",
            "dialectic show vhkp points --json",
        ];
        /// Write a report on a saved debate, as Markdown, HTML, a decision record or JSON
        Report(ReportArgs) = report, [
            "dialectic report latest",
            "dialectic report vhkp -o decision.html",
        ];
    }
    "Keep" {
        /// Remove debates
        Rm(RmArgs) = rm, [
            "dialectic rm vhkp",
            "dialectic rm vhkp ab12 --yes",
        ];
        /// Check a debate's record for damage
        Verify(VerifyArgs) = verify, [
            "dialectic verify latest",
            "dialectic verify latest --head | ssh-keygen -Y sign -n dialectic -f ~/.ssh/id_ed25519 > answer.sig",
        ];
    }
    "Measure" {
        /// Have evaluators score the solutions of saved debates
        Eval(EvalArgs) = eval, [
            "dialectic eval latest",
            "dialectic eval -c evaluators.json -d './debates/*.json' -o scores.csv",
            "dialectic eval -c evaluators.json --pairwise vhkp ab12 --repeat 3",
            "dialectic eval -c evaluators.json --pairwise plan.jsonl:council plan.jsonl:single",
        ];
        /// Run sets of debates on Slurm, GNU parallel or Kubernetes
        Sweep(SweepArgs) = sweep, [
            "dialectic sweep plan sweep.json -o plan.jsonl",
            "dialectic sweep run plan.jsonl --jobs 8",
        ];
    }
    "Set up" {
        /// Choose a provider and model, for all directories
        Init(InitArgs) = init, [
            "dialectic init",
            "dialectic init --yes --server http://127.0.0.1:8000/v1",
        ];
        /// Write, check and show configurations
        Config(ConfigArgs) = config, [
            "dialectic config init",
            "dialectic config check",
            "dialectic config show",
        ];
        /// List the models you can use, with context window and price
        Models(ModelsArgs) = models, [
            "dialectic models",
            "dialectic models '*mini*' --json",
            "dialectic models --probe --yes",
        ];
        /// List the protocols, or print one
        Protocols(ProtocolsArgs) = protocols, [
            "dialectic protocols",
            "dialectic protocols show oxford",
        ];
    }
    "For programs" {
        /// Run debates for coding agents, over the Model Context Protocol (MCP)
        Mcp(McpArgs) = mcp, [
            "dialectic mcp --max-cost 0.50 --max-cost-per-day 5 --context .",
        ];
        /// Print or install the skill that teaches coding agents to use this program
        Skill(SkillArgs) = skill, [
            "dialectic skill install",
            "dialectic skill install .claude/skills",
        ];
        /// Print a completion script for a shell
        Completions(CompletionsArgs) = completions, [
            "dialectic completions bash > ~/.local/share/bash-completion/completions/dialectic",
        ];
        /// Print the manual page
        Man(ManArgs) = man, [
            "dialectic man | man -l -",
            "dialectic man --dir ./man",
        ];
    }
}
