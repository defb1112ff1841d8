//! README, docs and examples say what the program does.
//!
//! Parts of the documentation are generated; `UPDATE_DOCS=1 cargo test --test dialectic docs` writes them anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Sandbox, TEST_KEY};
use dialectic_base::provider::PRESETS;
use dialectic_config::{ConfigFiles, ConfigPath, Overrides};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::{Runner, Services, new_debate};
use dialectic_llm::command::PROGRAMS;
use dialectic_llm::models::facts;
use dialectic_record::debate::{OutcomeKind, Status};
use dialectic_record::event::Event;
use dialectic_record::ids::ResultKind;
use dialectic_record::prompt::Role;
use dialectic_record::protocol::{PROTOCOLS, Protocol};
use dialectic_record::store::Directory;
use dialectic_report::display::price_tag;
use dialectic_report::report::{FORMATS, ReportFormat};

const AUTOMATION: &str = "docs/automation.md";
const CONFIGURATION: &str = "docs/configuration.md";
const GUIDE: &str = "docs/guide.md";
const MODELS: &str = "docs/models.md";
const PROTOCOL_TABLES: &str = "docs/protocols.md";
const RECORD: &str = "docs/record.md";
const CONTRIBUTING: &str = "CONTRIBUTING.md";
const SCHEMA: &str = "docs/debate-config.schema.json";

/// A path in the repository.
fn repository(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: impl AsRef<Path>) -> String {
    let path = repository(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Markdown file that is written for people, relative to the repository.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", CONTRIBUTING, "crates/record/prompts/README.md"].map(PathBuf::from).into();
    let mut directories = vec![PathBuf::from("docs"), PathBuf::from("examples")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(repository(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Holds `wanted` against the file, or writes it there under `UPDATE_DOCS`.
fn assert_current(path: &str, wanted: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(repository(path), wanted).unwrap();
    }
    let found = read(path);
    let differs = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = differs.unwrap_or(found.lines().count().min(wanted.lines().count())) + 1;
    assert!(
        found == wanted,
        "{path} is out of date from line {line} on: UPDATE_DOCS=1 cargo test --test dialectic docs"
    );
}

/// Holds each named part of the file against what it should say.
fn assert_parts_are_current(path: &str, parts: &[(String, String)]) {
    let mut document = read(path);
    for (name, wanted) in parts {
        let (begin, end) = (format!("<!-- begin generated: {name} -->\n"), format!("<!-- end generated: {name} -->"));
        let start = document.find(&begin).unwrap_or_else(|| panic!("{path} has no part `{name}`")) + begin.len();
        let length = document[start..].find(&end).unwrap_or_else(|| panic!("{path}: `{name}` has no end"));
        document.replace_range(start..start + length, &format!("\n{}\n\n", wanted.trim_end()));
    }
    let marked = document.matches("<!-- begin generated: ").count();
    assert_eq!(marked, parts.len(), "{path} has a generated part that nothing generates");
    assert_current(path, &document);
}

#[test]
fn the_formats_of_reports_are_those_of_the_program() {
    let mut table = "| `--format` | ending of `-o` | what it is |\n| --- | --- | --- |\n".to_owned();
    for format in &FORMATS {
        let endings: Vec<String> = format.endings.iter().map(|ending| format!("`.{ending}`")).collect();
        let is_usual = format.name == ReportFormat::usual().name;
        let endings = [endings.join(", ").as_str(), if is_usual { ", none" } else { "" }].concat();
        writeln!(table, "| `{}` | {endings} | {} |", format.name, format.about).unwrap();
    }
    assert_parts_are_current(GUIDE, &[("formats".to_owned(), table)]);
}

#[test]
fn every_signal_of_the_event_stream_is_documented() {
    let text = read(AUTOMATION);
    let sandbox = Sandbox::new();
    let stream = sandbox.run(["debate", "--offline", "Design a queue", "--events", "-"]).expect_code(0).stdout;
    let signals: BTreeSet<String> = stream
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["signal"].as_str().unwrap().to_owned())
        .collect();
    assert!(signals.contains("recorded") && signals.len() > 4, "{signals:?}");
    for signal in signals {
        assert!(text.contains(&format!("`{signal}`")), "{AUTOMATION} does not describe the signal {signal}");
    }
}

#[test]
fn the_schema_is_the_one_that_the_program_prints() {
    let printed = Sandbox::new().run(["config", "schema"]).expect_code(0).stdout;
    assert_current(SCHEMA, &printed);
}

#[test]
fn the_protocols_are_those_of_the_program() {
    let mut overview = "| protocol | calls | rounds |\n| --- | --- | --- |\n".to_owned();
    for protocol in PROTOCOLS {
        let (name, calls, rounds) = (protocol.name, protocol.calls, protocol.default_rounds);
        writeln!(overview, "| [`{name}`](#{name}) | {calls} | {rounds} |").unwrap();
    }
    assert_parts_are_current(PROTOCOL_TABLES, &[("overview".to_owned(), overview)]);
}

#[test]
fn every_stage_that_calls_somebody_is_described() {
    let text = read(PROTOCOL_TABLES);
    for protocol in PROTOCOLS {
        let heading = format!("\n## {}\n", protocol.name);
        let (_, part) =
            text.split_once(&heading).unwrap_or_else(|| panic!("{PROTOCOL_TABLES} has no section{heading}"));
        let part = part.split("\n## ").next().unwrap();
        for stage in protocol.stages.iter().filter(|stage| stage.info.yields.is_some()) {
            let is_common = stage.info.yields == Some(ResultKind::Questions);
            let id = stage.info.id;
            let text = if is_common { text.as_str() } else { part };
            assert!(text.contains(&format!("`{id}`")), "{PROTOCOL_TABLES} does not describe {id} of {}", protocol.name);
        }
    }
}

#[test]
fn whoever_lists_the_protocols_lists_all_of_them() {
    for (file, begin) in [("docs/configuration.md", "| `debate.protocol` |"), ("crates/record/prompts/README.md", "| ")]
    {
        let text = read(file);
        let lines: String = text.lines().filter(|line| line.starts_with(begin)).collect();
        for protocol in PROTOCOLS {
            assert!(lines.contains(&format!("`{}`", protocol.name)), "{file} does not list {}", protocol.name);
        }
    }
}

/// The parts of the page on models that are generated.
#[test]
fn the_models_are_those_of_the_program() {
    let (source, defaults, presets) = (source(), default_models(), presets());
    let (models, sizes) = costs();
    let parts =
        [("models", models), ("sizes", sizes), ("defaults", defaults), ("presets", presets), ("source", source)];
    assert_parts_are_current(MODELS, &parts.map(|(name, part)| (name.to_owned(), part)));
}

/// The providers that are known by name.
#[test]
fn the_programs_are_those_that_were_tested() {
    let text = read(MODELS);
    for program in &PROGRAMS {
        let (name, versions, model) = (program.name, program.tested.join(", "), program.default_model);
        let row = format!("| `{name}` | {versions} | its own | `{model}` |");
        assert!(text.contains(&row), "{MODELS} lacks the row {row}");
    }
}

fn presets() -> String {
    let code = |text: &str| if text.is_empty() { "none".to_owned() } else { format!("`{text}`") };
    let mut presets = "| provider | base URL | override | key | api |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for preset in PRESETS {
        let api = serde_json::to_value(preset.api).unwrap();
        let cells = [
            code(preset.name),
            code(preset.base_url),
            code(preset.base_url_env.unwrap_or_default()),
            code(preset.api_key_env.unwrap_or_default()),
            code(api.as_str().unwrap()),
        ];
        writeln!(presets, "| {} |", cells.join(" | ")).unwrap();
    }
    presets
}

/// Which files the table of models was made from.
fn source() -> String {
    let table: Value = serde_json::from_str(&read("crates/llm/src/models.json")).unwrap();
    let mut source =
        format!("The table is of {}, from {}:\n\n", table["asOf"].as_str().unwrap(), table["source"].as_str().unwrap());
    source.push_str("| version | SHA-256 of the file | models |\n| --- | --- | --- |\n");
    for part in table["versions"].as_array().unwrap() {
        let providers = part["providers"].as_array().unwrap().iter().filter_map(Value::as_str);
        let counted =
            |provider: &str| format!("{} of {provider}", table["models"][provider].as_object().unwrap().len());
        let models: Vec<String> = providers.map(counted).collect();
        let (version, hash) = (part["version"].as_str().unwrap(), part["sha256"].as_str().unwrap());
        writeln!(source, "| {version} | `{hash}` | {} |", models.join(", ")).unwrap();
    }
    source
}

/// Which model is called without a configuration, by the first key that is set.
fn default_models() -> String {
    let mut defaults = "| key | model | input | output |\n| --- | --- | --- | --- |\n".to_owned();
    for preset in PRESETS {
        let Some(model) = preset.model else { continue };
        let key = preset.api_key_env.unwrap();
        let facts = facts(preset.name, model).unwrap();
        assert_eq!(facts.retires, None, "{model} has a retirement date: choose another default model");
        let price = facts.price().unwrap();
        let (input, output) = (price.input_per_m_tok, price.output_per_m_tok);
        writeln!(defaults, "| `{key}` | `{model}` | ${input} | ${output} |").unwrap();
    }
    defaults
}

/// What debates cost by the dry run: by model, and by protocol and size.
fn costs() -> (String, String) {
    const MODELS_SHOWN: [(&str, &str); 7] = [
        ("openai", "gpt-5.6-luna"),
        ("openai", "gpt-5.6-sol"),
        ("anthropic", "claude-haiku-5-5"),
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-opus-5-5"),
        ("google", "gemini-3.8-flash"),
        ("mistral", "mistral-large-2512"),
    ];
    // The rounds are the protocol's own where none are named.
    const SIZES: [(&str, usize, Option<u32>); 7] = [
        ("council --quick", 2, None),
        ("council", 3, None),
        ("arena", 3, None),
        ("dialectic", 2, Some(3)),
        ("dialectic", 3, Some(1)),
        ("dialectic", 3, Some(3)),
        ("dialectic", 5, Some(3)),
    ];
    const ROLES: [&str; 5] = ["architect", "performance", "kiss", "security", "testing"];
    let problem = blocks(&read(MODELS), "text").into_iter().next().expect("the problem stands in the document");
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"];
    let (sandbox, environment) = (Sandbox::new(), Environment::from_pairs(keys.map(|key| (key, TEST_KEY))));
    let runner = Runner::new(Directory::at(sandbox.directory()), Services::new(environment.clone()));
    // `34 to 39 calls, likely $0.08, at most $0.28`
    let foreseen = |settings: &Value, protocol: &str, rounds: Option<u32>| {
        sandbox.write("c.json", settings.to_string());
        let (protocol, quick) = protocol.split_once(' ').map_or((protocol, false), |(protocol, _)| (protocol, true));
        let overrides = Overrides { protocol: Some(protocol.to_owned()), quick, rounds, ..Overrides::default() };
        let file = ConfigPath::Named(sandbox.directory().join("c.json"));
        let settings = ConfigFiles::new(file, &environment).load(&overrides).unwrap().settings;
        let debate = new_debate(problem.trim(), Protocol::named(protocol).unwrap(), settings);
        let total = price_tag(&runner.forecast(&debate).unwrap(), None);
        let (calls, cost) = total.split_once(" calls, likely ").unwrap();
        (calls.to_owned(), cost.to_owned())
    };
    let mut models = "| model | input | output | context | one round | three rounds |\n".to_owned();
    models.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for (provider, model) in MODELS_SHOWN {
        let facts = facts(provider, model).unwrap();
        let (price, window) = (facts.price().unwrap(), facts.context_window.unwrap());
        let settings = panel(provider, model, &ROLES[..3]);
        let [one, three] = [1, 3].map(|rounds| foreseen(&settings, "dialectic", Some(rounds)).1);
        let (input, output) = (price.input_per_m_tok, price.output_per_m_tok);
        writeln!(models, "| `{model}` | ${input} | ${output} | {window} | {one} | {three} |").unwrap();
    }
    let mut sizes =
        "| protocol | agents | rounds | calls | `gpt-5.6-luna` |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let known = |name: &str| PROTOCOLS.iter().find(|protocol| name.split(' ').next() == Some(protocol.name));
    for (protocol, agents, rounds) in SIZES {
        let Some(declared) = known(protocol) else { continue };
        let (calls, cost) = foreseen(&panel("openai", "gpt-5.6-luna", &ROLES[..agents]), protocol, rounds);
        let rounds = rounds.unwrap_or(declared.default_rounds);
        writeln!(sizes, "| `{protocol}` | {agents} | {rounds} | {calls} | {cost} |").unwrap();
    }
    (models, sizes)
}

/// A configuration in which all use the same model.
fn panel(provider: &str, model: &str, roles: &[&str]) -> Value {
    let one = |id: &str, role: &str, temperature: f64| json!({"id": id, "name": id, "role": role, "model": model, "provider": provider, "temperature": temperature});
    let agents: Vec<Value> = roles.iter().map(|role| one(&format!("agent-{role}"), role, 0.5)).collect();
    json!({"agents": agents, "judge": one("judge-main", "generalist", 0.3)})
}

#[test]
fn every_key_and_default_is_documented() {
    let text = read(CONFIGURATION);
    let schema = Sandbox::new().run(["config", "schema"]).expect_code(0).json();
    let mut keys = BTreeSet::new();
    property_names(&schema, &mut keys);
    assert!(keys.contains("synthesisMethod"), "{keys:?}");
    for key in keys {
        let mentioned = ['`', '.'].iter().any(|end| text.contains(&format!("{key}{end}")));
        assert!(mentioned, "{CONFIGURATION} does not mention the key {key}");
    }
    let shown = Sandbox::new().run(["config", "show"]).expect_code(0).stdout;
    let defaults: Vec<_> = shown.lines().filter(|line| line.starts_with("debate.")).collect();
    assert!(defaults.len() > 15, "{shown}");
    for line in defaults {
        let mut cells = line.split_whitespace();
        let (path, value) = (cells.next().unwrap(), cells.next().unwrap().trim_end_matches(".0"));
        let row = format!("| `{path}` | `{value}` |");
        assert!(text.contains(&row), "{CONFIGURATION} lacks the row {row}");
    }
}

fn property_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                names.extend(properties.keys().cloned());
            }
            map.values().for_each(|value| property_names(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| property_names(value, names)),
        _ => {}
    }
}

#[test]
fn configurations_in_the_docs_are_understood() {
    let own_role = read("examples/flaky-pipeline/prompts/roles/operations.md");
    let mut found = 0;
    for path in [MODELS, CONFIGURATION, PROTOCOL_TABLES] {
        for block in blocks(&read(path), "json") {
            found += 1;
            let sandbox = Sandbox::new().file("c.json", &block).file("prompts/roles/operations.md", &own_role);
            let shown = sandbox.run(["config", "show", "-c", "c.json"]);
            assert_eq!(shown.code, Some(0), "{path}:\n{block}\n{shown}");
            // Pieces of configurations are shown; that the rest is missing is no surprise.
            let pieces = ["no judge is", "no agents are", "No model is configured"];
            let piece = |line: &&str| pieces.iter().any(|piece| line.contains(piece));
            let said: Vec<&str> = shown.stderr.lines().filter(|line| !piece(line)).collect();
            assert!(said.is_empty(), "{path}:\n{block}\n{shown}");
        }
    }
    assert!(found >= 3, "only {found} configurations");
}

#[test]
fn every_event_and_result_of_the_record_is_documented() {
    let text = read(RECORD);
    let events = variants(&serde_json::from_value::<Event>(json!({"type": "?"})).unwrap_err());
    assert!(events.contains("contributed") && events.len() > 15, "{events:?}");
    for event in events {
        assert!(text.contains(&format!("\n- `{event}`")), "the event {event} is not documented");
    }
    let yields = variants(&serde_json::from_value::<ResultKind>(json!("?")).unwrap_err());
    let statuses = variants(&serde_json::from_value::<Status>(json!("?")).unwrap_err());
    let outcomes = variants(&serde_json::from_value::<OutcomeKind>(json!("?")).unwrap_err());
    assert!(yields.contains("ballot") && statuses.contains("paused") && outcomes.contains("degraded"));
    for name in [yields, statuses, outcomes].into_iter().flatten() {
        assert!(text.contains(&format!("`{name}`")), "{name} is not documented");
    }
}

/// The names that serde says it would have taken.
fn variants(error: &serde_json::Error) -> BTreeSet<String> {
    let message = error.to_string();
    let (_, known) = message.split_once("expected").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_role_is_documented() {
    let roles = read(PROTOCOL_TABLES);
    for role in Role::built_in_names() {
        assert!(roles.contains(&format!("| `{role}` |")), "the role {role} is not documented");
    }
}

#[test]
fn the_reason_of_every_dependency_is_given() {
    let reasons = read(CONTRIBUTING);
    let manifest = read("Cargo.toml");
    let mut given = 0;
    let mut in_dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line == "[workspace.dependencies]";
        } else if let (true, Some((name, spec))) = (in_dependencies, line.split_once(" = ")) {
            if spec.contains("path = ") {
                continue;
            }
            given += 1;
            assert!(reasons.contains(&format!("`{name}`")), "{CONTRIBUTING} does not say what {name} is for");
        }
    }
    assert!(given > 20, "only {given} dependencies");
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    for document in documents() {
        for link in links(&read(&document)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().unwrap().join(path),
            };
            assert!(repository(&target).exists(), "{} links to {link}, which is not there", document.display());
            if !fragment.is_empty() {
                let headings = headings(&read(&target));
                assert!(headings.contains(fragment), "{} links to {link}: no such heading", document.display());
            }
        }
    }
    assert!(followed > 20, "only {followed} links");
}

#[test]
fn every_command_line_can_be_typed() {
    let mut tried = 0;
    for document in documents() {
        for block in blocks(&read(&document), "sh") {
            for line in commands(&block) {
                tried += 1;
                let parsed = dialectic_cli::cli::command().try_get_matches_from(&line);
                // `--version` and `--help` end parsing without being errors.
                if let Err(error) = parsed.map_err(|error| (error.exit_code(), error.to_string())) {
                    assert_eq!(error.0, 0, "{}: {line:?}\n{}", document.display(), error.1);
                }
            }
        }
    }
    assert!(tried > 10, "only {tried} command lines");
}

#[test]
fn every_exit_code_is_documented() {
    let text = read(AUTOMATION);
    let (_, after) = text.split_once("## Exit codes\n").expect("the exit codes");
    let rows = after.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let documented: BTreeSet<u8> = rows.filter_map(|row| row.split(' ').nth(1)?.parse().ok()).collect();
    // What the comment at the mapping from errors to exit codes says.
    let source = read("src/error.rs");
    let (_, comment) = source.split_once("/// The exit code: ").expect("the mapping is described");
    let comment = comment.split("pub fn").next().unwrap();
    let numbers = comment.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let known: BTreeSet<u8> = numbers.chain([0]).collect();
    assert_eq!(documented, known);
    assert_eq!(documented.len(), 11);
}

#[test]
fn the_examples_load_without_warnings_and_run_offline() {
    let mut found = 0;
    for entry in fs::read_dir(repository("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let directory = format!("examples/{name}");
        // `problems` and `sweep` are for sets, without a configuration of their own.
        if !repository(&directory).is_dir() || name == "problems" || name == "sweep" {
            continue;
        }
        found += 1;
        let (problem, config) = (format!("{directory}/problem.md"), format!("{directory}/debate-config.json"));
        let command = format!("cargo run -- debate -p {problem} -c {config}\n");
        assert!(read(format!("{directory}/README.md")).contains(&command), "{directory}: its command is missing");

        let keys = ["OPENAI_API_KEY", "OPENROUTER_API_KEY"];
        let mut sandbox = keys.iter().fold(Sandbox::new(), |sandbox, key| sandbox.env(key, TEST_KEY));
        for file in files_below(Path::new(&directory)) {
            sandbox = sandbox.file(&file, read(&file));
        }
        let checked = sandbox.run(["config", "check", "-c", &config]);
        assert_eq!(checked.code, Some(0), "{directory}:\n{checked}");
        assert!(!checked.stderr.contains("warning"), "{directory}:\n{checked}");

        let ran = sandbox.run(["debate", "-p", &problem, "-c", &config, "--offline"]);
        assert_eq!(ran.code, Some(0), "{directory}:\n{ran}");
        assert_eq!(sandbox.state(&sandbox.only_debate())["outcome"]["kind"], "full", "{directory}:\n{ran}");
        assert!(!ran.stderr.contains("warning"), "{directory}:\n{ran}");
        assert!(ran.stdout.contains("## Requirements Coverage"), "{directory}:\n{ran}");
        sandbox.assert_state_is_the_fold(&sandbox.only_debate());
    }
    assert_eq!(found, 4);
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(repository(directory)).unwrap() {
        let path = directory.join(entry.unwrap().file_name());
        if repository(&path).is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

/// Each line with whether it stands in a fenced block, and that block's language. Fences themselves are left out.
fn fenced(markdown: &str) -> Vec<(&str, Option<&str>)> {
    let mut language = None;
    let mut lines = Vec::new();
    for line in markdown.lines() {
        match (line.trim_start().strip_prefix("```"), language) {
            (Some(opened), None) => language = Some(opened.trim()),
            (Some(_), Some(_)) => language = None,
            (None, _) => lines.push((line, language)),
        }
    }
    lines
}

/// The fenced blocks in a language.
fn blocks(markdown: &str, wanted: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(opened), false) if opened.trim() == wanted => {
                inside = true;
                blocks.push(String::new());
            }
            (Some(_), _) => inside = false,
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// The targets of the links outside of code.
fn links(markdown: &str) -> Vec<String> {
    let mut links = Vec::new();
    for (line, _) in fenced(markdown).into_iter().filter(|(_, language)| language.is_none()) {
        for after in line.split("](").skip(1) {
            let target = after.split(')').next().unwrap();
            links.push(target.to_owned());
        }
    }
    links
}

/// The anchors that GitHub gives to headings.
fn headings(markdown: &str) -> BTreeSet<String> {
    let lines = fenced(markdown).into_iter().filter(|(line, language)| language.is_none() && line.starts_with('#'));
    let anchor = |(line, _): (&str, _)| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    lines.map(anchor).collect()
}

/// The calls of the program in a block of shell commands, as arguments from `dialectic` on.
fn commands(block: &str) -> Vec<Vec<String>> {
    let through_cargo = ["cargo", "run", "--"];
    let lines = block.lines().flat_map(shell_words);
    lines
        .filter_map(|words| {
            let is_variable =
                |word: &&String| word.split_once('=').is_some_and(|(name, _)| name == name.to_uppercase());
            let words: Vec<String> = words.iter().skip_while(is_variable).cloned().collect();
            if words.first().is_some_and(|word| word == "dialectic") {
                return Some(words);
            }
            let rest = words.strip_prefix(through_cargo.map(str::to_owned).as_slice())?;
            Some([&["dialectic".to_owned()], rest].concat())
        })
        .collect()
}

/// The words of each command of a pipeline; redirections and remarks are left out.
fn shell_words(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut skip_next = false;
    for c in line.chars().chain([' ']) {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == '#' && word.is_none() => break,
            None if matches!(c, ' ' | '|' | '>' | '<') => {
                if let Some(word) = word.take()
                    && !std::mem::take(&mut skip_next)
                    && !(c == '>' && word.parse::<u8>().is_ok())
                    && let Some(command) = commands.last_mut()
                {
                    command.push(word);
                }
                match c {
                    '|' => commands.push(Vec::new()),
                    '>' | '<' => skip_next = true,
                    _ => {}
                }
            }
            Some(_) | None => word.get_or_insert_default().push(c),
        }
    }
    commands
}

#[test]
fn the_tests_of_the_documentation_read_what_is_written() {
    let block = "OFFLINE_SEED=3 dialectic debate --offline \"a | b\" 2>err.txt | less # remark\ncargo test\n";
    assert_eq!(commands(block), [["dialectic", "debate", "--offline", "a | b"]]);
    let markdown = "# A `b` & c\n[x](y.md#z) and [w](v)\n```sh\n# no\n[a](b)\n```\n";
    assert_eq!(links(markdown), ["y.md#z", "v"]);
    assert_eq!(headings(markdown), ["a-b--c".to_owned()].into());
    assert_eq!(blocks(markdown, "sh"), ["# no\n[a](b)\n"]);
}
