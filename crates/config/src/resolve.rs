//! From what the file says to what a debate runs with. Pure: everything from outside comes in as an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dialectic_base::key_path::KeyPath;
use dialectic_base::money::{Price, Usd};
use dialectic_engine::access::{Environment, Outline, elsewhere, url_fault};
use dialectic_record::debate::{
    AgentSettings, AllCritics, ArenaSettings, BudgetSettings, ConvergenceSettings, Critics, DebateSettings,
    ModelLimits, ResultKind, Settings, TeamSettings, TerminationSettings, Terms, VotingSettings, defaults,
};
use dialectic_record::protocol::Protocol;

use super::cast::{Cast, Described, cast};
use super::choice::{ModelChoice, ModelPreference};
use super::file::{
    ArenaSection, BudgetSection, ConfigFile, CriticsEntry, DebateSection, ModelEntry, OrchestratorType, PanelFile,
    PriceEntry, TerminationSection,
};
use super::findings::Diagnostics;
use super::overrides::{Overrides, PanelChoice, PanelName, Switch, Vocabulary};
use super::shapes::{Named, Object};
use super::{agents, hooks, providers};

/// How often a debate may go on behind its judgement at most: each time costs as much as a debate.
const MOST_EXTENSIONS: u32 = 10;

/// The layers over the file, and what names mean.
pub(super) struct Layers<'a> {
    pub(super) environment: &'a Environment,
    pub(super) overrides: &'a Overrides,
    pub(super) vocabulary: &'a Vocabulary<'a>,
    /// Roles that the user has files for.
    pub(super) own_roles: &'a [String],
    /// Who takes part by a file that `--panel` names.
    pub(super) panel: Option<&'a PanelFile>,
    /// What the user's own configuration says where nothing else does.
    pub(super) usual: &'a Usual,
    /// Whether there is a file that is not the user's own.
    pub(super) has_project: bool,
}

/// What a user wants wherever nothing else is said.
#[derive(Debug, Clone, Default)]
pub(super) struct Usual {
    /// Which model is asked.
    pub(super) wish: ModelPreference,
    /// Which panel it is.
    pub(super) panel: Option<PanelName>,
    /// The file that says so.
    pub(super) path: Option<PathBuf>,
}

/// Settings, sound only when there are no problems.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    pub(super) findings: Diagnostics,
    /// For each agent its index in the file; built-in agents have none.
    pub(super) origins: Vec<Option<usize>>,
    /// What was chosen for agents that have no configuration, if it was needed.
    pub(super) choice: Option<ModelChoice>,
}

/// Decides every value. Without a file all is built in, and only the command line is laid over it.
pub(super) fn resolve(file: Option<ConfigFile>, layers: &Layers) -> Resolved {
    let mut findings = Diagnostics::default();
    // A user's own configuration need not say who takes part.
    let has_file = layers.has_project || file.as_ref().is_some_and(|file| file.agents.is_some());
    let file = file.unwrap_or_default();
    let providers = providers::resolve(file.providers, &mut findings);
    hooks::check(file.hooks.as_ref(), &mut findings);
    let prices = prices(file.prices, &mut findings);
    let models = models(file.models, &mut findings);
    let names_rounds = file.debate.as_ref().is_some_and(|Object(section)| section.rounds.is_some());
    let mut debate = debate(file.debate, layers.vocabulary, &mut findings);
    let protocol = Protocol::named(layers.overrides.protocol.as_ref().unwrap_or(&debate.protocol));
    if let Some(protocol) = protocol.filter(|_| !names_rounds) {
        debate.rounds = protocol.default_rounds;
    }
    let described = match layers.panel {
        Some(panel) => Described { agents: panel.agents.clone(), judge: panel.judge.clone(), is_expected: true },
        None if matches!(layers.overrides.panel, Some(PanelChoice::Named(_))) => {
            Described { agents: None, judge: None, is_expected: false }
        }
        None => Described { agents: file.agents, judge: file.judge, is_expected: has_file },
    };
    let Cast { agents, judge, choice } = cast(described, &debate, protocol, &providers, layers, &mut findings);
    override_debate(&mut debate, layers.overrides);
    if let Some(protocol) = protocol {
        warn_of_idle_keys(&debate, protocol, &mut findings);
    }
    let (origins, agents): (_, Vec<AgentSettings>) = agents.into_iter().unzip();
    let mut settings = Settings {
        agents,
        judge,
        embedder: None,
        debate,
        providers,
        prices,
        models,
        elsewhere: BTreeSet::new(),
        terms: Terms::default(),
        base_dir: None,
        context_dir: None,
    };
    check_moved_endpoints(&settings, layers.environment, &mut findings);
    settings.elsewhere = elsewhere(&settings, layers.environment);
    Resolved { settings, findings, origins, choice }
}

/// Warns of settings that the protocol takes no notice of, and that somebody may count on.
fn warn_of_idle_keys(debate: &DebateSettings, protocol: &Protocol, findings: &mut Diagnostics) {
    let has = |wanted| protocol.stages.iter().any(|stage| stage.info.yields == Some(wanted));
    let name = protocol.name;
    if debate.memory && !has(ResultKind::Material) {
        findings
            .warn(format!("`debate.memory` has no effect: in the protocol `{name}` nobody is told of past debates"));
    }
    if debate.arena != ArenaSettings::default() && !has(ResultKind::Agreement) {
        findings.warn(format!("`debate.arena` has no effect: the protocol is `{name}`"));
    }
}

fn override_debate(debate: &mut DebateSettings, overrides: &Overrides) {
    debate.rounds = overrides.rounds.unwrap_or(debate.rounds);
    if let Some(protocol) = &overrides.protocol {
        debate.protocol.clone_from(protocol);
    }
    debate.termination_condition.kind = overrides.until.unwrap_or(debate.termination_condition.kind);
    debate.interactive_clarifications |= overrides.clarify == Switch::On;
    debate.seed = overrides.seed.or(debate.seed);
    debate.budget.max_cost_usd = overrides.max_cost.or(debate.budget.max_cost_usd);
    debate.budget.warn_cost_usd = overrides.warn_cost.or(debate.budget.warn_cost_usd);
}

/// The base URLs that the environment sets for providers in use.
fn check_moved_endpoints(settings: &Settings, environment: &Environment, findings: &mut Diagnostics) {
    let used: BTreeSet<&str> = settings.everybody().map(|agent| agent.provider.as_str()).collect();
    for provider in used {
        let variable = Outline::of(provider, &settings.providers).and_then(|outline| outline.moved_by());
        let Some((variable, url)) = variable.and_then(|name| Some((name, environment.get(name)?))) else { continue };
        if let Some(fault) = url_fault(url) {
            findings.variable_problem(variable, fault);
        }
    }
}

fn debate(
    section: Option<Object<DebateSection>>,
    vocabulary: &Vocabulary,
    findings: &mut Diagnostics,
) -> DebateSettings {
    let path = KeyPath::root().key("debate");
    let Object(section) = section.unwrap_or_default();
    let default = defaults::debate();
    let at = |key: &str| path.key(key);
    DebateSettings {
        protocol: findings.known(at("protocol"), section.protocol, "protocol", vocabulary.protocols, &default.protocol),
        rounds: findings.rounds(at("rounds"), section.rounds, default.rounds),
        termination_condition: termination(
            section.termination_condition,
            &at("terminationCondition"),
            default.termination_condition,
            findings,
        ),
        critics: match section.critics {
            None => default.critics,
            Some(CriticsEntry::Word(AllCritics::All)) => Critics::All,
            Some(CriticsEntry::Number(number)) => Critics::Number(findings.whole(at("critics"), Some(number), 1, 1)),
        },
        synthesis_method: section.synthesis_method.unwrap_or(default.synthesis_method),
        include_full_history: section.include_full_history.unwrap_or(default.include_full_history),
        history_limit: findings.whole(at("historyLimit"), section.history_limit, 0, default.history_limit),
        attachment_limit: findings.whole(at("attachmentLimit"), section.attachment_limit, 0, default.attachment_limit),
        seed: section.seed.map(|seed| findings.whole(at("seed"), Some(seed), 0, 0)),
        timeout_per_round: findings.whole(
            at("timeoutPerRound"),
            section.timeout_per_round,
            1,
            default.timeout_per_round,
        ),
        summarization: agents::summarization(
            section.summarization,
            &at("summarization"),
            &default.summarization,
            vocabulary,
            findings,
        ),
        interactive_clarifications: section.interactive_clarifications.unwrap_or(default.interactive_clarifications),
        clarifications_max_per_agent: findings.whole(
            at("clarificationsMaxPerAgent"),
            section.clarifications_max_per_agent,
            0,
            default.clarifications_max_per_agent,
        ),
        clarifications_max_iterations: findings.whole(
            at("clarificationsMaxIterations"),
            section.clarifications_max_iterations,
            0,
            default.clarifications_max_iterations,
        ),
        max_concurrency: findings.whole(at("maxConcurrency"), section.max_concurrency, 1, default.max_concurrency),
        call_timeout: findings.whole(at("callTimeout"), section.call_timeout, 1, default.call_timeout),
        idle_timeout: findings.whole(at("idleTimeout"), section.idle_timeout, 1, default.idle_timeout),
        max_retries: findings.whole(at("maxRetries"), section.max_retries, 0, default.max_retries),
        on_agent_failure: section.on_agent_failure.unwrap_or(default.on_agent_failure),
        budget: budget(section.budget, &at("budget"), findings),
        arena: arena(section.arena, &at("arena"), findings),
        trace: section.trace.or(default.trace),
        trace_content: section.trace_content.unwrap_or(default.trace_content),
        memory: section.memory.unwrap_or(default.memory),
        orchestrator_type: match section.orchestrator_type {
            Some(OrchestratorType::Classic) => "classic".to_owned(),
            Some(OrchestratorType::StateMachine) | None => default.orchestrator_type,
        },
    }
}

fn termination(
    section: Option<Object<TerminationSection>>,
    path: &KeyPath,
    default: TerminationSettings,
    findings: &mut Diagnostics,
) -> TerminationSettings {
    let Object(section) = section.unwrap_or_default();
    TerminationSettings {
        kind: section.kind.unwrap_or(default.kind),
        threshold: findings.within(path.key("threshold"), section.threshold, &(0.0..=100.0), default.threshold),
        min_rounds: findings.rounds(path.key("minRounds"), section.min_rounds, default.min_rounds),
    }
}

fn arena(section: Option<Object<ArenaSection>>, path: &KeyPath, findings: &mut Diagnostics) -> ArenaSettings {
    let Object(section) = section.unwrap_or_default();
    let default = ArenaSettings::default();
    let at = |key: &str| path.key(key);
    let Object(team) = section.team.unwrap_or_default();
    let size = team.size.map(|size| findings.whole(at("team").key("size"), Some(size), 2, 2));
    let Object(convergence) = section.convergence.unwrap_or_default();
    let threshold = findings.within(
        at("convergence").key("threshold"),
        convergence.threshold,
        &(0.0..=100.0),
        default.convergence.threshold,
    );
    let Object(voting) = section.voting.unwrap_or_default();
    let extended = findings.whole(at("extendedRounds"), section.extended_rounds, 0, default.extended_rounds);
    if extended > MOST_EXTENSIONS {
        findings.problem(at("extendedRounds"), format!("is {extended}, and {MOST_EXTENSIONS} is the most"));
    }
    let context_commands = section.context_commands.unwrap_or_default();
    for (place, command) in context_commands.iter().enumerate() {
        if command.trim().is_empty() {
            findings.problem(at("contextCommands").index(place), "is empty");
        }
    }
    let Object(limits) = section.max_concurrency.unwrap_or_default();
    let limits = [
        ("proposal", limits.proposal),
        ("critique", limits.critique),
        ("revision", limits.revision),
        ("final-refinement", limits.final_refinement),
        ("voting", limits.voting),
    ];
    let limits = limits.into_iter().filter_map(|(stage, limit)| {
        limit.map(|limit| (stage.to_owned(), findings.whole(at("maxConcurrency").key(stage), Some(limit), 1, 1)))
    });
    let max_concurrency = limits.collect();
    ArenaSettings {
        team: TeamSettings { size },
        convergence: ConvergenceSettings { threshold, ..default.convergence },
        voting: VotingSettings { rule: voting.rule.unwrap_or(default.voting.rule) },
        trickster: section.trickster.unwrap_or(default.trickster),
        observer: section.observer.unwrap_or(default.observer),
        extended_rounds: extended,
        context_commands,
        max_concurrency,
    }
}

fn budget(section: Option<Object<BudgetSection>>, path: &KeyPath, findings: &mut Diagnostics) -> BudgetSettings {
    let Object(section) = section.unwrap_or_default();
    let mut dollars =
        |key: &str, raw: Option<f64>| raw.map(|amount| Usd::from_dollars(findings.not_negative(path.key(key), amount)));
    BudgetSettings {
        max_cost_usd: dollars("maxCostUsd", section.max_cost_usd),
        warn_cost_usd: dollars("warnCostUsd", section.warn_cost_usd),
    }
}

/// Checks the configured limits of models.
pub(super) fn models(
    entries: Option<Named<Object<ModelEntry>>>,
    findings: &mut Diagnostics,
) -> BTreeMap<String, ModelLimits> {
    let path = KeyPath::root().key("models");
    let limits = |(model, Object(entry)): (String, Object<ModelEntry>)| {
        let path = path.key(&model);
        let limits = ModelLimits {
            context_window: entry
                .context_window
                .map(|tokens| findings.whole(path.key("contextWindow"), Some(tokens), 1, 1)),
            max_output: entry.max_output.map(|tokens| findings.whole(path.key("maxOutput"), Some(tokens), 1, 1)),
        };
        (model, limits)
    };
    entries.unwrap_or_default().0.into_iter().map(limits).collect()
}

/// Checks the configured prices.
pub(super) fn prices(
    entries: Option<Named<Object<PriceEntry>>>,
    findings: &mut Diagnostics,
) -> BTreeMap<String, Price> {
    let path = KeyPath::root().key("prices");
    let entries = entries.unwrap_or_default().0;
    let price = |(model, Object(entry)): (String, Object<PriceEntry>)| {
        let path = path.key(&model);
        let mut amount = |key: &str, raw: Option<f64>| {
            let Some(amount) = raw else {
                findings.problem(path.key(key), "is missing");
                return 0.0;
            };
            findings.not_negative(path.key(key), amount)
        };
        let input_per_m_tok = amount("inputPerMTok", entry.input_per_m_tok);
        let output_per_m_tok = amount("outputPerMTok", entry.output_per_m_tok);
        let written = entry.cache_write_per_m_tok;
        let cache_write_per_m_tok = written.map(|raw| amount("cacheWritePerMTok", Some(raw)));
        let cached = entry.cached_input_per_m_tok;
        let cached_input_per_m_tok = cached.map(|raw| amount("cachedInputPerMTok", Some(raw)));
        // A cost limit takes the price of input as the most that input can cost.
        if cached_input_per_m_tok.is_some_and(|cached| cached > input_per_m_tok) {
            findings.problem(path.key("cachedInputPerMTok"), "must not be above `inputPerMTok`");
        }
        let flat = Price::flat(input_per_m_tok, cached_input_per_m_tok, output_per_m_tok);
        (model, Price { cache_write_per_m_tok, ..flat })
    };
    entries.into_iter().map(price).collect()
}
