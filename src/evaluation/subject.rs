//! The subject of an evaluation: a saved debate with a solution, as shown to evaluators.

use std::path::{Path, PathBuf};

use dialectic_base::markdown;
use dialectic_record::debate::{AgentClarifications, AgentId, Clarification, Debate};
use dialectic_record::prompt::{
    self, AskedItem, Asker, EVALUATOR_CLARIFICATIONS, EvaluatorClarifications, EvaluatorValues, PLAIN_CLARIFICATIONS,
    PlainClarifications, PromptError,
};

use super::Requirements;

/// Shown for a missing answer.
const NO_ANSWER: &str = "NA";
/// The key of the solution's text in a debate's file.
const SOLUTION: &str = "finalSolution.description";

/// A solution and its problem.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the debate's file without `.json`.
    pub name: String,
    /// The values for the built-in prompts: each text in a fence.
    pub fenced: EvaluatorValues,
    /// The values for the user's own prompts: bare texts.
    pub plain: EvaluatorValues,
    /// Agents whose latest text lacks a section on coverage, and its round.
    pub uncovered: Vec<(AgentId, u32)>,
}

/// Why a debate cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// A required field is missing or blank.
    #[error("the debate {path} cannot be evaluated: `{field}` is {fault}")]
    Lacks {
        /// The debate's file.
        path: PathBuf,
        field: &'static str,
        fault: &'static str,
    },
    /// None of several debates has a solution.
    #[error("none of the {debates} debates has a solution")]
    NoneFinished { debates: usize },
    /// A defective template.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl SubjectError {
    /// Whether the debate has no solution because it did not finish.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Lacks { field: SOLUTION, .. })
    }
}

impl Subject {
    /// Builds the subject for the debate in the file at `path`.
    ///
    /// # Errors
    /// The debate has no problem or no solution.
    pub fn of(path: &Path, debate: &Debate) -> Result<Self, SubjectError> {
        let lacks = |field, fault| SubjectError::Lacks { path: path.to_owned(), field, fault };
        if debate.problem.trim().is_empty() {
            return Err(lacks("problem", "empty"));
        }
        let Some(solution) = &debate.final_solution else {
            return Err(lacks(SOLUTION, "missing"));
        };
        if solution.description.trim().is_empty() {
            return Err(lacks(SOLUTION, "empty"));
        }
        let requirements = Requirements::of(debate);
        // These structs always have a JSON form.
        let as_json = serde_json::to_string_pretty(&requirements).unwrap_or_default();
        let questions = debate.questions();
        let clarifications: Vec<_> = questions
            .iter()
            .map(|one| prompt::AnsweredQuestion {
                question: one.text,
                answer: one.items.first().map_or(NO_ANSWER, |(_, item)| answer(item)),
            })
            .collect();
        let groups: Vec<_> = askers(debate)
            .map(|group| {
                let asked = |item| {
                    let Clarification { id, question, .. }: &Clarification = item;
                    AskedItem { id, question, answer: answer(item) }
                };
                let items = group.items.iter().map(asked).collect();
                Asker { agent: &group.agent_name, role: &group.role, items }
            })
            .collect();
        let plain = EvaluatorValues {
            problem: debate.problem.trim().to_owned(),
            clarifications: PLAIN_CLARIFICATIONS.render(&PlainClarifications { groups: &groups })?,
            final_solution: solution.description.trim().to_owned(),
            requirements_info: as_json.clone(),
        };
        let fenced = EvaluatorValues {
            problem: markdown::fenced("problem", &debate.problem),
            clarifications: EVALUATOR_CLARIFICATIONS
                .render(&EvaluatorClarifications { clarifications: &clarifications })?,
            final_solution: markdown::fenced("solution", &solution.description),
            requirements_info: markdown::fenced("json", &as_json),
        };
        Ok(Self { name: name(path), fenced, plain, uncovered: requirements.uncovered })
    }
}

/// The file's name without `.json`; other extensions belong to the name.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".json").unwrap_or(&name).to_owned()
}

/// The agents that asked questions.
fn askers(debate: &Debate) -> impl Iterator<Item = &AgentClarifications> {
    debate.clarifications.iter().flatten().filter(|group| !group.items.is_empty())
}

/// The user's answer, `NA` if there is none.
fn answer(item: &Clarification) -> &str {
    if item.answer.trim().is_empty() { NO_ANSWER } else { &item.answer }
}
