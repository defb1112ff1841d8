//! What a change touches, elsewhere in the repository: definitions and callers, as far as a search by name finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::error::Error;
use dialectic_base::figures::counted;
use dialectic_base::markdown::truncate;
use dialectic_engine::access::{Environment, known_keys};
use dialectic_engine::engine::room_for_change;
use dialectic_engine::runner::Attachments;
use dialectic_engine::tools::{ContextDirectory, Source};
use dialectic_record::debate::{Attachment, ChangeSet, DIFF_ENDING, DebateSettings, Settings};

use super::{Change, Repository, unreadable};

/// The name of the attachment.
const USES: &str = "uses.txt";
/// The maximum number of names to look for, of places where a called name tells anything, and of those shown for each
/// name.
const NAMES: usize = 100;
const TELLING: usize = 40;
const SHOWN: usize = 5;
/// The maximum number of places shown for a name that the change defines or edits.
const CALLERS: usize = 30;
/// The beginnings of lines that only import a name.
const IMPORTS: [&str; 4] = ["use ", "import ", "from ", "#include"];
/// The lines shown before and after a place, and after a definition.
const AROUND: usize = 2;
const BODY: usize = 8;
/// The maximum characters of a line.
const LINE: usize = 200;

#[expect(clippy::unwrap_used, reason = "constant patterns")]
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"pub(?:\([^)]*\))?|export|default|async|unsafe|static|abstract|final|public|private|protected|const";
    let words = "fn|def|func|fun|function|class|struct|enum|union|trait|interface|type|const|static|module|record";
    let name = r"(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,})";
    Regex::new(&format!(r"^[-+\s]*(?:(?:{before})\s+)*(?:{words})\s+{name}")).unwrap()
});
#[expect(clippy::unwrap_used, reason = "constant patterns")]
static CALLED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b([A-Za-z_]\w{2,})(?:::<[^()]*>)?\s*\(").unwrap());

/// A place where a name occurs.
struct Place {
    path: String,
    is_definition: bool,
    text: String,
}

impl Repository {
    /// Attaches where the repository, after the change, names what the change defines, edits or calls; and says so, and
    /// that tools show the rest.
    ///
    /// # Errors
    /// Git or the file system fails.
    pub fn add_uses(&self, change: &mut Change, settings: &Settings, environment: &Environment) -> Result<(), Error> {
        let root = self.git.root();
        let directory = ContextDirectory::open(root).map_err(|source| unreadable(root, source))?;
        let keys = known_keys(&settings.providers, environment);
        let directory = directory.withholding(environment.file()).redacting(keys);
        let source = Source::after(&change.set, directory, self.git.clone())?;
        change.problem += "\n\nTools, if you have them, read the repository as it is after the change, by the paths of the diff. Look up \
             callers, definitions and tests before you report, confirm, refute or dismiss a fault.";
        let is_diff = |one: &&Attachment| one.name.ends_with(DIFF_ENDING);
        let parts: BTreeSet<Option<u32>> = change.attachments.iter().filter(is_diff).map(|one| one.part).collect();
        // An eighth of the material.
        let room = room_for_change(settings).min(DebateSettings::ATTACHMENT_LIMIT) / 8;
        let mut uses = Attachments::new(settings, environment).unlimited();
        for part in parts {
            let diffs = change.attachments.iter().filter(is_diff).filter(|one| one.part == part);
            let text = in_words(&change.set, &diffs.map(|one| &*one.text).collect::<String>(), &source, room)?;
            if !text.is_empty() {
                uses.add(USES.to_owned(), text.as_bytes())?.part = part;
            }
        }
        let uses = uses.into_all();
        if uses.is_empty() {
            return Ok(());
        }
        change.attachments = change.attachments.iter().chain(uses.iter()).cloned().collect();
        change.problem += " The attachment uses.txt shows where other files name what the change defines, edits or calls, found by name alone.";
        Ok(())
    }
}

fn in_words(set: &ChangeSet, diff: &str, source: &Source, room: usize) -> Result<String, Error> {
    let whole: BTreeSet<&str> =
        set.files.iter().filter(|file| file.lines.is_some()).map(|file| file.path.as_str()).collect();
    let extensions: BTreeSet<_> = set.files.iter().map(|file| Path::new(&file.path).extension()).collect();
    let (touched, called) = (touched(set, diff, source)?, names(diff, &CALLED));
    let names = touched.iter().chain(called.difference(&touched)).map(String::as_str);
    let names: Vec<&str> = names.take(NAMES).collect();
    let pattern = Regex::new(&format!(r"(?-u:\b)(?:{})(?-u:\b)", names.join("|")));
    let Some(pattern) = pattern.ok().filter(|_| !names.is_empty()) else { return Ok(String::new()) };
    let mut found: BTreeMap<String, (usize, Vec<Place>)> = BTreeMap::new();
    let mut paths = source.paths();
    paths.retain(|path| !whole.contains(path.as_str()) && extensions.contains(&Path::new(path).extension()));
    source.visit(&paths, |path, text| {
        let lines: Vec<&str> = text.lines().collect();
        let is_import = |line: &str| IMPORTS.iter().any(|word| line.trim_start().starts_with(word));
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !is_import(line)) {
            let here: BTreeSet<&str> = pattern.find_iter(line).map(|name| name.as_str()).collect();
            for name in here {
                let (count, places) = found.entry(name.to_owned()).or_default();
                *count += 1;
                let is_definition = DEFINED.captures_iter(line).any(|defined| &defined[1] == name);
                if places.len() < CALLERS || is_definition {
                    places.push(Place {
                        path: path.to_owned(),
                        is_definition,
                        text: excerpt(&lines, at, is_definition),
                    });
                }
            }
        }
        true
    })?;
    // Who uses what the change touches comes first, then the rarest names.
    let mut ranked: Vec<_> =
        found.into_iter().filter(|(name, (count, _))| *count <= TELLING || touched.contains(name)).collect();
    ranked.sort_by_key(|(name, (count, _))| (!touched.contains(name), *count));
    let mut out = String::new();
    for (name, (count, mut places)) in ranked {
        places.sort_by_key(|place| !place.is_definition);
        let (mut section, mut path) = (format!("{name}: {} elsewhere\n", counted(count as u64, "line")), "");
        for place in places.iter().take(if touched.contains(&name) { CALLERS } else { SHOWN }) {
            let head = if place.path == path { "--".to_owned() } else { format!("{:?}", place.path) };
            let next = format!("{head}\n{}", place.text);
            if out.chars().count() + section.chars().count() + next.chars().count() > room {
                return Ok(if path.is_empty() { out } else { out + &section });
            }
            (path, section) = (&place.path, section + &next);
        }
        out = out + &section + "\n";
    }
    Ok(out)
}

/// The names that the change defines or removes, and those of the definitions around its hunks.
fn touched(set: &ChangeSet, diff: &str, source: &Source) -> Result<BTreeSet<String>, Error> {
    let mut touched = names(diff, &DEFINED);
    let paths: Vec<String> = set.files.iter().map(|file| file.path.clone()).collect();
    source.visit(&paths, |path, text| {
        let lines: Vec<&str> = text.lines().collect();
        for hunk in set.file(path).iter().flat_map(|file| &file.hunks) {
            // The first lines of a hunk are unchanged.
            let mut upto = lines.iter().take(hunk.first as usize + 3).rev();
            let around = upto.find_map(|line| DEFINED.captures(line));
            touched.extend(around.map(|defined| defined[1].to_owned()));
        }
        true
    })?;
    Ok(touched)
}

/// The names that a pattern finds in the changed lines of a diff.
fn names(diff: &str, pattern: &Regex) -> BTreeSet<String> {
    let changed = diff
        .lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- "));
    changed.flat_map(|line| pattern.captures_iter(line)).map(|found| found[1].to_owned()).collect()
}

fn excerpt(lines: &[&str], at: usize, is_definition: bool) -> String {
    let (first, last) = if is_definition { (at, at + BODY) } else { (at.saturating_sub(AROUND), at + AROUND) };
    let shown = lines.iter().enumerate().take(last + 1).skip(first);
    let mut out = String::new();
    for (at, line) in shown {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:>4} | {}", at + 1, truncate(line, LINE));
    }
    out
}
