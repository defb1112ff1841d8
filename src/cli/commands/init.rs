//! `dialectic init`: asks a few questions and writes a working configuration.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::dialogue::Dialogue;
use crate::cli::session::{config_files, runner};
use crate::cli::target::make_parent;
use crate::cli::terminal::Terminal;
use crate::error::{Error, ErrorCategory, UserError, in_full};
use dialectic_base::provider::{OFFLINE, PRESETS, preset};
use dialectic_config::{
    ConfigError, Overrides, ServedModel, key_variables, served_model, user_path, user_programs, users_environment,
};
use dialectic_engine::access::{Environment, ProgramThere, endpoint, key_variable, programs_there, url_fault};
use dialectic_engine::runner::new_debate;
use dialectic_llm::command::program_preset;
use dialectic_llm::models::{built_in_price, current_near};
use dialectic_llm::openai::{Offered, OpenAiClient, http_client};
use dialectic_record::settings::ProviderSettings;
use dialectic_report::display::price_tag;

use super::debate::today;
use super::protocols;

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// Do not prompt; use defaults for everything not set by an option
    #[arg(short, long)]
    yes: bool,

    /// Your own server with an OpenAI-compatible API, such as `http://127.0.0.1:8000/v1`
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// The environment variable that holds the server's API key [default: no key]
    #[arg(long, value_name = "NAME", requires = "server")]
    key_variable: Option<String>,

    /// The model: a name, `provider/model`, or an installed program (`claude` or `codex`)
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
}

/// The provider name that the user's own server gets.
const OWN: &str = "local";
/// The time limit for listing a server's models.
const LISTING: Duration = Duration::from_secs(10);
const PROBLEM: &str = "Design a rate limiting system";
/// The answer of a user who does not know the model's price.
const UNKNOWN: &str = "unknown";
const USUAL_SERVER: &str = "http://127.0.0.1:8000/v1";

#[derive(Debug, Default)]
struct SetupAnswers {
    provider: String,
    /// `None` for a built-in provider.
    server: Option<ProviderSettings>,
    model: Option<String>,
    /// The model's context window in tokens, if the server states it.
    window: Option<u64>,
    /// Dollars per million input and output tokens, as stated by the user.
    price: Option<[f64; 2]>,
    directory: Option<String>,
    /// The replaced configuration's entries for command-line programs. Some programs cannot be called without their
    /// entry.
    programs: Map<String, Value>,
}

pub(in crate::cli) fn run(args: &InitArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = users_environment()?;
    let Some(path) = user_path(&environment) else {
        let message = "cannot find your configuration directory: HOME is not set".to_owned();
        return Err(ConfigError::Unmet(message).into());
    };
    terminal.warnings(environment.warnings());
    let mut dialogue = if args.yes { None } else { Some(Dialogue::begin("`dialectic init`")?) };
    if path.exists() {
        let is_replaced = match &mut dialogue {
            None => false,
            Some(dialogue) => dialogue.confirm(&format!("{} already exists. Replace it?", path.display()), false)?,
        };
        if !is_replaced {
            if dialogue.is_some() {
                return Err(Error::Declined);
            }
            let exists = UserError::of(ErrorCategory::General, format!("{} already exists", path.display()));
            return Err(exists.with_hint("to replace the file, run `dialectic init` without --yes").into());
        }
    }
    // Read the programs before the file is replaced: they are offered as providers and kept in the new file.
    let (providers, entries) = user_programs(&environment);
    let mut wanted = whom(args, &environment, &providers, dialogue.as_mut(), terminal)?;
    wanted.programs = entries;
    let mut environment = environment;
    if let Some(dialogue) = &mut dialogue
        && let Some(variable) = missing_variable(&wanted, &environment)
        && ask_key(&variable, &environment, dialogue, terminal)?
    {
        environment = users_environment()?;
    }
    which_model(args, &mut wanted, &environment, dialogue.as_mut(), terminal)?;
    if let Some(dialogue) = &mut dialogue {
        let directory = dialogue.ask("Directory for debates", "./debates, in each directory")?;
        wanted.directory = Some(directory).filter(|directory| !directory.starts_with("./debates"));
    }
    let written = format!("{:#}\n", wanted.configuration());
    make_parent(&path)?;
    fs::write(&path, written).map_err(|source| Error::Output { path: path.clone(), source })?;
    terminal.notice(&format!("Wrote {}", path.display()));
    if let Some(variable) = missing_variable(&wanted, &environment) {
        let keys = environment.keys_path().unwrap_or_default();
        terminal.warning(&format!(
            "{variable} is not set yet: set {variable}=... in the environment, or in {} with mode 0600",
            keys.display()
        ));
    } else {
        match first_debate(&environment) {
            Ok(Some(cost)) => terminal.notice(&format!("A first debate takes {cost}")),
            Ok(None) => {}
            Err(error) => terminal.warning(&format!("a debate cannot start yet: {}", in_full(&error))),
        }
    }
    terminal.notice(&format!("Try it: dialectic debate --quick \"{PROBLEM}\""));
    Ok(())
}

/// What a first debate costs, as `debate --quick` would print it. `None` if the cost cannot be forecast. Fails if that
/// debate could not start.
fn first_debate(environment: &Environment) -> Result<Option<String>, Error> {
    let overrides = Overrides { quick: true, ..Overrides::default() };
    let settings = config_files(None, environment).load(&overrides)?.settings;
    let created = new_debate(PROBLEM, protocols::named(&settings.debate.protocol)?, settings);
    let forecast = runner(environment.clone())?.prepare(created)?.forecast()?;
    Ok(forecast.map(|forecast| price_tag(&forecast, None)))
}

impl SetupAnswers {
    fn configuration(&self) -> Value {
        let mut all = Map::new();
        let remark = "Your configuration for all directories. A project's file overrides it. All keys: \
                      docs/configuration.md. Do not put API keys here.";
        all.insert("$comment".to_owned(), remark.into());
        all.insert("provider".to_owned(), self.provider.as_str().into());
        if let Some(model) = &self.model {
            all.insert("model".to_owned(), model.as_str().into());
        }
        if let Some(directory) = &self.directory {
            all.insert("directory".to_owned(), directory.as_str().into());
        }
        if let Some(server) = &self.server {
            let mut entry = json!({"baseUrl": server.base_url});
            if let Some(variable) = &server.api_key_env {
                entry["apiKeyEnv"] = variable.as_str().into();
            }
            all.insert("providers".to_owned(), json!({ (self.provider.as_str()): entry }));
        }
        for (name, entry) in &self.programs {
            let providers = all.entry("providers").or_insert_with(|| json!({}));
            if providers[name].is_null() {
                providers[name] = entry.clone();
            }
        }
        if let Some((model, [input, output])) = self.model.as_deref().zip(self.price) {
            all.insert("prices".to_owned(), json!({ (model): { "inputPerMTok": input, "outputPerMTok": output } }));
        }
        if let Some((model, window)) = self.model.as_deref().zip(self.window) {
            all.insert("models".to_owned(), json!({ (model): { "contextWindow": window } }));
        }
        Value::Object(all)
    }

    fn servers(&self) -> BTreeMap<String, ProviderSettings> {
        self.server.iter().map(|server| (self.provider.clone(), server.clone())).collect()
    }
}

/// The provider, and the model if it is named, from the options or the user's answers. With `--yes`, takes the first
/// provider with a key, or else the first installed program that can be used.
fn whom(
    args: &InitArgs,
    environment: &Environment,
    providers: &BTreeMap<String, ProviderSettings>,
    dialogue: Option<&mut Dialogue>,
    terminal: &mut Terminal,
) -> Result<SetupAnswers, Error> {
    if let Some(url) = &args.server {
        return own_server(url.clone(), args.key_variable.clone(), "--server");
    }
    match args.model.as_deref().map(|model| served_model(model, providers, environment)) {
        Some(Ok(ServedModel { provider, model })) if provider != OFFLINE => {
            return Ok(SetupAnswers { provider, model: Some(model), ..SetupAnswers::default() });
        }
        Some(Ok(_)) => {
            let message = "names the offline provider, which needs no configuration: use `--offline`".to_owned();
            return Err(ConfigError::Argument { option: "--model", message }.into());
        }
        Some(Err(error)) if dialogue.is_none() => return Err(error.into()),
        // The user is asked for the provider.
        Some(Err(_)) | None => {}
    }
    let chosen_by_key = PRESETS.iter().filter(|preset| preset.model.is_some());
    let mut known: Vec<_> = chosen_by_key.map(|preset| (preset.name, preset.api_key_env)).collect();
    let has_key = |variable: Option<&str>| variable.is_some_and(|variable| environment.has(variable));
    known.sort_by_key(|(_, variable)| !has_key(*variable));
    // Programs have their own login. Offer them only if no key is set.
    let is_without = !known.iter().any(|(_, variable)| has_key(*variable));
    let programs = if is_without { programs_there(providers, environment) } else { Vec::new() };
    let Some(dialogue) = dialogue else {
        let first = known.first().filter(|(_, variable)| has_key(*variable)).map(|(provider, _)| *provider);
        let usable = || programs.iter().find(|program| program.fault.is_none());
        let provider = first.or_else(|| Some(usable()?.preset.name)).ok_or_else(no_provider)?;
        return Ok(SetupAnswers { provider: provider.to_owned(), ..SetupAnswers::default() });
    };
    let of_program = |program: &ProgramThere| match &program.fault {
        None => format!("{} (installed program, needs no key)", program.preset.name),
        Some(fault) => format!("{} (installed program, but {fault})", program.preset.name),
    };
    let mut choices: Vec<String> = programs.iter().map(of_program).collect();
    choices.extend(known.iter().map(|(name, variable)| match variable {
        Some(variable) if environment.has(variable) => format!("{name} ({variable} is set)"),
        Some(variable) => format!("{name} (needs {variable})"),
        None => (*name).to_owned(),
    }));
    choices.push("ollama (models on this machine)".to_owned());
    choices.push("another server with an OpenAI-compatible API".to_owned());
    terminal.notice("Which provider?");
    let place = dialogue.choose("Provider", &choices, terminal)?;
    if let Some(program) = programs.get(place) {
        return Ok(SetupAnswers { provider: program.preset.name.to_owned(), ..SetupAnswers::default() });
    }
    let place = place - programs.len();
    if let Some((provider, _)) = known.get(place) {
        return Ok(SetupAnswers { provider: (*provider).to_owned(), ..SetupAnswers::default() });
    }
    if place == known.len() {
        return Ok(SetupAnswers { provider: "ollama".to_owned(), ..SetupAnswers::default() });
    }
    let url = loop {
        let url = dialogue.ask("URL", USUAL_SERVER)?;
        match url_fault(&url) {
            None => break url,
            Some(fault) => terminal.warning(&format!("{url} {fault}")),
        }
    };
    let variable = dialogue.ask("Environment variable with the API key (empty if none is needed)", "")?;
    own_server(url, Some(variable).filter(|variable| !variable.is_empty()), "the variable")
}

fn no_provider() -> UserError {
    let hint = format!(
        "set one of {}; or choose a model with --model provider/model, or your own server with --server",
        key_variables().join(", ")
    );
    UserError::of(ErrorCategory::Configuration, "no API key is set, and no usable coding agent is installed")
        .with_hint(hint)
}

fn own_server(url: String, variable: Option<String>, option: &'static str) -> Result<SetupAnswers, Error> {
    if let Some(fault) = url_fault(&url) {
        return Err(ConfigError::Argument { option, message: fault.to_owned() }.into());
    }
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if variable.as_ref().is_some_and(|name| !is_name(name)) {
        // Do not quote the name: it may be the key itself.
        let message = "must be the name of an environment variable, not the key itself".to_owned();
        return Err(ConfigError::Argument { option: "--key-variable", message }.into());
    }
    let server = ProviderSettings { base_url: Some(url), api_key_env: variable, ..ProviderSettings::default() };
    Ok(SetupAnswers { provider: OWN.to_owned(), server: Some(server), ..SetupAnswers::default() })
}

fn missing_variable(wanted: &SetupAnswers, environment: &Environment) -> Option<String> {
    let servers = wanted.servers();
    let variable = key_variable(&wanted.provider, &servers)?;
    (!environment.has(variable)).then(|| variable.to_owned())
}

/// Asks the user for the key. Returns whether a key was stored.
fn ask_key(
    variable: &str,
    environment: &Environment,
    dialogue: &mut Dialogue,
    terminal: &mut Terminal,
) -> Result<bool, Error> {
    let Some(path) = environment.keys_path() else { return Ok(false) };
    let shown = path.display();
    let question = format!(
        "{variable} is not set. Paste the key to save it in {shown}, or press Enter to set the variable yourself. The \
         key is not displayed."
    );
    let key = dialogue.secret(&question, terminal)?;
    if key.is_empty() {
        return Ok(false);
    }
    if !key.chars().all(|c| c.is_ascii_graphic()) || key.contains(['\'', '"', '`']) {
        terminal
            .warning("not saved: this cannot be a key, because it contains characters that are invalid in a header");
        return Ok(false);
    }
    make_parent(&path)?;
    keep_key(&path, variable, &key).map_err(|source| Error::Output { path: path.clone(), source })?;
    // On Windows, the directory's permissions decide who can read the file.
    let readers = if cfg!(unix) { ", readable only by you" } else { "" };
    terminal.notice(&format!("Saved {variable} in {shown}{readers}"));
    Ok(true)
}

/// Appends the key to the file. If the file already sets the variable, the new line overrides the earlier one.
fn keep_key(path: &Path, variable: &str, key: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600);
        if path.exists() {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    let ends_open = fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let gap = if ends_open { "\n" } else { "" };
    options.open(path)?.write_all(format!("{gap}{variable}='{key}'\n").as_bytes())
}

fn which_model(
    args: &InitArgs,
    wanted: &mut SetupAnswers,
    environment: &Environment,
    mut dialogue: Option<&mut Dialogue>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let of_program = program_preset(&wanted.provider).map(|program| program.default_model);
    let usual = preset(&wanted.provider).and_then(|preset| preset.model).or(of_program);
    let asked = wanted.model.take().or_else(|| args.model.clone());
    let is_listed = usual.is_none() && (asked.is_none() || wanted.server.is_some());
    let offered = if is_listed { offered(wanted, environment, terminal)? } else { Vec::new() };
    let names: Vec<&str> = offered.iter().map(|model| model.name.as_str()).collect();
    wanted.model = match (asked, &mut dialogue) {
        (Some(model), _) => {
            if !names.is_empty() && !names.contains(&model.as_str()) {
                let offers = names.join(", ");
                terminal.warning(&format!("{} does not list `{model}`; it offers {offers}", wanted.provider));
            }
            Some(model)
        }
        (None, Some(dialogue)) => {
            if names.len() > 1 {
                terminal.notice(&format!("Models: {}", names.join(", ")));
            } else if let Some(usual) = usual.filter(|_| of_program.is_none()) {
                terminal.notices(priced_models(&wanted.provider, usual).lines());
            }
            let proposed = usual.or(names.first().copied()).unwrap_or_default();
            loop {
                let model = dialogue.ask("Model", proposed)?;
                // Some servers accept names that they do not list, but most unlisted names are typos.
                let is_known = names.is_empty() || names.contains(&model.as_str());
                let unlisted = || format!("{} does not list `{}`. Use it?", wanted.provider, model);
                if !model.is_empty() && (is_known || dialogue.confirm(&unlisted(), false)?) {
                    break Some(model);
                }
            }
        }
        (None, None) => Some(match (usual, names.as_slice()) {
            (Some(model), _) | (None, &[model]) => model.to_owned(),
            (None, []) => return Err(required(&format!("{} does not list its models", wanted.provider))),
            (None, several) => return Err(required(&format!("{} offers {}", wanted.provider, several.join(", ")))),
        }),
    };
    let chosen = offered.into_iter().find(|model| Some(&model.name) == wanted.model.as_ref());
    // The context windows of built-in providers' models are already known.
    wanted.window = chosen.and_then(|model| model.context_window).filter(|_| wanted.server.is_some());
    if let Some(dialogue) = dialogue.filter(|_| wanted.server.is_some()) {
        wanted.price = ask_price(dialogue, terminal)?;
    }
    Ok(())
}

/// `None` if the user does not know the price.
fn ask_price(dialogue: &mut Dialogue, terminal: &mut Terminal) -> Result<Option<[f64; 2]>, Error> {
    terminal.notice("The model's price in dollars per million input and output tokens, such as `0.2 1.2`; 0 if free.");
    terminal.notice("Cost limits do not work without a price.");
    loop {
        let answer = dialogue.ask("Price", UNKNOWN)?;
        if answer == UNKNOWN {
            return Ok(None);
        }
        let amounts: Result<Vec<f64>, _> = answer.split_whitespace().map(str::parse).collect();
        match amounts.as_deref() {
            Ok(&[0.0]) => return Ok(Some([0.0; 2])),
            Ok(&[input, output]) if [input, output].iter().all(|one| one.is_finite() && *one >= 0.0) => {
                return Ok(Some([input, output]));
            }
            Ok(_) | Err(_) => terminal.notice("Type two numbers, or 0."),
        }
    }
}

fn priced_models(provider: &str, usual: &str) -> String {
    let near = current_near(provider, usual, today());
    let price = |model: &str| {
        let price = built_in_price(provider, model)?;
        Some(format!("  {model}: ${} in, ${} out", price.input_per_m_tok, price.output_per_m_tok))
    };
    let lines: Vec<String> = [usual].into_iter().chain(near).filter_map(price).collect();
    format!("Dollars per million tokens (`dialectic models` lists all models):\n{}", lines.join("\n"))
}

fn required(why: &str) -> Error {
    ConfigError::Argument { option: "--model", message: format!("is required: {why}") }.into()
}

/// If the server does not list its models, tries again with `/v1` appended to the address, and keeps that address if it
/// works.
fn offered(
    wanted: &mut SetupAnswers,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Vec<Offered>, Error> {
    if missing_variable(wanted, environment).is_some() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let listed = |wanted: &SetupAnswers| -> Result<_, Error> {
        let endpoint = endpoint(&wanted.provider, &wanted.servers(), environment)?;
        let client = OpenAiClient::new(endpoint, &http_client(environment.certificate_file())?)?;
        Ok(runtime.block_on(client.offered(LISTING)))
    };
    let error = match listed(wanted)? {
        Ok(offered) => return Ok(offered),
        Err(error) => error,
    };
    let given = wanted.server.as_ref().and_then(|server| server.base_url.as_deref());
    if let Some(below) = given.map(|url| url.trim_end_matches('/')).filter(|url| !url.ends_with("/v1")) {
        let base_url = Some(format!("{below}/v1"));
        let server = wanted.server.clone().map(|server| ProviderSettings { base_url, ..server });
        let there = SetupAnswers { provider: wanted.provider.clone(), server, ..SetupAnswers::default() };
        if let Ok(offered) = listed(&there)? {
            wanted.server = there.server;
            return Ok(offered);
        }
    }
    terminal.warning(&format!("{} does not list its models: {error}", wanted.provider));
    Ok(Vec::new())
}
