//! Replaces `dialectic serve` in a build without it.

#![expect(clippy::needless_pass_by_value, reason = "the signatures are those of the server")]

use crate::cli::args::ServeArgs;
use crate::cli::interrupt::Interrupts;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::features::MissingFeature;
use dialectic_base::money::Usd;
use dialectic_config::ConfigPath;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Run;
use dialectic_record::debate::DebateId;
use dialectic_record::signals::Signals;

pub(in crate::cli) fn run(_: &ServeArgs, _: &mut Terminal) -> Result<(), Error> {
    Err(MissingFeature::Serve.into())
}

/// A server for a single debate.
pub(in crate::cli) enum Server {}

pub(in crate::cli) fn for_one_debate(_: &ConfigPath, _: &Environment, _: Option<Usd>) -> Result<Server, Error> {
    Err(MissingFeature::Serve.into())
}

/// A server while a debate runs.
pub(in crate::cli) enum Served {}

/// A watched run.
pub(in crate::cli) enum Watched {}

impl Drop for Watched {
    fn drop(&mut self) {
        match *self {}
    }
}

impl Served {
    pub(in crate::cli) fn start(server: Server, _: &DebateId, _: &mut Terminal) -> Result<Self, Error> {
        match server {}
    }

    pub(in crate::cli) fn show(&self, _: &Run, _: Signals) -> Watched {
        match *self {}
    }

    pub(in crate::cli) fn stay(self, _: Option<Interrupts>, _: &mut Terminal) -> Result<(), Error> {
        match self {}
    }
}
