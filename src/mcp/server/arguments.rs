//! The arguments of the commands that tools start.

use std::ffi::OsString;
use std::path::PathBuf;

use tokio::task::spawn_blocking;

use dialectic_base::problem::check_problem_text;
use dialectic_base::provider::HOST;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::Settings;

use super::{Options, Refusal, Server};
use crate::mcp::tools::{NamedModel, NewDebate};

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
        check_problem_text(&wanted.problem)
            .map_err(|fault| Refusal(format!("the problem {fault}: {}", fault.hint())))?;
        let mut command = words(&["debate", "-"]);
        command.extend(self.configured());
        for (name, value) in [
            ("--protocol", wanted.protocol.clone()),
            ("--rounds", wanted.rounds.map(|rounds| rounds.to_string())),
            ("--check", wanted.check.map(|check| check.to_string())),
            ("--model", wanted.model.map(|NamedModel::Host| HOST.to_owned())),
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

    /// The limit of calls as an option: the server's, or the debate's own if it is lower.
    pub(super) fn calls(&self, own: Option<&Settings>) -> impl Iterator<Item = OsString> + use<> {
        let least = self.options.max_calls.into_iter().chain(own.and_then(Settings::max_calls)).min();
        least.into_iter().flat_map(|most| option("--max-calls", most.to_string()))
    }
}
