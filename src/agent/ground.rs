//! What every call of a debate rests on: the problem, the directory, the user's answers.

use std::sync::Arc;

use crate::debate::{AgentSettings, CallKey, Debate};
use crate::llm::{Brief, Material, Request};
use crate::prompt::{self, Clarification, Foundation, Prompt, PromptError};

/// What every call of a debate rests on. Cheap to clone; the same text for all, so that providers can cache it.
#[derive(Debug, Clone)]
pub struct Ground {
    charter: Arc<str>,
    foundation: Arc<str>,
    problem: Arc<str>,
    clarifications: Arc<[(String, String)]>,
}

impl Ground {
    /// The ground of `debate` as it stands.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn of(debate: &Debate) -> Result<Self, PromptError> {
        let groups = || debate.clarifications.iter().flatten();
        let answered = groups().flat_map(|group| group.items.iter().map(move |item| (group, item)));
        let answered: Vec<_> = answered.filter(|(_, item)| !item.answer.is_empty()).collect();
        let clarifications: Vec<_> = answered
            .iter()
            .map(|(group, item)| Clarification {
                agent: &group.agent_name,
                question: &item.question,
                answer: &item.answer,
            })
            .collect();
        let context_dir = debate.settings.as_ref().and_then(|settings| settings.context_dir.as_ref());
        let context_dir = context_dir.map(|path| path.display().to_string());
        let foundation = Foundation {
            problem: &debate.problem,
            context_dir: context_dir.as_deref(),
            clarifications: &clarifications,
        };
        Ok(Self {
            charter: prompt::charter(),
            foundation: foundation.render()?.into(),
            problem: Arc::clone(&debate.problem),
            clarifications: answered.iter().map(|(_, item)| (item.question.clone(), item.answer.clone())).collect(),
        })
    }

    /// A question to the model of an agent or the judge: this ground, the finished rounds where they are shown, then
    /// the body. `own_system` is the user's system prompt for who is asked. `material` is what the body shows, for
    /// those who cannot read prompts.
    #[must_use]
    pub fn request(
        &self,
        asked: &AgentSettings,
        own_system: Option<&str>,
        key: CallKey,
        history: Option<&str>,
        body: &str,
        material: Vec<Material>,
    ) -> Request {
        Request {
            brief: Brief {
                key,
                role: asked.role.as_str().into(),
                problem: Arc::clone(&self.problem),
                clarifications: Arc::clone(&self.clarifications),
                material,
            },
            model: asked.model.as_str().into(),
            temperature: asked.temperature,
            max_tokens: asked.max_tokens,
            // Equal beginnings are cached, so what is of one agent comes behind what is everybody's.
            system: own_system
                .map_or_else(|| Arc::clone(&self.charter), |own| format!("{}\n\n{own}", self.charter).into()),
            prompt: prompt::compose(&self.foundation, history, body),
            turns: Vec::new(),
            answer: None,
            tools: Arc::new([]),
        }
    }
}
