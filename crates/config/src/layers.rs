//! Configuration layers, each a tree like that of a configuration file. The highest layer that sets a value determines
//! it and is reported as its source.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use dialectic_base::key_path::{KeyPath, Segment};
use dialectic_base::money::Usd;
use dialectic_record::protocol::COUNCIL;
use dialectic_record::settings::TerminationKind;

use super::error::Diagnostics;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// No layer sets the value.
    BuiltIn,
    File(PathBuf),
    /// An environment variable, from the process or the environment file.
    Variable(String),
    Option(&'static str),
    /// No layer sets the value, so it was chosen automatically.
    Chosen(ChoiceReason),
    /// No layer sets the value, so it is copied from the named agent or judge.
    Like(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceReason {
    /// These environment variables contain API keys.
    KeyIsSet(Vec<String>),
    ProgramIsThere {
        programs: Vec<String>,
        /// May be empty.
        variables: Vec<String>,
    },
    /// No key was found, so the first provider is assumed.
    NoKeyIsSet,
    Variable(&'static str),
    /// The user's own configuration or the project's names the model.
    File(PathBuf),
    Option(&'static str),
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Option(name) | Self::Chosen(ChoiceReason::Option(name)) => write!(f, "option {name}"),
            Self::Chosen(because) => write!(f, "chosen: {because}"),
            Self::Like(other) => write!(f, "like {other}"),
        }
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

/// The values of command-line options; `None` if an option is absent.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct Overrides {
    /// `--agents`: the roles of the agents that take part.
    pub agents: Option<Vec<String>>,
    pub model: Option<String>,
    pub judge_model: Option<String>,
    pub mixed: bool,
    pub rounds: Option<u32>,
    pub protocol: Option<String>,
    pub until: Option<TerminationKind>,
    pub check: Option<u32>,
    pub quick: bool,
    pub clarify: bool,
    pub offline: bool,
    pub max_cost: Option<Usd>,
    pub max_calls: Option<u32>,
    pub context_dir: Option<PathBuf>,
}

/// From the lowest source to the highest, without the built-in defaults.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers(Vec<(ValueSource, Value)>);

impl Layers {
    pub(super) fn push(&mut self, source: ValueSource, tree: Value) {
        self.0.push((source, tree));
    }

    pub(super) fn set(&mut self, source: ValueSource, path: &KeyPath, value: Value) {
        let tree = path.0.iter().rev().fold(value, |inner, segment| match segment {
            Segment::Key(key) => json!({ key: inner }),
            Segment::Index(index) => {
                let mut elements = vec![Value::Null; *index];
                elements.push(inner);
                elements.into()
            }
        });
        self.push(source, tree);
    }

    /// Adds the command-line options that do not choose models.
    pub(super) fn push_options(&mut self, options: &Overrides) {
        let dollars = |amount: Option<Usd>| amount.map(|amount| amount.dollars().into());
        let quick = |value: Value| options.quick.then_some(value);
        let options: [(&'static str, &str, Option<Value>); 10] = [
            // `--quick` comes first, so that explicit options override it.
            ("--quick", "debate.protocol", quick(COUNCIL.name.into())),
            ("--quick", "debate.check", quick(1.into())),
            ("--check", "debate.check", options.check.map(Value::from)),
            ("--rounds", "debate.rounds", options.rounds.map(Value::from)),
            ("--protocol", "debate.protocol", options.protocol.clone().map(Value::from)),
            ("--until", "debate.terminationCondition.type", options.until.map(|kind| kind.name().into())),
            ("--clarify", "debate.interactiveClarifications", options.clarify.then_some(true.into())),
            ("--max-cost", "debate.budget.maxCostUsd", dollars(options.max_cost)),
            ("--max-calls", "debate.budget.maxCalls", options.max_calls.map(Value::from)),
            ("--context", "contextDir", options.context_dir.as_ref().map(|path| path.display().to_string().into())),
        ];
        for (option, path, value) in options {
            if let Some((path, value)) = KeyPath::parse(path).zip(value) {
                self.set(ValueSource::Option(option), &path, value);
            }
        }
    }

    /// A section with all layers merged: `debate` key by key; `providers`, `prices` and `models` entry by entry. All
    /// other sections come as a whole from the highest layer that has them.
    pub(super) fn section(&self, key: &str) -> Value {
        let levels = if key == "debate" { usize::MAX } else { usize::from(is_by_entry(key)) };
        let mut all = Value::Null;
        for (_, tree) in &self.0 {
            lay_over(&mut all, tree.get(key).unwrap_or(&Value::Null), levels);
        }
        all
    }

    pub(super) fn take_section(&mut self, key: &str) {
        for (_, tree) in &mut self.0 {
            tree.as_object_mut().map(|sections| sections.remove(key));
        }
    }

    /// Removes the value at `path` from the topmost layer that sets it, because the value was replaced.
    pub(super) fn forget(&mut self, path: &KeyPath) {
        let Some((parent, key)) = path.split_key() else { return };
        let Some((_, tree)) = self.0.iter_mut().rev().find(|(_, tree)| at(tree, path).is_some()) else { return };
        if let Some(Value::Object(entries)) = at_mut(tree, &parent) {
            entries.remove(key);
        }
    }

    /// Moves the agents' entries in all layers to their indices in the settings. `places` contains each agent's index
    /// in the file, `None` for a built-in agent.
    pub(super) fn align_agents(&mut self, places: &[Option<usize>]) {
        for (_, tree) in &mut self.0 {
            if let Some(agents) = tree.get_mut("agents") {
                *agents = places.iter().map(|place| agents.get((*place)?).cloned()).collect();
            }
        }
    }

    pub(super) fn source(&self, path: &KeyPath) -> ValueSource {
        let entry = path.0.get(..2).filter(|entry| matches!(&entry[0], Segment::Key(key) if is_by_entry(key)));
        for (source, tree) in self.0.iter().rev() {
            if at(tree, path).is_some() {
                return source.clone();
            }
            // This entry replaces the entries of lower layers as a whole, so a value that it omits has the built-in
            // default.
            if entry.is_some_and(|entry| at(tree, &KeyPath(entry.to_vec())).is_some()) {
                return ValueSource::BuiltIn;
            }
        }
        // An agent's summarization inherits missing values from the debate's.
        let [Segment::Key(section), .., Segment::Key(own), _] = path.0.as_slice() else { return ValueSource::BuiltIn };
        if section == "debate" || own != "summarization" {
            return ValueSource::BuiltIn;
        }
        let of_debate = path.0[path.0.len() - 2..].iter().cloned();
        self.source(&KeyPath([Segment::Key("debate".to_owned())].into_iter().chain(of_debate).collect()))
    }
}

/// Whether a higher layer replaces entries of this section as a whole.
fn is_by_entry(section: &str) -> bool {
    matches!(section, "providers" | "prices" | "models")
}

/// The value at `path`; `None` if it is absent or null.
pub(super) fn at<'a>(tree: &'a Value, path: &KeyPath) -> Option<&'a Value> {
    let found = path.0.iter().try_fold(tree, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    });
    found.filter(|value| !value.is_null())
}

fn at_mut<'a>(tree: &'a mut Value, path: &KeyPath) -> Option<&'a mut Value> {
    path.0.iter().try_fold(tree, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

/// Merges objects key by key down to `levels`, and replaces other values. `null` keeps the lower layer's value.
fn lay_over(below: &mut Value, over: &Value, levels: usize) {
    match over {
        Value::Null => {}
        Value::Object(over) if levels > 0 => {
            if !below.is_object() {
                *below = Map::new().into();
            }
            for (key, value) in over {
                lay_over(&mut below[key], value, levels - 1);
            }
        }
        over => over.clone_into(below),
    }
}

/// Returns `base` with the values that `over` sets. `over` must come from a checked tree.
pub(super) fn laid_over<T: Clone + Serialize + DeserializeOwned>(
    base: &T,
    over: &Value,
    path: &KeyPath,
    findings: &mut Diagnostics,
) -> T {
    let mut all = serde_json::to_value(base).unwrap_or_default();
    lay_over(&mut all, over, usize::MAX);
    serde_json::from_value(all).unwrap_or_else(|error| {
        findings.problem(path.clone(), error.to_string());
        base.clone()
    })
}
