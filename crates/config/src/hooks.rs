//! Commands of the user's, and which files may name them.

use serde_json::Value;

use dialectic_engine::access::Environment;
use dialectic_engine::runner::Hooks;

use super::error::ConfigError;
use super::load::ConfigPath;
use super::overrides::Vocabulary;
use super::read::Document;
use super::user::{UserConfig, read_user};

/// Those of a file that the user named, else the user's own. Those of a file that was found are left out, with a
/// warning: looking into a stranger's directory must not run the stranger's commands.
pub(super) fn allowed(
    path: &ConfigPath,
    project: Option<&Document>,
    user: Option<&UserConfig>,
    warnings: &mut Vec<String>,
) -> Hooks {
    let of_file = project.and_then(|project| of(&project.tree));
    match path {
        ConfigPath::Named(_) if of_file.is_some() => return of_file.unwrap_or_default(),
        ConfigPath::Default if of_file.is_some_and(|hooks| !hooks.after_debate.is_empty()) => {
            let path = path.as_path().display();
            warnings.push(format!(
                "the commands in `hooks` are left out: {path} was found, not named; to run them: -c {path}"
            ));
        }
        ConfigPath::Named(_) | ConfigPath::Default => {}
    }
    user.and_then(|user| of(&user.document.tree)).unwrap_or_default()
}

/// Those of the user's own configuration.
///
/// # Errors
/// It cannot be used.
pub(super) fn of_user(environment: &Environment, vocabulary: &Vocabulary) -> Result<Hooks, ConfigError> {
    Ok(read_user(environment, vocabulary)?.and_then(|user| of(&user.document.tree)).unwrap_or_default())
}

fn of(tree: &Value) -> Option<Hooks> {
    let commands = tree["hooks"]["afterDebate"].as_array()?;
    Some(Hooks { after_debate: commands.iter().filter_map(Value::as_str).map(str::to_owned).collect() })
}
