//! Chooses the models for agents and judges that name none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
use dialectic_base::provider::{OPENROUTER, PresetModels, ROUTED_MODELS, default_models, models, preset};
use dialectic_engine::access::{Outline, provider_names};
use dialectic_llm::command::{ProgramPreset, program_preset};
use dialectic_llm::models::facts;
use dialectic_record::debate::{AgentSettings, ProviderSettings};

use super::findings::{Diagnostics, Fault, unknown};
use super::overrides::{Overrides, PanelName, Switch};
use super::resolve::ResolveContext;

/// The environment variable that names the default model.
pub(super) const MODEL_VARIABLE: &str = "DIALECTIC_MODEL";
/// The environment variable that names the default provider.
pub(super) const PROVIDER_VARIABLE: &str = "DIALECTIC_PROVIDER";

/// The models for agents and judges that name none, and the reason for the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// One model for all agents, or several that are assigned in turn. Never empty.
    pub(super) models: Vec<ServedModel>,
    /// The name of the panel, if one was requested.
    pub panel: Option<PanelName>,
    /// The reason.
    pub because: ChoiceReason,
}

/// Why models were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceReason {
    /// These environment variables hold keys of their providers.
    KeyIsSet(Vec<String>),
    /// These programs were found, and these environment variables hold keys.
    ProgramIsThere {
        /// The programs.
        programs: Vec<String>,
        /// The variables, possibly none.
        variables: Vec<String>,
    },
    /// No key was found: this is the first provider in the order.
    NoKeyIsSet,
    /// An environment variable names the model.
    Variable(&'static str),
    /// The user's own configuration names it.
    File(PathBuf),
    /// A command-line option names it.
    Option(&'static str),
}

impl ModelChoice {
    /// Checks that a key is available for a call.
    ///
    /// # Errors
    /// No key is set. Lists the variables of which one is needed.
    pub fn callable(&self) -> Result<(), NoKey> {
        match self.because {
            ChoiceReason::KeyIsSet(_)
            | ChoiceReason::ProgramIsThere { .. }
            | ChoiceReason::Variable(_)
            | ChoiceReason::File(_)
            | ChoiceReason::Option(_) => Ok(()),
            ChoiceReason::NoKeyIsSet => Err(NoKey),
        }
    }

    /// The model for the agent at this place.
    pub(super) fn dealt(&self, place: usize) -> &ServedModel {
        &self.models[place % self.models.len()]
    }
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyIsSet(variables) if variables.len() == 1 => write!(f, "{} is set", variables[0]),
            Self::KeyIsSet(variables) => write!(f, "{} are set", variables.join(", ")),
            Self::ProgramIsThere { programs, variables } => {
                let verb = if programs.len() == 1 { "is" } else { "are" };
                write!(f, "{} {verb} installed", programs.join(", "))?;
                if variables.is_empty() { Ok(()) } else { write!(f, "; {}", Self::KeyIsSet(variables.clone())) }
            }
            Self::NoKeyIsSet => f.write_str("assumed, because no API key is set"),
            Self::File(path) => write!(f, "from {}", path.display()),
            Self::Variable(name) | Self::Option(name) => write!(f, "from {name}"),
        }
    }
}

/// The first line of a run.
impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models: Vec<String> =
            self.models.iter().map(|served| format!("{} of {}", served.model, served.provider)).collect();
        let because = &self.because;
        let models = models.join(", ");
        match (self.panel, because) {
            (Some(panel), _) => write!(f, "Panel {}: {models} ({because}).", panel.name()),
            (None, ChoiceReason::KeyIsSet(_) | ChoiceReason::ProgramIsThere { .. } | ChoiceReason::NoKeyIsSet) => {
                write!(f, "No model is configured; using {models} ({because}).")
            }
            (None, ChoiceReason::Variable(_) | ChoiceReason::File(_) | ChoiceReason::Option(_)) => {
                write!(f, "Using {models} ({because}).")
            }
        }
    }
}

/// No model is configured and no key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no API key is set, and no model is configured")]
pub struct NoKey;

impl Diagnostic for NoKey {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Configuration
    }

    fn hint(&self) -> Option<String> {
        let none = BTreeMap::new();
        let variables = default_models().filter_map(|(name, _)| Outline::of(name, &none)?.api_key_env());
        let variables: Vec<&str> = variables.collect();
        Some(format!("set one of {} in the environment or a `.env` file", variables.join(", ")))
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(Remedy::SetUp)
    }
}

/// A provider and model to assign to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedModel {
    pub(super) provider: String,
    pub(super) model: String,
}

impl ServedModel {
    pub(super) fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    pub(super) fn like(agent: &AgentSettings) -> Self {
        Self { provider: agent.provider.clone(), model: agent.model.clone() }
    }

    /// The default model of a provider.
    pub(super) fn by(provider: &str) -> Option<Self> {
        let of_program = || {
            let preset = program_preset(provider)?;
            Some(Self::new(preset.name, preset.default_model))
        };
        named(default_models(), provider).or_else(of_program)
    }

    /// An agent with this provider and model.
    pub(super) fn lent_to(&self, agent: AgentSettings) -> AgentSettings {
        AgentSettings { provider: self.provider.clone(), model: self.model.clone(), ..agent }
    }
}

fn named<'a>(models: impl IntoIterator<Item = (&'a str, &'a str)>, provider: &str) -> Option<ServedModel> {
    let (provider, model) = models.into_iter().find(|(name, _)| *name == provider)?;
    Some(ServedModel::new(provider, model))
}

/// The model that one layer prefers.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelPreference {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

impl ModelPreference {
    pub(super) fn of_file(tree: &Value) -> Self {
        let text = |key: &str| tree[key].as_str().map(str::to_owned);
        Self { provider: text("provider"), model: text("model") }
    }

    /// Replaces a model's name with the program for which it stands.
    pub(super) fn with_program_named(self, own: &[String]) -> Self {
        let meant = self.model.as_deref().filter(|_| self.provider.is_none()).and_then(|model| of_program(model, own));
        match meant {
            Some(ServedModel { provider, model }) => Self { provider: Some(provider), model: Some(model) },
            None => self,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.provider.is_none() && self.model.is_none()
    }
}

/// Chooses models among these providers.
pub(super) struct ModelResolver<'a> {
    pub(super) providers: &'a BTreeMap<String, ProviderSettings>,
    pub(super) context: &'a ResolveContext<'a>,
}

impl ModelResolver<'_> {
    /// Chooses models for agents and judges that name none. Reports unusable ones as findings.
    pub(super) fn choose(&self, findings: &mut Diagnostics) -> ModelChoice {
        match self.context.panel() {
            Some((PanelName::Mixed, by)) => self.mixed(&by, findings),
            Some((PanelName::Cheap, _)) => self.of_panel(|models| models.cheap, PanelName::Cheap, findings),
            Some((PanelName::Strong, _)) => self.of_panel(|models| models.strong, PanelName::Strong, findings),
            None => self.one(findings),
        }
    }

    /// One model for all agents: from the highest layer that names one, else from the first provider with a key. No
    /// second provider receives anything just because its key is set.
    fn one(&self, findings: &mut Diagnostics) -> ModelChoice {
        let ResolveContext { overrides, usual, .. } = self.context;
        let asked = ModelPreference { provider: overrides.provider.clone(), model: overrides.model.clone() };
        let variables =
            ModelPreference { provider: self.variable(PROVIDER_VARIABLE), model: self.variable(MODEL_VARIABLE) };
        let own = self.providers.iter().filter(|(_, entry)| entry.program.is_some()).map(|(name, _)| name.clone());
        let variables = variables.with_program_named(&own.collect::<Vec<_>>());
        let named_by = |wish: &ModelPreference, model, provider| if wish.model.is_some() { model } else { provider };
        let layers = [
            (&asked, ChoiceReason::Option(named_by(&asked, "--model", "--provider"))),
            (&variables, ChoiceReason::Variable(named_by(&variables, MODEL_VARIABLE, PROVIDER_VARIABLE))),
            (&usual.preference, ChoiceReason::File(usual.path.clone().unwrap_or_default())),
        ];
        let Some(place) = layers.iter().position(|(wish, _)| !wish.is_none()) else {
            return self.first(default_models());
        };
        let (wish, because) = &layers[place];
        let below = || layers[place + 1..].iter().map(|(wish, _)| *wish);
        let served = match (&wish.provider, &wish.model) {
            (Some(provider), Some(model)) => Ok(ServedModel::new(provider, model)),
            (None, Some(model)) => {
                let below = below().find_map(|wish| wish.provider.clone()).filter(|name| may_serve(name, model));
                below.map_or_else(|| self.provider_of(model), Ok).map(|provider| ServedModel::new(provider, model))
            }
            (Some(provider), None) => {
                let usual = below().find(|wish| wish.provider.as_ref() == Some(provider) && wish.model.is_some());
                let served = usual.and_then(|wish| Some(ServedModel::new(provider, wish.model.as_ref()?)));
                served.or_else(|| ServedModel::by(provider)).ok_or_else(|| self.no_default_model(provider))
            }
            (None, None) => return self.first(default_models()),
        };
        match served.and_then(|served| self.known(served)) {
            Ok(served) => ModelChoice { models: vec![served], panel: None, because: because.clone() },
            Err(fault) => {
                match because {
                    ChoiceReason::Variable(name) => findings.variable_problem(name, fault.message),
                    ChoiceReason::Option(name) => findings.argument(name, fault),
                    ChoiceReason::File(_)
                    | ChoiceReason::KeyIsSet(_)
                    | ChoiceReason::ProgramIsThere { .. }
                    | ChoiceReason::NoKeyIsSet => {
                        findings.problem(dialectic_base::key_path::KeyPath::root().key("provider"), fault.message);
                    }
                }
                self.first(default_models())
            }
        }
    }

    fn of_panel(
        &self,
        one: fn(&PresetModels) -> &'static str,
        panel: PanelName,
        findings: &mut Diagnostics,
    ) -> ModelChoice {
        let models = models(one);
        let ResolveContext { overrides, usual, .. } = self.context;
        let provider = overrides.provider.clone().map(|name| (name, ChoiceReason::Option("--provider")));
        let provider = provider
            .or_else(|| Some((self.variable(PROVIDER_VARIABLE)?, ChoiceReason::Variable(PROVIDER_VARIABLE))))
            .or_else(|| Some((usual.preference.provider.clone()?, ChoiceReason::File(usual.path.clone()?))));
        let Some((provider, because)) = provider else {
            return ModelChoice { panel: Some(panel), ..self.first(models) };
        };
        if let Some(served) = named(models.clone(), &provider) {
            return ModelChoice { models: vec![served], panel: Some(panel), because };
        }
        let known: Vec<&str> = models.clone().map(|(name, _)| name).collect();
        let fault = format!(
            "cannot be `{}` with the provider `{provider}`: panels consist of models of {}",
            panel.name(),
            known.join(", ")
        );
        findings.argument("--panel", fault);
        ModelChoice { panel: Some(panel), ..self.first(models) }
    }

    /// One model per provider with a key, or models of several families through a router.
    fn mixed(&self, by: &ChoiceReason, findings: &mut Diagnostics) -> ModelChoice {
        let asked = self.context.overrides.provider.as_ref();
        if let Some(provider) = asked.filter(|name| *name != OPENROUTER) {
            findings.argument("--panel", format!("`mixed` needs several providers, and `{provider}` is only one"));
        }
        let with_key =
            |(provider, model): (&str, &str)| Some((ServedModel::new(provider, model), self.key_of(provider)?));
        let own = |(provider, _): &(&str, &str)| *provider != OPENROUTER && asked.is_none();
        let mut found: Vec<(ServedModel, String)> = default_models().filter(own).filter_map(with_key).collect();
        if found.len() < 2 {
            let taken: BTreeSet<String> = found.iter().map(|(served, _)| served.provider.clone()).collect();
            let is_other = |(_, model): &(&str, &str)| !taken.iter().any(|vendor| model.starts_with(vendor.as_str()));
            found.extend(ROUTED_MODELS.iter().copied().filter(is_other).filter_map(with_key));
        }
        let is_other = |program: &ProgramPreset| {
            !found.iter().any(|(served, _)| {
                Some(served.provider.as_str()) == program.vendor
                    || program.vendor.is_some_and(|vendor| served.model.starts_with(vendor))
            })
        };
        // Without calls, no key is needed.
        let is_offline = self.context.overrides.offline == Switch::On;
        let are_wanted = found.len() < 2 && asked.is_none() && !is_offline;
        let there = if are_wanted { (self.context.programs)(self.providers) } else { Vec::new() };
        let usable = there.iter().filter(|one| one.fault.is_none() && is_other(one.preset));
        let programs: Vec<&ProgramPreset> = usable.map(|one| one.preset).collect();
        let mut variables: Vec<String> = found.iter().map(|(_, variable)| variable.clone()).collect();
        variables.dedup();
        if found.len() + programs.len() < 2 {
            if !is_offline {
                let set = variables.join(", ");
                let set = if set.is_empty() { "none is set".to_owned() } else { format!("only {set} is set") };
                let faults = there.iter().filter_map(|one| one.fault.as_ref());
                let set = faults.fold(set, |all, fault| format!("{all}; {fault}"));
                findings.unmet(format!(
                    "the panel `mixed`, requested by {}, needs the keys of two providers, or \
                     OPENROUTER_API_KEY, or the program `claude` or `codex` instead of a key; {set}",
                    match by {
                        ChoiceReason::File(path) => path.display().to_string(),
                        ChoiceReason::KeyIsSet(_)
                        | ChoiceReason::ProgramIsThere { .. }
                        | ChoiceReason::NoKeyIsSet
                        | ChoiceReason::Variable(_)
                        | ChoiceReason::Option(_) => "--panel".to_owned(),
                    }
                ));
            }
            return ModelChoice { panel: Some(PanelName::Mixed), ..self.first(default_models()) };
        }
        let of_programs = programs.iter().map(|program| ServedModel::new(program.name, program.default_model));
        let because = if programs.is_empty() {
            ChoiceReason::KeyIsSet(variables)
        } else {
            let programs = programs.iter().map(|program| program.name.to_owned()).collect();
            ChoiceReason::ProgramIsThere { programs, variables }
        };
        let models = found.into_iter().map(|(served, _)| served).chain(of_programs).collect();
        ModelChoice { models, panel: Some(PanelName::Mixed), because }
    }

    /// The first of `models` whose provider has a key, else the first one.
    fn first<'a>(&self, models: impl Iterator<Item = (&'a str, &'a str)>) -> ModelChoice {
        let models: Vec<_> = models.collect();
        let with_key = models.iter().find_map(|served| Some((*served, self.key_of(served.0)?)));
        let ((provider, model), because) = match with_key {
            Some((served, variable)) => (served, ChoiceReason::KeyIsSet(vec![variable])),
            None => (models[0], ChoiceReason::NoKeyIsSet),
        };
        ModelChoice { models: vec![ServedModel::new(provider, model)], panel: None, because }
    }

    /// The provider of a model that was named without one: a provider known to serve it, preferably with a key; else
    /// the only one that can be called.
    pub(super) fn provider_of(&self, model: &str) -> Result<String, Fault> {
        let known = || default_models().map(|(name, _)| name);
        let listing = || known().filter(|name| facts(name, model).is_some());
        if let Some(name) = listing().find(|name| self.key_of(name).is_some()).or_else(|| listing().next()) {
            return Ok(name.to_owned());
        }
        let own = self.providers.keys().map(String::as_str).filter(|name| preset(name).is_none());
        let callable: Vec<&str> = known().filter(|name| self.key_of(name).is_some()).chain(own).collect();
        let choices = match callable.as_slice() {
            [one] => return Ok((*one).to_owned()),
            [] => "name its provider".to_owned(),
            several => format!("choose among {}", several.join(", ")),
        };
        let message = format!("names `{model}`, which no known provider serves: {choices}");
        Err(Fault { message, remedy: Some(Remedy::NameProvider) })
    }

    fn known(&self, served: ServedModel) -> Result<ServedModel, Fault> {
        let names = provider_names(self.providers);
        if names.contains(&served.provider.as_str()) {
            return Ok(served);
        }
        Err(format!("names an {}", unknown("provider", &served.provider, &names)).into())
    }

    /// Explains why a provider without a model does not determine the model.
    pub(super) fn no_default_model(&self, provider: &str) -> Fault {
        let names = provider_names(self.providers);
        if names.contains(&provider) {
            let message = format!("names `{provider}`, which has no default model: name one");
            Fault { message, remedy: Some(Remedy::NameModel) }
        } else {
            format!("names an {}", unknown("provider", provider, &names)).into()
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.context.environment.get(name).map(str::to_owned)
    }

    /// The variable with a provider's key, if it is set.
    fn key_of(&self, provider: &str) -> Option<String> {
        let outline = Outline::of(provider, self.providers)?;
        outline.key(self.context.environment).and(outline.api_key_env()).map(str::to_owned)
    }
}

/// The program and the model that a model's name stands for: `claude` is the program with its default model,
/// `claude/opus` another of its models. `own` lists the user's own programs; their default model has the program's
/// name.
pub(super) fn of_program(model: &str, own: &[String]) -> Option<ServedModel> {
    let (name, rest) = model.split_once('/').map_or((model, None), |(name, rest)| (name, Some(rest)));
    let preset = program_preset(name);
    if preset.is_none() && !own.iter().any(|own| own == name) {
        return None;
    }
    let usual = preset.map_or(name, |preset| preset.default_model);
    Some(ServedModel::new(name, rest.unwrap_or(usual)))
}

/// Whether a provider may have a model: a vendor's program has no models that are listed only for other providers.
pub(super) fn may_serve(provider: &str, model: &str) -> bool {
    let Some(vendor) = program_preset(provider).and_then(|preset| preset.vendor) else { return true };
    let is_elsewhere = || default_models().any(|(name, _)| facts(name, model).is_some());
    facts(vendor, model).is_some() || !is_elsewhere()
}

/// Replaces models' names in the options with the programs for which they stand.
pub(super) fn with_programs_named(options: &Overrides, own: &[String]) -> Overrides {
    let mut options = options.clone();
    if options.provider.is_some() {
        return options;
    }
    let meant = |model: &Option<String>| of_program(model.as_deref()?, own);
    if let Some(ServedModel { provider, model }) = meant(&options.judge_model) {
        (options.judge_provider, options.judge_model) = (Some(provider), Some(model));
    }
    if let Some(ServedModel { provider, model }) = meant(&options.model) {
        (options.provider, options.model) = (Some(provider), Some(model));
    }
    options
}
