//! Arguments of `lift`, which measures the worth of debates.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::lift::Arm;
use dialectic_base::money::Usd;

use super::eval::repeat;
use super::{ModelArgs, dollars, rounds};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(in crate::cli) struct LiftArgs {
    /// The problems: directories of Markdown files, Markdown files, or `.jsonl` files whose lines have `id`, `problem`
    /// and, if a program can check it, `answer`
    #[arg(value_name = "SET", required_unless_present = "plan")]
    pub(in crate::cli) set: Vec<PathBuf>,

    /// Judge the finished groups of a plan of `sweep` instead; run no debate
    #[arg(help_heading = "Comparison", long, value_name = "PLAN", conflicts_with_all = ["set", "variants", "arm_model", "model", "judge_model", "config", "protocol", "rounds"])]
    pub(in crate::cli) plan: Option<PathBuf>,

    /// The store of the plan [default: next to the plan, with the ending `.store`]
    #[arg(help_heading = "Comparison", long, value_name = "DIR|s3://...", requires = "plan")]
    pub(in crate::cli) store: Option<String>,

    /// The variant of the plan to judge, if several have arms
    #[arg(help_heading = "Comparison", long = "of", value_name = "VARIANT", requires = "plan")]
    pub(in crate::cli) of_variant: Option<String>,

    /// The alternatives to compare the debate with, separated by commas
    #[arg(
        help_heading = "Comparison",
        long,
        value_name = "ARMS",
        value_enum,
        value_delimiter = ',',
        default_value = "self-refine,best-of-n"
    )]
    pub(in crate::cli) against: Vec<Arm>,

    /// Compare two variants of the debate instead; given twice. Each is a configuration, or settings separated by commas:
    /// `config`, `protocol`, `model`, `judge-model` and `rounds`, such as `protocol=council,rounds=2`
    #[arg(help_heading = "Comparison", long = "variant", value_name = "VARIANT", conflicts_with_all = ["against", "arm_model"])]
    pub(in crate::cli) variants: Vec<VariantArg>,

    /// For each problem, limit the second variant to the cost of the first
    #[arg(help_heading = "Comparison", long, requires = "variants")]
    pub(in crate::cli) equal_money: bool,

    /// The judges that compare the answers: a configuration of evaluators, as for `eval`. Without it, every problem
    /// needs an `answer`
    #[arg(help_heading = "Comparison", long, value_name = "PATH")]
    pub(in crate::cli) judges: Option<PathBuf>,

    /// Have each judge compare each pair this many times (at most 100), each time in both orders
    #[arg(help_heading = "Comparison", long, value_name = "N", value_parser = repeat, default_value = "1", allow_negative_numbers = true)]
    pub(in crate::cli) repeat: NonZeroU32,

    /// The model of the arms, at the judge's provider [default: the judge's model]
    #[arg(help_heading = "Comparison", long, value_name = "MODEL")]
    pub(in crate::cli) arm_model: Option<String>,

    #[command(flatten)]
    pub(in crate::cli) models: ModelArgs,

    /// The configuration of the debates [default: ./debate-config.json]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// The environment file with the keys [default: .env, if it exists]
    #[arg(help_heading = "Who debates", short, long, value_name = "PATH")]
    pub(in crate::cli) env_file: Option<PathBuf>,

    /// Call no model: compare offline, without key, network or cost
    #[arg(help_heading = "Who debates", long)]
    pub(in crate::cli) offline: bool,

    /// The protocol of the debates [default: the configuration's, else dialectic]
    #[arg(help_heading = "Debate", long, value_name = "NAME")]
    pub(in crate::cli) protocol: Option<String>,

    /// The number of rounds of the debates [default: the configuration's, else the protocol's]
    #[arg(help_heading = "Debate", short, long, value_name = "N", value_parser = rounds, allow_negative_numbers = true)]
    pub(in crate::cli) rounds: Option<u32>,

    /// The cost limit of the set in dollars, including earlier runs
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) max_cost: Option<Usd>,

    /// Print the cost of the whole set, and call nothing
    #[arg(help_heading = "Cost", long)]
    pub(in crate::cli) dry_run: bool,

    /// Print JSON
    #[arg(help_heading = "Output", long)]
    pub(in crate::cli) json: bool,

    /// Print only warnings while it runs
    #[arg(help_heading = "Output", long)]
    pub(in crate::cli) quiet: bool,
}

/// A variant of the debate: its settings, over the other options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::cli) struct VariantArg {
    /// As it was typed.
    pub(in crate::cli) text: String,
    /// The configuration.
    pub(in crate::cli) config: Option<PathBuf>,
    /// The protocol.
    pub(in crate::cli) protocol: Option<String>,
    /// The model of its agents.
    pub(in crate::cli) model: Option<String>,
    /// The model of its judge.
    pub(in crate::cli) judge_model: Option<String>,
    /// The number of rounds.
    pub(in crate::cli) rounds: Option<u32>,
}

impl FromStr for VariantArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut variant = Self { text: text.to_owned(), ..Self::default() };
        if !text.contains('=') {
            variant.config = Some(text.into());
            return Ok(variant);
        }
        for setting in text.split(',') {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let value = value.trim();
            if value.is_empty() {
                return Err(format!("`{key}` has no value"));
            }
            match key.trim() {
                "config" => variant.config = Some(value.into()),
                "protocol" => variant.protocol = Some(value.to_owned()),
                "model" => variant.model = Some(value.to_owned()),
                "judge-model" => variant.judge_model = Some(value.to_owned()),
                "rounds" => variant.rounds = Some(rounds(value)?),
                other => {
                    return Err(format!("`{other}` is unknown; known: config, protocol, model, judge-model, rounds"));
                }
            }
        }
        Ok(variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_a_configuration_or_settings() {
        let of = |text: &str| text.parse::<VariantArg>();
        assert_eq!(of("a.json").unwrap().config, Some("a.json".into()));
        let set = of("config=b.json,protocol=council,model=m,judge-model=j,rounds=2").unwrap();
        assert_eq!(set.config, Some("b.json".into()));
        assert_eq!([set.protocol, set.model, set.judge_model].map(Option::unwrap), ["council", "m", "j"]);
        assert_eq!(set.rounds, Some(2));
        for (wrong, expected) in [
            ("protocol=", "`protocol` has no value"),
            ("colour=red", "`colour` is unknown"),
            ("rounds=0", "whole number"),
            ("model=a,b", "`b` has no value"),
        ] {
            let error = of(wrong).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
