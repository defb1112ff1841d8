//! `dialectic mcp`: debates for coding agents, over the Model Context Protocol.

use std::io::IsTerminal as _;

use crate::cli::args::McpArgs;
use crate::cli::session::{config_files, debates, env_file, runner};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::mcp::{Options, serve};
use dialectic_config::{Overrides, capture_environment};

pub(in crate::cli) fn run(args: &McpArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(&env_file(args.env_file.as_ref()))?;
    // A configuration that cannot be used is better found now than with the first debate.
    for warning in config_files(args.config.as_ref(), &environment).load(&Overrides::default())?.warnings {
        terminal.warning(&warning);
    }
    if std::io::stdin().is_terminal() {
        terminal.notice("A coding agent starts this command and speaks to it on standard input; Ctrl-D ends it.");
    }
    let options = Options {
        directory: debates()?,
        runner: runner(environment)?,
        config: args.config.clone(),
        env_file: args.env_file.clone(),
        context: args.context.clone(),
        max_cost: args.max_cost,
        max_cost_per_day: args.max_cost_per_day,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(options));
    // A line of standard input that is still waited for keeps nobody.
    runtime.shutdown_background();
    Ok(served?)
}
