//! Finds a program and its version.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use secrecy::{ExposeSecret as _, SecretString};

use super::Program;

/// The time limit for a program to report its version or login.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a program cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFault {
    /// It is in none of the searched directories of `PATH`.
    #[error("there is no program `{0}` on PATH")]
    Missing(String),
    /// The path is relative.
    #[error("`{0}` is a relative path: use the program's name or its absolute path")]
    Relative(String),
    /// It reports no version.
    #[error("`{program} --version` reports no version: {said}")]
    NoVersion {
        /// The name.
        program: String,
        /// The output.
        said: String,
    },
    /// This version was never tested to only answer.
    #[error("{program} {version} was not tested; tested: {}", tried.join(", "))]
    Untried {
        /// The name.
        program: String,
        /// The version.
        version: String,
        /// The tested versions.
        tried: Vec<String>,
    },
}

/// The directories of `PATH` to search: absolute ones outside the project's directories.
pub fn searched(path: &str, project: &[PathBuf]) -> Vec<PathBuf> {
    let real = |directory: &Path| directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let project: Vec<PathBuf> = project.iter().map(|directory| real(directory)).collect();
    let is_outside = |directory: &PathBuf| {
        directory.is_absolute() && !project.iter().any(|project| real(directory).starts_with(project))
    };
    std::env::split_paths(path).filter(is_outside).collect()
}

/// The absolute path of a program given by name or absolute path.
///
/// # Errors
/// It does not exist, or its path is relative.
pub fn find(program: &str, searched: &[PathBuf]) -> Result<PathBuf, ProgramFault> {
    let path = Path::new(program);
    if path.is_absolute() {
        return if is_program(path) { Ok(path.to_owned()) } else { Err(missing(program)) };
    }
    if path.components().count() != 1 || program.contains(['/', '\\']) {
        return Err(ProgramFault::Relative(program.to_owned()));
    }
    let named = |directory: &PathBuf| {
        let names = if cfg!(windows) { vec![format!("{program}.exe")] } else { vec![program.to_owned()] };
        names.into_iter().map(|name| directory.join(name)).find(|path| is_program(path))
    };
    searched.iter().find_map(named).ok_or_else(|| missing(program))
}

fn missing(program: &str) -> ProgramFault {
    ProgramFault::Missing(program.to_owned())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// The identity of a program's file: a replacement differs in at least one field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    /// The file's identity and the time of its last status change: a package's files have the same modification time in
    /// every version.
    #[cfg(unix)]
    place: (u64, i64, i64),
}

impl Stamp {
    /// The stamp of the file at `path`, after following links.
    pub(super) fn of(path: &Path) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        let Ok(data) = path.metadata() else { return Self::default() };
        Self {
            changed: data.modified().ok(),
            length: data.len(),
            #[cfg(unix)]
            place: (data.ino(), data.ctime(), data.ctime_nsec()),
        }
    }
}

type Versions = HashMap<(PathBuf, Vec<String>, Stamp), String>;

/// The versions that programs reported, by path, first arguments and file: an unchanged program is not asked again.
static VERSIONS: LazyLock<Mutex<Versions>> = LazyLock::new(Mutex::default);

impl Program {
    /// The version that the program reports: its first three numbers joined by points.
    ///
    /// # Errors
    /// It reports none.
    pub fn version(&self) -> Result<String, ProgramFault> {
        let key = (self.executable.clone(), self.leading.clone(), Stamp::of(&self.executable));
        let known = || VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = known().get(&key) {
            return Ok(version.clone());
        }
        let said = output(self, &["--version"]);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let words = said.split(|c: char| !c.is_ascii_alphanumeric() && !".-+".contains(c));
        let version = words.map(|word| word.trim_start_matches('v')).find(|word| {
            let mut parts = word.split(['-', '+']).next().unwrap_or_default().split('.');
            parts.clone().count() == 3 && parts.all(is_number)
        });
        let none = || ProgramFault::NoVersion { program: self.name.to_string(), said: said.trim().to_owned() };
        let version = version.map(str::to_owned).ok_or_else(none)?;
        known().insert(key, version.clone());
        Ok(version)
    }

    /// Refuses an untested version of a built-in program unless the user allows it.
    ///
    /// # Errors
    /// It reports no version, or one that is neither tested nor allowed.
    pub fn check_version(&self) -> Result<(), ProgramFault> {
        if self.preset.is_none() { Ok(()) } else { self.check(&self.version()?) }
    }

    /// Like [`check_version`](Self::check_version), for a version that the program has reported.
    ///
    /// # Errors
    /// The version is neither tested nor allowed.
    pub(super) fn check(&self, version: &str) -> Result<(), ProgramFault> {
        let tried = self.preset.map_or(&[][..], |preset| preset.versions);
        let is_allowed = |allowed: &String| match allowed.strip_suffix('*') {
            Some(start) => version.starts_with(start),
            None => *allowed == version,
        };
        if tried.contains(&version) || self.settings.allow_versions.iter().any(is_allowed) {
            return Ok(());
        }
        Err(ProgramFault::Untried {
            program: self.name.to_string(),
            version: version.to_owned(),
            tried: tried.iter().map(|version| (*version).to_owned()).collect(),
        })
    }
}

/// The output of a query about the program itself, within its time limit: standard output, then standard error.
pub(super) fn output(program: &Program, arguments: &[&str]) -> String {
    let environment: &[(String, SecretString)] = &program.environment;
    let Ok(place) = tempfile::Builder::new().prefix("dialectic-").tempdir() else { return String::new() };
    let file = |name: &str| std::fs::File::create(place.path().join(name)).map_or_else(|_| Stdio::null(), Stdio::from);
    let mut command = Command::new(&program.executable);
    command
        .args(&program.leading)
        .args(arguments)
        .current_dir(place.path())
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value.expose_secret())))
        .envs(program.switched_off().iter().copied())
        // Its list of visited directories would be here.
        .env(super::gemini::HOME, place.path())
        .stdin(Stdio::null())
        // Files cannot block the program, and background processes do not keep them open.
        .stdout(file("out"))
        .stderr(file("err"));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return error.to_string(),
    };
    let until = Instant::now() + PATIENCE;
    while child.try_wait().is_ok_and(|status| status.is_none()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Kills its background processes, too.
    #[cfg(unix)]
    if let Some(id) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
    let said = |name: &str| std::fs::read(place.path().join(name)).unwrap_or_default();
    ["out", "err"].map(|name| String::from_utf8_lossy(&said(name)).into_owned()).concat()
}
