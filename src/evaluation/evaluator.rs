//! Evaluators, each a model with prompts, and the solutions that they evaluate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dialectic_base::markdown;
use dialectic_base::provider::OFFLINE;
use dialectic_config::evaluators::{EVALUATOR_TEMPERATURE, EvaluatorSettings};
use dialectic_engine::engine::planned_json_calls;
use dialectic_llm::{Caller, Request, request_bytes};
use dialectic_record::debate::{AgentClarifications, Clarification, Debate, Question};
use dialectic_record::ids::{AgentId, CallKey};
use dialectic_record::live::PlannedCall;
use dialectic_record::prompt::evaluation::{
    EVALUATOR_CLARIFICATIONS, EvaluatorValues, PLAIN_CLARIFICATIONS, SOLUTION_PLACEHOLDER, evaluator_system,
    evaluator_user,
};
use dialectic_record::prompt::{PromptError, read_whole_prompt};
use dialectic_record::protocol::questions::follow_up_info;
use serde_json::json;

use super::Requirements;
use super::answer::EVALUATION;

pub struct Evaluator {
    pub settings: EvaluatorSettings,
    /// The system prompt with placeholders.
    pub system: PromptText,
    /// The user prompt with placeholders.
    pub user: PromptText,
    pub(super) caller: Caller,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub text: Arc<str>,
    /// The user's file; `None` for the built-in text.
    pub file: Option<PathBuf>,
}

impl PromptText {
    /// Reads the user's file. Falls back to the built-in text if there is no file, and also, with a warning, if the
    /// file cannot be used.
    fn read(owner: &EvaluatorSettings, file: Option<&PathBuf>, built_in: &str, warnings: &mut Vec<String>) -> Self {
        match file.map(|path| (path, read_whole_prompt(path))) {
            Some((path, Ok(text))) => return Self { text: text.into(), file: Some(path.clone()) },
            Some((_, Err(error))) => {
                warnings.push(format!("evaluator {}: {error}; using the built-in prompt", owner.id));
            }
            None => {}
        }
        Self { text: built_in.into(), file: None }
    }

    fn is_built_in(&self) -> bool {
        self.file.is_none()
    }

    /// `built-in`, or the path of the file.
    pub fn source(&self) -> String {
        self.file.as_ref().map_or_else(|| "built-in".to_owned(), |path| path.display().to_string())
    }
}

/// Creates the evaluators from their settings. Also returns warnings about their prompts.
pub fn evaluators(
    settings: &[EvaluatorSettings],
    caller: impl Fn(&EvaluatorSettings) -> Caller,
) -> (Vec<Evaluator>, Vec<String>) {
    let mut warnings = Vec::new();
    let built = settings.iter().map(|one| {
        let system = PromptText::read(one, one.system_prompt_path.as_ref(), evaluator_system(), &mut warnings);
        let user = PromptText::read(one, one.user_prompt_path.as_ref(), evaluator_user(), &mut warnings);
        if !user.text.contains(SOLUTION_PLACEHOLDER) && !system.text.contains(SOLUTION_PLACEHOLDER) {
            warnings.push(format!(
                "evaluator {}: neither prompt contains `{SOLUTION_PLACEHOLDER}`, so the evaluator cannot see the solution",
                one.id
            ));
        }
        Evaluator { settings: one.clone(), system, user, caller: caller(one) }
    });
    (built.collect(), warnings)
}

impl Evaluator {
    /// The possible calls about `subject`, with tokens and cost. The second is made only if the answer to the first
    /// cannot be read.
    pub fn planned(&self, subject: &Subject) -> [PlannedCall; 2] {
        let EvaluatorSettings { id, provider, model, max_tokens, .. } = &self.settings;
        // The call belongs to no stage of the debate, so use the stage of follow-up questions.
        let key = CallKey::new(0, follow_up_info().id, id);
        let bytes = request_bytes(&self.request(subject));
        planned_json_calls(key, (provider, model), *max_tokens, self.caller.price, bytes)
    }

    /// Uses a schema only with the built-in prompts, because a schema would forbid additional keys that a user's prompt
    /// may request.
    pub fn request(&self, subject: &Subject) -> Request {
        // The offline provider needs the fences to find the texts, and the schema to answer.
        let is_offline = self.settings.provider == OFFLINE;
        let filled = |prompt: &PromptText| {
            let values = if prompt.is_built_in() || is_offline { &subject.fenced } else { &subject.plain };
            values.fill(&prompt.text).into()
        };
        let is_built_in = self.system.is_built_in() && self.user.is_built_in();
        Request {
            model: self.settings.model.as_str().into(),
            temperature: EVALUATOR_TEMPERATURE,
            max_tokens: self.settings.max_tokens,
            system: filled(&self.system),
            prompt: filled(&self.user),
            turns: Vec::new(),
            answer: (is_built_in || is_offline).then(|| Arc::clone(&EVALUATION)),
            tools: Arc::new([]),
            tools_are_optional: false,
        }
    }
}

const NO_ANSWER: &str = "NA";
/// The key of the solution's text in a state file.
const SOLUTION: &str = "finalSolution.description";

#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the debate's file without `.json`.
    pub name: String,
    /// Texts in fences, for the built-in prompts and for the offline provider.
    pub fenced: EvaluatorValues,
    /// Texts without fences, for the user's own prompts.
    pub plain: EvaluatorValues,
    /// Agents whose latest solution lacks a coverage section, with the round of that solution.
    pub uncovered: Vec<(AgentId, u32)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    #[error("cannot evaluate the debate {path}: `{field}` is {fault}")]
    Lacks { path: PathBuf, field: &'static str, fault: &'static str },
    #[error("none of the {debates} debates has a solution")]
    NoneFinished { debates: usize },
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl SubjectError {
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Lacks { field: SOLUTION, .. })
    }
}

impl Subject {
    /// `path` is the debate's file.
    ///
    /// # Errors
    ///
    /// Returns an error if the debate has no problem or no solution, or if a prompt template cannot be filled in.
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
        // Serializing the requirements cannot fail.
        let as_json = serde_json::to_string_pretty(&requirements).unwrap_or_default();
        let questions = debate.questions().into_iter();
        let clarifications: Vec<_> = questions
            .map(|one| Question { answer: one.items.first().map_or(NO_ANSWER, |(_, item)| answer(item)), ..one })
            .collect();
        let groups: Vec<_> = askers(debate)
            .map(|group| {
                let asked = |item: &Clarification| Clarification { answer: answer(item).to_owned(), ..item.clone() };
                let items: Vec<_> = group.items.iter().map(asked).collect();
                json!({"agent": group.agent_name, "role": group.role, "items": items})
            })
            .collect();
        let plain = EvaluatorValues {
            problem: debate.problem.trim().to_owned(),
            clarifications: PLAIN_CLARIFICATIONS.with("groups", &groups)?,
            final_solution: solution.description.trim().to_owned(),
            requirements_info: as_json.clone(),
        };
        let fenced = EvaluatorValues {
            problem: markdown::fenced("problem", &debate.problem),
            clarifications: EVALUATOR_CLARIFICATIONS.with("clarifications", &clarifications)?,
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

fn askers(debate: &Debate) -> impl Iterator<Item = &AgentClarifications> {
    debate.clarifications.iter().flatten().filter(|group| !group.items.is_empty())
}

/// `NA` if there is no answer.
fn answer(item: &Clarification) -> &str {
    if item.answer.trim().is_empty() { NO_ANSWER } else { &item.answer }
}
