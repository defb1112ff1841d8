//! Providers that are programs: checks whether they may be called, and determines their paths and environments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use dialectic_base::provider::PRESETS;
use dialectic_llm::command::{Login, PROGRAMS, Program, ProgramFault, ProgramPreset, find, program_preset, searched};
use dialectic_record::settings::ProviderSettings;

use super::endpoint::{ProviderAccessError, is_program, secret_variables};
use super::environment::Environment;

/// Variables with these prefixes are withheld from programs, because they may change a vendor program's server, key or
/// behaviour. Variables that begin like the key of a built-in provider are withheld too.
const WITHHELD: [&str; 18] = [
    "AWS_",
    "AZURE_",
    "BEDROCK_",
    "CLAUDE",
    "CLOUDSDK_",
    "CLOUD_ML_",
    "CODEX_",
    "COPILOT_",
    "DIALECTIC_",
    "DISABLE_",
    "GCLOUD_",
    "GOOGLE_",
    "GROQ_",
    "LANGFUSE_",
    "OLLAMA_",
    "OTEL_",
    "VERTEX",
    "XAI_",
];
/// Variables with these suffixes are withheld too: keys, tokens and addresses of providers.
const WITHHELD_ENDS: [&str; 4] = ["_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "_ACCESS_TOKEN"];
/// Variables that name the directories of programs' logins. They are passed on despite their prefixes.
const KEPT: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// `None` if the provider is not a program, or not a built-in one.
pub fn preset_of(name: &str, providers: &BTreeMap<String, ProviderSettings>) -> Option<&'static ProgramPreset> {
    program_preset(name).filter(|_| is_program(name, providers))
}

/// Finds the program of a provider and checks that it may be called. Ignores programs in the `project` directories and
/// the working directory, because a repository may be hostile.
///
/// # Errors
///
/// Returns an error if the program is missing, or cannot be kept from using tools.
pub fn program(
    name: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
    project: &[PathBuf],
) -> Result<Program, ProviderAccessError> {
    let program = located(name, providers, environment, project)?;
    program.check().map_err(|fault| failed(name, fault))?;
    Ok(program)
}

/// # Errors
///
/// Returns an error if one of the programs cannot be called.
pub fn program_warnings<'a>(
    used: impl IntoIterator<Item = &'a str>,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
    project: &[PathBuf],
) -> Result<Vec<String>, ProviderAccessError> {
    let used: BTreeSet<&str> = used.into_iter().filter(|name| is_program(name, providers)).collect();
    let mut warnings = Vec::new();
    for name in used {
        let program = located(name, providers, environment, project)?;
        warnings.extend(program.check().map_err(|fault| failed(name, fault))?);
    }
    Ok(warnings)
}

/// Like [`program`](program()), without checking the program.
///
/// # Errors
///
/// Returns an error if the program is missing.
pub fn located(
    name: &str,
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
    project: &[PathBuf],
) -> Result<Program, ProviderAccessError> {
    let argv = providers.get(name).and_then(|entry| entry.program.as_deref()).unwrap_or_default();
    let preset = preset_of(name, providers);
    let path = search_path(environment, project);
    let named = argv.first().map(String::as_str).or(preset.map(|preset| preset.name)).unwrap_or(name);
    let executable = find(named, &path).map_err(|fault| failed(name, fault))?;
    let environment = child_environment(providers, environment, &path);
    let leading = argv.iter().skip(1).cloned().collect();
    Ok(Program { name: name.into(), preset, executable, leading, environment })
}

#[derive(Debug, Clone)]
pub struct ProgramThere {
    pub preset: &'static ProgramPreset,
    /// Why the program cannot be called; `None` if the program can be called.
    pub fault: Option<String>,
}

/// The installed built-in programs, in the order of [`PROGRAMS`]. Each is queried for its login, which takes a moment
/// and costs nothing.
pub fn programs_there(providers: &BTreeMap<String, ProviderSettings>, environment: &Environment) -> Vec<ProgramThere> {
    let there = PROGRAMS.iter().filter(|preset| is_program(preset.name, providers)).filter_map(|preset| {
        let fault = match located(preset.name, providers, environment, &[]) {
            Err(ProviderAccessError::Program { fault: ProgramFault::Missing(_), .. }) => return None,
            Err(error) => Some(error.to_string()),
            Ok(program) => match program.check() {
                Err(fault) => Some(fault.to_string()),
                Ok(_) if program.login() == Login::Nobody => Some(format!("not logged in to {}", preset.name)),
                Ok(_) => None,
            },
        };
        Some(ProgramThere { preset, fault })
    });
    there.collect()
}

fn failed(name: &str, fault: ProgramFault) -> ProviderAccessError {
    ProviderAccessError::Program { name: name.to_owned(), fault }
}

/// The directories in `PATH`, except those of the project. Project directories that are or contain the user's home
/// directory are not excluded.
fn search_path(environment: &Environment, project: &[PathBuf]) -> Vec<PathBuf> {
    let is_home = |directory: &Path| environment.home().is_some_and(|home| home.starts_with(directory));
    let here = Path::new(".").canonicalize().ok();
    let project: Vec<PathBuf> = project.iter().cloned().chain(here).filter(|directory| !is_home(directory)).collect();
    environment.get("PATH").map(|path| searched(path, &project)).unwrap_or_default()
}

fn child_environment(
    providers: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
    path: &[PathBuf],
) -> Vec<(String, SecretString)> {
    let secret = secret_variables(providers);
    let is_withheld = |variable: &str| {
        let upper = variable.to_ascii_uppercase();
        let keys = PRESETS.iter().filter_map(|preset| preset.api_key_env);
        let of_providers = keys.filter_map(|key| key.split_inclusive('_').next());
        let is_vendors = WITHHELD.into_iter().chain(of_providers).any(|start| upper.starts_with(start))
            || WITHHELD_ENDS.iter().any(|end| upper.ends_with(end));
        secret.contains(variable) || is_vendors && !KEPT.contains(&variable)
    };
    let mut all: BTreeMap<String, SecretString> = environment
        .all()
        .filter(|(variable, _)| !is_withheld(variable))
        .map(|(variable, value)| (variable.to_owned(), value.clone()))
        .collect();
    // Let programs find their own tools, such as `node`.
    if let Some(path) = std::env::join_paths(path).ok().and_then(|path| path.into_string().ok()) {
        all.insert("PATH".to_owned(), path.into());
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_nothing_that_the_user_configured_as_a_secret() {
        let headers = BTreeMap::from([("X-Team".to_owned(), "${TEAM}".to_owned())]);
        let entry = ProviderSettings { api_key_env: Some("PASSPHRASE".to_owned()), headers, ..Default::default() };
        let providers = BTreeMap::from([("mine".to_owned(), entry)]);
        let environment = Environment::from_pairs(["PASSPHRASE", "TEAM", "EDITOR"].map(|name| (name, "x")));
        let given = child_environment(&providers, &environment, &[]);
        assert_eq!(given.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["EDITOR", "PATH"]);
    }
}
