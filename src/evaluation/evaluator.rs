//! Who evaluates: a model, the prompts it is given, and its question.

use std::path::PathBuf;
use std::sync::Arc;

use dialectic_base::provider::OFFLINE;
use dialectic_config::{EVALUATOR_TEMPERATURE, EvaluatorSettings};
use dialectic_engine::engine::planned_call;
use dialectic_llm::{Caller, Request, request_bytes};
use dialectic_record::debate::{CallKey, PlannedCall};
use dialectic_record::prompt::{SOLUTION_PLACEHOLDER, evaluator_system, evaluator_user, read_whole_prompt};
use dialectic_record::protocol::follow_up_info;

use super::Subject;
use super::schema::EVALUATION;

/// An evaluator that can be asked.
pub struct Evaluator {
    /// As configured.
    pub settings: EvaluatorSettings,
    /// Its system prompt, with placeholders.
    pub system: PromptText,
    /// Its message, with placeholders.
    pub user: PromptText,
    pub(super) caller: Caller,
}

/// A prompt and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// The text.
    pub text: Arc<str>,
    /// The user's file; absent for the built-in one.
    pub file: Option<PathBuf>,
}

impl PromptText {
    /// The user's file where there is one that can be used; else, with a warning if there is one, the built-in text.
    fn read(owner: &EvaluatorSettings, file: Option<&PathBuf>, built_in: &str, warnings: &mut Vec<String>) -> Self {
        match file.map(|path| (path, read_whole_prompt(path))) {
            Some((path, Ok(text))) => Self { text: text.into(), file: Some(path.clone()) },
            Some((_, Err(error))) => {
                warnings.push(format!("evaluator {}: {error}; the built-in prompt is used", owner.id));
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

/// Builds the evaluators of a configuration; `caller` makes the model of one. Returns them with what the user should
/// know of their prompts.
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
    /// The call that its question about `subject` is, with its tokens and its cost.
    pub fn planned(&self, subject: &Subject) -> PlannedCall {
        let EvaluatorSettings { id, provider, model, max_tokens, .. } = &self.settings;
        // It belongs to no stage of a debate, as little as a follow-up does.
        let key = CallKey::new(0, follow_up_info().id, id);
        let bytes = request_bytes(&self.request(subject));
        planned_call(key, (provider, model), *max_tokens, self.caller.price, bytes)
    }

    /// Its question about `subject`. A schema would forbid the keys that a user's own prompt asks for besides ours, so it
    /// goes only with the built-in prompts.
    pub fn request(&self, subject: &Subject) -> Request {
        // Its rules find texts by our fences, and what to answer in the schema.
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
