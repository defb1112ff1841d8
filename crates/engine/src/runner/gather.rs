//! Collects a debate's material: files, output of the user's commands, and results of past debates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;

use crate::access::secret_variables;
use crate::engine::Gather;
use crate::process::{Limited, run};
use crate::tools::{ContextDirectory, outline, readme};
use dialectic_base::secrets::KnownKeys;
use dialectic_llm::models::family;
use dialectic_record::debate::{
    AgentId, Debate, Gathered, Material, MaterialSource, ResultKind, Settings, Span, Standings,
};
use dialectic_record::protocol::Protocol;

use super::DebateHistory;

/// The time limit of a command, and the maximum number of bytes kept of its output.
const COMMAND_TIME: Duration = Duration::from_secs(30);
const COMMAND_BYTES: usize = 16_000;

/// The inputs for collecting material.
#[derive(Clone)]
pub(super) struct Collector {
    pub(super) past: Option<Arc<dyn DebateHistory>>,
    pub(super) withheld: Option<PathBuf>,
    pub(super) keys: KnownKeys,
}

impl Collector {
    /// The collector as a function for the engine.
    pub(super) fn into_gather(self) -> Gather {
        let collector = Arc::new(self);
        Box::new(move |debate: &Debate| {
            let (collector, settings) = (Arc::clone(&collector), debate.settings.clone());
            let problem = Arc::clone(&debate.problem);
            Box::pin(async move {
                let Some(settings) = settings else { return Gathered::default() };
                let commands = collector.commands(&settings);
                let quiet = Arc::clone(&collector);
                let here = settings.clone();
                let rest = spawn_blocking(move || quiet.without_commands(&here, &problem));
                let (printed, rest) = tokio::join!(commands, rest);
                // A failed look-up of past debates must not abort the debate.
                let mut gathered = rest.unwrap_or_default();
                let (files, memory): (Vec<Material>, Vec<Material>) =
                    gathered.material.into_iter().partition(|one| one.source != MaterialSource::Memory);
                gathered.material = files.into_iter().chain(printed).chain(memory).collect();
                gathered
            })
        })
    }

    /// The minimum and maximum of the material, found without running a command; empty if the protocol collects
    /// nothing.
    pub(super) fn foreseen(&self, protocol: &Protocol, settings: &Settings, problem: &str) -> Span<Gathered> {
        if !protocol.stages.iter().any(|stage| stage.info.yields == Some(ResultKind::Material)) {
            return Span { low: Gathered::default(), high: Gathered::default() };
        }
        let low = self.without_commands(settings, problem);
        let mut high = low.clone();
        high.material.extend(settings.debate.arena.context_commands.iter().map(|command| Material {
            source: MaterialSource::Command,
            name: command.clone(),
            text: "x".repeat(COMMAND_BYTES),
            cut: true,
            error: None,
        }));
        Span { low, high }
    }

    fn without_commands(&self, settings: &Settings, problem: &str) -> Gathered {
        let mut material = self.files(settings);
        let mut standings = Standings::default();
        if let Some(past) = &self.past {
            match past.material(problem, settings) {
                Ok(remembered) => material.extend(remembered),
                Err(error) => material.push(failed(MaterialSource::Memory, "memory", error)),
            }
            match past.standings(&settings.agents) {
                Ok(known) => standings = known,
                Err(error) => material.push(failed(MaterialSource::Memory, "ratings", error)),
            }
        }
        Gathered { material, standings, families: families(settings) }
    }

    fn files(&self, settings: &Settings) -> Vec<Material> {
        let Some(path) = &settings.context_dir else { return Vec::new() };
        let name = path.display().to_string();
        let directory = match ContextDirectory::open(path) {
            Ok(directory) => directory.withholding(self.withheld.as_deref()).redacting(self.keys.clone()),
            Err(error) => return vec![failed(MaterialSource::Outline, &name, error.to_string())],
        };
        let mut material = Vec::new();
        match outline(&directory) {
            Ok(excerpt) if excerpt.text.is_empty() => {}
            Ok(excerpt) => material.push(Material {
                source: MaterialSource::Outline,
                name,
                text: excerpt.text,
                cut: excerpt.cut,
                error: None,
            }),
            Err(error) => material.push(failed(MaterialSource::Outline, &name, error.to_string())),
        }
        match readme(&directory) {
            Ok(None) => {}
            Ok(Some((name, excerpt))) => material.push(Material {
                source: MaterialSource::Readme,
                name,
                text: excerpt.text,
                cut: excerpt.cut,
                error: None,
            }),
            Err((name, error)) => material.push(failed(MaterialSource::Readme, &name, error.to_string())),
        }
        material
    }

    /// The output of the commands in the settings.
    async fn commands(&self, settings: &Settings) -> Vec<Material> {
        let commands = &settings.debate.arena.context_commands;
        let without: BTreeSet<String> = secret_variables(&settings.providers);
        let printed = commands.iter().map(|command| async {
            let limited = Limited { command, input: None, limit: COMMAND_TIME, keep: COMMAND_BYTES, without: &without };
            match run(&limited).await {
                Ok(printed) => Material {
                    source: MaterialSource::Command,
                    name: self.keys.redact(command).into_owned(),
                    text: self.keys.redact_cut(&printed.text).into_owned(),
                    cut: printed.cut,
                    error: None,
                },
                Err(error) => failed(MaterialSource::Command, &self.keys.redact(command), error.to_string()),
            }
        });
        join_all(printed.collect::<Vec<_>>()).await
    }
}

fn failed(source: MaterialSource, name: &str, error: String) -> Material {
    Material { source, name: name.to_owned(), text: String::new(), cut: false, error: Some(error) }
}

/// The family of each agent's model, if known.
fn families(settings: &Settings) -> BTreeMap<AgentId, String> {
    let known = |model: &str| family(model).map(str::to_owned);
    settings.agents.iter().filter_map(|agent| Some((agent.id.clone(), known(&agent.model)?))).collect()
}
