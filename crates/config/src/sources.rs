//! Where each effective value is from, for `config show`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use dialectic_base::key_path::{KeyPath, Segment};
use dialectic_base::provider::OFFLINE;
use dialectic_engine::access::{Environment, Outline};

use super::choice::{ChoiceReason, ModelChoice};
use super::load::{ConfigPath, Loaded};
use super::overrides::{Overrides, Switch};
use super::user::UserConfig;

/// The layer that decided a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nothing was said about it.
    BuiltIn,
    /// The configuration file.
    File(PathBuf),
    /// An environment variable, of the process or the environment file.
    Variable(String),
    /// An option of the command line.
    Option(&'static str),
    /// Nothing was said about it, and this was chosen.
    Chosen(ChoiceReason),
    /// Nothing was said about it, and it is taken from the agent or judge of this name.
    Like(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Option(name) => write!(f, "option {name}"),
            Self::Chosen(because) => write!(f, "chosen: {because}"),
            Self::Like(other) => write!(f, "like {other}"),
        }
    }
}

/// What is known about where values are from. Ask with [`Sources::of`].
#[derive(Debug, Clone)]
pub struct Sources {
    path: PathBuf,
    named: bool,
    agents: Vec<Option<usize>>,
    file: Value,
    overrides: Overrides,
    choice: Option<ModelChoice>,
    /// The user's own configuration: where it is, what holds of it, and its own keys.
    user: Option<(PathBuf, Value)>,
    own: Vec<(&'static str, String)>,
}

/// What resolution knows about the origin of values.
pub(super) struct Origin<'a> {
    pub(super) path: &'a ConfigPath,
    /// For each effective agent its index in the file.
    pub(super) agents: Vec<Option<usize>>,
    /// The file as untyped JSON.
    pub(super) file: Value,
    /// What was chosen for agents without a configuration.
    pub(super) choice: Option<ModelChoice>,
    /// The user's own configuration.
    pub(super) user: Option<&'a UserConfig>,
}

impl Sources {
    pub(super) fn new(origin: Origin, overrides: &Overrides) -> Self {
        let has_project = !origin.file.is_null();
        let holding = |user: &UserConfig| if has_project { user.defaults() } else { user.document.value.clone() };
        Self {
            user: origin.user.map(|user| (user.path.clone(), holding(user))),
            own: origin.user.map(UserConfig::own_rows).unwrap_or_default(),
            path: origin.path.as_path().to_owned(),
            named: matches!(origin.path, ConfigPath::Named(_)),
            agents: origin.agents,
            file: origin.file,
            overrides: overrides.clone(),
            choice: origin.choice,
        }
    }

    /// The layer that decided the effective `value` at `path`, a path into the effective settings.
    #[must_use]
    pub fn of(&self, path: &KeyPath, value: &Value) -> Source {
        if let Some(option) = self.option(path) {
            return Source::Option(option);
        }
        // A value of the file that was replaced, such as an unknown role, decided nothing.
        if self.in_file(path, &self.file).is_some_and(|written| same(written, value)) {
            return Source::File(self.path.clone());
        }
        if let Some((file, _)) = self
            .user
            .as_ref()
            .filter(|(_, written)| self.in_file(path, written).is_some_and(|written| same(written, value)))
        {
            return Source::File(file.clone());
        }
        match path.0.iter().position(|segment| *segment == Segment::Key("summarization".to_owned())) {
            Some(position) if path.0[0] != Segment::Key("debate".to_owned()) => {
                let inherited =
                    [Segment::Key("debate".to_owned())].iter().chain(&path.0[position..]).cloned().collect();
                self.of(&KeyPath(inherited), value)
            }
            _ => self.lent(path).unwrap_or(Source::BuiltIn),
        }
    }

    /// Where the provider and the model are from of somebody whose configuration names none.
    fn lent(&self, path: &KeyPath) -> Option<Source> {
        let [Segment::Key(section), .., Segment::Key(key)] = path.0.as_slice() else { return None };
        if !is_agent(section) || !is_model(key) {
            return None;
        }
        let built_in = self.agents.first().is_some_and(Option::is_none);
        match (section.as_str(), &self.choice) {
            ("agents", None) if built_in => Some(Source::Like("the judge")),
            ("judge", None) if !self.names_judge() => Some(Source::Like("the first agent")),
            (_, Some(choice)) => Some(Source::Chosen(choice.because.clone())),
            _ => None,
        }
    }

    /// Whether a file says which model the judge is.
    fn names_judge(&self) -> bool {
        let path = KeyPath::root().key("judge").key("model");
        let of_user = self.user.as_ref().and_then(|(_, written)| self.in_file(&path, written));
        of_user.or_else(|| self.in_file(&path, &self.file)).is_some()
    }

    fn option(&self, path: &KeyPath) -> Option<&'static str> {
        let given = &self.overrides;
        let (decided, option) = match path.to_string().as_str() {
            "baseDir" => (self.named, "--config"),
            "contextDir" => (given.context_dir.is_some(), "--context"),
            "debate.rounds" => (given.rounds.is_some(), "--rounds"),
            "debate.terminationCondition.type" => (given.until.is_some(), "--until"),
            "debate.protocol" => (given.protocol.is_some(), "--protocol"),
            "debate.interactiveClarifications" => (given.clarify == Switch::On, "--clarify"),
            "debate.seed" => (given.seed.is_some(), "--seed"),
            "debate.budget.maxCostUsd" => (given.max_cost.is_some(), "--max-cost"),
            "debate.budget.warnCostUsd" => (given.warn_cost.is_some(), "--warn-cost"),
            _ => match path.0.as_slice() {
                [Segment::Key(section), .., Segment::Key(key)] if is_agent(section) && is_model(key) => {
                    let by_option = [
                        (given.offline == Switch::On, "--offline"),
                        (section == "judge" && given.judge_model.is_some(), "--judge-model"),
                        (given.model.is_some(), "--model"),
                        (given.provider.is_some(), "--provider"),
                    ];
                    by_option.into_iter().find(|(decided, _)| *decided)?
                }
                _ => return None,
            },
        };
        decided.then_some(option)
    }

    /// The file that has something at a path.
    fn wrote(&self, path: &KeyPath) -> Option<PathBuf> {
        let of_user = || {
            let (file, written) = self.user.as_ref()?;
            self.in_file(path, written).map(|_| file.clone())
        };
        self.in_file(path, &self.file).map(|_| self.path.clone()).or_else(of_user)
    }

    /// What a file says at a path into the effective settings.
    fn in_file<'a>(&self, path: &KeyPath, file: &'a Value) -> Option<&'a Value> {
        let mut segments = path.0.clone();
        if let [Segment::Key(section), Segment::Index(index), ..] = segments.as_mut_slice()
            && section == "agents"
        {
            *index = (*self.agents.get(*index)?)?;
        }
        let value = segments.iter().try_fold(file, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        });
        value.filter(|value| !value.is_null())
    }
}

fn is_agent(section: &str) -> bool {
    matches!(section, "agents" | "judge")
}

/// Whether a key says which model an agent uses.
fn is_model(key: &str) -> bool {
    matches!(key, "provider" | "model")
}

pub(super) fn same(written: &Value, effective: &Value) -> bool {
    match (written, effective) {
        (Value::Number(written), Value::Number(effective)) => written.as_f64() == effective.as_f64(),
        (Value::String(written), Value::String(effective)) => written.trim().eq_ignore_ascii_case(effective),
        // Tools that are not known were left out; what remains is the file's all the same.
        (Value::Array(_), Value::Array(_)) => true,
        _ => written == effective,
    }
}

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its path, e.g. `debate.rounds` or `endpoints.openai.baseUrl`.
    pub path: String,
    /// The value; of a key only whether it is set.
    pub value: String,
    /// The layer that decided it.
    pub source: Source,
}

/// Every effective value with its source, and for each provider in use its endpoint and whether its key is set.
#[must_use]
pub fn show(loaded: &Loaded, environment: &Environment) -> Vec<Row> {
    let mut settings = serde_json::to_value(&loaded.settings).unwrap_or_default();
    settings.sort_all_objects();
    let mut rows = Vec::new();
    for section in ["agents", "judge", "debate", "providers", "prices", "models", "baseDir", "contextDir"] {
        if let Some(value) = settings.get(section) {
            add_leaves(&KeyPath::root().key(section), value, &loaded.sources, &mut rows);
        }
    }
    let own_file = loaded.sources.user.as_ref().map(|(path, _)| Source::File(path.clone()));
    let own = loaded.sources.own.iter().zip(own_file.iter().cycle());
    rows.extend(own.map(|((key, value), source)| Row {
        path: (*key).to_owned(),
        value: value.clone(),
        source: source.clone(),
    }));
    let everybody = loaded.settings.everybody();
    let used: BTreeSet<&str> = everybody.map(|agent| agent.provider.as_str()).filter(|name| *name != OFFLINE).collect();
    for provider in used {
        add_endpoint(provider, loaded, environment, &mut rows);
    }
    rows
}

fn add_leaves(path: &KeyPath, value: &Value, sources: &Sources, rows: &mut Vec<Row>) {
    let is_tools = path.split_key().is_some_and(|(_, key)| key == "tools");
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                add_leaves(&path.key(key), value, sources, rows);
            }
        }
        Value::Array(elements) if !is_tools => {
            for (index, element) in elements.iter().enumerate() {
                add_leaves(&path.index(index), element, sources, rows);
            }
        }
        leaf => rows.push(Row { path: path.to_string(), value: shown(leaf), source: sources.of(path, leaf) }),
    }
}

fn shown(leaf: &Value) -> String {
    match leaf {
        Value::String(text) => text.clone(),
        Value::Array(tools) => {
            let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        }
        other => other.to_string(),
    }
}

fn add_endpoint(provider: &str, loaded: &Loaded, environment: &Environment, rows: &mut Vec<Row>) {
    let Some(outline) = Outline::of(provider, &loaded.settings.providers) else { return };
    let path = KeyPath::root().key("endpoints").key(provider);
    let entry = KeyPath::root().key("providers").key(provider);
    let from_file = |has: bool| {
        if has { loaded.sources.wrote(&entry).map_or(Source::BuiltIn, Source::File) } else { Source::BuiltIn }
    };
    let moved = outline.moved_by().filter(|name| environment.has(name));
    let own_url = outline.entry.is_some_and(|entry| entry.base_url.is_some());
    rows.push(Row {
        path: path.key("baseUrl").to_string(),
        value: outline.base_url(environment).unwrap_or_default().to_owned(),
        source: moved.map_or_else(|| from_file(own_url), |name| Source::Variable(name.to_owned())),
    });
    let (value, source) = match outline.api_key_env() {
        None => ("not needed".to_owned(), Source::BuiltIn),
        Some(name) if environment.has(name) => ("set".to_owned(), Source::Variable(name.to_owned())),
        Some(name) => (format!("not set: {name} is missing"), Source::Variable(name.to_owned())),
    };
    rows.push(Row { path: path.key("apiKey").to_string(), value, source });
    for (header, value) in outline.headers() {
        let own = outline.entry.is_some_and(|entry| entry.headers.contains_key(header));
        let path = path.key("headers").key(header).to_string();
        rows.push(Row { path, value: value.to_owned(), source: from_file(own) });
    }
}
