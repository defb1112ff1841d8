//! Captures the environment: the process's variables over an environment file, over the user's own keys. Only this
//! module reads them.

use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_engine::access::{Environment, is_trusted};
use dialectic_llm::openai::CERTIFICATE_FILE;

use super::dotenv::{DotenvFault, parse};

/// The file that is read by default.
const DEFAULT_FILE: &str = ".env";

/// The environment file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFile {
    /// `.env` in the working directory, if it exists.
    Default,
    /// This file, which must exist.
    Named(PathBuf),
}

/// Why the environment cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The file is missing or cannot be read.
    #[error("cannot read the environment file `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file is not text.
    #[error("the environment file `{}` is not UTF-8 text", path.display())]
    NotUtf8 { path: PathBuf, fault: NotUtf8 },
}

/// Reads the process's variables, the environment file and the user's own keys, in this order of precedence. An empty
/// variable counts as unset. A default file that the user has not trusted gives only keys. The process's environment
/// does not change.
///
/// # Errors
/// The file cannot be read. The default one may be missing, or be a directory (a virtual environment of another
/// tool).
pub fn capture_environment(file: &EnvFile) -> Result<Environment, EnvError> {
    let default = Path::new(DEFAULT_FILE);
    let mut environment = with_own_keys()?;
    match file {
        EnvFile::Named(path) => add_file(&mut environment, path, true)?,
        EnvFile::Default if default.is_file() => add_file(&mut environment, default, false)?,
        EnvFile::Default => {}
    }
    environment.extend(process_variables());
    Ok(environment)
}

/// Reads the process's variables and the user's own keys, but no environment file.
///
/// # Errors
/// The file with the keys cannot be read.
pub fn users_environment() -> Result<Environment, EnvError> {
    let mut environment = with_own_keys()?;
    environment.extend(process_variables());
    Ok(environment)
}

/// Only the process's variables, for terminal settings.
pub fn process_environment() -> Environment {
    let mut environment = places();
    environment.extend(process_variables());
    environment
}

/// The variable that names the directory for caches.
const CACHE: &str = "XDG_CACHE_HOME";

/// This program's cache directory; `None` without a home directory and that variable.
pub fn cache_directory() -> Option<PathBuf> {
    // Without a home directory, as in a container, the strategy ignores the variable.
    let named = || std::env::var_os(CACHE).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = etcetera::choose_base_strategy().map(|strategy| strategy.cache_dir()).ok().or_else(named)?;
    Some(cache.join("dialectic"))
}

/// Adds the user's own keys as the lowest layer.
fn with_own_keys() -> Result<Environment, EnvError> {
    let mut environment = places();
    let keys = environment.keys_path().filter(|path| path.is_file());
    let Some(path) = keys else { return Ok(environment) };
    let (pairs, warnings) = read_text(&read(&path)?, &path);
    environment.extend(pairs);
    environment.warn(warnings);
    if let Some(mode) = open_to_others(&path) {
        let path = path.display();
        environment.warn([format!("other users can read your keys in {path} (mode {mode:04o}): chmod 600 {path}")]);
    }
    Ok(environment)
}

/// An environment that has only the directories of this machine.
fn places() -> Environment {
    let strategy = etcetera::choose_base_strategy().ok();
    let user_directory = strategy.as_ref().map(|strategy| strategy.config_dir().join("dialectic"));
    let home = strategy.map(|strategy| strategy.home_dir().to_owned());
    let certificates = std::env::var_os(CERTIFICATE_FILE).filter(|path| !path.is_empty()).map(PathBuf::from);
    Environment::default().with_places(user_directory, home, certificates)
}

fn add_file(environment: &mut Environment, path: &Path, is_named: bool) -> Result<(), EnvError> {
    let text = read(path)?;
    let (pairs, warnings) = read_text(&text, path);
    environment.warn(warnings);
    environment.set_file(path);
    if is_named || is_trusted(path, &text, environment) {
        environment.extend(pairs);
    } else {
        environment.add_untrusted(pairs, path);
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, EnvError> {
    let bytes = std::fs::read(path).map_err(|source| EnvError::Unreadable { path: path.to_owned(), source })?;
    decode(&bytes).map(str::to_owned).map_err(|fault| EnvError::NotUtf8 { path: path.to_owned(), fault })
}

/// The pairs of an environment file in their order, and warnings.
type EnvPairs = (Vec<(String, String)>, Vec<String>);

/// Turns malformed lines into warnings, not errors: the file may belong to other tools.
fn read_text(text: &str, path: &Path) -> EnvPairs {
    let parsed = parse(text);
    // Never quotes a line: it may contain a key.
    let warning = |(line, fault)| {
        let what = match fault {
            DotenvFault::NoPair => "is not `NAME=value` and is ignored",
            DotenvFault::OpenQuote => "has a quote that is never closed; the value is used as written",
        };
        format!("line {line} of the environment file `{}` {what}", path.display())
    };
    (parsed.pairs, parsed.faults.into_iter().map(warning).collect())
}

/// The mode of a file if users other than its owner can read it.
#[cfg(unix)]
fn open_to_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<u32> {
    None
}

/// Skips variables that are not Unicode; the program uses none of these.
fn process_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Environment {
        let (pairs, warnings) = read_text(text, Path::new("my.env"));
        let mut environment = Environment::default();
        environment.extend(pairs);
        environment.warn(warnings);
        environment
    }

    #[test]
    fn the_file_is_read_as_other_tools_read_it() {
        let environment =
            from_text("\u{feff}# note\nA=1\nexport B=\"two words\"\r\nC='$A' # why\nA=3\nEMPTY=\nLAST=x  ");
        assert_eq!(environment.get("A"), Some("3"));
        assert_eq!(environment.get("B"), Some("two words"));
        assert_eq!(environment.get("C"), Some("$A"));
        assert_eq!(environment.get("LAST"), Some("x"));
        assert!(!environment.has("EMPTY"));
        assert!(environment.warnings().is_empty());
    }

    #[test]
    fn bad_lines_are_named_by_number_and_never_quoted() {
        let environment = from_text("A=1\nsk-secret-key\nB=2\nsk-secret-key\n");
        assert_eq!(environment.get("B"), Some("2"));
        assert_eq!(
            environment.warnings(),
            [
                "line 2 of the environment file `my.env` is not `NAME=value` and is ignored",
                "line 4 of the environment file `my.env` is not `NAME=value` and is ignored"
            ]
        );
        let open = from_text("A=1\nB='open\nC=3\n");
        assert_eq!((open.get("B"), open.get("C")), (Some("'open"), Some("3")));
        assert_eq!(
            open.warnings(),
            ["line 2 of the environment file `my.env` has a quote that is never closed; the value is used as written"]
        );
    }

    #[test]
    fn the_process_wins_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("named.env");
        std::fs::write(&path, "PATH=from-the-file\nDIALECTIC_TEST_ONLY_IN_FILE=yes\n").unwrap();
        let environment = capture_environment(&EnvFile::Named(path)).unwrap();
        assert_eq!(environment.get("PATH"), std::env::var("PATH").ok().as_deref());
        assert_eq!(environment.get("DIALECTIC_TEST_ONLY_IN_FILE"), Some("yes"));
        assert!(std::env::var("DIALECTIC_TEST_ONLY_IN_FILE").is_err(), "the process is left alone");
    }

    #[test]
    fn a_named_file_must_be_readable_text() {
        let directory = tempfile::tempdir().unwrap();
        let missing = EnvFile::Named(directory.path().join("no.env"));
        assert!(matches!(capture_environment(&missing), Err(EnvError::Unreadable { .. })));
        let folder = EnvFile::Named(directory.path().to_owned());
        assert!(matches!(capture_environment(&folder), Err(EnvError::Unreadable { .. })));
        let binary = directory.path().join("binary.env");
        std::fs::write(&binary, [b'A', b'=', 0xff]).unwrap();
        assert!(matches!(capture_environment(&EnvFile::Named(binary)), Err(EnvError::NotUtf8 { .. })));
    }
}
