//! Evaluators: a model, its prompts, and its question.

use std::path::PathBuf;
use std::sync::Arc;

use dialectic_base::provider::OFFLINE;
use dialectic_config::{EVALUATOR_TEMPERATURE, EvaluatorSettings};
use dialectic_engine::engine::planned_json_calls;
use dialectic_llm::{Caller, Request, request_bytes};
use dialectic_record::debate::{CallKey, PlannedCall};
use dialectic_record::prompt::{SOLUTION_PLACEHOLDER, evaluator_system, evaluator_user, read_whole_prompt};
use dialectic_record::protocol::follow_up_info;

use super::Subject;
use super::criterion::EVALUATION;

/// An evaluator that can be called.
pub struct Evaluator {
    pub settings: EvaluatorSettings,
    /// The system prompt, with placeholders.
    pub system: PromptText,
    /// The message, with placeholders.
    pub user: PromptText,
    pub(super) caller: Caller,
}

/// A prompt and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub text: Arc<str>,
    /// The user's file; `None` for the built-in text.
    pub file: Option<PathBuf>,
}

impl PromptText {
    /// The user's file if it can be used; otherwise the built-in text, with a warning if there is a file.
    fn read(owner: &EvaluatorSettings, file: Option<&PathBuf>, built_in: &str, warnings: &mut Vec<String>) -> Self {
        match file.map(|path| (path, read_whole_prompt(path))) {
            Some((path, Ok(text))) => Self { text: text.into(), file: Some(path.clone()) },
            Some((_, Err(error))) => {
                warnings.push(format!("evaluator {}: {error}; using the built-in prompt", owner.id));
                Self { text: built_in.into(), file: None }
            }
            None => Self { text: built_in.into(), file: None },
        }
    }

    fn is_built_in(&self) -> bool {
        self.file.is_none()
    }

    /// `built-in`, or the file.
    pub fn source(&self) -> String {
        self.file.as_ref().map_or_else(|| "built-in".to_owned(), |path| path.display().to_string())
    }
}

/// Builds the evaluators of a configuration; `caller` creates a model. Also returns warnings about their prompts.
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
                "evaluator {}: neither of its prompts has `{SOLUTION_PLACEHOLDER}`, so it does not see the solution",
                one.id
            ));
        }
        Evaluator { settings: one.clone(), system, user, caller: caller(one) }
    });
    (built.collect(), warnings)
}

impl Evaluator {
    /// The calls for its question about `subject`, with tokens and cost. The second is made if the first answer cannot
    /// be read.
    pub fn planned(&self, subject: &Subject) -> [PlannedCall; 2] {
        let EvaluatorSettings { id, provider, model, max_tokens, .. } = &self.settings;
        // Belongs to no stage, like a follow-up.
        let key = CallKey::new(0, follow_up_info().id, id);
        let bytes = request_bytes(&self.request(subject));
        planned_json_calls(key, (provider, model), *max_tokens, self.caller.price, bytes)
    }

    /// The question about `subject`. Only the built-in prompts have a schema, since it would forbid additional keys
    /// that a user's prompt may request.
    pub fn request(&self, subject: &Subject) -> Request {
        // The offline provider finds texts by our fences, and its answer in the schema.
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
        }
    }
}
