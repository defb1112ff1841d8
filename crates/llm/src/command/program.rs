//! An installed program and how to call it.

use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;

use dialectic_base::provider::ProgramSettings;

use crate::Request;
use crate::programs::{ProgramKind, ProgramPreset};

use super::call::{Calls, Workplace};
use super::{claude, codex};

/// A program that was found, with everything for its calls.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: Arc<str>,
    /// The preset; `None` for the user's own program.
    pub preset: Option<&'static ProgramPreset>,
    /// The user's settings for it.
    pub settings: ProgramSettings,
    pub executable: PathBuf,
    /// The arguments before ours; for the user's own program, all.
    pub leading: Vec<String>,
    /// The complete environment.
    pub environment: Vec<(String, SecretString)>,
}

impl Program {
    /// How it is called and read, if it is a built-in one.
    pub(super) fn calls(&self) -> Option<&'static Calls> {
        self.preset.map(|preset| match preset.kind {
            ProgramKind::Claude => &claude::CALLS,
            ProgramKind::Codex => &codex::CALLS,
        })
    }

    pub(super) fn arguments(&self, request: &Request, place: &Workplace) -> Vec<String> {
        match self.calls() {
            Some(calls) => self.leading.iter().cloned().chain((calls.arguments)(request, place)).collect(),
            None => self.leading.iter().map(|argument| argument.replace("{model}", &request.model)).collect(),
        }
    }

    /// The variables that switch features off for every call.
    pub(super) fn switched_off(&self) -> &'static [(&'static str, &'static str)] {
        self.calls().map_or(&[], |calls| calls.environment)
    }

    /// The environment of a call: also switched-off features, and the output limit if a variable has it.
    pub(super) fn environment_of(&self, request: &Request) -> Vec<(String, SecretString)> {
        let variable = self.calls().and_then(|calls| calls.output_limit);
        let limit = variable.zip(request.max_tokens).map(|(name, limit)| (name.to_owned(), limit.to_string().into()));
        let fixed = self.switched_off().iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        self.environment.iter().cloned().chain(fixed).chain(limit).collect()
    }
}
