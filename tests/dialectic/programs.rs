//! Models called through a command-line program: whole debates through programs that print what the vendors' programs printed, and what may
//! say which program that is.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Sandbox, TEST_KEY, Terminal, config, sample, wait_until, with_each};

/// What every program of ours does beside answering: it says which version it is and which switches it has, as the
/// vendors' programs do.
const OPENING: &str = r#"case "$1" in --version) echo "$VERSION"; exit;; --help) cat "$RECORDINGS/claude-2.1.332-help.txt"; exit;; auth|login) exit 1;; esac
case "$*" in
"exec --help") cat "$RECORDINGS/codex-0.171.0-exec-help.txt"; exit;;
"features list") cat "$RECORDINGS/codex-0.171.0-features.txt"; exit;;
*"features list") sed 's/true$/false/' "$RECORDINGS/codex-0.171.0-features.txt"; exit;;
esac
"#;

/// A place outside of every sandbox with programs, and what they keep.
struct Programs {
    directory: TempDir,
}

impl Programs {
    /// A program of that name and version that does what `script` says, with `$KEPT`, `$RECORDINGS`.
    fn with(name: &str, version: &str, script: &str) -> Self {
        let programs = Self { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir(programs.path("bin")).unwrap();
        std::fs::create_dir(programs.path("home")).unwrap();
        programs.write(name, version, script);
        programs
    }

    fn write(&self, name: &str, version: &str, script: &str) {
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vendor-cli");
        let (kept, recordings) = (self.path("").display().to_string(), recordings.display().to_string());
        let text = format!("#!/bin/sh\nKEPT={kept} RECORDINGS={recordings} VERSION='{version}'\n{OPENING}{script}\n");
        install(&self.path("bin").join(name), &text);
    }

    /// Has a program say that of who is logged in.
    fn login(&self, name: &str, said: &str) {
        let path = self.path("bin").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        install(&path, &text.replace("auth|login) exit 1;;", &format!("auth|login) echo '{said}'; exit 1;;")));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// One that is called `claude` and says what a recording of that program says.
    fn claude() -> Self {
        Self::with("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"))
    }

    /// The same beside a `codex`.
    fn both() -> Self {
        let programs = Self::claude();
        programs.write("codex", "0.169.0", &replaying("codex-0.169.0-ok.jsonl"));
        programs
    }

    /// A sandbox whose user has these programs, with three agents and a judge of one.
    fn debating(&self, provider: &str, model: &str) -> Sandbox {
        self.sandbox().file("debate-config.json", panel(provider, model).to_string())
    }

    /// A sandbox whose user has these programs.
    fn sandbox(&self) -> Sandbox {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        Sandbox::new().env("PATH", &path).env("HOME", &self.path("home").display().to_string())
    }

    /// The user's own configuration, wherever the platform has it below the home.
    fn own(&self, configuration: &Value) {
        let path = self.path("home/.config/dialectic");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("config.json"), configuration.to_string()).unwrap();
    }
}

fn install(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Prints a recording after it has read all that it is given.
fn replaying(recording: &str) -> String {
    format!("cat > /dev/null\ncat \"$RECORDINGS/{recording}\"")
}

/// Three agents, and the judge, with that provider and model.
fn panel(provider: &str, model: &str) -> Value {
    let settings = config(&["architect", "performance", "kiss"], &json!({}));
    with_each(with_each(settings, "provider", provider), "model", model)
}

const VENDORS: [(&str, &str, &str, &str); 3] = [
    ("claude", "2.1.197 (Claude Code)", "claude-sonnet-4-6", "claude-2.1.197-stream-ok.jsonl"),
    ("codex", "codex-cli 0.169.0", "gpt-5.6-luna", "codex-0.169.0-ok.jsonl"),
    ("codex", "codex-cli 0.169.0", "gpt-5.6-luna", "codex-0.169.0-output-schema.jsonl"),
];

#[test]
fn a_debate_of_three_runs_through_each_recording_with_its_usage() {
    for (name, version, model, recording) in sample(VENDORS, 2) {
        let programs = Programs::with(name, version, &replaying(recording));
        let sandbox = programs.debating(name, model);
        let (finished, state) = sandbox.debated(["debate", "Design a queue"]);
        assert!(finished.stdout.contains("Use a queue."), "{recording}: {finished}");
        let usage = &state["usage"][model];
        let calls = usage["requests"].as_u64().unwrap();
        assert!(calls > 10, "{recording}: {usage}");
        for (key, each) in [("inputTokens", 1200), ("cachedInputTokens", 1000), ("outputTokens", 70)] {
            assert_eq!(usage[key], each * calls, "{recording}: {key}");
        }
        assert!(usage["notionalUsd"].is_null(), "nobody says that a subscription is logged in: {usage}");
        assert!(usage["costUsd"].as_f64().unwrap() > 0.0, "{recording}: {usage}");
        // The record holds the name.
        let journal = sandbox.journal(&sandbox.only_debate()).join("\n");
        assert!(journal.contains(&format!("\"provider\":\"{name}\"")) && !journal.contains("argv"), "{recording}");
        assert!(!journal.contains(&programs.path("").display().to_string()), "{recording}");
    }
}

#[test]
fn what_a_subscription_pays_is_kept_apart_from_dollars() {
    let recording = "cat > /dev/null\nsed s/ANTHROPIC_API_KEY/none/ \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"";
    let programs = Programs::with("claude", "2.1.197", recording);
    programs.login("claude", r#"{"loggedIn": true, "authMethod": "claude.ai", "subscriptionType": "max"}"#);
    let sandbox = programs.debating("claude", "claude-sonnet-4-6");
    let (_, state) = sandbox.debated(["debate", "Design a queue"]);
    let usage = &state["usage"]["claude-sonnet-4-6"];
    assert_eq!(usage["costUsd"], 0.0, "{usage}");
    let notional = usage["notionalUsd"].as_f64().unwrap();
    assert!((notional - 0.00195 * usage["requests"].as_f64().unwrap()).abs() < 1e-9, "{usage}");
    for arguments in [vec!["list"], vec!["report", "latest"]] {
        sandbox.run(arguments).expect_code(0).prints(["$0.0000, ≈ $0.0", "at list price"]);
    }
}

#[test]
fn a_program_of_ones_own_prints_its_answer() {
    let script = "cat >> \"$KEPT/prompts\"\necho \"$@\" >> \"$KEPT/arguments\"\necho 'Use a queue.'";
    let programs = Programs::with("answerer", "", script);
    let argv = json!(["answerer", "--model={model}"]);
    programs.own(&json!({"providers": {"mine": {"type": "command", "argv": argv}}}));
    let sandbox = programs.sandbox();
    sandbox.run(["debate", "Design a queue", "-m", "mine/small"]).expect_code(0).prints(["Use a queue."]);
    let usage = sandbox.state(&sandbox.only_debate())["usage"]["small"].clone();
    assert!(usage["requests"].as_u64().unwrap() > 10 && usage["costUsd"].is_null(), "{usage}");
    assert!(programs.kept("arguments").lines().all(|line| line == "--model=small"), "{}", programs.kept("arguments"));
    assert!(programs.kept("prompts").contains("Design a queue"));
    sandbox.run(["config", "show"]).expect_code(0).prints(["providers.mine.argv"]);
}

#[test]
fn a_reached_limit_pauses_the_debate_and_says_when_it_may_go_on() {
    let limited = "cat > /dev/null\necho x >> \"$KEPT/calls\"\nif [ $(wc -l < \"$KEPT/calls\") -gt 4 ]; then\n\
                   echo '{\"type\":\"turn.failed\",\"error\":{\"message\":\"You have hit your usage limit. Try again in 3 \
                   hours.\"}}'; exit 1; fi\ncat \"$RECORDINGS/codex-0.169.0-ok.jsonl\"";
    // At the first call, too: whose limit is reached is there.
    for answered in [4, 0] {
        let programs = Programs::with("codex", "0.169.0", &limited.replace("-gt 4", &format!("-gt {answered}")));
        let sandbox = programs.debating("codex", "gpt-5.6-luna");
        let finished = sandbox.run(["debate", "Design a queue"]).expect_code(75).says(["usage limit reached, "]);
        finished.says(["usage limit reached; it resets at 20", "error: usage limit reached", "dialectic resume"]);
        programs.write("codex", "0.169.0", &replaying("codex-0.169.0-ok.jsonl"));
        sandbox.run(["resume", "latest"]).expect_code(0);
        sandbox.assert_state_is_the_fold(&sandbox.only_debate());
    }
}

/// An interrupt pauses the debate. A quit exits without running destructors.
#[test]
fn an_interrupt_and_a_quit_end_the_programs_with_all_that_they_started() {
    let script = "cat > /dev/null\nsleep 600 & echo $! >> \"$KEPT/started\"\nsleep 600";
    for (signal, ends_with) in [(Signal::SIGINT, 130), (Signal::SIGQUIT, 131)] {
        let programs = Programs::with("claude", "2.1.197", script);
        let sandbox = programs.debating("claude", "sonnet");
        let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue"]);
        terminal.wait_for("? for keys");
        wait_until("a call is made", || programs.kept("started").ends_with('\n'));
        terminal.signal(signal);
        let (output, _) = terminal.expect_code(ends_with);
        if signal == Signal::SIGINT {
            assert_eq!(sandbox.state(&sandbox.only_debate())["status"], "paused", "{output}");
        }
        for child in programs.kept("started").lines() {
            let stat = || std::fs::read_to_string(format!("/proc/{child}/stat"));
            wait_until("what it started ends", || stat().map_or(true, |stat| stat.contains(") Z ")));
        }
    }
}

#[test]
fn a_cost_limit_is_refused_where_nobody_knows_the_most_that_a_call_can_cost() {
    let programs = Programs::claude();
    let arguments = ["debate", "Design a queue", "--max-cost", "1000"];
    let sandbox = programs.debating("claude", "sonnet");
    sandbox.run(arguments).expect_code(4).says(["no price is known for sonnet"]);
    assert!(sandbox.debates().is_empty());
    let sandbox = programs.debating("claude", "claude-haiku-5-5");
    sandbox.run(arguments).expect_code(0);
    let events = sandbox.events(&sandbox.only_debate());
    let reserved = events.iter().filter(|event| event["type"] == "cost-reserved").count();
    assert!(reserved > 10, "{reserved}");
}

#[test]
fn a_child_has_no_keys_and_addresses_but_its_own() {
    let script = "cat > /dev/null\nenv > \"$KEPT/environment\"\ncat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"";
    let programs = Programs::with("claude", "2.1.197", script);
    let mut sandbox = programs.debating("claude", "sonnet");
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BEDROCK_BASE_URL",
        "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "VERTEX_REGION_CLAUDE",
        "SOMEBODYS_API_KEY",
        "DIALECTIC_TOKEN",
    ] {
        sandbox = sandbox.env(name, "not-for-you");
    }
    let sandbox = sandbox.env("CLAUDE_CONFIG_DIR", "/kept").env("EDITOR", "vi");
    // What was found is not the user's word.
    let sandbox = sandbox.file(".env", "NODE_OPTIONS=--require=./evil.js\nHOME=/evil\nCLAUDE_CONFIG_DIR=/evil\n");
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let environment = programs.kept("environment");
    assert!(!environment.contains("not-for-you") && !environment.contains("evil"), "{environment}");
    for line in ["CLAUDE_CONFIG_DIR=/kept", "EDITOR=vi", "CLAUDE_CODE_DISABLE_ATTACHMENTS=1"] {
        assert!(environment.lines().any(|one| one == line), "{line}: {environment}");
    }
}

/// The dry run says what the run says: an untested version is called, one that cannot be kept from tools is not.
#[test]
fn an_untested_version_is_a_warning_and_a_missing_switch_or_program_is_refused_before_anything_is_asked() {
    let script = "cat > /dev/null; touch \"$KEPT/asked\"; cat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"";
    let programs = Programs::with("claude", "2.99.0", script);
    let sandbox = programs.sandbox();
    let debate = ["debate", "Design a queue", "-r", "1", "-m"];
    let said = |model: &str, code: i32, part: &str| {
        for more in [&[model, "--dry-run"][..], &[model]] {
            let finished = sandbox.run([&debate[..], more].concat()).expect_code(code);
            assert_eq!(finished.stderr.matches(part).count(), 1, "{more:?}: {finished}");
            assert_eq!(programs.path("asked").exists(), code == 0 && more.len() == 1, "{more:?}");
        }
    };
    said("codex/gpt-5.6-luna", 4, "cannot find the program `codex` on PATH");
    said("claude", 0, "warning: claude 2.99.0 is untested (tested: 2.1.197");
    std::fs::remove_file(programs.path("asked")).unwrap();
    let text = std::fs::read_to_string(programs.path("bin/claude")).unwrap();
    let help = "cat \"$RECORDINGS/claude-2.1.332-help.txt\"";
    assert!(text.contains(help));
    install(&programs.path("bin/claude"), &text.replace(help, &format!("{help} | grep -v strict-mcp-config")));
    said("claude", 4, "claude 2.99.0 lacks `--strict-mcp-config`, which is needed to disable tools");
    let checked = sandbox.env("DIALECTIC_MODEL", "claude").run(["config", "check"]).expect_code(4);
    assert!(checked.stderr.contains("install a tested version of claude (2.1.197"), "{checked}");
}

#[test]
fn a_mixed_panel_takes_the_programs_that_are_there_and_none_that_nobody_is_logged_in_to() {
    let nobody = r#"{"loggedIn": false, "authMethod": "none"}"#;
    let programs = Programs::both();
    let mixed = ["debate", "Design a queue", "--mixed", "-r", "1"];
    // Nobody knows whether somebody is logged in.
    let (finished, state) = programs.sandbox().debated(mixed);
    assert!(finished.stderr.contains("claude, codex are installed"), "{finished}");
    assert_eq!(state["usage"].as_object().map(serde_json::Map::len), Some(2), "{state}");
    programs.login("claude", nobody);
    programs.login("codex", "Logged in using ChatGPT");
    programs.sandbox().run(mixed).expect_code(4).says(["not logged in to claude"]);
    assert_eq!(programs.sandbox().run(mixed).code, Some(4));
    // With a key it is no matter of the panel's; `models --probe` says it.
    let rows = programs.sandbox().run(["models", "--probe", "--yes", "--json"]).json();
    let of =
        |name: &str| rows.as_array().unwrap().iter().find(|row| row["provider"] == name).unwrap()["program"].clone();
    assert_eq!((&of("claude")["loggedIn"], &of("claude")["subscription"]), (&json!(false), &json!(false)));
    assert_eq!((&of("codex")["loggedIn"], &of("codex")["subscription"]), (&json!(true), &json!(true)));
    programs.login("claude", "");
    programs.write("claude", "2.1.197", &replaying("claude-2.1.197-stream-ok.jsonl"));
    programs.login("claude", r#"{"loggedIn": true, "authMethod": "api_key"}"#);
    let sandbox = programs.sandbox();
    let (_, state) = sandbox.debated(mixed);
    let usage = &state["usage"];
    let is_notional = |model: &str| !usage[model]["notionalUsd"].is_null();
    assert!(is_notional("gpt-5.6-luna") && !is_notional("sonnet"), "{usage}");
}

#[test]
fn a_programs_name_is_understood_wherever_a_model_is_named() {
    let programs = Programs::both();
    let mut of_models = panel("x", "x");
    for (place, model) in ["claude", "codex/gpt-5.6-luna", "claude/opus"].into_iter().enumerate() {
        of_models["agents"][place].as_object_mut().unwrap().remove("provider");
        of_models["agents"][place]["model"] = json!(model);
    }
    of_models["judge"].as_object_mut().unwrap().remove("provider");
    of_models["judge"]["model"] = json!("codex");
    let debate = ["debate", "Design a queue", "-r", "1"];
    let served = |sandbox: &Sandbox, arguments: &[&str]| {
        let mut cast: Vec<String> =
            sandbox.cast(&[&debate[..], arguments].concat()).into_iter().map(|[_, model]| model).collect();
        let judge = cast.pop().unwrap();
        (cast, judge)
    };
    let sandbox = programs.sandbox().file("debate-config.json", of_models.to_string());
    let (agents, judge) = served(&sandbox, &[]);
    assert_eq!(agents, ["claude/sonnet", "codex/gpt-5.6-luna", "claude/opus"]);
    assert_eq!(judge, "codex/gpt-5.6-luna");
    assert_eq!(served(&sandbox, &["--judge-model", "claude"]).1, "claude/sonnet");
    let plain = programs.sandbox();
    let (agents, judge) = served(&plain, &["-m", "claude", "--judge-model", "codex"]);
    assert!(agents.iter().all(|one| one == "claude/sonnet"), "{agents:?}");
    assert_eq!(judge, "codex/gpt-5.6-luna");
    assert_eq!(served(&programs.sandbox(), &["-m", "claude", "--judge-model", "opus"]).1, "claude/opus");
    // A program of one vendor is not asked for another's model, whichever layer named the program.
    let keyed = programs.sandbox().env("OPENAI_API_KEY", TEST_KEY).env("DIALECTIC_MODEL", "claude");
    let dry =
        |arguments: &[&str]| keyed.run([&["debate", "Design a queue", "--dry-run"], arguments].concat()).expect_code(0);
    let chosen = dry(&["-m", "gpt-5.6-luna"]);
    assert!(chosen.stderr.contains("Using openai/gpt-5.6-luna"), "{chosen}");
    let other = dry(&["-m", "claude", "--judge-model", "gpt-5.6-luna"]).stdout;
    let synthesis = other.lines().find(|line| line.trim_start().starts_with("synthesis")).unwrap();
    assert!(synthesis.contains("gpt-5.6-luna") && synthesis.contains('$'), "{other}");
    assert_eq!(served(&programs.sandbox().env("DIALECTIC_MODEL", "claude/haiku"), &[]).1, "claude/haiku");
    programs.own(&json!({"model": "codex"}));
    assert_eq!(served(&programs.sandbox(), &[]).1, "codex/gpt-5.6-luna");
    // A branch takes it as a debate does.
    plain.run([&debate[..], &["-m", "claude"]].concat()).expect_code(0);
    plain.run(["fork", "latest", "--at", "1.critique", "--judge-model", "claude/opus"]).expect_code(0);
    let judges: Vec<Value> =
        plain.debates().iter().map(|id| plain.state(id)["settings"]["judge"]["model"].clone()).collect();
    assert!(judges.contains(&json!("opus")), "{judges:?}");
}

#[test]
fn a_probe_looks_for_programs_and_says_what_they_are() {
    let programs = Programs::claude();
    programs.write("codex", "0.999.0", &replaying("codex-0.169.0-ok.jsonl"));
    let sandbox = programs.sandbox();
    let shown = sandbox.run(["models", "--probe", "--yes"]).expect_code(0);
    for part in ["claude (2.1.197)", "answered in", "$0.0019", "codex (0.999.0, untested)"] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    assert!(shown.stderr.contains("warning: codex 0.999.0 is untested"), "{shown}");
    install(
        &programs.path("bin/codex"),
        "#!/bin/sh\ncase \"$1\" in --version) echo 0.999.0;; *) cat > \"$(dirname \"$0\")/asked\";; esac",
    );
    let shown = sandbox.run(["models", "--probe", "--yes"]).expect_code(0);
    for part in ["codex (0.999.0, refused)", "codex 0.999.0 lacks `--sandbox`"] {
        assert!(shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {shown}");
    }
    let rows: Value = serde_json::from_str(&sandbox.run(["models", "--probe", "--yes", "--json"]).stdout).unwrap();
    let of = |name: &str| rows.as_array().unwrap().iter().find(|row| row["provider"] == name).unwrap().clone();
    assert_eq!(
        of("claude")["program"],
        json!({"version": "2.1.197", "mayBeCalled": true, "tested": true, "subscription": false})
    );
    assert_eq!((&of("claude")["probe"]["answered"], &of("codex")["probe"]["answered"]), (&json!(true), &json!(false)));
    assert!(
        !sandbox.run(["models"]).expect_code(0).stdout.contains("claude ("),
        "they are looked for where it is asked"
    );
}

#[test]
fn init_offers_a_program_where_no_key_is() {
    let programs = Programs::claude();
    let sandbox = programs.sandbox();
    sandbox.run(["init", "--yes"]).expect_code(0);
    let own: Value = serde_json::from_str(&programs.kept("home/.config/dialectic/config.json")).unwrap();
    assert_eq!((&own["provider"], &own["model"]), (&json!("claude"), &json!("sonnet")));
    sandbox.run(["debate", "Design a queue", "-r", "1"]).expect_code(0).says(["Using claude/sonnet"]);
}

/// What the user set for a program stays.
#[test]
fn init_offers_programs_as_the_users_own_configuration_has_them() {
    let programs = Programs::with("claude", "9.0.0", &replaying("claude-2.1.197-stream-ok.jsonl"));
    programs.own(&json!({"providers": {"claude": {"argv": ["claude"]}}}));
    let sandbox = programs.sandbox();
    let mut terminal = Terminal::start_in(120, 40, &sandbox, ["init"]);
    terminal.wait_for("Replace it?");
    terminal.type_line("y");
    terminal.wait_for("claude (installed program, needs no key)");
    terminal.wait_for("Provider");
    terminal.type_line("1");
    terminal.wait_for("Model");
    terminal.type_line("");
    terminal.wait_for("Directory for debates");
    terminal.type_line("");
    terminal.expect_code(0);
    let own: Value = serde_json::from_str(&programs.kept("home/.config/dialectic/config.json")).unwrap();
    assert_eq!(own["provider"], "claude");
    assert_eq!(own["providers"], json!({"claude": {"argv": ["claude"]}}));
    sandbox.run(["debate", "Design a queue", "-r", "1"]).expect_code(0);
}

#[test]
fn a_projects_directory_brings_no_program() {
    let programs = Programs::claude();
    let sandbox = Sandbox::new().env("HOME", &programs.path("home").display().to_string());
    let evil = "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\necho 2.1.197\n";
    let inside = sandbox.directory().join("node_modules/.bin");
    install(&inside.join("claude"), evil);
    install(&sandbox.directory().join("claude"), evil);
    let path = format!(
        ".:node_modules/.bin::{}:{}:{}",
        inside.display(),
        programs.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let sandbox = sandbox.env("PATH", &path).file("debate-config.json", panel("claude", "sonnet").to_string());
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert!(!inside.join("ran").exists() && !sandbox.directory().join("ran").exists());
    // Nor does an environment file that lies there.
    let sandbox = sandbox.file(".env", format!("PATH={}\n", inside.display()));
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    assert!(!inside.join("ran").exists());
}

#[test]
fn a_fork_keeps_the_users_program() {
    let programs = Programs::claude();
    programs.own(&json!({"providers": {"mine": {"type": "command", "argv": ["claude"]}}}));
    let sandbox = programs.debating("mine", "any");
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    sandbox.run(["fork", "latest", "--at", "1.critique", "--set", "judge.temperature=0.9"]).expect_code(0);
    for id in sandbox.debates() {
        assert!(!sandbox.journal(&id).join("\n").contains("argv"), "{id}");
    }
}
