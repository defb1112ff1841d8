//! `dialectic models`: lists models with context window, price and availability.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use glob::Pattern;
use serde::Serialize;

use crate::archive::Archive;
use crate::cli::args::ConfigFileArgs;
use crate::cli::dialogue::Dialogue;
use crate::cli::session::{config_files, debates};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::figures::{counted, named_cost, thousands};
use dialectic_base::money::Usd;
use dialectic_base::provider::{HOST, calls_models, default_models};
use dialectic_base::sanitize::one_line;
use dialectic_config::{ConfigError, Loaded, Overrides, capture_environment};
use dialectic_engine::access::{Environment, ProviderAccessError, endpoint, is_program, located, missing_keys_of};
use dialectic_engine::agent::{limits_of, price_of};
use dialectic_llm::command::{CommandModel, Login, PROGRAMS, Program, ProgramFault, program_preset};
use dialectic_llm::models::current;
use dialectic_llm::openai::{Offered, OpenAiClient, http_client};
use dialectic_llm::{ChatModel, Live, ModelError, Request, Timeouts};
use dialectic_record::ids::AgentId;
use dialectic_record::settings::{AgentSettings, Settings};
use dialectic_report::display::{Layout, StyledText, Table, TableColumn};

use super::debate::today;

#[derive(Debug, Args)]
pub(in crate::cli) struct ModelsArgs {
    /// List only these models, by name or as `provider:name`; `*` matches anything
    #[arg(value_name = "MODEL")]
    models: Vec<String>,

    /// Call each configured or named model, and each installed program, once with a tiny prompt; asks for confirmation
    /// first
    #[arg(long)]
    probe: bool,

    /// Do not ask for confirmation
    #[arg(short, long, requires = "probe")]
    yes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    file: ConfigFileArgs,
}

/// The time limit for listing a server's models.
const LISTING: Duration = Duration::from_secs(10);
/// The time limit for a probe. Local servers may first have to load the model.
const PROBING: Duration = Duration::from_mins(1);
/// The output limit of a probe, in tokens. Some servers reject lower limits.
const WORD: u32 = 16;
/// The approximate number of input tokens of a probe.
const QUESTION: u64 = 20;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelLine {
    provider: String,
    model: String,
    used_by: Vec<String>,
    /// Whether the server lists the model. `None` if the server's list is unknown.
    offered: Option<bool>,
    context_window: Option<u64>,
    input_per_m_tok: Option<f64>,
    output_per_m_tok: Option<f64>,
    /// The Elo rating from arena debates.
    rating: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<ProbeResult>,
    /// `None` unless the model was probed through a command-line program.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramState>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProbeResult {
    answered: bool,
    latency_ms: u64,
    /// The cost as stated by the program or server; for a subscription, the notional cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(in crate::cli) fn run(args: &ModelsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(args.file.env_file.as_deref())?;
    let files = config_files(args.file.config.as_ref(), &environment);
    let Loaded { settings, warnings, choice, .. } = files.load(&Overrides::default())?;
    terminal.warnings(&warnings);
    if let Some(choice) = &choice {
        terminal.notice(&choice.to_string());
    }
    let wanted = args.models.iter().map(|name| Pattern::new(name)).collect::<Result<Vec<_>, _>>();
    let wanted = wanted.map_err(|error| ConfigError::Argument { option: "MODEL", message: error.to_string() })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let mut servers = Servers::of(&settings, &environment, args.probe, terminal)?;
    let offered = runtime.block_on(servers.ask_all(terminal));
    let mut rows = rows(&settings, &servers, &offered);
    let ratings = ratings().unwrap_or_else(|error| {
        terminal.warning(&format!("cannot show ratings: {error}"));
        BTreeMap::new()
    });
    for row in &mut rows {
        row.rating = ratings.get(&row.model).copied();
    }
    if !wanted.is_empty() {
        rows.retain(|row| wanted.iter().any(|name| is_meant(name, row)));
        if rows.is_empty() {
            return Err(UserError::input(format!("no known model matches {}", args.models.join(", "))).into());
        }
    }
    if args.probe {
        runtime.block_on(probe_all(&mut rows, &settings, &servers, args, terminal))?;
    }
    if args.json {
        return terminal.json(&rows);
    }
    // Do not sanitize the table: every cell is already a sanitized line.
    terminal.result(&shown(&rows, &servers, terminal.screen()))
}

/// Each model's rating: the mean over its roles, weighted by the number of debates in each role.
fn ratings() -> Result<BTreeMap<String, f64>, Error> {
    let directory = debates()?;
    if !directory.path().is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut archive = Archive::open(&directory)?;
    archive.update()?;
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for one in archive.ratings()? {
        let (sum, debates) = sums.entry(one.player.model).or_default();
        *sum += one.rating * f64::from(one.debates);
        *debates += f64::from(one.debates);
    }
    Ok(sums.into_iter().map(|(model, (sum, debates))| (model, sum / debates)).collect())
}

fn is_meant(name: &Pattern, row: &ModelLine) -> bool {
    let with_provider = |separator| name.matches(&format!("{}{separator}{}", row.provider, row.model));
    name.matches(&row.model) || with_provider('/') || with_provider(':')
}

struct Servers {
    clients: BTreeMap<String, Option<Arc<OpenAiClient>>>,
    /// The programs that agents use or the configuration defines. For a probe, also all other installed programs.
    programs: BTreeMap<String, Result<Program, ProviderAccessError>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgramState {
    version: Option<String>,
    /// False if the program's tools cannot be disabled, or if its version is unknown or known to be unsafe.
    may_be_called: bool,
    tested: bool,
    /// Absent if the program does not report whether it is logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    logged_in: Option<bool>,
    /// Whether the program reports a login with a subscription.
    subscription: bool,
}

impl ProgramState {
    fn of(program: &Program, checked: &Result<Option<String>, ProgramFault>) -> Self {
        let (may_be_called, tested) = (checked.is_ok(), *checked == Ok(None));
        let login = if may_be_called { program.login() } else { Login::Unsaid };
        let logged_in = match login {
            Login::Subscription | Login::Account => Some(true),
            Login::Nobody => Some(false),
            Login::Unsaid => None,
        };
        let subscription = login == Login::Subscription;
        Self { version: program.version().ok(), may_be_called, tested, logged_in, subscription }
    }
}

impl Servers {
    /// Prepares the providers that are used or configured, or are built in and have a key. Warns about skipped
    /// providers.
    fn of(
        settings: &Settings,
        environment: &Environment,
        looks_for_programs: bool,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        let http = http_client(environment.certificate_file())?;
        let used = settings.everybody().map(|agent| agent.provider.as_str());
        let has_key = |name: &&str| missing_keys_of([("", *name)], &settings.providers, environment).is_ok();
        let built_in = default_models().map(|(name, _)| name).filter(has_key);
        let configured = settings.providers.keys().map(String::as_str);
        let names: BTreeSet<&str> = used.chain(built_in).chain(configured).filter(|name| calls_models(name)).collect();
        let found = |name: &str| {
            let project: Vec<PathBuf> = settings.base_dir.iter().cloned().collect();
            located(name, &settings.providers, environment, &project)
        };
        let is_program = |name: &&str| is_program(name, &settings.providers);
        let mut programs = BTreeMap::new();
        for name in names.iter().copied().filter(is_program) {
            programs.insert(name.to_owned(), found(name));
        }
        for preset in PROGRAMS.iter().filter(|preset| looks_for_programs && is_program(&preset.name)) {
            if let (false, Ok(program)) = (programs.contains_key(preset.name), found(preset.name)) {
                programs.insert(preset.name.to_owned(), Ok(program));
            }
        }
        for (name, program) in &programs {
            if let Err(error) = program {
                terminal.warning(&format!("skipping {name}: {error}"));
            }
        }
        let names = names.into_iter().filter(|name| !is_program(name));
        let mut clients = BTreeMap::new();
        for name in names {
            let client = match missing_keys_of([("", name)], &settings.providers, environment) {
                Err(missing) => {
                    let variables: Vec<&str> = missing.missing.iter().map(|key| key.variable.as_str()).collect();
                    terminal.warning(&format!("skipping {name}: {} is not set", variables.join(", ")));
                    None
                }
                Ok(()) => match endpoint(name, &settings.providers, environment)
                    .map_err(Error::from)
                    .and_then(|endpoint| Ok(OpenAiClient::new(endpoint, &http)?))
                {
                    Ok(client) => Some(Arc::new(client)),
                    Err(error) => {
                        terminal.warning(&format!("skipping {name}: {error}"));
                        None
                    }
                },
            };
            clients.insert(name.to_owned(), client);
        }
        Ok(Self { clients, programs })
    }

    async fn ask_all(&mut self, terminal: &mut Terminal) -> BTreeMap<String, Vec<Offered>> {
        let mut asked = Vec::new();
        for (name, client) in &self.clients {
            if let Some(client) = client.clone() {
                asked.push((name.clone(), tokio::spawn(async move { client.offered(LISTING).await })));
            }
        }
        let mut offered = BTreeMap::new();
        for (name, task) in asked {
            match task.await {
                Ok(Ok(models)) => drop(offered.insert(name, models)),
                Ok(Err(error)) => terminal.warning(&format!("{name} does not list its models: {error}")),
                Err(error) => terminal.warning(&format!("skipping {name}: {error}")),
            }
        }
        offered
    }
}

/// An agent with this model, because prices and limits are looked up by agent.
fn with_model(settings: &Settings, provider: &str, model: &str) -> AgentSettings {
    AgentSettings {
        provider: provider.to_owned(),
        model: model.to_owned(),
        id: AgentId::new("probe"),
        ..settings.judge.clone()
    }
}

fn rows(settings: &Settings, servers: &Servers, offered: &BTreeMap<String, Vec<Offered>>) -> Vec<ModelLine> {
    let mut rows = Vec::new();
    for provider in servers.clients.keys() {
        let listed = offered.get(provider);
        let used = settings.everybody().filter(|agent| agent.provider == *provider).map(|agent| agent.model.as_str());
        let known = match listed {
            Some(models) => models.iter().map(|model| model.name.as_str()).collect(),
            // The built-in table lists the vendor's own models, which another server may lack.
            None if settings.elsewhere.contains(provider) => Vec::new(),
            None => current(provider, today()),
        };
        let names: BTreeSet<&str> = used.chain(known).collect();
        let row = |name: &str| {
            let mut line = line_of(settings, provider, name);
            if let Some(models) = listed {
                let offer = models.iter().find(|model| model.name == name);
                line.offered = Some(offer.is_some());
                line.context_window = line.context_window.or_else(|| offer?.context_window);
            }
            line
        };
        let mut of_provider: Vec<ModelLine> = names.into_iter().map(row).collect();
        of_provider.sort_by_key(|row| row.used_by.is_empty());
        rows.extend(of_provider);
    }
    for (provider, program) in &servers.programs {
        if program.is_ok() {
            rows.extend(rows_of_program(settings, provider));
        }
    }
    rows.extend(rows_of_program(settings, HOST));
    rows
}

/// Rows for the models in use or, if there are none, for the program's default model, because programs do not list
/// their models.
fn rows_of_program(settings: &Settings, provider: &str) -> Vec<ModelLine> {
    let used = settings.everybody().filter(|agent| agent.provider == *provider).map(|agent| agent.model.as_str());
    let mut names: BTreeSet<&str> = used.collect();
    if names.is_empty() {
        names.extend(program_preset(provider).map(|preset| preset.default_model));
    }
    names.into_iter().map(|name| line_of(settings, provider, name)).collect()
}

fn line_of(settings: &Settings, provider: &str, name: &str) -> ModelLine {
    let agent = with_model(settings, provider, name);
    let price = price_of(&agent, settings);
    let uses = |agent: &&AgentSettings| agent.provider == *provider && agent.model == name;
    ModelLine {
        provider: provider.to_owned(),
        model: name.to_owned(),
        used_by: settings.everybody().filter(uses).map(|agent| agent.id.to_string()).collect(),
        offered: None,
        context_window: limits_of(&agent, settings).context_window,
        input_per_m_tok: price.map(|price| price.input_per_m_tok),
        output_per_m_tok: price.map(|price| price.output_per_m_tok),
        rating: None,
        probe: None,
        program: None,
    }
}

async fn probe_all(
    rows: &mut [ModelLine],
    settings: &Settings,
    servers: &Servers,
    args: &ModelsArgs,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let is_probed = |row: &&mut ModelLine| {
        // Only calling a program shows whether it works, so probe every program.
        let is_program = servers.programs.contains_key(&row.provider);
        let can_be_asked = servers.clients.get(&row.provider).is_some_and(Option::is_some);
        is_program || can_be_asked && (!args.models.is_empty() || !row.used_by.is_empty())
    };
    let mut probed: Vec<&mut ModelLine> = rows.iter_mut().filter(is_probed).collect();
    let price = |row: &ModelLine| {
        let price = price_of(&with_model(settings, &row.provider, &row.model), settings)?;
        let question = Usd::for_tokens(QUESTION, price.input_per_m_tok);
        Some(question + Usd::for_tokens(u64::from(WORD), price.output_per_m_tok))
    };
    let most = probed.iter().map(|row| price(row)).try_fold(Usd::ZERO, |sum, price| Some(sum + price?));
    let calls = counted(probed.len() as u64, "model");
    terminal.notice(&match most {
        Some(most) => format!("Probing {calls} costs at most {}.", named_cost(Some(most))),
        None => format!("Probing {calls} uses at most {WORD} output tokens per model; at least one price is unknown."),
    });
    if !args.yes && !Dialogue::begin("`models --probe`")?.confirm("Continue?", true)? {
        return Err(Error::Declined);
    }
    let of_programs =
        servers.programs.iter().filter_map(|(name, program)| Some((name.as_str(), program.as_ref().ok()?)));
    let checked: BTreeMap<&str, _> = of_programs.map(|(name, program)| (name, (program, program.check()))).collect();
    terminal.warnings(checked.values().filter_map(|(_, checked)| checked.as_ref().ok()?.as_ref()));
    for row in &mut probed {
        if let Some((program, checked)) = checked.get(row.provider.as_str()) {
            row.program = Some(ProgramState::of(program, checked));
            row.probe = Some(match checked {
                Ok(_) => probe(&CommandModel::new((*program).clone()), &row.model).await,
                Err(fault) => {
                    ProbeResult { answered: false, latency_ms: 0, cost_usd: None, error: Some(fault.to_string()) }
                }
            });
        } else if let Some(Some(client)) = servers.clients.get(&row.provider) {
            row.probe = Some(probe(&**client, &row.model).await);
        }
    }
    Ok(())
}

async fn probe(client: &dyn ChatModel, model: &str) -> ProbeResult {
    let request = Request {
        model: model.into(),
        temperature: 0.0,
        max_tokens: Some(WORD),
        system: "Answer with one word.".into(),
        prompt: "Hello".into(),
        turns: Vec::new(),
        answer: None,
        tools: Arc::new([]),
        tools_are_optional: false,
    };
    let timeouts = Timeouts { first_token: PROBING, idle: PROBING };
    let begun = std::time::Instant::now();
    let asked = tokio::time::timeout(
        PROBING,
        client.ask(&request, Live { listener: &(), timeouts, attempt: 1, further: None }),
    )
    .await;
    let mut cost_usd = None;
    let error = match asked {
        Ok(Ok(reply)) => {
            cost_usd = reply.stated_cost;
            None
        }
        Ok(Err(failed)) => Some(failed.error).filter(|error| !came_from_a_model(error)),
        Err(_) => Some(ModelError::TimedOut { after: PROBING }),
    };
    let latency_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answered = error.is_none();
    ProbeResult { answered, latency_ms, cost_usd, error: error.map(|error| one_line(&error.to_string())) }
}

/// Whether the model answered, although its answer was unusable, for example because it spent all its tokens on
/// reasoning.
fn came_from_a_model(error: &ModelError) -> bool {
    matches!(error, ModelError::OutputLimit | ModelError::Empty | ModelError::Unusable { .. })
}

fn shown(rows: &[ModelLine], servers: &Servers, layout: Layout) -> String {
    let providers = servers.clients.keys().chain(servers.programs.keys()).map(String::as_str).chain([HOST]);
    let parts = providers.filter_map(|provider| {
        let rows: Vec<&ModelLine> = rows.iter().filter(|row| row.provider == provider).collect();
        let state = rows.iter().find_map(|row| row.program.as_ref()).map(of_program).unwrap_or_default();
        (!rows.is_empty()).then(|| format!("{}{state}\n{}", one_line(provider), table(&rows).drawn(layout)))
    });
    parts.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The suffix of a program's name, for example ` (2.1.0, untested, logged in)`.
fn of_program(state: &ProgramState) -> String {
    let version = state.version.as_deref().map_or_else(|| "version unknown".to_owned(), one_line);
    let tested = match (state.may_be_called, state.tested) {
        (false, _) => ", refused",
        (true, false) => ", untested",
        (true, true) => "",
    };
    let login = match state.logged_in {
        Some(true) if state.subscription => ", logged in with a subscription",
        Some(true) => ", logged in",
        Some(false) => ", not logged in",
        None => "",
    };
    format!(" ({version}{tested}{login})")
}

fn table(rows: &[&ModelLine]) -> Table {
    // Omit empty columns.
    let is_probed = rows.iter().any(|row| row.probe.is_some());
    let is_rated = rows.iter().any(|row| row.rating.is_some());
    let is_used = rows.iter().any(|row| !row.used_by.is_empty());
    let mut columns = vec![
        TableColumn::text("MODEL").flexible(12),
        TableColumn::figure("CONTEXT"),
        TableColumn::figure("IN $/M").rank(1),
        TableColumn::figure("OUT $/M").rank(1),
    ];
    columns.extend(is_rated.then(|| TableColumn::figure("RATING").rank(1)));
    columns.extend(is_probed.then(|| TableColumn::text("PROBE").flexible(8)));
    columns.extend(is_used.then(|| TableColumn::text("USED BY").rank(2)));
    let mut table = Table::new(columns).of_lines();
    for row in rows {
        let price = |price: Option<f64>| price.map_or_else(|| "?".to_owned(), |price| format!("{price:.2}"));
        let mark = if row.offered == Some(false) { " (not offered)" } else { "" };
        let probe = row.probe.as_ref().map_or_else(String::new, |probe| match &probe.error {
            None => {
                let cost = probe.cost_usd.filter(|cost| *cost > Usd::ZERO);
                let is_notional = row.program.as_ref().is_some_and(|program| program.subscription);
                let about = if is_notional { "≈ " } else { "" };
                let cost = cost.map(|cost| format!(", {about}{cost}")).unwrap_or_default();
                format!("answered in {:.1} s{cost}", Duration::from_millis(probe.latency_ms).as_secs_f64())
            }
            Some(error) => error.clone(),
        });
        let used_by = row.used_by.iter().map(|id| one_line(id)).collect::<Vec<_>>().join(", ");
        let mut cells = vec![
            format!("{}{mark}", one_line(&row.model)),
            row.context_window.map_or_else(|| "?".to_owned(), thousands),
            price(row.input_per_m_tok),
            price(row.output_per_m_tok),
        ];
        cells.extend(is_rated.then(|| row.rating.map_or_else(|| "-".to_owned(), |rating| format!("{rating:.0}"))));
        cells.extend(is_probed.then_some(probe));
        cells.extend(is_used.then_some(used_by));
        table.row(cells.into_iter().map(StyledText::plain));
    }
    table
}
