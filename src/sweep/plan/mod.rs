//! The plan of a set of debates: JSON lines that a worker on another machine can run without any other file. A plan
//! refers to providers only by name, because their addresses, keys and commands belong to the machine that runs the
//! debate.

mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;
use dialectic_base::figures::counted;
use dialectic_base::money::Usd;
use dialectic_engine::access::{Environment, elsewhere};
use dialectic_engine::runner::new_debate;
use dialectic_engine::tools::FILE_TOOLS;
use dialectic_record::event::Created;
use dialectic_record::ids::DebateId;
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{ProviderSettings, Settings};

use super::description::Problem;
use crate::error::{ErrorCategory, UserError};

pub use wire::Prompts;

#[derive(Debug, Clone)]
pub struct Plan {
    pub problems: Vec<Arc<Problem>>,
    pub variants: Vec<Arc<Variant>>,
    pub debates: Vec<PlannedDebate>,
}

#[derive(Debug, Clone)]
pub struct SavedPlan {
    pub plan: Plan,
    /// The SHA-256 of the file's bytes in hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    /// The complete settings, except for machine-specific and personal ones.
    pub settings: Settings,
    /// The protocol that the settings name.
    pub protocol: &'static Protocol,
    pub prompts: Prompts,
}

#[derive(Debug, Clone)]
pub struct PlannedDebate {
    /// The debate's position in the plan, counted from 0.
    pub index: usize,
    /// A hash of the debate's inputs, so it is the same on every machine.
    pub id: DebateId,
    pub problem: Arc<Problem>,
    pub variant: Arc<Variant>,
    /// Numbers the debates of the same problem and variant, from 1.
    pub repeat: u32,
    /// The likely cost; `None` if a price is unknown.
    pub likely: Option<Usd>,
    /// The maximum cost without tool use; `None` if a price is unknown.
    pub most: Option<Usd>,
}

/// What a debate takes from the machine that runs it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub providers: BTreeMap<String, ProviderSettings>,
    pub environment: Environment,
    /// The directory in which [`Plan::unpack`] put the prompts.
    pub prompts: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        fault: String,
    },
    #[error("{} contains no debates", path.display())]
    Empty { path: PathBuf },
    /// The plan was made by a version of the program that has different built-in prompts.
    #[error("{} was created with the built-in prompts {planned}, but this version has {own}", path.display())]
    Prompts { path: PathBuf, planned: String, own: String },
    #[error("cannot write the plan's prompts to {}", path.display())]
    Unpacked { path: PathBuf, source: std::io::Error },
}

fn unplannable(message: impl Into<String>) -> UserError {
    UserError::of(ErrorCategory::Configuration, message)
}

impl Variant {
    /// Packs the prompts and removes what belongs to this machine from the settings.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the settings cannot be part of a plan.
    pub fn new(name: String, protocol: &'static Protocol, settings: &Settings) -> Result<Self, UserError> {
        let mut settings = settings.clone();
        let prompts = Prompts::pack(protocol, &mut settings)?;
        let settings = Self::portable(settings, protocol)?;
        Ok(Self { name, settings, protocol, prompts })
    }

    /// Removes machine-specific and personal settings. Workers refuse plans that contain them, because a plan may come
    /// from a stranger.
    ///
    /// # Errors
    ///
    /// Returns an error if the debates depend on a setting that cannot be part of a plan.
    fn portable(mut settings: Settings, protocol: &'static Protocol) -> Result<Settings, UserError> {
        if settings.asks_host() {
            return Err(unplannable("the provider `host` cannot be used in a set of debates"));
        }
        for agent in settings.everybody() {
            if let Some(tool) = agent.tools.iter().find(|tool| FILE_TOOLS.contains(&tool.name.as_str())) {
                let (agent, tool) = (&agent.id, &tool.name);
                let message = format!("{agent} has the tool `{tool}`, which reads local files");
                let hint = "attach the files that agents should read, and remove the tool from this configuration";
                return Err(unplannable(message).with_hint(hint));
            }
        }
        if !settings.debate.arena.context_commands.is_empty() {
            return Err(unplannable("`debate.arena.contextCommands` is set, but a plan cannot contain commands")
                .with_hint("attach the commands' output, and remove the commands from this configuration"));
        }
        settings.debate.budget.max_cost_usd = settings.max_cost();
        settings.debate.budget.max_calls = settings.max_calls();
        settings.debate.budget.warn_cost_usd = None;
        // Each debate has its own seed.
        settings.debate.seed = None;
        protocol.name.clone_into(&mut settings.debate.protocol);
        // No user can answer, and debates must not influence each other.
        settings.debate.interactive_clarifications = false;
        settings.debate.memory = false;
        settings.debate.trace = None;
        settings.debate.trace_content = false;
        settings.providers.clear();
        settings.elsewhere.clear();
        settings.base_dir = None;
        settings.context_dir = None;
        Ok(settings)
    }

    /// Omits the name, so that renaming a variant keeps the ids of its debates.
    fn hash(&self) -> Vec<u8> {
        // Serializing settings cannot fail.
        let settings = serde_json::to_string(&self.settings).unwrap_or_default();
        let prompts = self.prompts.files.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]);
        hash([settings.as_bytes(), self.prompts.version.as_bytes()].into_iter().chain(prompts))
    }
}

impl Problem {
    /// Omits the id, so that renaming a problem keeps the ids of its debates.
    fn hash(&self) -> Vec<u8> {
        let attachments = self.attachments.iter().flat_map(|one| [one.name.as_bytes(), one.text.as_bytes()]);
        hash([self.text.as_bytes()].into_iter().chain(attachments))
    }
}

impl PlannedDebate {
    /// Derived from the id, so that every machine shuffles in the same order.
    pub fn seed(&self) -> u32 {
        let hash = Sha256::digest(self.id.as_str());
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])
    }

    pub fn created(&self, machine: &Machine) -> Created {
        let mut settings = self.variant.settings.clone();
        settings.providers.clone_from(&machine.providers);
        settings.base_dir = Some(self.variant.prompts.directory(&machine.prompts));
        settings.elsewhere = elsewhere(&settings, &machine.environment);
        Created {
            id: self.id.clone(),
            attachments: Arc::clone(&self.problem.attachments),
            seed: self.seed(),
            ..new_debate(Arc::clone(&self.problem.text), self.variant.protocol, settings)
        }
    }
}

impl Plan {
    /// Plans `repeats` debates per problem and variant, without estimating their costs.
    pub fn of(problems: Vec<Problem>, variants: Vec<Variant>, repeats: u32) -> Self {
        let problems: Vec<Arc<Problem>> = problems.into_iter().map(Arc::new).collect();
        let variants: Vec<Arc<Variant>> = variants.into_iter().map(Arc::new).collect();
        let hashes: Vec<Vec<u8>> = variants.iter().map(|variant| variant.hash()).collect();
        let mut debates = Vec::new();
        for problem in &problems {
            let of_problem = problem.hash();
            for (variant, of_variant) in variants.iter().zip(&hashes) {
                for repeat in 1..=repeats {
                    let id = id(&of_problem, of_variant, repeat);
                    debates.push(PlannedDebate {
                        index: debates.len(),
                        id,
                        problem: Arc::clone(problem),
                        variant: Arc::clone(variant),
                        repeat,
                        likely: None,
                        most: None,
                    });
                }
            }
        }
        Self { problems, variants, debates }
    }

    /// Writes the prompts of all variants below a directory, for [`PlannedDebate::created`].
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written.
    pub fn unpack(&self, directory: &Path) -> Result<(), PlanError> {
        for variant in &self.variants {
            variant.prompts.unpack(directory).map_err(|(path, source)| PlanError::Unpacked { path, source })?;
        }
        Ok(())
    }

    /// The number of debates in words, for example `8 debates`.
    pub fn counted(&self) -> String {
        counted(self.debates.len() as u64, "debate")
    }

    /// The likely cost of all debates; `None` if a price is unknown.
    pub fn likely(&self) -> Option<Usd> {
        self.debates.iter().map(|debate| debate.likely).sum()
    }

    /// The maximum cost of all debates, without tool use; `None` if a price is unknown.
    pub fn most(&self) -> Option<Usd> {
        self.debates.iter().map(|debate| debate.most).sum()
    }
}

fn id(problem: &[u8], variant: &[u8], repeat: u32) -> DebateId {
    let hash = hash([problem, variant, &repeat.to_be_bytes()]);
    DebateId::new(format!("swp-{}", hexadecimal(&hash[..8])))
}

/// Also hashes the length of each part, so that different lists have different hashes.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}
