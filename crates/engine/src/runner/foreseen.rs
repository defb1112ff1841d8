//! Forecasts a debate with these settings, and checks whether its prompts fit.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::access::{ProviderAccessError, routed_providers};
use crate::engine::{ForecastError, check_problem, check_windows, forecast, telling_rounds};
use dialectic_record::debate::{
    Created, Debate, FORMAT_VERSION, Forecast, Gathered, PromptSources, Settings, Span, Status,
};

use super::prepared::{begun, to_come};
use super::{Branch, Runner, RunnerError, Spec, known};

impl Runner {
    /// The calls of a debate, without calling a model or needing a key. Looks up past debates for material and for the
    /// panel; runs no commands.
    ///
    /// # Errors
    /// A prompt cannot be rendered, or a role cannot be used.
    pub fn forecast(&self, spec: &Spec) -> Result<Forecast, ForecastError> {
        let gathered = self.foreseen(spec);
        forecast_of(spec, &spec.settings, &routed_providers(&spec.settings, &self.services.environment), &gathered)
    }

    /// Checks that the programs in use can be called, without calling a model. Returns warnings.
    ///
    /// # Errors
    /// One of them cannot be called.
    pub fn check_programs(&self, spec: &Spec) -> Result<Vec<String>, ProviderAccessError> {
        self.services.program_warnings(&spec.settings)
    }

    /// The remaining calls of a saved debate, as far as its record shows. `None` if it is finished, or its protocol is
    /// unknown.
    pub fn forecast_rest(&self, debate: &Debate) -> Option<Forecast> {
        if matches!(debate.status, Status::Completed | Status::Failed) {
            return None;
        }
        let settings = debate.settings.as_ref()?;
        let protocol = known(settings, &[])?;
        let collector = self.collector(self.services.withheld(), self.services.keys(settings));
        let routed = routed_providers(settings, &self.services.environment);
        to_come(protocol, &routed, &collector, debate.clone(), 0)?().ok()
    }

    /// The calls of a fork with `settings`, without calling a model or needing a key.
    ///
    /// # Errors
    /// The settings do not fit what is kept.
    pub fn forecast_fork(&self, branch: Branch, settings: Settings) -> Result<Option<Forecast>, RunnerError> {
        let (protocol, created, taken_over) = branch.with(settings, &[])?;
        let (debate, events) = begun(&created, &taken_over)?;
        let collector = self.collector(self.services.withheld(), self.services.keys(&created.settings));
        let routed = routed_providers(&created.settings, &self.services.environment);
        let forecast = to_come(protocol, &routed, &collector, debate, events);
        Ok(forecast.map(|forecast| forecast()).transpose()?)
    }

    /// Checks that the problem fits into the models' context windows, and the prompts if this is in doubt. Returns a
    /// warning for each model that probably cannot read its whole prompt.
    ///
    /// # Errors
    /// The problem or a prompt cannot fit, or a prompt cannot be rendered.
    pub fn check_prompts(&self, spec: &Spec) -> Result<Vec<String>, RunnerError> {
        check_problem(&spec.problem, &spec.settings)?;
        let gathered = self.foreseen(spec);
        let attached: usize = spec.attachments.iter().map(|one| one.text.len()).sum();
        let given = spec.problem.len() + attached + gathered.high.bytes();
        let Some(rounds) = telling_rounds(&spec.settings, given) else { return Ok(Vec::new()) };
        let mut shortened = spec.settings.clone();
        shortened.debate.rounds = rounds;
        let forecast = forecast_of(spec, &shortened, &BTreeSet::new(), &gathered)?;
        Ok(check_windows(&forecast.calls, &spec.settings)?)
    }

    fn foreseen(&self, spec: &Spec) -> Span<Gathered> {
        let (withheld, keys) = (self.services.withheld(), self.services.keys(&spec.settings));
        self.collector(withheld, keys).foreseen(spec.protocol, &spec.settings, &spec.problem)
    }
}

fn forecast_of(
    spec: &Spec,
    settings: &Settings,
    routed: &BTreeSet<String>,
    gathered: &Span<Gathered>,
) -> Result<Forecast, ForecastError> {
    let created = |sources: &PromptSources, id| Created {
        format_version: FORMAT_VERSION,
        id,
        problem: spec.problem.clone(),
        context: spec.context.clone(),
        attachments: Arc::clone(&spec.attachments),
        change: spec.change.clone(),
        settings: settings.clone(),
        stages: spec.protocol.infos(),
        prompt_sources: sources.clone(),
        seed: settings.debate.seed.unwrap_or_default(),
        forked_from: None,
    };
    forecast(spec.protocol, settings, routed, gathered, created)
}
