//! Files, sources, the schema and the starter.

use std::fs;

use super::*;

fn load_file(path: &Path, overrides: &Overrides) -> Result<Loaded, ConfigError> {
    ConfigFiles::new(ConfigPath::Named(path.to_owned()), &Environment::default()).load(overrides)
}

#[test]
fn without_a_file_everything_is_built_in() {
    let (nothing, none) = (Environment::default(), Overrides::default());
    let loaded = ConfigFiles::new(ConfigPath::Default, &nothing).load(&none).unwrap();
    assert!(loaded.warnings.is_empty(), "nobody promised a file: {:?}", loaded.warnings);
    assert_eq!(loaded.file, None);
    let base_dir = Some(std::env::current_dir().unwrap());
    assert_eq!(loaded.settings, Settings { base_dir, ..default_settings() });
    assert_eq!(ConfigPath::Default.as_path(), Path::new("./debate-config.json"));
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = load_file(directory.path(), &Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Directory(_)));
    let file = directory.path().join("file");
    fs::write(&file, "{}").unwrap();
    let error = load_file(&file.join("below"), &Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    let error = load_file(Path::new("none.json"), &Overrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "configuration file `none.json` not found");
}

#[test]
fn role_files_beside_the_configuration_are_roles() {
    let directory = tempfile::tempdir().unwrap();
    let roles = directory.path().join("prompts/roles");
    fs::create_dir_all(roles.join("folder.md")).unwrap();
    fs::write(roles.join("lawyer.md"), "…").unwrap();
    fs::write(roles.join("notes.txt"), "…").unwrap();
    let path = directory.path().join("c.json");
    for (role, effective) in
        [("lawyer", "lawyer"), ("notes", "architect"), ("folder", "architect"), ("../roles/lawyer", "architect")]
    {
        fs::write(&path, with_agent(&json!({"role": role})).to_string()).unwrap();
        let loaded = load_file(&path, &Overrides::default()).unwrap();
        assert_eq!(loaded.settings.agents[0].role, effective, "{role}");
        assert_eq!(loaded.settings.base_dir.as_deref(), Some(directory.path()));
    }
}

#[test]
fn mistakes_of_the_command_line_are_not_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let faulty = [
        Overrides { rounds: Some(0), ..Default::default() },
        Overrides { agents: Some(vec![" ".to_owned(), String::new()]), ..Default::default() },
        Overrides { agents: Some(Vec::new()), ..Default::default() },
        Overrides { protocol: Some("arenas".to_owned()), ..Default::default() },
        Overrides { context_dir: Some(directory.path().join("none")), ..Default::default() },
        Overrides { context_dir: Some(file), ..Default::default() },
    ];
    let texts: Vec<String> = faulty
        .iter()
        .map(|overrides| {
            let error = ConfigFiles::new(ConfigPath::Default, &Environment::default()).load(overrides).unwrap_err();
            assert!(matches!(error, ConfigError::Argument { .. } | ConfigError::ContextDir { .. }), "{error}");
            error.to_string()
        })
        .collect();
    assert_eq!(texts[0], "--rounds must be a whole number of at least 1");
    assert_eq!(texts[1], "--agents names no role");
    assert_eq!(
        texts[3],
        "--protocol names an unknown protocol `arenas` (did you mean `arena`?); known: `dialectic`, `council`, `oxford`, `lincoln-douglas`, `roundtable`, `review`, `arena`, `single`, `self-refine`, `best-of-n`"
    );
    assert!(texts[4].starts_with("cannot use the context directory `"), "{}", texts[4]);

    let context_dir = Some(directory.path().join("."));
    let overrides = Overrides { context_dir, ..Default::default() };
    let loaded = ConfigFiles::new(ConfigPath::Default, &Environment::default()).load(&overrides).unwrap();
    assert_eq!(loaded.settings.context_dir, Some(directory.path().canonicalize().unwrap()));
}

#[test]
fn every_value_is_shown_with_its_source() {
    let config = minimal(
        &json!({"enabled": false}),
        &json!({"rounds": 2, "summarization": {"threshold": 9}}),
        &json!({"providers": {"ollama": {"baseUrl": "http://gpu:1/v1"}}}),
    );
    let overrides = Overrides { rounds: Some(4), clarify: true, ..Default::default() };
    let environment =
        Environment::from_pairs([("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "sk-hunter2")]);
    let loaded = load_with(config.to_string().as_bytes(), &overrides, &environment).unwrap();
    let rows = show(&loaded, &environment);
    let row = |path: &str| {
        let row = rows.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("{path} is shown"));
        format!("{} ({})", row.value, row.source)
    };
    let shown: Vec<String> = [
        "agents[0].id",
        "agents[0].temperature",
        "agents[0].tools",
        "agents[0].summarization.threshold",
        "agents[0].summarization.maxLength",
        "judge.summarization.threshold",
        "debate.rounds",
        "debate.interactiveClarifications",
        "debate.maxRetries",
        "debate.budget.maxCostUsd",
        "providers.ollama.baseUrl",
        "endpoints.openai.baseUrl",
        "endpoints.openai.apiKey",
        "endpoints.ollama.baseUrl",
        "endpoints.ollama.apiKey",
    ]
    .iter()
    .map(|path| format!("{path}: {}", row(path)))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    agents[0].id: a2 (file c.json)
    agents[0].temperature: 0.5 (built-in default)
    agents[0].tools: none (built-in default)
    agents[0].summarization.threshold: 9 (file c.json)
    agents[0].summarization.maxLength: 2500 (built-in default)
    judge.summarization.threshold: 9 (file c.json)
    debate.rounds: 4 (option --rounds)
    debate.interactiveClarifications: true (option --clarify)
    debate.maxRetries: 3 (built-in default)
    debate.budget.maxCostUsd: null (built-in default)
    providers.ollama.baseUrl: http://gpu:1/v1 (file c.json)
    endpoints.openai.baseUrl: http://127.0.0.1:9/v1 (environment variable OPENAI_BASE_URL)
    endpoints.openai.apiKey: set (environment variable OPENAI_API_KEY)
    endpoints.ollama.baseUrl: http://gpu:1/v1 (file c.json)
    endpoints.ollama.apiKey: not needed (built-in default)
    ");
    assert!(rows.iter().all(|row| !row.value.contains("hunter2")));
    let unset = show(&loaded, &Environment::default());
    assert!(unset.iter().any(|row| row.value == "not set: OPENAI_API_KEY is missing"));
}

#[test]
fn what_was_replaced_is_not_said_to_be_the_files() {
    let config = with_agent(&json!({"role": "nonsense", "provider": "offline", "model": "gpt-4"}));
    let loaded = load_value(&config).unwrap();
    let rows = show(&loaded, &Environment::default());
    let source = |path: &str| &rows.iter().find(|row| row.path == path).unwrap().source;
    assert_eq!(*source("agents[0].role"), ValueSource::BuiltIn);
    assert_eq!(*source("agents[0].model"), ValueSource::BuiltIn);
    assert_eq!(*source("agents[0].provider"), ValueSource::File("c.json".into()));
    let overrides = Overrides { offline: true, ..Default::default() };
    let loaded = load_with(config.to_string().as_bytes(), &overrides, &Environment::default()).unwrap();
    let rows = show(&loaded, &Environment::default());
    let judge = rows.iter().find(|row| row.path == "judge.model").unwrap();
    assert_eq!((judge.value.as_str(), &judge.source), (OFFLINE_MODEL, &ValueSource::Option("--offline")));
    assert!(rows.iter().all(|row| !row.path.starts_with("endpoints.")), "no server is called");
}

#[test]
fn the_starter_is_short_and_names_where_all_keys_are() {
    assert!(STARTER.lines().count() <= 25, "{}", STARTER.lines().count());
    for place in ["docs/configuration.md", "dialectic config schema"] {
        assert!(STARTER.contains(place), "{place}");
    }
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schema();
    let definitions = schema["$defs"].as_object().unwrap();
    for (name, node) in definitions.iter().map(|(name, node)| (name.as_str(), node)).chain([("", &schema)]) {
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].as_str().is_some_and(|text| text.len() > 5), "{name}.{key}");
        }
    }
}
