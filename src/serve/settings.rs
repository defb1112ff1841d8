//! Turns a request into a prepared debate within the server's limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::Utc;
use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::PastDebates;
use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_base::provider::{OFFLINE, OFFLINE_MODEL};
use dialectic_config::changes::change_settings;
use dialectic_config::{ConfigFiles, ConfigPath, Loaded, Overrides, ServedModel, model_warnings};
use dialectic_engine::access::{Environment, UserSettings, is_program};
use dialectic_engine::engine::{check_prices, check_problem, check_purchase, check_windows};
use dialectic_engine::runner::{
    After, PreparedQuestion, Ready, Runner, RunnerError, Services, ServicesError, SpendingLock, new_debate, spent_by,
};
use dialectic_record::event::{Created, ForkPoint};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{Position, Settings};
use dialectic_record::store::{Directory, Entry, StoreError, read_journal};

use super::problem::ProblemDetails;
use super::request::{Choices, Fork, MOST_AGENTS, NewDebate};

#[derive(Clone)]
pub struct DebateInputs {
    pub directory: Directory,
    pub config: ConfigPath,
    pub environment: Environment,
    pub max_cost: Option<Usd>,
    pub max_cost_per_day: Option<Usd>,
    /// The maximum number of calls per debate.
    pub max_calls: Option<u32>,
}

pub(super) struct Admission {
    pub(super) ready: Ready,
    pub(super) after: After,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Forecast")]
pub(super) struct ForecastBody {
    /// The minimum number of calls.
    calls: usize,
    /// The maximum number of calls, including continuations of long answers and additional votes.
    calls_most: usize,
    /// The minimum and maximum number of tokens, input plus output.
    tokens: [u64; 2],
    /// The minimum and maximum cost in US dollars; absent if a price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<[f64; 2]>,
    /// The likely cost in US dollars; absent if a price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    likely_usd: Option<f64>,
    /// The cost limit of this debate in US dollars; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_usd: Option<f64>,
    /// The maximum number of rounds.
    rounds: u32,
    /// The number of rounds that the cost limit covers at list prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds_bought: Option<u32>,
    /// The optional parts of the debate that the cost limit does not cover, in words.
    left_out: Vec<String>,
    warnings: Vec<String>,
}

/// The options and limits for new debates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Setup {
    /// The version of the program.
    version: &'static str,
    protocols: Vec<ProtocolInfo>,
    /// The roles that agents may have.
    roles: Vec<String>,
    /// The models that agents may use.
    models: Vec<ServedModel>,
    /// The default agents.
    agents: Vec<MemberInfo>,
    /// The default judge.
    judge: MemberInfo,
    /// The default protocol.
    protocol: String,
    /// The default maximum number of rounds.
    rounds: u32,
    /// The maximum number of agents.
    most_agents: usize,
    /// The cost limit per debate in US dollars; null without one.
    max_cost: Option<f64>,
    /// The cost limit per day for all debates in US dollars; null without one.
    max_cost_per_day: Option<f64>,
    /// The rest of today's cost limit in US dollars; null without a limit.
    left_today: Option<f64>,
    /// Warnings about the configuration.
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProtocolInfo {
    name: &'static str,
    about: &'static str,
    suits: &'static str,
    /// The number of calls, as a formula for `n` agents and `r` rounds.
    calls: &'static str,
    rounds: u32,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct MemberInfo {
    id: String,
    name: String,
    role: String,
    model: String,
    provider: String,
    /// The agent's side in a debate on a motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
}

/// The error, with a hint if the limit that it names is the rest of the daily limit.
fn of_today(error: RunnerError, settings: &Settings, left_today: Option<Usd>) -> ProblemDetails {
    let problem = ProblemDetails::from(error);
    if left_today.is_none() || settings.debate.budget.max_cost_usd != left_today {
        return problem;
    }
    let hint = "this is the rest of today's limit for all debates; try again after midnight (UTC)";
    ProblemDetails { retryable: true, ..problem.hint(hint) }
}

fn member(agent: &dialectic_record::settings::AgentSettings) -> MemberInfo {
    let dialectic_record::settings::AgentSettings { id, name, role, model, provider, position, .. } = agent.clone();
    MemberInfo { id: id.to_string(), name, role, model, provider, position }
}

/// The models that requests may name: the configured models, and the offline provider's model.
fn models(settings: &Settings) -> Vec<ServedModel> {
    let named = settings.everybody().map(|agent| (agent.provider.clone(), agent.model.clone()));
    let listed = settings.prices.keys().chain(settings.models.keys());
    let listed = listed.flat_map(|model| {
        let providers = settings.everybody().map(|agent| &agent.provider).filter(|provider| *provider != OFFLINE);
        providers.map(move |provider| (provider.clone(), model.clone()))
    });
    let rehearsal = (OFFLINE.to_owned(), OFFLINE_MODEL.to_owned());
    let all = named.chain(listed).chain([rehearsal]).map(|(provider, model)| ServedModel { provider, model });
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The roles that requests may name: the built-in ones, those with a prompt file, and those of configured agents.
fn roles(settings: &Settings) -> Vec<String> {
    let mut roles: Vec<String> = dialectic_config::role_names(settings.base_dir.as_deref());
    for agent in settings.everybody() {
        if !roles.contains(&agent.role) {
            roles.push(agent.role.clone());
        }
    }
    roles
}

impl DebateInputs {
    fn runner(&self) -> Runner {
        let past = Arc::new(PastDebates::of(&self.directory));
        Runner::new(self.directory.clone(), Services::new(self.environment.clone()).with_past(past))
    }

    /// Created for each request, so that changes to the files take effect without a restart.
    fn files(&self) -> ConfigFiles<'_> {
        ConfigFiles::new(self.config.clone(), &self.environment)
    }

    fn load(&self, choices: &Choices) -> Result<Loaded, ProblemDetails> {
        let overrides = Overrides { protocol: choices.protocol(), offline: choices.offline, ..Overrides::default() };
        Ok(self.files().load(&overrides)?)
    }

    pub(super) fn setup(&self, left_today: Option<Usd>) -> Result<Setup, ProblemDetails> {
        let Loaded { settings, warnings, choice, .. } = self.load(&Choices::default())?;
        let protocols = Protocol::of_debates().map(|protocol| {
            let Protocol { name, about, suits, calls, default_rounds: rounds, .. } = *protocol;
            ProtocolInfo { name, about, suits, calls, rounds }
        });
        let no_key = choice.as_ref().and_then(|choice| choice.callable().err());
        let warnings = warnings.into_iter().chain(no_key.map(|error| error.to_string())).collect();
        Ok(Setup {
            version: env!("CARGO_PKG_VERSION"),
            protocols: protocols.collect(),
            roles: roles(&settings),
            models: models(&settings),
            agents: settings.agents.iter().map(member).collect(),
            judge: member(&settings.judge),
            protocol: settings.debate.protocol.clone(),
            rounds: settings.debate.rounds,
            most_agents: MOST_AGENTS,
            max_cost: self.most(&self.own()?).map(Usd::dollars),
            max_cost_per_day: self.max_cost_per_day.map(Usd::dollars),
            left_today: left_today.map(Usd::dollars),
            warnings,
        })
    }

    /// Applies `choices` to `settings`. The models and roles that `choices` names must occur in one of the `known`
    /// settings.
    fn chosen(
        &self,
        settings: &Settings,
        known: &[&Settings],
        choices: &Choices,
        own: &UserSettings,
        left_today: Option<Usd>,
    ) -> Result<(Settings, Vec<String>), ProblemDetails> {
        choices.check()?;
        let overrides = Overrides { offline: choices.offline, ..Overrides::default() };
        Self::check_members(known, choices)?;
        let (mut settings, warnings) =
            change_settings(settings, &choices.changes(settings)?, &overrides, &self.environment)?;
        let asked = choices.limit()?.map(Usd::from_dollars);
        let usual = settings.debate.budget.max_cost_usd;
        settings.debate.budget.max_cost_usd = if settings.is_offline() {
            asked.or(usual)
        } else {
            let most = self.most(own);
            Self::check_limit(asked, most, left_today)?;
            asked.or_else(|| [usual, most, left_today].into_iter().flatten().min())
        };
        let budget = &mut settings.debate.budget;
        budget.max_calls = budget.max_calls.into_iter().chain(self.max_calls).min();
        Ok((settings, warnings))
    }

    fn own(&self) -> Result<UserSettings, ProblemDetails> {
        let mut own = self.files().own()?;
        own.budget.max_calls = self.max_calls.or(own.budget.max_calls);
        Ok(own)
    }

    /// Checks that the number of calls is limited if models are called through a command-line program. This is also
    /// checked when the server starts, but the configuration may have changed since.
    fn check_calls(&self, settings: &Settings) -> Result<(), ProblemDetails> {
        let mut called = settings.everybody().map(|agent| agent.provider.as_str());
        let Some(program) = called.find(|name| is_program(name, &settings.providers)) else { return Ok(()) };
        if settings.max_calls().or(self.max_calls).is_some() {
            return Ok(());
        }
        let detail = format!(
            "the configuration calls models through a command-line program, `{program}`, but --max-calls is missing"
        );
        Err(ProblemDetails::cost(detail)
            .hint("start the server with --max-calls, or set `debate.budget.maxCalls` in your own configuration"))
    }

    fn most(&self, own: &UserSettings) -> Option<Usd> {
        self.max_cost.or(own.budget.max_cost_usd)
    }

    fn check_limit(asked: Option<Usd>, most: Option<Usd>, left_today: Option<Usd>) -> Result<(), ProblemDetails> {
        let refused =
            |detail: String| Err(ProblemDetails { key: Some("maxCost".to_owned()), ..ProblemDetails::cost(detail) });
        if left_today == Some(Usd::ZERO) {
            return refused("today's cost limit is used up".to_owned());
        }
        match (asked, most, left_today) {
            (Some(asked), Some(most), _) if asked > most => {
                refused(format!("a debate on this server may cost at most {most}, but this one may cost {asked}"))
            }
            (Some(asked), _, Some(left)) if asked > left => {
                refused(format!("only {left} of today's cost limit remains, but this debate may cost {asked}"))
            }
            _ => Ok(()),
        }
    }

    /// The maximum total cost, under the server's limits, of a debate that has already spent `spent`; `None` if the
    /// server has no limits. Fails if a limit is used up.
    fn most_in_all(&self, spent: Usd, left_today: Option<Usd>) -> Result<Option<Usd>, ProblemDetails> {
        if left_today == Some(Usd::ZERO) {
            return Err(ProblemDetails::cost("today's cost limit is used up"));
        }
        if let Some(most) = self.max_cost.filter(|most| spent >= *most) {
            let detail = format!("a debate on this server may cost at most {most}, but this one has cost {spent}");
            return Err(ProblemDetails::cost(detail).hint("resume the debate on the command line"));
        }
        Ok([self.max_cost, left_today.map(|left| spent + left)].into_iter().flatten().min())
    }

    fn check_members(known: &[&Settings], choices: &Choices) -> Result<(), ProblemDetails> {
        let roles: BTreeSet<String> = known.iter().flat_map(|settings| roles(settings)).collect();
        let models: BTreeSet<ServedModel> = known.iter().flat_map(|settings| models(settings)).collect();
        let agents = choices.agents.iter().flatten().enumerate();
        let agents = agents.map(|(place, agent)| (format!("agents[{place}]"), agent));
        for (place, member) in agents.chain(choices.judge.iter().map(|judge| ("judge".to_owned(), judge))) {
            if let Some(role) = member.text("role").filter(|role| !roles.contains(*role)) {
                let roles: Vec<String> = roles.into_iter().collect();
                let detail = format!("unknown role `{role}`; available: {}", roles.join(", "));
                return Err(ProblemDetails::key(format!("{place}.role"), detail));
            }
            let named = |of: &ServedModel| {
                member.text("provider").is_none_or(|provider| of.provider == provider)
                    && member.text("model").is_none_or(|model| of.model == model)
            };
            if !models.iter().any(named) {
                let all: Vec<String> = models.iter().map(|of| format!("{}/{}", of.provider, of.model)).collect();
                let key = if member.text("model").is_some() { "model" } else { "provider" };
                let detail = format!("this model is not in the server's configuration; available: {}", all.join(", "));
                return Err(ProblemDetails::key(format!("{place}.{key}"), detail));
            }
        }
        Ok(())
    }

    fn created(
        &self,
        request: &NewDebate,
        left_today: Option<Usd>,
    ) -> Result<(Created, Vec<String>, Loaded), ProblemDetails> {
        let problem = request.text()?;
        let loaded = self.load(&request.choices)?;
        let configured = &loaded.settings;
        let (settings, of_changes) =
            self.chosen(configured, &[configured], &request.choices, &self.own()?, left_today)?;
        let attachments = request.attachments(&settings, &self.environment)?;
        let name = &settings.debate.protocol;
        let protocol = Protocol::of_debates()
            .find(|protocol| protocol.name == *name)
            .ok_or_else(|| ProblemDetails::key("protocol", format!("no debate can have the protocol `{name}`")))?;
        let of_models = model_warnings(&settings, Utc::now().date_naive());
        let warnings = [loaded.warnings.clone(), of_changes, of_models].concat();
        let created = Created { attachments, ..new_debate(problem, protocol, settings) };
        Ok((created, warnings, loaded))
    }

    /// Forecasts a debate, without a key and without calling a model.
    pub(super) fn forecast(
        &self,
        request: &NewDebate,
        left_today: Option<Usd>,
    ) -> Result<ForecastBody, ProblemDetails> {
        let (created, mut warnings, _) = self.created(request, left_today)?;
        let settings = &created.settings;
        let runner = self.runner();
        runner.check_protocol(&created).map_err(RunnerError::from)?;
        check_problem(&created.problem, settings).map_err(RunnerError::from)?;
        check_prices(settings).map_err(|error| RunnerError::Services(ServicesError::Budget(error)))?;
        let forecast = runner.forecast(&created)?;
        warnings.extend(check_windows(&forecast.calls, settings).map_err(RunnerError::from)?);
        if let Some(purchase) = &forecast.purchase {
            let refused = |error| of_today(RunnerError::Services(ServicesError::Budget(error)), settings, left_today);
            check_purchase(purchase).map_err(refused)?;
        }
        let least = || forecast.calls.iter().filter(|call| call.is_certain);
        let low = least().map(|call| call.input.low + call.output.low).sum();
        let high = forecast.calls.iter().map(|call| call.input.high + call.output.high).sum();
        let cost_low: Option<Usd> = least().map(|call| call.cost.map(|cost| cost.low)).sum();
        let cost_high: Option<Usd> = forecast.calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum();
        Ok(ForecastBody {
            calls: least().count(),
            calls_most: forecast.calls.len(),
            tokens: [low, high],
            cost_usd: cost_low.zip(cost_high).map(|(low, high)| [low.dollars(), high.dollars()]),
            likely_usd: forecast.likely().map(Usd::dollars),
            limit_usd: settings.debate.budget.max_cost_usd.map(Usd::dollars),
            rounds: settings.debate.rounds,
            rounds_bought: forecast.purchase.as_ref().map(|purchase| purchase.bought),
            left_out: forecast.purchase.map(|purchase| purchase.left_out).unwrap_or_default(),
            warnings,
        })
    }

    pub(super) fn begin(&self, request: &NewDebate, left_today: Option<Usd>) -> Result<Admission, ProblemDetails> {
        let (created, mut warnings, loaded) = self.created(request, left_today)?;
        self.check_calls(&created.settings)?;
        if let Some(choice) = loaded.choice.as_ref().filter(|_| !created.settings.is_offline()) {
            choice.callable().map_err(|error| ProblemDetails::diagnosed(&error))?;
        }
        let runner = self.runner();
        let prepared = runner.prepare(created.clone())?;
        warnings.extend(prepared.panel().warnings.clone());
        warnings.extend(runner.check_prompts(&created)?);
        prepared.check_limit().map_err(|error| of_today(error, &created.settings, left_today))?;
        let after = runner.after(&created.settings, loaded.hooks);
        Ok(Admission { ready: prepared.begin()?, after, warnings })
    }

    /// Prepares to resume a saved debate within its own limit and the server's limits per debate and per day. With
    /// `closes`, the debate ends with an answer from its current texts. If the server's limits are below the debate's
    /// own, notes the resulting limit for other servers that share the directory.
    pub(super) fn resume(
        &self,
        entry: &Entry,
        closes: bool,
        left_today: Option<Usd>,
        lock: &SpendingLock,
    ) -> Result<Admission, ProblemDetails> {
        let runner = self.runner();
        let mut saved = runner.open(entry)?;
        let most = if saved.settings().is_offline() { None } else { self.most_in_all(spent_by(entry), left_today)? };
        let own = saved.settings().debate.budget.max_cost_usd;
        let below_own = most.filter(|most| own.is_none_or(|own| *most < own));
        if let Some(most) = below_own {
            saved = saved.at_most(most);
        }
        let own = self.own()?;
        let settings = own.over(saved.settings(), &self.environment);
        self.check_calls(&settings)?;
        lock.note_limit(&saved.debate().id, below_own)?;
        let mut warnings = saved.warnings().to_vec();
        let sources = saved.debate().prompt_sources.clone();
        let prepared = runner.resume(saved, &own)?;
        warnings.extend(model_warnings(&settings, Utc::now().date_naive()));
        warnings.extend(prepared.panel().warnings.clone());
        warnings.extend(sources.iter().flat_map(|before| before.changes(&prepared.panel().sources)));
        let after = runner.after(&settings, self.files().hooks()?);
        let mut ready = prepared.begin()?;
        ready.closes = closes;
        Ok(Admission { ready, after, warnings })
    }

    /// Prepares a question about a finished debate, within the same limits as [`resume`](Self::resume).
    pub(super) fn ask(
        &self,
        entry: &Entry,
        question: Arc<str>,
        left_today: Option<Usd>,
        lock: &SpendingLock,
    ) -> Result<PreparedQuestion, ProblemDetails> {
        let runner = self.runner();
        let saved = runner.open_finished(entry, None)?;
        let spent = spent_by(entry);
        let most = if saved.settings().is_offline() { None } else { self.most_in_all(spent, left_today)? };
        let own = self.own()?;
        self.check_calls(&own.over(saved.settings(), &self.environment))?;
        lock.note_limit(&saved.debate().id, most)?;
        let own_limit = saved.settings().debate.budget.max_cost_usd;
        let usd = most.into_iter().chain(own_limit).min().map(|most| most.saturating_sub(spent));
        Ok(runner.ask(saved, question, BudgetLimit { usd, calls: None }, &own)?)
    }

    pub(super) fn fork(
        &self,
        entry: &Entry,
        request: &Fork,
        left_today: Option<Usd>,
    ) -> Result<Admission, ProblemDetails> {
        let events = read_journal(entry.journal_path()?).map_err(StoreError::from)?.events;
        let at = ForkPoint::named(&request.at, &events)
            .map_err(|error| ProblemDetails::key("at", format!("at: {error}")))?;
        let runner = self.runner();
        let mut own = self.own()?;
        own.budget.max_cost_usd = self.max_cost.or(own.budget.max_cost_usd);
        let branch = runner.branch(entry, &at, &own).map_err(|error| {
            let key = matches!(error, RunnerError::Fork { .. }).then(|| "at".to_owned());
            ProblemDetails { key, ..error.into() }
        })?;
        let parent = branch.parent().clone();
        let configured = self.load(&Choices::default())?.settings;
        let known = [&parent.settings, &configured];
        let (settings, mut warnings) = self.chosen(&parent.settings, &known, &request.choices, &own, left_today)?;
        self.check_calls(&settings)?;
        let prepared = runner.fork(branch, settings.clone())?;
        warnings.extend(model_warnings(&settings, Utc::now().date_naive()));
        warnings.extend(prepared.panel().warnings.clone());
        let after = runner.after(&settings, self.files().hooks()?);
        Ok(Admission { ready: prepared.begin()?, after, warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_limit_and_the_rest_of_the_day_bind_what_is_asked_for_and_what_goes_on() {
        let usd = Usd::from_dollars;
        let is_allowed = |asked: f64, left: f64| {
            DebateInputs::check_limit(Some(usd(asked)), Some(usd(1.0)), Some(usd(left))).is_ok()
        };
        for (asked, left, allowed) in [(0.5, 0.5, true), (1.1, 2.0, false), (0.6, 0.5, false), (0.0, 0.0, false)] {
            assert_eq!(is_allowed(asked, left), allowed, "{asked} of {left}");
        }
        let inputs = DebateInputs {
            directory: Directory::at("debates"),
            config: ConfigPath::None,
            environment: Environment::default(),
            max_cost: Some(usd(1.0)),
            max_cost_per_day: None,
            max_calls: None,
        };
        let most = |spent: f64, left: f64| inputs.most_in_all(usd(spent), Some(usd(left))).ok();
        for (spent, left, in_all) in [(0.3, 0.5, Some(0.8)), (0.3, 2.0, Some(1.0)), (1.0, 2.0, None), (0.3, 0.0, None)]
        {
            assert_eq!(most(spent, left), in_all.map(|in_all| Some(usd(in_all))), "{left} left after {spent}");
        }
    }
}
