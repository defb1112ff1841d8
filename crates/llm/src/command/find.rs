//! The built-in programs, and how to find a program and its version.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use secrecy::{ExposeSecret as _, SecretString};

use crate::Request;

use super::preset::{Login, ProgramPreset, Workplace};
use super::{claude, codex};

/// How long a program may take to report its version or login.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFault {
    #[error("cannot find the program `{0}` on PATH")]
    Missing(String),
    #[error("`{0}` is a relative path; use the program's name or its absolute path")]
    Relative(String),
    #[error("`{program} --version` did not print a version: {said}")]
    NoVersion { program: String, said: String },
    #[error("{program} {version} is unsafe: {reason}")]
    Unsafe { program: String, version: String, reason: &'static str },
    #[error("{program} {version} lacks `{switch}`, which is needed to disable tools")]
    NoSwitch { program: String, version: String, switch: String },
}

/// The directories in `path`, except relative ones and those in the project, whose files could pose as the program.
pub fn searched(path: &str, project: &[PathBuf]) -> Vec<PathBuf> {
    let real = |directory: &Path| directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let project: Vec<PathBuf> = project.iter().map(|directory| real(directory)).collect();
    let is_outside = |directory: &PathBuf| {
        directory.is_absolute() && !project.iter().any(|project| real(directory).starts_with(project))
    };
    std::env::split_paths(path).filter(is_outside).collect()
}

/// Resolves a program's name or absolute path to its absolute path.
///
/// # Errors
///
/// Returns an error if the program does not exist, or the path is relative.
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

/// Identifies a program's file: a replacement differs in at least one field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    /// The inode and its change time, since some packages give their files the same modification time in every version.
    #[cfg(unix)]
    place: (u64, i64, i64),
}

impl Stamp {
    /// Follows symbolic links.
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

/// The versions of checked programs, by path, leading arguments and file. An unchanged program is not checked again.
static CHECKED: LazyLock<Mutex<Versions>> = LazyLock::new(Mutex::default);

impl Program {
    /// The version that the program reports: the first word that begins with three numbers separated by dots.
    ///
    /// # Errors
    ///
    /// Returns an error if the program reports no version.
    pub fn version(&self) -> Result<String, ProgramFault> {
        let said = output(self, &["--version"], None);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let words = said.split(|c: char| !c.is_ascii_alphanumeric() && !".-+".contains(c));
        let version = words.map(|word| word.trim_start_matches('v')).find(|word| {
            let mut parts = word.split(['-', '+']).next().unwrap_or_default().split('.');
            parts.clone().count() == 3 && parts.all(is_number)
        });
        let none = || ProgramFault::NoVersion { program: self.name.to_string(), said: said.trim().to_owned() };
        version.map(str::to_owned).ok_or_else(none)
    }

    /// Checks, without calling a model, that a built-in program can be kept from using tools. Returns a warning if the
    /// program's version is untested.
    ///
    /// # Errors
    ///
    /// Returns an error if the program reports no version, the version is known to be unsafe, or a switch that keeps
    /// tools from the model is missing.
    pub fn check(&self) -> Result<Option<String>, ProgramFault> {
        let Some(preset) = self.preset else { return Ok(None) };
        let key = (self.executable.clone(), self.leading.clone(), Stamp::of(&self.executable));
        let checked = || CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checked().get(&key).cloned();
        let version = if let Some(version) = known {
            version
        } else {
            let (version, program) = (self.version()?, self.name.to_string());
            if let Some((_, reason)) = preset.unsafe_versions.iter().find(|(one, _)| *one == version) {
                return Err(ProgramFault::Unsafe { program, version, reason });
            }
            if let Some(switch) = self.missing_switch(preset) {
                return Err(ProgramFault::NoSwitch { program, version, switch });
            }
            checked().insert(key, version.clone());
            version
        };
        Ok((!preset.tested.contains(&version.as_str())).then(|| {
            let (name, tested) = (&self.name, preset.tested.join(", "));
            format!("{name} {version} is untested (tested: {tested}), but still has the switches that disable tools")
        }))
    }

    fn missing_switch(&self, preset: &ProgramPreset) -> Option<String> {
        let help = output(self, preset.help, None);
        let listed: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        let names = preset.fence.iter().map(|argument| argument.split('=').next().unwrap_or_default());
        let missing = names.map(str::to_owned).find(|name| !listed.contains(&name.as_str()));
        missing.or_else(|| (preset.stuck)(&|arguments, home| output(self, arguments, home)))
    }

    /// Asks the program how the user is logged in, without calling a model. Call this only for checked programs; other
    /// programs may take the arguments for a prompt.
    pub fn login(&self) -> Login {
        let ask = |arguments: &[&str], home: Option<&str>| output(self, arguments, home);
        self.preset.map_or(Login::Unsaid, |preset| (preset.login)(&ask, !self.leading.is_empty()))
    }
}

/// Queries the program about itself within [`PATIENCE`]. Returns standard output followed by standard error. The
/// variable named `home`, if any, is set to an empty directory.
fn output(program: &Program, arguments: &[&str], home: Option<&str>) -> String {
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
        .envs(home.map(|variable| (variable, place.path())))
        .stdin(Stdio::null())
        // Unlike pipes, files cannot block the program, and reading them does not wait for background processes.
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
    // Also kills the program's background processes.
    #[cfg(unix)]
    if let Some(id) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
    let said = |name: &str| std::fs::read(place.path().join(name)).unwrap_or_default();
    ["out", "err"].map(|name| String::from_utf8_lossy(&said(name)).into_owned()).concat()
}

pub static PROGRAMS: [ProgramPreset; 2] = [claude::PROGRAM, codex::PROGRAM];

pub fn program_preset(name: &str) -> Option<&'static ProgramPreset> {
    PROGRAMS.iter().find(|preset| preset.name == name)
}

#[derive(Debug, Clone)]
pub struct Program {
    pub name: Arc<str>,
    /// `None` for the user's own program.
    pub preset: Option<&'static ProgramPreset>,
    pub executable: PathBuf,
    /// Arguments to put before those of the preset; for the user's own program, all of its arguments.
    pub leading: Vec<String>,
    /// Environment variables for the program, without those of the preset.
    pub environment: Vec<(String, SecretString)>,
}

impl Program {
    pub(super) fn arguments(&self, request: &Request, place: &Workplace) -> Vec<String> {
        match self.preset {
            Some(preset) => self.leading.iter().cloned().chain((preset.arguments)(request, place)).collect(),
            None => self.leading.iter().map(|argument| argument.replace("{model}", &request.model)).collect(),
        }
    }

    pub(super) fn switched_off(&self) -> &'static [(&'static str, &'static str)] {
        self.preset.map_or(&[], |preset| preset.environment)
    }

    pub(super) fn environment_of(&self, request: &Request) -> Vec<(String, SecretString)> {
        let variable = self.preset.and_then(|preset| preset.output_limit);
        let limit = variable.zip(request.max_tokens).map(|(name, limit)| (name.to_owned(), limit.to_string().into()));
        let fixed = self.switched_off().iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        self.environment.iter().cloned().chain(fixed).chain(limit).collect()
    }
}
