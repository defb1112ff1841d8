//! Chooses the models for agents and judges without a configured one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use dialectic_base::provider::{HOST, OPENROUTER, ROUTED_MODELS, default_models, preset};
use dialectic_engine::access::{Environment, Outline, ProgramThere, provider_names};
use dialectic_llm::command::{PROGRAMS, ProgramPreset, program_preset};
use dialectic_llm::models::facts;
use dialectic_record::settings::{AgentSettings, ProviderSettings};

use super::error::{ConfigError, Diagnostics, Fault, nearest, unknown};
use super::layers::{ChoiceReason, Overrides};
use super::read::ConfigDocument;

const MODEL_VARIABLE: &str = "DIALECTIC_MODEL";
const PROVIDER_VARIABLE: &str = "DIALECTIC_PROVIDER";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// Assigned to agents in turn. Never empty.
    pub(super) models: Vec<ServedModel>,
    pub is_mixed: bool,
    pub because: ChoiceReason,
}

impl ModelChoice {
    /// Checks that the models were not merely assumed because no key is set.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::NoKey`] if they were merely assumed.
    pub fn callable(&self) -> Result<(), ConfigError> {
        match self.because {
            ChoiceReason::KeyIsSet(_)
            | ChoiceReason::ProgramIsThere { .. }
            | ChoiceReason::Variable(_)
            | ChoiceReason::File(_)
            | ChoiceReason::Option(_) => Ok(()),
            ChoiceReason::NoKeyIsSet => Err(ConfigError::NoKey),
        }
    }

    pub(super) fn dealt(&self, place: usize) -> &ServedModel {
        &self.models[place % self.models.len()]
    }
}

/// A notice that says which models are used, and why.
impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_words = |served: &ServedModel| match (served.provider.as_str(), served.model.as_str()) {
            (HOST, HOST) => "your own replies".to_owned(),
            (provider, model) => format!("{provider}/{model}"),
        };
        let models: Vec<String> = self.models.iter().map(in_words).collect();
        let because = &self.because;
        let models = models.join(", ");
        match because {
            _ if self.is_mixed => write!(f, "Using different models: {models} ({because})."),
            ChoiceReason::KeyIsSet(_) | ChoiceReason::ProgramIsThere { .. } | ChoiceReason::NoKeyIsSet => {
                write!(f, "No model is configured; using {models} ({because}).")
            }
            ChoiceReason::Variable(_) | ChoiceReason::File(_) | ChoiceReason::Option(_) => {
                write!(f, "Using {models} ({because}).")
            }
        }
    }
}

pub fn key_variables() -> Vec<&'static str> {
    default_models().filter_map(|(name, _)| preset(name)?.api_key_env).collect()
}

/// A provider and model that can be assigned to agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "ModelInfo")]
pub struct ServedModel {
    pub provider: String,
    pub model: String,
}

impl ServedModel {
    pub(super) fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    pub(super) fn like(agent: &AgentSettings) -> Self {
        Self { provider: agent.provider.clone(), model: agent.model.clone() }
    }

    pub(super) fn by(provider: &str) -> Option<Self> {
        let model = preset(provider).and_then(|preset| preset.model).or_else(|| usual_model(provider))?;
        Some(Self::new(provider, model))
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct ModelPreference {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// The file that states the preference; `None` for options and variables.
    pub(super) file: Option<PathBuf>,
}

impl ModelPreference {
    pub(super) fn of_document(document: &ConfigDocument) -> Self {
        let text = |key: &str| document.tree[key].as_str().map(str::to_owned);
        Self { provider: text("provider"), model: text("model"), file: Some(document.path.clone()) }
    }

    /// Splits a model name such as `provider/model` if no provider is named separately.
    pub(super) fn with_provider_named(self, own: &OwnProviders) -> Self {
        let model = self.model.as_deref().filter(|_| self.provider.is_none());
        let meant = model.and_then(|model| with_provider(model, own));
        match meant {
            Some(ServedModel { provider, model }) => Self { provider: Some(provider), model: Some(model), ..self },
            None => self,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.provider.is_none() && self.model.is_none()
    }
}

pub(super) struct ResolveContext<'a> {
    pub(super) environment: &'a Environment,
    pub(super) overrides: &'a Overrides,
    pub(super) own_roles: &'a [String],
    pub(super) usual: &'a ModelPreference,
    /// Finds installed programs that have their own login. Called only when needed.
    pub(super) programs: &'a dyn Fn(&BTreeMap<String, ProviderSettings>) -> Vec<ProgramThere>,
    /// Whether to warn if the files configure no agents or no judge.
    pub(super) is_expected: bool,
}

pub(super) struct ModelResolver<'a> {
    pub(super) providers: &'a BTreeMap<String, ProviderSettings>,
    pub(super) context: &'a ResolveContext<'a>,
}

impl ModelResolver<'_> {
    pub(super) fn choose(&self, findings: &mut Diagnostics) -> ModelChoice {
        if self.context.overrides.mixed { self.mixed(findings) } else { self.one(findings) }
    }

    pub(super) fn asked(&self, model: Option<&String>) -> ModelPreference {
        ModelPreference { model: model.cloned(), ..ModelPreference::default() }.with_provider_named(&self.own())
    }

    fn own(&self) -> OwnProviders {
        self.providers.iter().map(|(name, entry)| (name.clone(), entry.program.is_some())).collect()
    }

    /// Chooses one model for all agents: that of the highest layer that names a model or a provider, or else the
    /// default model of the first provider with a key. Nothing is sent to other providers, even if their keys are set.
    fn one(&self, findings: &mut Diagnostics) -> ModelChoice {
        let ResolveContext { overrides, usual, .. } = self.context;
        let asked = self.asked(overrides.model.as_ref());
        let [provider, model] =
            [PROVIDER_VARIABLE, MODEL_VARIABLE].map(|name| self.variable(name).filter(|_| usual.model.is_none()));
        let variables = ModelPreference { provider, model, file: None };
        let variable = if variables.model.is_some() { MODEL_VARIABLE } else { PROVIDER_VARIABLE };
        let variables = variables.with_provider_named(&self.own());
        let layers = [
            (&asked, ChoiceReason::Option("--model")),
            (&variables, ChoiceReason::Variable(variable)),
            (*usual, ChoiceReason::File(usual.file.clone().unwrap_or_default())),
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
            Ok(served) => ModelChoice { models: vec![served], is_mixed: false, because: because.clone() },
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

    /// Chooses one model for each provider with a key. If there are fewer than two, adds models served through a
    /// router. If there are still fewer than two, adds models of installed programs.
    fn mixed(&self, findings: &mut Diagnostics) -> ModelChoice {
        let with_key =
            |(provider, model): (&str, &str)| Some((ServedModel::new(provider, model), self.key_of(provider)?));
        let own = |(provider, _): &(&str, &str)| *provider != OPENROUTER;
        let mut found: Vec<(ServedModel, String)> = default_models().filter(own).filter_map(with_key).collect();
        if found.len() < 2 {
            let taken: BTreeSet<String> = found.iter().map(|(served, _)| served.provider.clone()).collect();
            let is_other = |(_, model): &(&str, &str)| !taken.iter().any(|vendor| model.starts_with(vendor.as_str()));
            found.extend(ROUTED_MODELS.iter().copied().filter(is_other).filter_map(with_key));
        }
        let is_other = |program: &ProgramPreset| {
            !found
                .iter()
                .any(|(served, _)| served.provider == program.vendor || served.model.starts_with(program.vendor))
        };
        // Offline debates need no keys.
        let is_offline = self.context.overrides.offline;
        let are_wanted = found.len() < 2 && !is_offline;
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
                    "--mixed needs the keys of two providers, or OPENROUTER_API_KEY; an installed `claude` or `codex` can \
                     replace a key; {set}"
                ));
            }
            return ModelChoice { is_mixed: true, ..self.first(default_models()) };
        }
        let of_programs = programs.iter().map(|program| ServedModel::new(program.name, program.default_model));
        let because = if programs.is_empty() {
            ChoiceReason::KeyIsSet(variables)
        } else {
            let programs = programs.iter().map(|program| program.name.to_owned()).collect();
            ChoiceReason::ProgramIsThere { programs, variables }
        };
        let models = found.into_iter().map(|(served, _)| served).chain(of_programs).collect();
        ModelChoice { models, is_mixed: true, because }
    }

    fn first<'a>(&self, models: impl Iterator<Item = (&'a str, &'a str)>) -> ModelChoice {
        let models: Vec<_> = models.collect();
        let with_key = models.iter().find_map(|served| Some((*served, self.key_of(served.0)?)));
        let ((provider, model), because) = match with_key {
            Some((served, variable)) => (served, ChoiceReason::KeyIsSet(vec![variable])),
            None => (models[0], ChoiceReason::NoKeyIsSet),
        };
        ModelChoice { models: vec![ServedModel::new(provider, model)], is_mixed: false, because }
    }

    /// The provider for a model that was named without one: a provider known to serve the model, preferably with a key,
    /// or else the only callable provider.
    pub(super) fn provider_of(&self, model: &str) -> Result<String, Fault> {
        let known = || default_models().map(|(name, _)| name);
        let listing = || known().filter(|name| facts(name, model).is_some());
        if let Some(name) = listing().find(|name| self.key_of(name).is_some()).or_else(|| listing().next()) {
            return Ok(name.to_owned());
        }
        let own = self.providers.keys().map(String::as_str).filter(|name| preset(name).is_none());
        let callable: Vec<&str> = known().filter(|name| self.key_of(name).is_some()).chain(own).collect();
        // A word such as `claud` is more likely a misspelled program than a model of a built-in provider.
        let programs = || PROGRAMS.iter().map(|program| program.name);
        let near = nearest(model, programs()).filter(|_| model.chars().all(char::is_alphabetic));
        let choices = match callable.as_slice() {
            [one] if near.is_none() || preset(one).is_none() => return Ok((*one).to_owned()),
            [] => "name its provider".to_owned(),
            several => format!("choose one of {}", several.join(", ")),
        };
        let near = near.or_else(|| nearest(model, default_models().map(|(_, model)| model)));
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? If not, "));
        let message = format!("names `{model}`, but no known provider serves it; {near}{choices}");
        Err(Fault { message, needs_provider: true })
    }

    fn known(&self, served: ServedModel) -> Result<ServedModel, Fault> {
        let names = provider_names(self.providers);
        if names.contains(&served.provider.as_str()) {
            return Ok(served);
        }
        Err(format!("names an {}", unknown("provider", &served.provider, &names)).into())
    }

    fn no_default_model(&self, provider: &str) -> Fault {
        let names = provider_names(self.providers);
        if names.contains(&provider) {
            format!("names `{provider}`, which has no default model; name a model as well").into()
        } else {
            format!("names an {}", unknown("provider", provider, &names)).into()
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.context.environment.get(name).map(str::to_owned)
    }

    /// The name of the environment variable that contains the provider's key; `None` if the key is not set.
    fn key_of(&self, provider: &str) -> Option<String> {
        let outline = Outline::of(provider, self.providers)?;
        outline.key(self.context.environment).and(outline.api_key_env()).map(str::to_owned)
    }
}

/// Finds the provider of a model as `--model` does: from `provider/model`, a program's name, or the lists of models.
/// `providers` are those of the user's files.
///
/// # Errors
///
/// Returns an error if the provider is unknown, or it is unclear which one serves the model.
pub fn served_model(
    name: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Result<ServedModel, ConfigError> {
    let (overrides, usual) = (Overrides::default(), ModelPreference::default());
    let context = ResolveContext {
        environment,
        overrides: &overrides,
        own_roles: &[],
        usual: &usual,
        programs: &|_| Vec::new(),
        is_expected: false,
    };
    let resolver = ModelResolver { providers, context: &context };
    let asked = resolver.asked(Some(&name.to_owned()));
    let model = asked.model.unwrap_or_default();
    let provider = asked.provider.map_or_else(|| resolver.provider_of(&model), Ok);
    provider.and_then(|provider| resolver.known(ServedModel { provider, model })).map_err(|fault| fault.of("--model"))
}

/// The providers in the user's files by name, and whether each is a program.
pub(super) type OwnProviders = BTreeMap<String, bool>;

/// Splits a name such as `openai/gpt-5.6-luna` into provider and model. The bare name of a program or of the host
/// selects its default model; for a user's own program, the model has the program's name. `None` for any other name,
/// including one with a slash after something that is not a provider.
pub(super) fn with_provider(name: &str, own: &OwnProviders) -> Option<ServedModel> {
    if let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty()) {
        let is_known = preset(provider).is_some() || program_preset(provider).is_some() || own.contains_key(provider);
        return is_known.then(|| ServedModel::new(provider, model));
    }
    let usual = usual_model(name).or_else(|| own.get(name).filter(|is_program| **is_program).map(|_| name));
    usual.map(|model| ServedModel::new(name, model))
}

fn usual_model(name: &str) -> Option<&'static str> {
    (name == HOST).then_some(HOST).or_else(|| program_preset(name).map(|preset| preset.default_model))
}

/// Whether a provider may serve a model. A vendor's program does not serve models that are listed only for other
/// providers.
pub(super) fn may_serve(provider: &str, model: &str) -> bool {
    let Some(vendor) = program_preset(provider).map(|preset| preset.vendor) else { return true };
    let is_elsewhere = || default_models().any(|(name, _)| facts(name, model).is_some());
    facts(vendor, model).is_some() || !is_elsewhere()
}
