//! Commands of the user's, and which files may name them.

use dialectic_base::key_path::KeyPath;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Hooks;

use super::error::ConfigError;
use super::file::{ConfigFile, HooksSection};
use super::findings::Diagnostics;
use super::load::ConfigPath;
use super::overrides::Vocabulary;
use super::read::Document;
use super::shapes::Object;
use super::user::{UserConfig, read_user};

/// Those of a file that the user named, else the user's own. Those of a file that was found are left out, with a
/// warning: looking into a stranger's directory must not run the stranger's commands.
pub(super) fn allowed(
    path: &ConfigPath,
    document: Option<&Document<ConfigFile>>,
    user: Option<&UserConfig>,
    warnings: &mut Vec<String>,
) -> Hooks {
    let of_file = document.and_then(|document| of(&document.content));
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
    user.and_then(|user| of(&user.document.content)).unwrap_or_default()
}

/// Those of the user's own configuration.
///
/// # Errors
/// It cannot be used.
pub(super) fn of_user(environment: &Environment, vocabulary: &Vocabulary) -> Result<Hooks, ConfigError> {
    Ok(read_user(environment, vocabulary)?.and_then(|user| of(&user.document.content)).unwrap_or_default())
}

fn of(file: &ConfigFile) -> Option<Hooks> {
    let Object(HooksSection { after_debate }) = file.hooks.clone()?;
    Some(Hooks { after_debate: after_debate? })
}

/// Commands that are none are problems, wherever they stand.
pub(super) fn check(hooks: Option<&Object<HooksSection>>, findings: &mut Diagnostics) {
    let commands = hooks.and_then(|Object(hooks)| hooks.after_debate.as_ref()).into_iter().flatten();
    for (place, command) in commands.enumerate() {
        if command.trim().is_empty() {
            findings.problem(KeyPath::root().key("hooks").key("afterDebate").index(place), "is empty");
        }
    }
}
