//! Selects texts of a debate.

use crate::cli::args::DebatePart;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::{AgentId, Debate, DebateId, ResultKind, StageId};
use dialectic_report::report::{Said, View};

/// The selected texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSelection {
    /// The texts of a round.
    Round(u32),
    /// The texts by or about an agent.
    Agent(AgentId),
    /// The texts of a stage.
    Stage(StageId),
    /// The texts about another agent's text.
    Critiques,
    /// All texts.
    All,
}

/// Why a selection fails.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli::commands) enum ChoiceError {
    /// A part that needs a name.
    #[error("which {what}? {}", known_of(known))]
    Unnamed {
        /// The kind of part.
        what: &'static str,
        /// The possible names.
        known: Vec<String>,
    },
    /// An unknown name.
    #[error("the debate has no {what} `{name}`; {}", known_of(known))]
    Unknown {
        /// The kind of part.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The possible names.
        known: Vec<String>,
    },
    /// A name for a part that has none.
    #[error("`{part}` takes no name: drop `{name}`")]
    NotNamed {
        /// The part.
        part: &'static str,
        /// The name as given.
        name: String,
    },
    /// A debate without an answer.
    #[error("the debate {0} has no solution")]
    NoSolution(DebateId),
}

impl Diagnostic for ChoiceError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoSolution(id) => Some(format!("see how far it got: dialectic show {id}")),
            Self::Unnamed { .. } | Self::Unknown { .. } | Self::NotNamed { .. } => None,
        }
    }
}

fn known_of(known: &[String]) -> String {
    if known.is_empty() { "it has no names".to_owned() } else { format!("it has {}", known.join(", ")) }
}

impl TextSelection {
    /// The selection by `part` and `name`.
    ///
    /// # Errors
    /// A name is missing, unknown or ambiguous.
    pub(super) fn of(view: &View<'_>, part: Option<DebatePart>, name: Option<&str>) -> Result<Self, ChoiceError> {
        match part {
            Some(DebatePart::Round) => round(view.debate, name).map(Self::Round),
            Some(DebatePart::Agent) => agent(view, name).map(Self::Agent),
            Some(DebatePart::Stage) => stage(view.debate, name).map(Self::Stage),
            Some(DebatePart::Critiques) => not_named("critiques", name).map(|()| Self::Critiques),
            Some(DebatePart::Solution) => not_named("solution", name).map(|()| Self::All),
            Some(DebatePart::Points) => not_named("points", name).map(|()| Self::All),
            Some(DebatePart::FollowUps) => not_named("follow-ups", name).map(|()| Self::All),
            None => Ok(Self::All),
        }
    }

    /// Whether it includes that text.
    pub(super) fn has(&self, debate: &Debate, text: &Said<'_>) -> bool {
        match self {
            Self::Round(round) => text.round == *round,
            Self::Agent(agent) => text.agent_id == Some(agent) || text.target_agent_id == Some(agent),
            Self::Stage(stage) => text.stage == Some(*stage),
            Self::Critiques => text.yields(debate) == Some(ResultKind::Critique),
            Self::All => true,
        }
    }
}

fn not_named(part: &'static str, name: Option<&str>) -> Result<(), ChoiceError> {
    name.map_or(Ok(()), |name| Err(ChoiceError::NotNamed { part, name: name.to_owned() }))
}

fn round(debate: &Debate, name: Option<&str>) -> Result<u32, ChoiceError> {
    let what = "round";
    let known = || debate.rounds.iter().map(|round| round.round_number.to_string()).collect();
    let name = name.ok_or_else(|| ChoiceError::Unnamed { what, known: known() })?;
    let number = name.parse().ok().filter(|number| debate.round(*number).is_some());
    number.ok_or_else(|| ChoiceError::Unknown { what, name: name.to_owned(), known: known() })
}

/// The agent or judge with that id, role or name.
///
/// # Errors
/// None or several match.
pub(in crate::cli::commands) fn agent(view: &View<'_>, name: Option<&str>) -> Result<AgentId, ChoiceError> {
    let everybody = || view.agents.iter().chain([&view.judge]);
    let names = everybody().map(|one| {
        let role = if one.id == view.judge.id { "judge" } else { &one.role };
        (one.id.clone(), vec![one.id.as_str(), role, &one.name])
    });
    one_of("agent", &names.collect::<Vec<_>>(), name)
}

fn stage(debate: &Debate, name: Option<&str>) -> Result<StageId, ChoiceError> {
    let stages = debate.stages.iter().filter(|stage| stage.yields.is_some());
    let names = stages.map(|stage| (stage.id, vec![stage.id.as_str(), &stage.words.noun, &stage.words.plural]));
    one_of("stage", &names.collect::<Vec<_>>(), name)
}

/// The element of `all` with this name, or with a unique prefix of it. Messages use the first name.
fn one_of<T: PartialEq + Clone>(
    what: &'static str,
    all: &[(T, Vec<&str>)],
    name: Option<&str>,
) -> Result<T, ChoiceError> {
    let known = || all.iter().filter_map(|(_, names)| Some((*names.first()?).to_owned())).collect::<Vec<_>>();
    let name = name.ok_or_else(|| ChoiceError::Unnamed { what, known: known() })?;
    let wanted = name.to_lowercase();
    let fitting = |fits: &dyn Fn(&str) -> bool| {
        let fitting = all.iter().filter(|(_, names)| names.iter().any(|name| fits(&name.to_lowercase())));
        fitting.map(|(one, _)| one.clone()).collect::<Vec<_>>()
    };
    let same = fitting(&|name| name == wanted);
    let found = if same.is_empty() { fitting(&|name| name.starts_with(&wanted)) } else { same };
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(ChoiceError::Unknown { what, name: name.to_owned(), known: known() }),
    }
}
