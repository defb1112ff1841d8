//! The arguments of the commands that tools start.

use std::ffi::OsString;
use std::path::PathBuf;

use tokio::task::spawn_blocking;

use dialectic_base::sanitize::one_line;
use dialectic_record::debate::Settings;

use super::{Options, Refusal, Server};
use crate::mcp::tools::NewDebate;

/// An option with a value.
pub(super) fn option(name: &str, value: impl Into<OsString>) -> [OsString; 2] {
    [name.into(), value.into()]
}

pub(super) fn words(all: &[&str]) -> Vec<OsString> {
    all.iter().map(OsString::from).collect()
}

impl Server {
    /// Options for commands that load a configuration.
    pub(super) fn configured(&self) -> Vec<OsString> {
        let Options { config, env_file, context, .. } = &*self.options;
        let named = |name: &str, path: &Option<PathBuf>| path.as_ref().map(|path| option(name, path.as_os_str()));
        let all = [named("--config", config), named("--env-file", env_file), named("--context", context)];
        all.into_iter().flatten().flatten().collect()
    }

    /// The command for a debate, without its limits. Its problem goes to standard input.
    pub(super) async fn debate_command(&self, wanted: &NewDebate) -> Result<Vec<OsString>, Refusal> {
        if wanted.problem.trim().is_empty() {
            return Err(Refusal("the problem is empty".to_owned()));
        }
        let mut command = words(&["debate", "-"]);
        command.extend(self.configured());
        for (name, value) in [
            ("--protocol", wanted.protocol.clone()),
            ("--rounds", wanted.rounds.map(|rounds| rounds.to_string())),
            ("--check", wanted.check.map(|check| check.to_string())),
        ] {
            // Joined, so that values beginning with a dash are not options.
            command.extend(value.map(|value| OsString::from(format!("{name}={value}"))));
        }
        for (name, is_on) in [("--quick", wanted.quick), ("--clarify", wanted.clarify), ("--offline", wanted.offline)] {
            command.extend(is_on.then(|| name.into()));
        }
        if !wanted.files.is_empty() {
            let (server, files) = (self.clone(), wanted.files.clone());
            command.extend(spawn_blocking(move || server.attached(&files)).await??);
        }
        Ok(command)
    }

    /// The options for attached files, which must be inside the context directory and hold no secrets.
    fn attached(&self, files: &[String]) -> Result<Vec<OsString>, Refusal> {
        let context = self.context.as_ref().zip(self.options.context.as_ref());
        let Some((directory, base)) = context else {
            return Err(Refusal("files cannot be attached: the server was started without --context".to_owned()));
        };
        let attached = files.iter().map(|path| {
            directory.check_file(path).map_err(|error| Refusal(format!("{}: {error}", one_line(path))))?;
            let mut joined = OsString::from("--attach=");
            joined.push(base.join(path));
            Ok(joined)
        });
        attached.collect()
    }

    /// The limits of calls as options: the server's, or the debate's own if they are lower.
    pub(super) fn calls(&self, own: Option<&Settings>) -> Vec<OsString> {
        let Options { max_calls, max_calls_per_day, .. } = &*self.options;
        let limits = [
            ("--max-calls", *max_calls, own.and_then(Settings::max_calls)),
            ("--max-calls-per-day", *max_calls_per_day, own.and_then(Settings::max_calls_per_day)),
        ];
        let least = |(name, here, own): (&str, Option<u32>, Option<u32>)| {
            Some(option(name, here.into_iter().chain(own).min()?.to_string()))
        };
        limits.into_iter().filter_map(least).flatten().collect()
    }
}
