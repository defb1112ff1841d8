//! Searches the repository by name for definitions and callers of what a change touches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::error::Error;
use dialectic_base::figures::counted;
use dialectic_base::markdown::truncate;
use dialectic_engine::access::Environment;
use dialectic_engine::engine::room_for_change;
use dialectic_engine::runner::Attachments;
use dialectic_engine::tools::Source;
use dialectic_record::change::{ChangeSet, ChangedFile, DIFF_ENDING};
use dialectic_record::settings::{DebateSettings, Settings};

use super::{Change, Repository, Tree};

const USES: &str = "uses.txt";
/// The maximum number of names to search for per part.
const NAMES: usize = 100;
/// A called name that occurs on more lines than this is too common to be helpful.
const TELLING: usize = 40;
/// The maximum number of places shown for a name that the change only calls.
const SHOWN: usize = 5;
/// The maximum number of places shown for a name that the change defines or edits.
const CALLERS: usize = 30;
const IMPORTS: [&str; 4] = ["use ", "import ", "from ", "#include"];
/// The number of lines shown before and after a use.
const AROUND: usize = 2;
/// The number of lines shown after the first line of a definition.
const BODY: usize = 8;
/// The maximum length of a shown line, in characters.
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

struct Place {
    path: String,
    is_definition: bool,
    text: String,
}

#[derive(Default)]
struct Part {
    /// The names that the part defines or removes, or whose definitions contain its hunks.
    touched: BTreeSet<String>,
    called: BTreeSet<String>,
    /// For each name, the number of lines that contain it, and excerpts around some of them.
    found: BTreeMap<String, (usize, Vec<Place>)>,
}

impl Repository {
    /// Attaches to each part the places where the repository, after the change, uses names that the part defines, edits
    /// or calls. Tells agents with tools to look further.
    ///
    /// # Errors
    ///
    /// Returns an error if Git or the file system fails.
    pub fn add_uses(&self, change: &mut Change, settings: &Settings, environment: &Environment) -> Result<(), Error> {
        let Tree { directory, keys } = Tree::of(&self.git, environment, settings)?;
        let source = Source::after(&change.set, directory.redacting(keys), self.git.clone())?;
        change.problem += "\n\nTools, if you have them, read the repository as it is after the change, by the paths of the diff. Look up \
             callers, definitions and tests before you report, confirm, refute or dismiss a fault.";
        let mut parts: BTreeMap<Option<u32>, Part> = BTreeMap::new();
        for diff in change.attachments.iter().filter(|one| one.name.ends_with(DIFF_ENDING)) {
            let part = parts.entry(diff.part).or_default();
            part.touched.extend(names(&diff.text, &DEFINED));
            part.called.extend(names(&diff.text, &CALLED));
        }
        add_edited(&mut parts, &change.set, &source)?;
        find(&mut parts, &change.set, &source)?;
        let most = room_for_change(settings).min(DebateSettings::ATTACHMENT_LIMIT) / 8;
        let mut uses = Attachments::new(settings, environment).unlimited();
        for (number, part) in parts {
            let text = part.in_words(most);
            if !text.is_empty() {
                uses.add(USES.to_owned(), text.as_bytes())?.part = number;
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

/// Whether `part` contains a change of the file. `part` is `None` for an undivided change, which contains all files.
fn has(part: Option<u32>, file: &ChangedFile) -> bool {
    part.is_none_or(|part| file.parts.contains(&part))
}

fn add_edited(parts: &mut BTreeMap<Option<u32>, Part>, set: &ChangeSet, source: &Source) -> Result<(), Error> {
    let paths: Vec<String> = set.files.iter().map(|file| file.path.clone()).collect();
    source.visit(&paths, |path, text| {
        let lines: Vec<&str> = text.lines().collect();
        let Some(file) = set.file(path) else { return true };
        let around = file.hunks.iter().filter_map(|hunk| {
            // A hunk begins with up to three unchanged lines.
            lines.iter().take(hunk.first as usize + 3).rev().find_map(|line| DEFINED.captures(line))
        });
        let around: BTreeSet<String> = around.map(|defined| defined[1].to_owned()).collect();
        for (_, part) in parts.iter_mut().filter(|(part, _)| has(**part, file)) {
            part.touched.extend(around.iter().cloned());
        }
        true
    })?;
    Ok(())
}

/// Reads each file once, and only files with the extension of a changed file.
fn find(parts: &mut BTreeMap<Option<u32>, Part>, set: &ChangeSet, source: &Source) -> Result<(), Error> {
    let mut wanted: HashMap<String, Vec<Option<u32>>> = HashMap::new();
    for (number, Part { touched, called, .. }) in &*parts {
        for name in touched.iter().chain(called.difference(touched)).take(NAMES) {
            wanted.entry(name.clone()).or_default().push(*number);
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let extensions: BTreeSet<_> = set.files.iter().map(|file| Path::new(&file.path).extension()).collect();
    let mut paths = source.paths();
    paths.retain(|path| extensions.contains(&Path::new(path).extension()));
    source.visit(&paths, |path, text| {
        // A part that shows the whole file needs no excerpts from it.
        let whole = set.file(path).filter(|file| file.lines.is_some());
        let lines: Vec<&str> = text.lines().collect();
        let is_import = |line: &str| IMPORTS.iter().any(|word| line.trim_start().starts_with(word));
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !is_import(line)) {
            let words = line.split(|c: char| c != '_' && !c.is_alphanumeric());
            let here: BTreeMap<&str, _> = words.filter_map(|word| Some((word, wanted.get(word)?))).collect();
            if here.is_empty() {
                continue;
            }
            let defined = DEFINED.captures(line).map(|defined| defined[1].to_owned());
            for (name, numbers) in here {
                let is_definition = defined.as_deref() == Some(name);
                for number in numbers.iter().filter(|number| !whole.is_some_and(|file| has(**number, file))) {
                    let Some(part) = parts.get_mut(number) else { continue };
                    let (count, places) = part.found.entry(name.to_owned()).or_default();
                    *count += 1;
                    if places.len() < CALLERS || is_definition {
                        let text = excerpt(&lines, at, is_definition);
                        places.push(Place { path: path.to_owned(), is_definition, text });
                    }
                }
            }
        }
        true
    })?;
    Ok(())
}

impl Part {
    fn in_words(self, room: usize) -> String {
        let Self { touched, found, .. } = self;
        // Show names that the change defines or edits before names that it only calls, and rare names before common
        // ones.
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
                    return if path.is_empty() { out } else { out + &section };
                }
                (path, section) = (&place.path, section + &next);
            }
            out = out + &section + "\n";
        }
        out
    }
}

/// The first group of `pattern` is the name.
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
