//! `dialectic mcp`: serves debates to coding agents over the Model Context Protocol.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{ConfigFileArgs, dollars};
use crate::cli::detach;
use crate::cli::session::{config_files, debates, runner};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::mcp::{Limits, Options, serve};
use dialectic_base::money::Usd;
use dialectic_config::{Overrides, capture_environment};

use super::serve::{called, check_calls, missing};

#[derive(Debug, Args)]
pub(in crate::cli) struct McpArgs {
    /// The maximum cost of a debate, in dollars. Without cost limits, clients must write the answers themselves, unless a
    /// command-line program writes them
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    /// The maximum cost of all debates per day (UTC), in dollars; new debates are refused once this limit is reached
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost_per_day: Option<Usd>,

    /// The maximum number of model calls in a debate; required if models are called through a command-line program
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: Option<u32>,

    /// The directory whose files clients may attach and agents may read [default: clients cannot attach files]
    #[arg(long, value_name = "DIR")]
    context: Option<PathBuf>,

    #[command(flatten)]
    files: ConfigFileArgs,
}

pub(in crate::cli) fn run(args: &McpArgs, terminal: &mut Terminal) -> Result<(), Error> {
    // Tool calls start detached debates, which outlive the client.
    detach::check()?;
    let environment = capture_environment(args.files.env_file.as_deref())?;
    // Report a faulty configuration now, not at the first debate.
    let limits = Overrides { max_calls: args.max_calls, ..Overrides::default() };
    let loaded = config_files(args.files.config.as_ref(), &environment).load(&limits)?;
    let of_cost = [("--max-cost", args.max_cost.is_some()), ("--max-cost-per-day", args.max_cost_per_day.is_some())];
    check_calls("mcp", &loaded.settings)?;
    // Programs have no prices, so the call limit suffices for them.
    let lacking = of_cost.iter().find(|(_, is_there)| !is_there).filter(|_| called(&loaded.settings).is_none());
    // Without any cost limit, clients write the answers themselves, which costs nothing.
    if let Some((option, _)) = lacking.filter(|_| of_cost.iter().any(|(_, is_there)| *is_there)) {
        return Err(missing("mcp", option, "MCP clients can start debates").into());
    }
    terminal.warnings(loaded.warnings);
    if std::io::stdin().is_terminal() {
        terminal
            .notice("This command is for coding agents, which send requests on standard input. Press Ctrl-D to exit.");
    }
    let options = Options {
        directory: debates()?,
        runner: runner(environment)?,
        config: args.files.config.clone(),
        env_file: args.files.env_file.clone(),
        context: args.context.clone(),
        limits: Limits { debate: args.max_cost, day: args.max_cost_per_day },
        max_calls: args.max_calls,
        is_free_only: lacking.is_some(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(options));
    // A pending read of standard input must not delay the exit.
    runtime.shutdown_background();
    Ok(served?)
}
