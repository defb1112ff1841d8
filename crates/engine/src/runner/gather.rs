//! Collects a debate's material: attachments, files, output of the user's commands, and results of past debates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use crate::access::{Environment, known_keys, secret_variables};
use crate::engine::Gather;
use crate::process::{Excerpt, Limited, run};
use crate::tools::{ContextDirectory, outline, readme};
use dialectic_base::encoding::{NotUtf8, decode, hexadecimal};
use dialectic_base::figures::thousands;
use dialectic_base::secrets::{KnownKeys, holds_private_key, may_hold_secrets};
use dialectic_llm::models::family;
use dialectic_record::debate::{Attachment, Debate, Gathered, Material, MaterialSource, Standings};
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::live::Span;
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{DebateSettings, Settings};

use super::DebateHistory;

/// The time limit for each of the user's commands.
const COMMAND_TIME: Duration = Duration::from_secs(30);
const COMMAND_BYTES: usize = 16_000;

#[derive(Clone)]
pub(super) struct Collector {
    pub(super) past: Option<Arc<dyn DebateHistory>>,
    pub(super) withheld: Option<PathBuf>,
    pub(super) keys: KnownKeys,
}

impl Collector {
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
                // If the blocking task panics, the debate continues without the task's results.
                let mut gathered = rest.unwrap_or_default();
                let (files, memory): (Vec<Material>, Vec<Material>) =
                    gathered.material.into_iter().partition(|one| one.source != MaterialSource::Memory);
                gathered.material = files.into_iter().chain(printed).chain(memory).collect();
                gathered
            })
        })
    }

    /// Returns the least and the most material to expect, without running commands. Both are empty if the protocol
    /// collects none.
    pub(super) fn foreseen(&self, protocol: &Protocol, settings: &Settings, problem: &str) -> Span<Gathered> {
        if !protocol.stages.iter().any(|stage| stage.info.yields == Some(ResultKind::Material)) {
            return Span { low: Gathered::default(), high: Gathered::default() };
        }
        let low = self.without_commands(settings, problem);
        let mut high = low.clone();
        let longest = Excerpt { text: "x".repeat(COMMAND_BYTES), cut: true };
        let commands = settings.debate.arena.context_commands.iter();
        high.material.extend(commands.map(|command| found(MaterialSource::Command, command.clone(), longest.clone())));
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
            Ok(excerpt) => material.push(found(MaterialSource::Outline, name, excerpt)),
            Err(error) => material.push(failed(MaterialSource::Outline, &name, error.to_string())),
        }
        match readme(&directory) {
            Ok(None) => {}
            Ok(Some((name, excerpt))) => material.push(found(MaterialSource::Readme, name, excerpt)),
            Err((name, error)) => material.push(failed(MaterialSource::Readme, &name, error.to_string())),
        }
        material
    }

    async fn commands(&self, settings: &Settings) -> Vec<Material> {
        let commands = &settings.debate.arena.context_commands;
        let without: BTreeSet<String> = secret_variables(&settings.providers);
        let printed = commands.iter().map(|command| async {
            let limited = Limited { command, input: None, limit: COMMAND_TIME, keep: COMMAND_BYTES, without: &without };
            match run(&limited).await {
                Ok(Excerpt { text, cut }) => {
                    let text = self.keys.redact_cut(&text).into_owned();
                    found(MaterialSource::Command, self.keys.redact(command).into_owned(), Excerpt { text, cut })
                }
                Err(error) => failed(MaterialSource::Command, &self.keys.redact(command), error.to_string()),
            }
        });
        join_all(printed.collect::<Vec<_>>()).await
    }
}

fn found(source: MaterialSource, name: String, Excerpt { text, cut }: Excerpt) -> Material {
    Material { source, name, text, cut, error: None }
}

fn failed(source: MaterialSource, name: &str, error: String) -> Material {
    Material { source, name: name.to_owned(), text: String::new(), cut: false, error: Some(error) }
}

fn families(settings: &Settings) -> BTreeMap<AgentId, String> {
    let known = |model: &str| family(model).map(str::to_owned);
    settings.agents.iter().filter_map(|agent| Some((agent.id.clone(), known(&agent.model)?))).collect()
}

/// The maximum number of bytes in a UTF-8 character.
const WIDEST: u64 = 4;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// The file is not UTF-8 text.
    #[error("the attachment {name} is not UTF-8 text")]
    NotUtf8 {
        /// The file's name, as given by the user.
        name: String,
        /// Where the text stops being UTF-8, and which encoding is likely.
        fault: NotUtf8,
    },
    /// The file is empty or blank.
    #[error("the attachment {0} is empty")]
    Empty(String),
    /// Together, the attachments exceed the limit.
    #[error("attaching {name} would exceed the total limit of {} characters", thousands(*limit as u64))]
    TooLong {
        /// The file that pushes the total over the limit.
        name: String,
        /// The limit in characters.
        limit: usize,
    },
    /// The file's name or directory suggests secrets.
    #[error("the attachment {0} may contain keys or passwords, judging by its name")]
    SecretName(String),
    /// The file contains a private key or a provider's key.
    #[error("the attachment {name} contains {what}")]
    Secret {
        /// The file's name, as given by the user.
        name: String,
        /// Describes the secret without revealing it.
        what: String,
    },
}

/// The attachments of a debate, added one by one. If one is rejected, do not start the debate with the others.
pub struct Attachments<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    /// The number of characters that may still be attached.
    left: usize,
    attached: Vec<Attachment>,
}

impl<'a> Attachments<'a> {
    /// Creates an empty list. Files are rejected if they contain a key that `environment` has for a provider in
    /// `settings`.
    pub fn new(settings: &'a Settings, environment: &'a Environment) -> Self {
        Self { settings, environment, left: DebateSettings::ATTACHMENT_LIMIT, attached: Vec::new() }
    }

    /// How many bytes of the next file to read; a longer file certainly exceeds the limit.
    pub fn most_bytes(&self) -> u64 {
        (self.left as u64).saturating_add(1).saturating_mul(WIDEST)
    }

    /// Checks a file's name.
    ///
    /// # Errors
    ///
    /// Returns an error if the name suggests secrets.
    pub fn check_name(name: &str) -> Result<(), AttachmentError> {
        if may_hold_secrets(Path::new(name)) {
            return Err(AttachmentError::SecretName(name.to_owned()));
        }
        Ok(())
    }

    /// Removes the limit on length. The caller must limit the texts.
    pub fn unlimited(self) -> Self {
        Self { left: usize::MAX, ..self }
    }

    /// Attaches a file. `bytes` may be limited to the first [`most_bytes`](Self::most_bytes) of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is not text, is empty or too long, or contains a secret.
    pub fn add(&mut self, name: String, bytes: &[u8]) -> Result<&mut Attachment, AttachmentError> {
        let limit = DebateSettings::ATTACHMENT_LIMIT;
        let is_cut = bytes.len() as u64 >= self.most_bytes();
        let text = match decode(bytes) {
            Ok(text) => text,
            // Reading only the beginning of the file may have split a character.
            Err(_) if is_cut => return Err(AttachmentError::TooLong { name, limit }),
            Err(fault) => return Err(AttachmentError::NotUtf8 { name, fault }),
        };
        if text.trim().is_empty() {
            return Err(AttachmentError::Empty(name));
        }
        let Some(rest) = self.left.checked_sub(text.chars().count()) else {
            return Err(AttachmentError::TooLong { name, limit });
        };
        self.left = rest;
        let secret = if holds_private_key(text) {
            Some("a private key".to_owned())
        } else {
            known_keys(&self.settings.providers, self.environment)
                .find(text)
                .map(|variable| format!("the value of {variable}"))
        };
        if let Some(what) = secret {
            return Err(AttachmentError::Secret { name, what });
        }
        let sha256 = hexadecimal(&Sha256::digest(bytes));
        Ok(self.attached.push_mut(Attachment { name, sha256, text: text.into(), part: None }))
    }

    /// All attachments in the order in which they were added.
    pub fn into_all(self) -> Arc<[Attachment]> {
        self.attached.into()
    }
}
