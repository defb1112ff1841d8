//! Selects texts of a debate.

use crate::cli::args::DebatePart;
use crate::error::UserError;
use dialectic_record::debate::{AgentId, Debate, ResultKind, StageId};
use dialectic_report::report::{Said, View};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSelection {
    Round(u32),
    /// The texts by or about an agent.
    Agent(AgentId),
    Stage(StageId),
    /// The texts about another agent's text.
    Critiques,
    All,
}

/// A name is missing, or unknown to the debate, which knows others.
fn misnamed(what: &str, name: Option<&str>, known: &[String]) -> UserError {
    let known = if known.is_empty() { "it has no names".to_owned() } else { format!("it has {}", known.join(", ")) };
    UserError::input(match name {
        None => format!("which {what}? {known}"),
        Some(name) => format!("the debate has no {what} `{name}`; {known}"),
    })
}

impl TextSelection {
    /// The selection by `part` and `name`.
    ///
    /// # Errors
    /// A name is missing, unknown or ambiguous.
    pub(super) fn of(view: &View<'_>, part: Option<DebatePart>, name: Option<&str>) -> Result<Self, UserError> {
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

fn not_named(part: &'static str, name: Option<&str>) -> Result<(), UserError> {
    name.map_or(Ok(()), |name| Err(UserError::input(format!("`{part}` takes no name: drop `{name}`"))))
}

fn round(debate: &Debate, name: Option<&str>) -> Result<u32, UserError> {
    let number = name.and_then(|name| name.parse().ok()).filter(|number| debate.round(*number).is_some());
    let known = || debate.rounds.iter().map(|round| round.round_number.to_string()).collect::<Vec<_>>();
    number.ok_or_else(|| misnamed("round", name, &known()))
}

/// The agent or judge with that id, role, name or number.
///
/// # Errors
/// None or several match.
fn agent(view: &View<'_>, name: Option<&str>) -> Result<AgentId, UserError> {
    let everybody = || view.agents.iter().chain([&view.judge]);
    let names = everybody().map(|one| {
        let role = if one.id == view.judge.id { "judge" } else { &one.role };
        (one.id.clone(), vec![one.id.as_str(), role, &one.name])
    });
    one_of("agent", &names.collect::<Vec<_>>(), name).or_else(|unknown| {
        let number = name.and_then(|name| name.parse().ok());
        let numbered = view.agents.iter().find(|one| number.is_some() && view.number_of(&one.id) == number);
        numbered.map(|one| one.id.clone()).ok_or(unknown)
    })
}

fn stage(debate: &Debate, name: Option<&str>) -> Result<StageId, UserError> {
    let stages = debate.stages.iter().filter(|stage| stage.yields.is_some());
    let names = stages.map(|stage| (stage.id, vec![stage.id.as_str(), &stage.words.noun, &stage.words.plural]));
    one_of("stage", &names.collect::<Vec<_>>(), name)
}

/// The element of `all` with this name, or with a unique prefix of it. Messages use the first name.
fn one_of<T: PartialEq + Clone>(
    what: &'static str,
    all: &[(T, Vec<&str>)],
    name: Option<&str>,
) -> Result<T, UserError> {
    let known = || all.iter().filter_map(|(_, names)| Some((*names.first()?).to_owned())).collect::<Vec<_>>();
    let name = name.ok_or_else(|| misnamed(what, None, &known()))?;
    let wanted = name.to_lowercase();
    let fitting = |fits: &dyn Fn(&str) -> bool| {
        let fitting = all.iter().filter(|(_, names)| names.iter().any(|name| fits(&name.to_lowercase())));
        fitting.map(|(one, _)| one.clone()).collect::<Vec<_>>()
    };
    let same = fitting(&|name| name == wanted);
    let found = if same.is_empty() { fitting(&|name| name.starts_with(&wanted)) } else { same };
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(misnamed(what, Some(name), &known())),
    }
}
