//! What is evaluated: a saved debate that has a solution, as evaluators are shown it.

use std::path::{Path, PathBuf};

use crate::debate::{AgentId, Clarification, Debate};
use crate::diagnostic::{Blame, Diagnostic};
use crate::markdown::fenced;
use crate::prompt::{self, EvaluatorClarifications, EvaluatorValues, Fill, PromptError};

use super::Requirements;

/// What stands for an answer that the user did not give.
const NO_ANSWER: &str = "NA";

/// A solution with the problem that it is for.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the debate's file without `.json`.
    pub name: String,
    /// What stands for the placeholders of the prompts.
    pub values: EvaluatorValues,
    /// Agents whose latest text has no section on the requirements' coverage, and the round of that text.
    pub uncovered: Vec<(AgentId, u32)>,
}

/// Why a debate cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// What has to be there is missing or blank.
    #[error("the debate {path} cannot be evaluated: `{field}` is {fault}")]
    Lacks {
        /// The debate's file.
        path: PathBuf,
        /// What is not there.
        field: &'static str,
        /// How.
        fault: &'static str,
    },
    /// A defect of a template.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl Diagnostic for SubjectError {
    fn blame(&self) -> Blame {
        match self {
            Self::Lacks { .. } => Blame::Arguments,
            Self::Prompt(_) => Blame::General,
        }
    }

    fn hint(&self) -> Option<String> {
        Some("only a debate that ended with a solution can be evaluated".to_owned())
    }
}

impl Subject {
    /// Makes a subject of the debate in the file at `path`.
    ///
    /// # Errors
    /// The debate has no problem or no solution.
    pub fn of(path: &Path, debate: &Debate) -> Result<Self, SubjectError> {
        let lacks = |field, fault| SubjectError::Lacks { path: path.to_owned(), field, fault };
        if debate.problem.trim().is_empty() {
            return Err(lacks("problem", "empty"));
        }
        let Some(solution) = &debate.final_solution else {
            return Err(lacks("finalSolution.description", "missing"));
        };
        if solution.description.trim().is_empty() {
            return Err(lacks("finalSolution.description", "empty"));
        }
        let requirements = Requirements::of(debate);
        // Names, texts and numbers in structs always have a JSON form.
        let as_json = serde_json::to_string_pretty(&requirements).unwrap_or_default();
        let answers = answers(debate);
        let clarifications: Vec<_> = answers
            .iter()
            .map(|(agent, item, answer)| prompt::Clarification { agent, question: &item.question, answer })
            .collect();
        let values = EvaluatorValues {
            problem: fenced("problem", &debate.problem),
            clarifications: EvaluatorClarifications { clarifications: &clarifications }.render()?,
            final_solution: fenced("solution", &solution.description),
            requirements_info: fenced("json", &as_json),
        };
        Ok(Self { name: name(path), values, uncovered: requirements.uncovered })
    }
}

/// The file's name without `.json`; any other ending is part of the name.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".json").unwrap_or(&name).to_owned()
}

/// Every question, with who asked it and its answer, `NA` included.
fn answers(debate: &Debate) -> Vec<(&str, &Clarification, &str)> {
    let groups = debate.clarifications.iter().flatten();
    let items = groups.flat_map(|group| group.items.iter().map(move |item| (group.agent_name.as_str(), item)));
    let answered = |answer: &str| !answer.trim().is_empty();
    items
        .map(|(agent, item)| (agent, item, Some(&*item.answer).filter(|answer| answered(answer)).unwrap_or(NO_ANSWER)))
        .collect()
}
