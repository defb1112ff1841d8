//! The plan as lines of JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;
use dialectic_base::money::Usd;
use dialectic_record::debate::{Attachment, DebateId, Settings};
use dialectic_record::protocol::Protocol;

use super::super::Answer;
use super::prompts::built_in;
use super::{Plan, PlanError, PlannedDebate, PlannedProblem, Prompts, SavedPlan, Variant, id};

/// The version of the format.
const VERSION: u32 = 1;

/// The first line.
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
    /// The indices of its attachments among all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checklist: Vec<String>,
}

/// A further line.
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
    /// The plan as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut attachments: Vec<Attachment> = Vec::new();
        let mut place = |one: &Attachment| {
            attachments.iter().position(|other| other == one).unwrap_or_else(|| {
                attachments.push(one.clone());
                attachments.len() - 1
            })
        };
        let problem = |problem: &Arc<PlannedProblem>| ProblemOnTheWire {
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
    // Every value has a JSON form, and writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *bytes, value);
    let _ = bytes.write_all(b"\n");
}

impl SavedPlan {
    /// Reads a plan, and checks that its ids match its debates.
    ///
    /// # Errors
    /// It cannot be read, was edited, or needs other built-in prompts than this program's.
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
        return Err(fault(text.lines().count(), "the file is cut short".to_owned()));
    }
    let mut lines = (1..).zip(text.lines());
    let Some((_, first)) = lines.next() else { return Err(PlanError::Empty { path: path.to_owned() }) };
    let (all_problems, all_variants) = header(path, first)?;
    let problems: BTreeMap<&str, (&Arc<PlannedProblem>, Vec<u8>)> =
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
            problem.ok_or_else(|| wrong(format!("the first line has no problem `{}`", line.problem)))?;
        let variant = variants.get(line.variant.as_str());
        let (variant, of_variant) =
            variant.ok_or_else(|| wrong(format!("the first line has no variant `{}`", line.variant)))?;
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

/// The part of the first line that every version has.
#[derive(Deserialize)]
struct Format {
    sweep: u32,
}

/// The shared parts of a plan's debates.
type Shared = (Vec<Arc<PlannedProblem>>, Vec<Arc<Variant>>);

/// The problems and variants of the first line, checked.
fn header(path: &Path, text: &str) -> Result<Shared, PlanError> {
    let wrong = |fault: String| PlanError::Line { path: path.to_owned(), line: 1, fault };
    let read: Result<Header, String> = read_line(text);
    // The line is long. Its version alone is read only to explain an error.
    let header = match read {
        Ok(header) if header.sweep == VERSION => header,
        read => {
            let Format { sweep } =
                read_line(text).map_err(|_| wrong("it is not the first line of a plan".to_owned()))?;
            if sweep != VERSION {
                return Err(wrong(format!("the plan has version {sweep}, but this program reads version {VERSION}")));
            }
            read.map_err(wrong)?
        }
    };
    let mut variants = Vec::new();
    for VariantOnTheWire { name, settings, prompts } in header.variants {
        let protocol = Protocol::named(&settings.debate.protocol);
        let protocol =
            protocol.ok_or_else(|| wrong(format!("the protocol `{}` is unknown", settings.debate.protocol)))?;
        if let Some(fault) = prompts.fault(&settings) {
            return Err(wrong(fault));
        }
        let portable = Variant::portable(settings.clone(), protocol);
        if portable.map_err(|fault| wrong(format!("the variant `{name}` cannot be run: {fault}")))? != settings {
            return Err(wrong(format!("the variant `{name}` has settings of a machine or a person")));
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
        problems.push(Arc::new(PlannedProblem { id, text, attachments, answer, checklist }));
    }
    Ok((problems, variants))
}

/// Reads a line; the error states the fault and its column.
fn read_line<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        // The caller knows the line.
        error.to_string().replace(" at line 1 column ", ", at column ")
    })
}
