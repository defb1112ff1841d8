//! Writes and reads plans as lines of JSON, with the prompts that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::UserError;
use dialectic_base::encoding::hexadecimal;
use dialectic_base::money::Usd;
use dialectic_record::debate::Attachment;
use dialectic_record::ids::DebateId;
use dialectic_record::prompt::{Role, read_prompt, version};
use dialectic_record::protocol::Protocol;
use dialectic_record::settings::{AgentSettings, Settings};

use super::super::description::{ExpectedAnswer, Problem};
use super::{Plan, PlanError, PlannedDebate, SavedPlan, Variant, hash, id, unplannable};

const VERSION: u32 = 1;

/// The first line of a plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    sweep: u32,
    variants: Vec<VariantOnTheWire>,
    problems: Vec<ProblemOnTheWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attachment>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantOnTheWire {
    name: String,
    settings: Settings,
    prompts: Prompts,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemOnTheWire {
    id: String,
    text: Arc<str>,
    /// Indices in the header's `attachments`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<ExpectedAnswer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checklist: Vec<String>,
}

/// A debate, on a line of its own after the header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: DebateId,
    problem: String,
    variant: String,
    repeat: u32,
    likely: Option<Usd>,
    most: Option<Usd>,
}

impl Plan {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut attachments: Vec<Attachment> = Vec::new();
        let mut place = |one: &Attachment| {
            attachments.iter().position(|other| other == one).unwrap_or_else(|| {
                attachments.push(one.clone());
                attachments.len() - 1
            })
        };
        let problem = |problem: &Arc<Problem>| ProblemOnTheWire {
            id: problem.id.clone(),
            text: Arc::clone(&problem.text),
            attachments: problem.attachments.iter().map(&mut place).collect(),
            answer: problem.answer.clone(),
            checklist: problem.checklist.clone(),
        };
        let problems = self.problems.iter().map(problem).collect();
        let variant = |variant: &Arc<Variant>| VariantOnTheWire {
            name: variant.name.clone(),
            settings: variant.settings.clone(),
            prompts: variant.prompts.clone(),
        };
        let variants = self.variants.iter().map(variant).collect();
        let mut bytes = Vec::new();
        line(&mut bytes, &Header { sweep: VERSION, variants, problems, attachments });
        for debate in &self.debates {
            let PlannedDebate { index: _, id, problem, variant, repeat, likely, most } = debate;
            let (id, problem, variant) = (id.clone(), problem.id.clone(), variant.name.clone());
            line(&mut bytes, &Line { id, problem, variant, repeat: *repeat, likely: *likely, most: *most });
        }
        bytes
    }
}

fn line(bytes: &mut Vec<u8>, value: &impl Serialize) {
    // Neither serializing these values nor writing to memory can fail.
    let _ = serde_json::to_writer(&mut *bytes, value);
    let _ = bytes.write_all(b"\n");
}

impl SavedPlan {
    /// Reads a plan and checks the ids of its debates.
    ///
    /// # Errors
    ///
    /// Returns an error if the plan cannot be read, was edited, or needs built-in prompts that differ from this
    /// program's.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let bytes = fs::read(path).map_err(|source| PlanError::Unreadable { path: path.to_owned(), source })?;
        Ok(Self { plan: parse(path, &bytes)?, sha256: hexadecimal(&Sha256::digest(&bytes)) })
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Plan, PlanError> {
    let fault = |line, fault: String| PlanError::Line { path: path.to_owned(), line, fault };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
        fault(line, "it is not UTF-8".to_owned())
    })?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(fault(text.lines().count(), "unexpected end of file".to_owned()));
    }
    let mut lines = (1..).zip(text.lines());
    let Some((_, first)) = lines.next() else { return Err(PlanError::Empty { path: path.to_owned() }) };
    let (all_problems, all_variants) = header(path, first)?;
    let problems: BTreeMap<&str, (&Arc<Problem>, Vec<u8>)> =
        all_problems.iter().map(|problem| (problem.id.as_str(), (problem, problem.hash()))).collect();
    let variants: BTreeMap<&str, (&Arc<Variant>, Vec<u8>)> =
        all_variants.iter().map(|variant| (variant.name.as_str(), (variant, variant.hash()))).collect();
    let mut debates = Vec::new();
    let mut ids = BTreeSet::new();
    for (number, text) in lines {
        let wrong = |what: String| fault(number, what);
        let line: Line = read_line(text).map_err(wrong)?;
        let problem = problems.get(line.problem.as_str());
        let (problem, of_problem) =
            problem.ok_or_else(|| wrong(format!("the first line does not define the problem `{}`", line.problem)))?;
        let variant = variants.get(line.variant.as_str());
        let (variant, of_variant) =
            variant.ok_or_else(|| wrong(format!("the first line does not define the variant `{}`", line.variant)))?;
        if line.id != id(of_problem, of_variant, line.repeat) {
            return Err(wrong(format!("the id {} does not match its debate", line.id)));
        }
        if !ids.insert(line.id.clone()) {
            return Err(wrong(format!("the id {} occurs twice", line.id)));
        }
        debates.push(PlannedDebate {
            index: debates.len(),
            id: line.id,
            problem: Arc::clone(problem),
            variant: Arc::clone(variant),
            repeat: line.repeat,
            likely: line.likely,
            most: line.most,
        });
    }
    if debates.is_empty() {
        return Err(PlanError::Empty { path: path.to_owned() });
    }
    Ok(Plan { problems: all_problems, variants: all_variants, debates })
}

type Shared = (Vec<Arc<Problem>>, Vec<Arc<Variant>>);

fn header(path: &Path, text: &str) -> Result<Shared, PlanError> {
    let wrong = |fault: String| PlanError::Line { path: path.to_owned(), line: 1, fault };
    let read: Result<Header, String> = read_line(text);
    // Read the version separately only to explain an error, because the line is long.
    let header = match read {
        Ok(header) if header.sweep == VERSION => header,
        read => {
            // Plans of all versions have this key.
            let sweep = read_line::<Value>(text).ok().and_then(|line| line["sweep"].as_u64());
            let sweep = sweep.ok_or_else(|| wrong("expected the first line of a plan".to_owned()))?;
            if sweep != u64::from(VERSION) {
                return Err(wrong(format!("the plan has version {sweep}, but this program reads version {VERSION}")));
            }
            read.map_err(wrong)?
        }
    };
    let mut variants = Vec::new();
    for VariantOnTheWire { name, settings, prompts } in header.variants {
        let protocol = Protocol::named(&settings.debate.protocol);
        let protocol = protocol.ok_or_else(|| wrong(format!("unknown protocol `{}`", settings.debate.protocol)))?;
        if let Some(fault) = prompts.fault(&settings) {
            return Err(wrong(fault));
        }
        let portable = Variant::portable(settings.clone(), protocol);
        if portable.map_err(|fault| wrong(format!("cannot run the variant `{name}`: {fault}")))? != settings {
            return Err(wrong(format!("the variant `{name}` contains machine-specific or personal settings")));
        }
        let own = built_in(protocol);
        if prompts.version != own {
            return Err(PlanError::Prompts { path: path.to_owned(), planned: prompts.version, own });
        }
        variants.push(Arc::new(Variant { name, settings, protocol, prompts }));
    }
    let mut problems = Vec::new();
    for ProblemOnTheWire { id, text, attachments, answer, checklist } in header.problems {
        let attached = attachments.iter().map(|place| header.attachments.get(*place).cloned());
        let attachments: Option<Arc<[Attachment]>> = attached.collect();
        let attachments = attachments.ok_or_else(|| wrong(format!("an attachment of `{id}` is missing")))?;
        problems.push(Arc::new(Problem { id, text, attachments, answer, checklist }));
    }
    Ok((problems, variants))
}

/// Parses a line of a plan. The error names the column, but not the line.
fn read_line<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string().replace(" at line 1 column ", ", at column "))
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompts {
    /// The version of the built-in prompts.
    pub version: String,
    /// The user's own prompts, by their path below the directory into which they are unpacked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// The version of the built-in prompts that a protocol uses.
pub(super) fn built_in(protocol: &Protocol) -> String {
    version(&[protocol.prompts, &[protocol.system]].concat())
}

fn unreadable(path: &Path, agent: &str) -> UserError {
    unplannable(format!("cannot read the prompt {} of {agent}", path.display()))
}

impl Prompts {
    /// Packs the prompts of the agents and sections in `settings`, and changes the paths in `settings` to the packed
    /// files.
    pub(super) fn pack(protocol: &Protocol, settings: &mut Settings) -> Result<Self, UserError> {
        let base = settings.base_dir.clone().unwrap_or_default();
        let mut packed = Self { version: built_in(protocol), files: BTreeMap::new() };
        for (path, owner) in paths(settings) {
            packed.take(&base, path, &owner)?;
        }
        for agent in &settings.agents {
            let role = role_path(agent);
            let path = base.join(&role);
            if Role::built_in(&agent.role).is_some() && !(Role::gives_way(&agent.role) && path.is_file()) {
                continue;
            }
            let unreadable = || unreadable(&path, agent.id.as_str());
            if !is_below(&role) {
                return Err(unreadable());
            }
            packed.files.insert(role, read_prompt(&path).map_err(|_| unreadable())?);
        }
        Ok(packed)
    }

    /// Packs a file under a name derived from its content, so that the plan contains no path of this machine.
    fn take(&mut self, base: &Path, path: &mut PathBuf, agent: &str) -> Result<(), UserError> {
        let file = base.join(&*path);
        let text = read_prompt(&file).map_err(|_| unreadable(&file, agent))?;
        let name = format!("prompts/{}.md", hexadecimal(&hash([text.as_bytes()])[..8]));
        *path = PathBuf::from(&name);
        self.files.insert(name, text);
        Ok(())
    }

    /// Why these prompts do not fit the settings: a prompt is missing, or its path is outside the directory of prompts.
    /// `None` if they fit.
    pub(super) fn fault(&self, settings: &Settings) -> Option<String> {
        if let Some(path) = self.files.keys().find(|path| !is_below(path)) {
            return Some(format!("the prompt `{path}` is outside the prompt directory"));
        }
        let named =
            paths(&mut settings.clone()).into_iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>();
        let roles = settings.agents.iter().filter(|agent| Role::built_in(&agent.role).is_none()).map(role_path);
        let missing = named.into_iter().chain(roles).find(|path| !self.files.contains_key(path))?;
        Some(format!("the plan does not contain the prompt `{missing}`"))
    }

    /// The directory of these prompts. Its name is a hash of the prompts, so that variants with the same prompts share
    /// the directory.
    pub(super) fn directory(&self, below: &Path) -> PathBuf {
        let parts = self.files.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]);
        below.join(hexadecimal(&hash(parts)[..8]))
    }

    pub(super) fn unpack(&self, below: &Path) -> Result<(), (PathBuf, io::Error)> {
        let directory = self.directory(below);
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| (path, source)
        };
        fs::create_dir_all(&directory).map_err(failed(&directory))?;
        for (name, text) in &self.files {
            let path = directory.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed(parent))?;
            }
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(())
    }
}

/// The prompt files that the settings name, each with the agent or section that names it.
fn paths(settings: &mut Settings) -> Vec<(&mut PathBuf, String)> {
    let general = settings.debate.summarization.prompt_path.as_mut();
    let mut all: Vec<_> = general.map(|path| (path, "`debate.summarization`".to_owned())).into_iter().collect();
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        let owner = agent.id.to_string();
        let own = [
            &mut agent.system_prompt_path,
            &mut agent.summary_prompt_path,
            &mut agent.clarification_prompt_path,
            &mut agent.summarization.prompt_path,
        ];
        all.extend(own.into_iter().flatten().map(|path| (path, owner.clone())));
    }
    all
}

fn role_path(agent: &AgentSettings) -> String {
    format!("prompts/roles/{}.md", agent.role)
}

/// A plan may come from a stranger, so its paths must stay in `prompts/`.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    path.starts_with("prompts/") && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_prompt_of_a_plan_leads_out_of_its_directory() {
        for (path, is_kept) in [
            ("prompts/roles/poet.md", true),
            ("prompts/0123.md", true),
            ("prompts/../../.bashrc", false),
            ("../prompts/x.md", false),
            ("/etc/passwd", false),
            ("other/x.md", false),
            ("prompts//x.md", true),
        ] {
            assert_eq!(is_below(path), is_kept, "{path}");
        }
    }
}
