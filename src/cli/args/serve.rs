//! Arguments of the server.

use std::path::PathBuf;

use clap::Args;

use dialectic_base::money::Usd;

use super::dollars;

#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    /// The port; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(in crate::cli) port: u16,

    /// The address to listen on; access from other machines requires `DIALECTIC_TOKEN` and both cost limits
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(in crate::cli) host: String,

    /// Open the page in a browser
    #[arg(long)]
    pub(in crate::cli) open: bool,

    /// The debates directory [default: your configuration's, else ./debates]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) dir: Option<PathBuf>,

    /// The configuration file [default: ./debate-config.json]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    /// The maximum cost of a debate started here, in dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    /// The maximum cost of all debates per day (UTC), in dollars; the server then starts no more
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost_per_day: Option<Usd>,

    /// The maximum number of model calls in a debate started here, including retries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) max_calls: Option<u32>,

    /// How many debates run at once; others wait
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(in crate::cli) max_debates: u16,
}
