//! Arguments of the commands that set the program up or serve it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use dialectic_base::money::Usd;

use super::{dollars, examples};

#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Write a commented configuration to start from
    #[command(after_help = examples(&["dialectic config init", "dialectic config init review.json"]))]
    Init {
        /// The file to write
        #[arg(default_value = dialectic_config::DEFAULT_PATH, value_name = "PATH")]
        path: PathBuf,
    },
    /// Check a configuration and the keys it needs; call nothing
    #[command(after_help = examples(&["dialectic config check", "dialectic config check review.json"]))]
    Check {
        /// The file to check [default: ./debate-config.json]
        #[arg(value_name = "PATH", conflicts_with = "config")]
        path: Option<PathBuf>,
        #[command(flatten)]
        file: ConfigFileArgs,
    },
    /// Print every setting and its source
    #[command(after_help = examples(&["dialectic config show", "dialectic config show --json"]))]
    Show {
        #[command(flatten)]
        file: ConfigFileArgs,
        /// Print the settings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust a configuration or `.env` as if you named it each time; if it changes, you have to trust it again
    #[command(after_help = examples(&["dialectic config trust", "dialectic config trust .env"]))]
    Trust {
        /// The file to trust
        #[arg(default_value = dialectic_config::DEFAULT_PATH, value_name = "PATH")]
        path: PathBuf,
    },
    /// Print the JSON Schema of the configuration
    #[command(after_help = examples(&["dialectic config schema > debate-config.schema.json"]))]
    Schema,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigFileArgs {
    /// The configuration file [default: ./debate-config.json]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// Ask nothing: use the options, and the proposed value for everything else
    #[arg(short, long)]
    pub(in crate::cli) yes: bool,

    /// A server of your own that speaks OpenAI's API, such as `http://127.0.0.1:8000/v1`
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) server: Option<String>,

    /// The environment variable that holds the server's API key [default: no key]
    #[arg(long, value_name = "NAME", requires = "server")]
    pub(in crate::cli) key_variable: Option<String>,

    /// The model to use: a name, `provider/model`, or the program `claude` or `codex`
    #[arg(short, long, value_name = "MODEL")]
    pub(in crate::cli) model: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ModelsArgs {
    /// Only these models, by name or as provider:name; `*` matches anything
    #[arg(value_name = "MODEL")]
    pub(in crate::cli) models: Vec<String>,

    /// Call each configured or named model once with a tiny prompt; asks before it spends money
    #[arg(long)]
    pub(in crate::cli) probe: bool,

    /// Do not ask for confirmation
    #[arg(short, long, requires = "probe")]
    pub(in crate::cli) yes: bool,

    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,

    #[command(flatten)]
    pub(in crate::cli) file: ConfigFileArgs,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(in crate::cli) struct ProtocolsArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<ProtocolsCommand>,

    /// Print this protocol's table of transitions as Markdown
    pub(in crate::cli) name: Option<String>,

    /// Print the table as a Mermaid diagram
    #[arg(long, requires = "name")]
    pub(in crate::cli) mermaid: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProtocolsCommand {
    /// Draw a protocol's stages and transitions
    #[command(after_help = examples(&["dialectic protocols show dialectic"]))]
    Show {
        /// The protocol
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
The script completes debates, roles, protocols and stages as well as commands and options.
  bash        echo 'source <(dialectic completions bash)' >> ~/.bashrc
  zsh         echo 'source <(dialectic completions zsh)' >> ~/.zshrc
  fish        dialectic completions fish > ~/.config/fish/completions/dialectic.fish
  elvish      echo 'eval (dialectic completions elvish | slurp)' >> ~/.elvish/rc.elv
  powershell  dialectic completions powershell | Out-String | Invoke-Expression")]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    pub(in crate::cli) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ManArgs {
    /// Write a manual page for every command into this directory
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) dir: Option<PathBuf>,
}

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

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(in crate::cli) struct SkillArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<SkillCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SkillCommand {
    /// Install the skill for coding agents, or renew it
    #[command(after_help = examples(&["dialectic skill install", "dialectic skill install .claude/skills"]))]
    Install {
        /// The directory of skills [default: `skills` in each of ~/.agents, ~/.claude and ~/.codex that exists]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}
