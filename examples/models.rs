//! Makes `crates/llm/src/models.json`, the table of models, from the table that the Python package `litellm` ships.
//!
//! ```sh
//! cargo run --example models -- make     # write the table
//! cargo run --example models -- check    # say whether the table is what its sources give
//! ```
//!
//! The package is had through `pip`, or with `--from <dir>` from `<dir>/<version>/litellm`, where it was unpacked
//! before. Exit code 3 means that the package cannot be had here, so that a check which needs the network can be skipped.
//!
//! To refresh the table:
//!
//! 1. Put the newest version of `litellm` (`pip index versions litellm`) into `SOURCES`, and the day into `AS_OF`. The
//!    second source is the newest version that still lists OpenRouter's models.
//! 2. Run `make`. It refuses a file whose hash is not pinned and prints the hash. Pin it and run it again.
//! 3. Read the difference, compare some figures with the providers, and correct the sample in
//!    `crates/llm/src/models/tests.rs` by hand from the source file.
//! 4. Review the default models in `crates/base/src/provider.rs`: a test refuses a model that is about to be
//!    retired, is expensive, or reads little.
//! 5. Run `UPDATE_DOCS=1 cargo test --test dialectic docs`.

#![expect(clippy::disallowed_methods, reason = "what a tool of our own says is no output of the program")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use dialectic_base::provider::{OPENROUTER, PRESETS};

/// When the sources were chosen and the figures looked at.
const AS_OF: &str = "2026-11-22";
/// Where the result goes, from the root of the repository.
const TABLE: &str = "crates/llm/src/models.json";
const PACKAGE: &str = "litellm";
const FILE: &str = "model_prices_and_context_window_backup.json";

/// A version of the package, and what is taken from it.
struct PriceSource {
    version: &'static str,
    sha256: &'static str,
    /// Whether it is the source of a provider's models.
    lists: fn(&str) -> bool,
}

/// A provider of ours and what the package calls it.
struct Provider {
    ours: &'static str,
    theirs: &'static str,
}

impl Provider {
    fn of(ours: &'static str) -> Self {
        Self { ours, theirs: if ours == "google" { "gemini" } else { ours } }
    }

    /// What its models' names may begin with there and not at the provider.
    fn prefix(&self) -> String {
        format!("{}/", self.theirs)
    }
}

/// The newest version of each provider's models. Later ones no longer list what OpenRouter serves.
const SOURCES: &[PriceSource] = &[
    PriceSource {
        version: "1.109.1",
        sha256: "8f8060d8ce7a40c91b995c74d6a27657543d49e3c1c53430dabd556f244392c6",
        lists: |provider| provider != OPENROUTER,
    },
    PriceSource {
        version: "1.106.0",
        sha256: "fadace20b834db49d02765a505709ee5dc7a37e722f53cc9c393fdb02ace2dea",
        lists: |provider| provider == OPENROUTER,
    },
];

/// Why there is no table.
enum RefreshError {
    /// The package cannot be had here.
    Unavailable(String),
    /// It can, and something is wrong with it or with the table.
    Wrong(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (code, message) = match run(&arguments) {
        Ok(message) => (0, message),
        Err(RefreshError::Wrong(message)) => (1, message),
        Err(RefreshError::Unavailable(message)) => (3, message),
    };
    // Nobody is left to tell when the message cannot be written.
    drop(writeln!(io::stderr(), "{message}"));
    ExitCode::from(code)
}

fn run(arguments: &[String]) -> Result<String, RefreshError> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (command, from) = match arguments.as_slice() {
        [command @ ("make" | "check")] => (*command, None),
        [command @ ("make" | "check"), "--from", from] => (*command, Some(PathBuf::from(from))),
        _ => return Err(RefreshError::Wrong("usage: models (make | check) [--from <dir>]".to_owned())),
    };
    let directory = tempfile::tempdir().map_err(|error| RefreshError::Wrong(error.to_string()))?;
    let mut table = PriceTable::default();
    for source in SOURCES {
        let package = match &from {
            Some(from) => from.join(source.version),
            None => install(source.version, directory.path())?,
        };
        table.add(source, &package)?;
    }
    let text = table.text();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let failed = |error: io::Error| RefreshError::Wrong(format!("{}: {error}", path.display()));
    if command == "make" {
        std::fs::write(&path, &text).map_err(failed)?;
        return Ok(format!("wrote {} models, {} bytes, to {TABLE}", table.len(), text.len()));
    }
    if std::fs::read_to_string(&path).map_err(failed)? == text {
        return Ok(format!("{TABLE} is what its sources give: {} models", table.len()));
    }
    Err(RefreshError::Wrong(format!(
        "{TABLE} is not what its sources give: make it anew, or undo what was changed by hand"
    )))
}

/// Unpacks the package without what it depends on and without running any of it.
fn install(version: &str, below: &Path) -> Result<PathBuf, RefreshError> {
    let target = below.join(version);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]);
    pip.args(["--only-binary", ":all:", "--target"]).arg(&target).arg(format!("{PACKAGE}=={version}"));
    let output = pip.stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(target),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("pip failed").to_owned();
            Err(RefreshError::Unavailable(format!("{PACKAGE} {version} cannot be had here: {last}")))
        }
        Err(error) => Err(RefreshError::Unavailable(format!("{PACKAGE} {version} cannot be had here: pip: {error}"))),
    }
}

#[derive(Default)]
struct PriceTable {
    parts: Vec<Value>,
    licences: BTreeSet<String>,
    models: BTreeMap<&'static str, BTreeMap<String, Map<String, Value>>>,
}

impl PriceTable {
    fn add(&mut self, source: &PriceSource, package: &Path) -> Result<(), RefreshError> {
        let bytes = read(&package.join(PACKAGE).join(FILE))?;
        let found = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        if found != source.sha256 {
            let PriceSource { version, sha256, .. } = source;
            let message = format!("{FILE} of {PACKAGE} {version} has the hash\n{found}, and was pinned with\n{sha256}");
            return Err(RefreshError::Wrong(message));
        }
        let licence = package.join(format!("{PACKAGE}-{}.dist-info/licenses/LICENSE", source.version));
        self.licences.insert(String::from_utf8_lossy(&read(&licence)?).trim().to_owned());
        let listed: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| RefreshError::Wrong(format!("{FILE}: {error}")))?;
        let with_models = PRESETS.iter().filter(|preset| preset.model.is_some() && (source.lists)(preset.name));
        let providers: Vec<&str> = with_models.map(|preset| preset.name).collect();
        for provider in providers.iter().copied().map(Provider::of) {
            let prefix = provider.prefix();
            let models = self.models.entry(provider.ours).or_default();
            // A name with the provider's prefix is the one that the provider's own API is meant by: it comes last.
            let (prefixed, bare): (Vec<_>, Vec<_>) = listed.iter().partition(|(name, _)| name.starts_with(&prefix));
            for (name, entry) in bare.into_iter().chain(prefixed) {
                let name = name.strip_prefix(&prefix).unwrap_or(name);
                let facts = facts(entry, &provider);
                // Of what nothing is said, such as a charge for a container, nobody knows that it is a model.
                if is_ours(name, entry, &provider) && !facts.is_empty() {
                    models.insert(name.to_owned(), facts);
                }
            }
        }
        self.parts.push(json!({"version": source.version, "sha256": source.sha256, "providers": providers}));
        Ok(())
    }

    fn len(&self) -> usize {
        self.models.values().map(BTreeMap::len).sum()
    }

    /// One line a model: small, and a difference between two versions can be read.
    fn text(&self) -> String {
        let versions = json!(self.parts);
        let licence = self.licences.iter().map(String::as_str).collect::<Vec<_>>().join("\n\n");
        let head = [
            ("asOf", json!(AS_OF)),
            ("source", json!(format!("{FILE} of the Python package {PACKAGE}, https://pypi.org/project/{PACKAGE}/"))),
            ("licence", json!(licence)),
            ("versions", versions),
        ];
        let head = head.map(|(key, value)| format!("{}: {value},\n", json!(key))).concat();
        let providers: Vec<String> =
            self.models.iter().map(|(provider, models)| of_provider(provider, models)).collect();
        format!("{{\n{head}\"models\": {{\n{}\n}}\n}}\n", providers.join(",\n"))
    }
}

fn of_provider(provider: &str, models: &BTreeMap<String, Map<String, Value>>) -> String {
    let line = |(name, facts): (&String, &Map<String, Value>)| {
        let facts = ORDER.iter().filter_map(|key| Some(format!("{}:{}", json!(key), facts.get(*key)?)));
        format!("{}:{{{}}}", json!(name), facts.collect::<Vec<_>>().join(","))
    };
    let lines: Vec<String> = models.iter().map(line).collect();
    format!("{}: {{\n{}\n}}", json!(provider), lines.join(",\n"))
}

/// The order in which facts are written.
const ORDER: &[&str] = &[
    "in",
    "cached",
    "out",
    "above",
    "longIn",
    "longCached",
    "longOut",
    "window",
    "output",
    "until",
    "reasons",
    "lacks",
];

fn read(path: &Path) -> Result<Vec<u8>, RefreshError> {
    std::fs::read(path).map_err(|error| RefreshError::Wrong(format!("{}: {error}", path.display())))
}

fn texts<'a>(entry: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    Some(entry[key].as_array()?.iter().filter_map(Value::as_str).collect())
}

/// Models that answer text with text by one of the two APIs, for everybody and at once.
fn is_ours(name: &str, entry: &Value, provider: &Provider) -> bool {
    let is_chat = matches!(entry["mode"].as_str(), Some("chat" | "responses"));
    let writes = texts(entry, "supported_output_modalities").is_none_or(|kinds| kinds.contains(&"text"));
    let speaks = entry["supports_audio_output"] == json!(true);
    let paths = texts(entry, "supported_endpoints");
    let reached = paths.is_none_or(|paths| paths.contains(&CHAT) || paths.contains(&RESPONSES));
    let special = name.starts_with("ft:") || name.ends_with(":batch");
    entry["litellm_provider"] == json!(provider.theirs) && is_chat && writes && !speaks && reached && !special
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn facts(entry: &Value, provider: &Provider) -> Map<String, Value> {
    let mut facts = Map::new();
    let mut put = |key: &str, value: Option<Value>| drop(value.map(|value| facts.insert(key.to_owned(), value)));
    let is_set = |key: &str| entry[key] == json!(true);
    let is_unset = |key: &str| entry[key] == json!(false);

    let (input, output) = (price(entry, "input_cost_per_token"), price(entry, "output_cost_per_token"));
    // What costs nothing there is an experiment, a router to other models, or not entered yet: its price is unknown.
    if let (Some(input), Some(output)) = (input, output) {
        put("in", Some(input));
        put("cached", price(entry, "cache_read_input_token_cost"));
        put("out", Some(output));
        if let Some((above, long_input, suffix)) = long_prompts(entry) {
            put("above", Some(json!(above)));
            put("longIn", Some(long_input));
            put("longCached", price(entry, &format!("cache_read_input_token_cost{suffix}")));
            put("longOut", price(entry, &format!("output_cost_per_token{suffix}")));
        }
    }
    let tokens = |key: &str| entry[key].as_u64().filter(|tokens| *tokens > 0).map(|tokens| json!(tokens));
    put("window", tokens("max_input_tokens"));
    put("output", tokens("max_output_tokens"));
    put("until", entry["deprecation_date"].as_str().map(|date| json!(date)));
    put("reasons", is_set("supports_reasoning").then_some(Value::Bool(true)));

    let mut lacks = Vec::new();
    let is_openai = provider.ours == "openai";
    // Of OpenAI's own models the list is complete: what it does not say of one that it knows is not there.
    let is_known = is_openai && entry["max_input_tokens"].is_u64();
    let without = |key: &str| is_unset(key) || (is_known && !is_set(key));
    if without("supports_response_schema") {
        lacks.push("schema");
    }
    if without("supports_function_calling") {
        lacks.push("tools");
    }
    // OpenAI's models that think take a temperature only where they do not think unless asked to.
    let thinks = is_openai && is_set("supports_reasoning") && entry["default_reasoning_effort"] != json!("none");
    if is_unset("supports_sampling_params") || thinks {
        lacks.push("temperature");
    }
    if is_unset("supports_system_messages") {
        lacks.push("system");
    }
    // Of other providers the paths are those of the package's own proxy, not of their compatible APIs.
    if let Some(paths) = texts(entry, "supported_endpoints").filter(|_| is_openai) {
        lacks.extend((!paths.contains(&RESPONSES)).then_some("responses"));
        lacks.extend((!paths.contains(&CHAT)).then_some("chat"));
    } else if entry["mode"] == json!("responses") {
        lacks.push("chat");
    }
    put("lacks", (!lacks.is_empty()).then(|| json!(lacks)));
    facts
}

/// Dollars for a million tokens, where it is more than nothing.
fn price(entry: &Value, key: &str) -> Option<Value> {
    let dollars = entry[key].as_f64().filter(|dollars| *dollars > 0.0)?;
    // The product is off by the last bits of a double.
    let rounded = format!("{:.6}", dollars * 1e6);
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    serde_json::from_str(short).ok()
}

/// From how many input tokens on a request costs more, what its input costs then, and how the other keys end. Of
/// several steps the lowest, with the prices of the dearest: a cost limit has to hold in between as well.
fn long_prompts(entry: &Value) -> Option<(u64, Value, String)> {
    let keys = entry.as_object()?.keys();
    let tiers = keys.filter_map(|key| {
        let suffix = key.strip_prefix("input_cost_per_token")?;
        let thousands = suffix.strip_prefix("_above_")?.strip_suffix("k_tokens")?.parse::<u64>().ok()?;
        Some((thousands * 1000, price(entry, key)?, suffix.to_owned()))
    });
    let tiers: Vec<_> = tiers.collect();
    let above = tiers.iter().map(|(above, ..)| *above).min()?;
    let (_, input, suffix) = tiers.into_iter().max_by_key(|(above, ..)| *above)?;
    Some((above, input, suffix))
}
