//! Writes diffs of two versions of a file, and parses other programs' diffs.

use std::fmt::Write;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

use dialectic_record::change::Lines;

/// The number of unchanged lines before and after a change, as in git's diffs.
const CONTEXT: usize = 3;
/// The bytes reserved for a hunk's header.
const HUNK_HEADER: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// `None` if the file is new.
    pub(super) old_path: Option<String>,
    /// `None` if the file was deleted.
    pub(super) new_path: Option<String>,
    /// Abbreviated; `None` if the diff has no hashes.
    old_hash: Option<String>,
    pub(super) new_hash: Option<String>,
    pub(super) kind: FileKind,
    /// The number of old versions: more than one for a merge. The diff has a column of markers for each old version.
    pub(super) parents: usize,
    /// Lines of the new version, including unchanged lines around a change.
    pub(super) hunks: Vec<Lines>,
    /// The text of the file's diff, including the header.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Text,
    Binary,
    Link,
    Submodule,
}

impl FileDiff {
    pub(super) fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.old_path.as_deref().into_iter().chain(self.new_path.as_deref())
    }

    /// Merges a later patch of the same file into this one.
    fn follow(&mut self, later: &Self) {
        let lines: Vec<&str> = later.text.split_inclusive('\n').collect();
        let stretches = stretches(&lines);
        let moved = |line: u32| {
            let mut at = i64::from(line);
            for Stretch { old, new } in &stretches {
                let (from, count) = old.first().copied().unwrap_or_default();
                if line >= from.saturating_add(count) {
                    at += i64::from(new.1) - i64::from(count);
                }
            }
            u32::try_from(at).unwrap_or(1).max(1)
        };
        let shifted = self.hunks.iter().filter_map(|hunk| Lines::new(moved(hunk.first), moved(hunk.last)));
        self.hunks = shifted.chain(later.hunks.iter().copied()).collect();
        self.text = format!("{}\n{}", self.text.trim_end_matches('\n'), later.text);
        self.kind = if self.kind == FileKind::Text { later.kind } else { self.kind };
        self.parents = self.parents.max(later.parents);
        (self.new_path, self.new_hash) = (later.new_path.clone(), later.new_hash.clone());
    }

    pub(super) fn is_of_permissions(&self) -> bool {
        let is_same = self.old_path.is_some() && self.old_path == self.new_path;
        is_same && self.kind == FileKind::Text && self.hunks.is_empty() && self.text.contains("\nnew mode ")
    }
}

impl FileDiff {
    /// Splits the change between hunks, and hunks that do not fit between lines. Pieces have at most `room` bytes,
    /// except for a single longer line, and begin with the header.
    pub(super) fn pieces(&self, room: usize) -> Vec<String> {
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let start = lines.iter().position(|line| stretch(line).is_some()).unwrap_or(lines.len());
        let (header, body) = (lines[..start].concat(), &lines[start..]);
        let most = room.saturating_sub(header.len() + HUNK_HEADER);
        let (mut hunks, mut left): (Vec<(Stretch, String)>, _) = (Vec::new(), Stretch::default());
        for line in body {
            if let Some(next) = stretch(line).filter(|_| !left.has_lines()) {
                hunks.push((next.begun(), String::new()));
                left = next;
                continue;
            }
            if let Some((range, text)) = hunks.last()
                && !text.is_empty()
                && text.len() + line.len() > most
                && !line.starts_with('\\')
            {
                hunks.push((range.rest(), String::new()));
            }
            let Some((range, text)) = hunks.last_mut() else { continue };
            let before = left.clone();
            left.pass(line);
            range.extend(&before, &left);
            text.push_str(line);
        }
        let (mut pieces, mut piece) = (Vec::new(), header.clone());
        for (range, text) in hunks {
            let hunk = format!("{range}\n{text}");
            if piece.len() + hunk.len() > room && piece.len() > header.len() {
                pieces.push(std::mem::replace(&mut piece, header.clone()));
            }
            piece += &hunk;
        }
        pieces.push(piece);
        pieces
    }
}

/// Each version has a path and a text; `None` if the file does not exist in that version. Returns `None` if nothing
/// changed.
pub(super) fn between(old: Option<(&str, &str)>, new: Option<(&str, &str)>) -> Option<FileDiff> {
    let (before, after) = (old.map_or("", |(_, text)| text), new.map_or("", |(_, text)| text));
    let (old_path, new_path) = (old.map(|(path, _)| path.to_owned()), new.map(|(path, _)| path.to_owned()));
    let is_renamed = old_path.is_some() && new_path.is_some() && old_path != new_path;
    if before == after && old_path.is_some() == new_path.is_some() && !is_renamed {
        return None;
    }
    let name = |path: &Option<String>| {
        path.clone().or_else(|| old_path.clone()).or_else(|| new_path.clone()).unwrap_or_default()
    };
    let shown = |side: &str, path: &Option<String>| {
        path.as_ref().map_or_else(|| "/dev/null".to_owned(), |path| format!("{side}/{}", one_line(path)))
    };
    let mut text = format!("diff --git a/{} b/{}\n", one_line(&name(&old_path)), one_line(&name(&new_path)));
    match (&old_path, &new_path) {
        (None, _) => text.push_str("new file\n"),
        (_, None) => text.push_str("deleted file\n"),
        (Some(old), Some(new)) if old != new => {
            let _ = write!(text, "rename from {}\nrename to {}\n", one_line(old), one_line(new));
        }
        (Some(_), Some(_)) => {}
    }
    let mut hunks = Vec::new();
    if before != after {
        let _ = write!(text, "--- {}\n+++ {}\n", shown("a", &old_path), shown("b", &new_path));
        write_hunks(&mut text, &mut hunks, before, after);
    }
    Some(FileDiff { old_path, new_path, old_hash: None, new_hash: None, kind: FileKind::Text, parents: 1, hunks, text })
}

/// Keeps a path on one line, so that it cannot forge further lines of the diff.
pub(super) fn one_line(path: &str) -> String {
    path.replace(char::is_control, "\u{FFFD}")
}

fn write_hunks(text: &mut String, shown: &mut Vec<Lines>, before: &str, after: &str) {
    let [old, new]: [Vec<&str>; 2] = [before, after].map(|text| text.split_inclusive('\n').collect());
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(old.len()) };
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let changes =
        diff.hunks().map(|hunk| [hunk.before, hunk.after].map(|range| range.start as usize..range.end as usize));
    let changes: Vec<_> = changes.collect();
    // Changes whose context lines touch or overlap share a hunk.
    for group in changes.chunk_by(|[one, _], [next, _]| next.start - one.end <= 2 * CONTEXT) {
        let ([first_old, first_new], [last_old, last_new]) = (&group[0], &group[group.len() - 1]);
        let lead = CONTEXT.min(first_old.start).min(first_new.start);
        let tail = CONTEXT.min(old.len() - last_old.end).min(new.len() - last_new.end);
        let (from_old, to_old) = (first_old.start - lead, last_old.end + tail);
        let (from_new, to_new) = (first_new.start - lead, last_new.end + tail);
        let place = |from: usize, to: usize| {
            if from == to { format!("{from},0") } else { format!("{},{}", from + 1, to - from) }
        };
        let _ = writeln!(text, "@@ -{} +{} @@", place(from_old, to_old), place(from_new, to_new));
        let mut at = from_old;
        for [gone, come] in group {
            old[at..gone.start].iter().for_each(|line| push(text, ' ', line));
            old[gone.clone()].iter().for_each(|line| push(text, '-', line));
            new[come.clone()].iter().for_each(|line| push(text, '+', line));
            at = gone.end;
        }
        old[at..to_old].iter().for_each(|line| push(text, ' ', line));
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        shown.extend(Lines::new(number(from_new + 1), number(to_new)).filter(|_| to_new > from_new));
    }
}

fn push(text: &mut String, mark: char, line: &str) {
    text.push(mark);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// Parses a diff from git or `diff -u`, possibly inside `git show` output or patch mails. Merges patches of the same
/// file in the order that their hashes imply, because `git log` lists the newest first.
pub(super) fn read(text: &str) -> Vec<FileDiff> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Each file, with the number of the last patch that changes it.
    let mut found: Vec<(FileDiff, usize)> = Vec::new();
    let (mut at, mut now) = (0, 0);
    while at < lines.len() {
        let is_headed = lines[at].starts_with("diff --git ") || combined(lines[at]).is_some();
        let is_bare = lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "));
        if !is_headed && !is_bare {
            now += usize::from(!lines[at].trim().is_empty());
            at += 1;
            continue;
        }
        let end = end_of(&lines, at);
        let next = file(&lines[at..end]);
        // A copy is a new file, not a later version of another. Within one patch, a file may be renamed to the old name
        // of another.
        let is_copy = next.text.contains("\ncopy from ");
        let is_earlier = |known: &FileDiff, of: usize| match &known.new_path {
            Some(path) => {
                let is_its = next.old_path.as_ref().unwrap_or(path) == path && next.paths().any(|next| next == path);
                is_its && !is_copy && (of < now || next.path() == path)
            }
            None => known.path() == next.path(),
        };
        let is_later = |known: &FileDiff| {
            let is_its = next.new_path.is_some() && next.new_path == known.old_path;
            is_its && next.new_hash.is_some() && next.new_hash == known.old_hash && next.old_hash != known.new_hash
        };
        match found.iter_mut().find(|(known, of)| is_later(known) || is_earlier(known, *of)) {
            Some((known, of)) => {
                let (mut first, last) = if is_later(known) { (next, known.clone()) } else { (known.clone(), next) };
                first.follow(&last);
                (*known, *of) = (first, now);
            }
            None => found.push((next, now)),
        }
        at = end;
    }
    found.into_iter().map(|(file, _)| file).collect()
}

/// The end of the file's diff that begins at `start`. Counts the lines of each hunk, so that no line can imitate the
/// start of another file.
fn end_of(lines: &[&str], start: usize) -> usize {
    let mut at = start + 1;
    let mut has_hunks = false;
    let mut left = Stretch::default();
    while let Some(line) = lines.get(at) {
        if left.has_lines() {
            left.pass(line);
        } else if let Some(stretch) = stretch(line) {
            (has_hunks, left) = (true, stretch);
        } else if line.starts_with("diff ") || line.trim().is_empty() || has_hunks && !line.starts_with('\\') {
            // Another file, the next commit, or the signature of a patch mail begins here.
            break;
        }
        at += 1;
    }
    at
}

/// The start and length of a hunk in each old version and in the new one.
#[derive(Debug, Clone, Default)]
struct Stretch {
    old: Vec<(u32, u32)>,
    new: (u32, u32),
}

impl std::fmt::Display for Stretch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let edge = "@".repeat(self.old.len() + 1);
        write!(f, "{edge} ")?;
        self.old.iter().try_for_each(|(from, count)| write!(f, "-{from},{count} "))?;
        write!(f, "+{},{} {edge}", self.new.0, self.new.1)
    }
}

impl Stretch {
    /// An empty stretch where this one starts.
    fn begun(&self) -> Self {
        Self { old: self.old.iter().map(|(from, _)| (*from, 0)).collect(), new: (self.new.0, 0) }
    }

    /// An empty stretch where this one ends.
    fn rest(&self) -> Self {
        let end = |(from, count): (u32, u32)| (from.saturating_add(count), 0);
        Self { old: self.old.iter().copied().map(end).collect(), new: end(self.new) }
    }

    /// Extends the stretch by one line. `before` and `after` are the remainders of the hunk before and after that line.
    fn extend(&mut self, before: &Self, after: &Self) {
        for ((own, before), after) in self.old.iter_mut().zip(&before.old).zip(&after.old) {
            own.1 += before.1 - after.1;
        }
        self.new.1 += before.new.1 - after.new.1;
    }

    fn has_lines(&self) -> bool {
        self.new.1 > 0 || self.old.iter().any(|(_, count)| *count > 0)
    }

    /// Subtracts a line from the remainder of a hunk. The line begins with a marker for each old version: `-` if it was
    /// removed from that version, `+` if that version lacks it.
    fn pass(&mut self, line: &str) {
        if line.starts_with('\\') {
            return;
        }
        let marks = || line.bytes().chain(std::iter::repeat(b' ')).take(self.old.len());
        let is_gone = marks().any(|mark| mark == b'-');
        let marks: Vec<u8> = marks().collect();
        for ((_, count), mark) in self.old.iter_mut().zip(marks) {
            let has_it = if is_gone { mark == b'-' } else { mark != b'+' };
            *count = count.saturating_sub(u32::from(has_it));
        }
        self.new.1 = self.new.1.saturating_sub(u32::from(!is_gone));
    }
}

/// Parses `@@ -10,4 +12,6 @@`, or for a merge `@@@ -10,4 -9,4 +12,6 @@@`.
fn stretch(line: &str) -> Option<Stretch> {
    let ats = line.bytes().take_while(|byte| *byte == b'@').count();
    let (edge, rest) = line.split_at(ats);
    let (ranges, _) = rest.strip_prefix(' ')?.split_once(&format!(" {edge}"))?;
    let range = |text: &str| {
        let (from, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((from.parse().ok()?, count.parse().ok()?))
    };
    let (old, new) = ranges.rsplit_once(" +")?;
    let old: Option<Vec<_>> = old.split(' ').map(|one| range(one.strip_prefix('-')?)).collect();
    let stretch = Stretch { old: old?, new: range(new)? };
    (ats == stretch.old.len() + 1).then_some(stretch)
}

fn combined(line: &str) -> Option<&str> {
    line.strip_prefix("diff --cc ").or_else(|| line.strip_prefix("diff --combined "))
}

fn file(lines: &[&str]) -> FileDiff {
    let text = lines.concat();
    let mut file = FileDiff {
        old_path: None,
        new_path: None,
        old_hash: None,
        new_hash: None,
        kind: FileKind::Text,
        parents: 1,
        hunks: Vec::new(),
        text,
    };
    let header = lines.iter().take_while(|line| stretch(line).is_none());
    let (mut is_new, mut is_gone) = (false, false);
    // Whether a header has given the path without a prefix. The paths after `---` and `+++` may have any of several
    // prefixes.
    let mut is_named = false;
    let [old_sides, new_sides] = sides(lines);
    for line in header.map(|line| line.trim_end_matches(['\n', '\r'])) {
        if let Some(both) = line.strip_prefix("diff --git ") {
            (file.old_path, file.new_path) = both_paths(both);
            is_named = file.old_path.is_some();
        } else if let Some(path) = combined(line) {
            let path = Some(unquoted(path));
            (file.old_path, file.new_path, is_named) = (path.clone(), path, true);
        } else if let Some(path) = line.strip_prefix("--- ") {
            match path_of(path, old_sides) {
                Some(_) if is_named => {}
                path => file.old_path = path,
            }
        } else if let Some(path) = line.strip_prefix("+++ ") {
            match path_of(path, new_sides) {
                Some(_) if is_named => {}
                path => file.new_path = path,
            }
        } else if let Some(path) = line.strip_prefix("rename from ").or_else(|| line.strip_prefix("copy from ")) {
            (file.old_path, is_named) = (Some(unquoted(path)), true);
        } else if let Some(path) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
            (file.new_path, is_named) = (Some(unquoted(path)), true);
        } else if let Some(hashes) = line.strip_prefix("index ") {
            let (hashes, mode) = hashes.split_once(' ').unwrap_or((hashes, ""));
            (file.old_hash, file.new_hash) =
                hashes.split_once("..").map(|(old, new)| (old.to_owned(), new.to_owned())).unzip();
            note_mode(&mut file, mode);
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            is_new = true;
            note_mode(&mut file, mode);
        } else if let Some(modes) = line.strip_prefix("deleted file mode ") {
            is_gone = true;
            modes.split(',').for_each(|mode| note_mode(&mut file, mode));
        } else if let Some(modes) = line.strip_prefix("mode ") {
            modes.split([',', '.']).for_each(|mode| note_mode(&mut file, mode));
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            note_mode(&mut file, mode);
        } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
            file.kind = FileKind::Binary;
        }
    }
    if is_new {
        file.old_path = None;
    }
    if is_gone {
        file.new_path = None;
    }
    for stretch in stretches(lines) {
        let (from, count) = stretch.new;
        // All hunks have the same number of columns, unless the diff is damaged.
        file.parents = file.parents.max(stretch.old.len());
        file.hunks.extend(from.checked_add(count).and_then(|end| Lines::new(from, end.checked_sub(1)?)));
    }
    file
}

/// Counts the lines of each hunk, because a line of the file may look like a hunk header.
fn stretches(lines: &[&str]) -> Vec<Stretch> {
    let (mut found, mut left) = (Vec::new(), Stretch::default());
    for line in lines {
        if left.has_lines() {
            left.pass(line);
        } else if let Some(stretch) = stretch(line) {
            found.push(stretch.clone());
            left = stretch;
        }
    }
    found
}

fn note_mode(file: &mut FileDiff, mode: &str) {
    match mode {
        "120000" => file.kind = FileKind::Link,
        "160000" => file.kind = FileKind::Submodule,
        _ => {}
    }
}

/// Git's prefixes for old paths: usually `a/`. The others come from `diff.mnemonicPrefix` and stand for commit, index,
/// object and working tree, or with `--no-index` for the first file.
const OLD_SIDES: [&str; 6] = ["a/", "c/", "i/", "o/", "w/", "1/"];
const NEW_SIDES: [&str; 6] = ["b/", "w/", "i/", "c/", "o/", "2/"];

/// The prefixes that the old and the new path of a file may have. Tools other than git use `a/` and `b/` or no prefix,
/// so any other prefix is part of the path.
fn sides(lines: &[&str]) -> [&'static [&'static str]; 2] {
    if lines[0].starts_with("diff ") {
        return [&OLD_SIDES, &NEW_SIDES];
    }
    let is = |index: usize, mark: &str, side: &str| {
        let path = lines.get(index).and_then(|line| line.strip_prefix(mark)).map(str::trim_end).unwrap_or_default();
        path_of(path, &[]).is_none_or(|path| path.starts_with(side))
    };
    if is(0, "--- ", "a/") && is(1, "+++ ", "b/") { [&["a/"], &["b/"]] } else { [&[], &[]] }
}

/// Parses `a/one path b/one path`. Returns nothing for a rename, because its other headers contain the paths.
fn both_paths(text: &str) -> (Option<String>, Option<String>) {
    let (old, new) = if text.starts_with('"') {
        // If one path is quoted, both are: they contain the same special characters.
        let Some((old, new)) = text.split_once("\" \"") else { return (None, None) };
        (unquoted(&format!("{old}\"")), unquoted(&format!("\"{new}")))
    } else {
        let half = text.len().saturating_sub(1) / 2;
        let Some((old, new)) = text.split_at_checked(half) else { return (None, None) };
        (old.to_owned(), new.strip_prefix(' ').unwrap_or(new).to_owned())
    };
    // `diff.noprefix` leaves out the prefixes.
    let whole = (old == new).then(|| old.clone());
    let same = whole.or_else(|| {
        let (old_side, old) = old.split_at_checked(2)?;
        let (new_side, new) = new.split_at_checked(2)?;
        let are_sides = OLD_SIDES.contains(&old_side) && NEW_SIDES.contains(&new_side);
        let are_reversed = NEW_SIDES.contains(&old_side) && OLD_SIDES.contains(&new_side);
        ((are_sides || are_reversed) && old == new).then(|| old.to_owned())
    });
    (same.clone(), same)
}

fn path_of(text: &str, sides: &[&str]) -> Option<String> {
    // Some tools append a timestamp after a tab.
    let path = unquoted(text.split('\t').next().unwrap_or(text));
    let bare = sides.iter().find_map(|side| path.strip_prefix(side));
    (path != "/dev/null").then(|| bare.map_or_else(|| path.clone(), str::to_owned))
}

/// Git puts a path with special characters in quotes and escapes them as in C.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let (mut bytes, mut rest) = (Vec::new(), inner.bytes());
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(first @ b'0'..=b'3') => {
                let digits =
                    [Some(first), rest.next(), rest.next()].map(|digit| digit.unwrap_or(b'0').wrapping_sub(b'0') & 7);
                bytes.push(digits[0] << 6 | digits[1] << 3 | digits[2]);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_as_git_writes_it_and_read_again() {
        let old: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
        let old = old.concat();
        let new = old.replace("line 5\n", "line five\n").replace("line 18\n", "").trim_end().to_owned();
        let written = between(Some(("a.txt", &old)), Some(("a.txt", &new))).unwrap();
        let expected = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+line five\n line 6\n line 7\n line 8\n@@ -15,6 +15,5 @@\n line 15\n line 16\n line 17\n-line 18\n line 19\n-line 20\n+line 20\n\\ No newline at end of file\n";
        assert_eq!(written.text, expected);
        assert_eq!(written.hunks, [Lines { first: 2, last: 8 }, Lines { first: 15, last: 19 }]);
        assert_eq!(read(&written.text), std::slice::from_ref(&written));
        assert_eq!(between(Some(("a", "x\n")), Some(("a", "x\n"))), None);
        let renamed = between(Some(("a", "x\n")), Some(("b", "x\n"))).unwrap();
        assert_eq!((renamed.hunks.len(), renamed.path()), (0, "b"));
        let gone = between(Some(("a", "x\n")), None).unwrap();
        assert!(gone.hunks.is_empty() && gone.text.contains("+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"), "{}", gone.text);
        let come = between(None, Some(("a", "x\ny\n"))).unwrap();
        assert!(come.text.contains("--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n"), "{}", come.text);
    }

    #[test]
    fn a_change_that_exceeds_a_part_is_cut_between_hunks_and_lines_and_each_piece_is_a_diff() {
        let old: Vec<String> = (1..=400).map(|line| format!("line {line}\n")).collect();
        let new: Vec<String> = (1..=400).map(|line| format!("row {line}\n")).collect();
        let new = format!("{}{}{}", new[..300].concat(), old[300..380].concat(), new[380..].concat());
        let whole = between(Some(("a", &old.concat())), Some(("a", &new))).unwrap();
        let pieces = whole.pieces(2000);
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.len() <= 2000), "{pieces:#?}");
        let read: Vec<FileDiff> = pieces.iter().flat_map(|piece| read(piece)).collect();
        assert!(read.iter().all(|piece| piece.path() == "a"), "{read:#?}");
        let lines = |text: &str| {
            text.lines().filter(|line| !line.starts_with("@@")).skip(3).map(str::to_owned).collect::<Vec<_>>()
        };
        let joined: Vec<String> = pieces.iter().flat_map(|piece| lines(piece)).collect();
        assert_eq!(joined, lines(&whole.text));
        // The line numbers continue from the previous piece.
        for (number, line) in new.lines().enumerate().filter(|(_, line)| line.starts_with("row")) {
            let number = u32::try_from(number).unwrap() + 1;
            let holds = |piece: &&FileDiff| piece.hunks.iter().any(|hunk| hunk.first <= number && number <= hunk.last);
            let piece = read.iter().find(holds).unwrap();
            assert!(piece.text.contains(&format!("+{line}\n")), "{line}");
        }
        assert_eq!(whole.pieces(1 << 20), std::slice::from_ref(&whole.text));
        let merge = "diff --cc a\n--- a/a\n+++ b/a\n@@@ -1,2 -1,2 +1,2 @@@\n  one\n- two\n -zwei\n++both\n";
        let pieces = FileDiff { text: merge.to_owned(), ..whole }.pieces(30 + HUNK_HEADER);
        assert!(pieces.len() > 1 && pieces[0].contains("@@@ -1,1 -1,1 +1,1 @@@\n  one\n"), "{pieces:#?}");
    }

    #[test]
    fn lines_of_a_file_never_pass_for_another_file() {
        let text = "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,4 @@\n a\n--- a/y\n+++ b/y\n+diff --git a/z b/z\n+@@ -1 +900 @@\n";
        let read = read(text);
        assert_eq!(read.len(), 1, "{read:#?}");
        assert_eq!((read[0].path(), read[0].new_hash.as_deref()), ("x", Some("89abcde")));
        assert_eq!(read[0].hunks, [Lines { first: 1, last: 4 }]);
    }

    #[test]
    fn names_and_kinds_are_read_as_tools_write_them() {
        let text = "--- a/a.c\t2026-01-01\n+++ b/a.c\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n\
            diff --git a/s b/s\nindex 1..2 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-x\n+y\n\
            diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n\
            diff --git \"a/n\\303\\266.rs\" \"b/n\\303\\266.rs\"\n--- \"a/n\\303\\266.rs\"\n+++ \"b/n\\303\\266.rs\"\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/one b/two\nsimilarity index 100%\nrename from one\nrename to two\n";
        let read: Vec<_> = read(text).iter().map(|file| (file.path().to_owned(), file.kind)).collect();
        let expected = [
            ("a.c", FileKind::Text),
            ("l", FileKind::Link),
            ("s", FileKind::Submodule),
            ("p.png", FileKind::Binary),
            ("nö.rs", FileKind::Text),
            ("two", FileKind::Text),
        ];
        assert_eq!(read, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }

    #[test]
    fn prefixes_are_read_whatever_git_is_configured_to_write() {
        let change = "@@ -1 +1 @@\n-a\n+b\n";
        for (old, new) in [("a/", "b/"), ("c/", "w/"), ("i/", "w/"), ("c/", "i/"), ("w/", "c/"), ("1/", "2/"), ("", "")]
        {
            for path in ["src/x.rs", "c/w/x y.rs"] {
                let text = format!("diff --git {old}{path} {new}{path}\n--- {old}{path}\n+++ {new}{path}\n{change}");
                assert_eq!(read(&text)[0].paths().collect::<Vec<_>>(), [path, path], "{text}");
                let text = format!(
                    "diff --git {old}{path} {new}{path}\nnew file mode 100644\n--- /dev/null\n+++ {new}{path}\n@@ -0,0 +1 @@\n+a\n"
                );
                assert_eq!(read(&text)[0].paths().collect::<Vec<_>>(), [path], "{text}");
            }
            let text = format!(
                "diff --git \"{old}n\\303\\266\" \"{new}n\\303\\266\"\n--- \"{old}n\\303\\266\"\n+++ \"{new}n\\303\\266\"\n{change}"
            );
            assert_eq!(read(&text)[0].path(), "nö", "{text}");
            let text = format!(
                "diff --git {old}i/x {new}w/y\nsimilarity index 90%\nrename from i/x\nrename to w/y\n--- {old}i/x\n+++ {new}w/y\n{change}"
            );
            assert_eq!(read(&text)[0].paths().collect::<Vec<_>>(), ["i/x", "w/y"], "{text}");
        }
    }

    #[test]
    fn a_directory_with_the_name_of_a_prefix_stays_without_the_header_of_git() {
        let change = "@@ -1 +1 @@\n-a\n+b\n";
        for (old, new, expected) in [
            ("a/x.c", "b/x.c", ["x.c", "x.c"]),
            ("c/x.c.orig", "c/x.c", ["c/x.c.orig", "c/x.c"]),
            ("i/x.c", "w/x.c", ["i/x.c", "w/x.c"]),
            ("1/x.c", "2/x.c", ["1/x.c", "2/x.c"]),
            ("a/x.c.orig", "a/x.c", ["a/x.c.orig", "a/x.c"]),
            ("old/x.c", "b/x.c", ["old/x.c", "b/x.c"]),
        ] {
            let text = format!("--- {old}\t2026-01-01\n+++ {new}\t2026-01-02\n{change}");
            assert_eq!(read(&text)[0].paths().collect::<Vec<_>>(), expected, "{text}");
        }
        let come = read("--- /dev/null\n+++ b/x.c\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(come[0].paths().collect::<Vec<_>>(), ["x.c"]);
        let gone = read("--- c/x.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(gone[0].paths().collect::<Vec<_>>(), ["c/x.c"]);
    }

    #[test]
    fn patches_in_mails_and_commits_are_read_and_later_ones_build_on_earlier_ones() {
        let text = "From 1234567 Mon Sep 17 00:00:00 2001\nSubject: [PATCH 1/2] one\n\nBody.\n---\n a.c | 2 +-\n 1 file changed\n\n\
            diff --git a/a.c b/a.c\nindex 1..2 100644\n--- a/a.c\n+++ b/a.c\n@@ -9,2 +9,2 @@\n-old\n+new\n x\n-- \n2.39.5\n\n\
            From 2345678 Mon Sep 17 00:00:00 2001\nSubject: [PATCH 2/2] two\n\n---\n\
            diff --git a/a.c b/b.c\nsimilarity index 90%\nrename from a.c\nrename to b.c\nindex 2..3 100644\n--- a/a.c\n+++ b/b.c\n@@ -1,1 +1,3 @@\n a\n+b\n+c\n-- \n2.39.5\n\n\
            commit 345\nAuthor: n\n\n    diff --git a/no b/no\n\ndiff --git a/c b/d\nsimilarity index 100%\nrename from c\nrename to d\n\ncommit 456\n--- not a file\n";
        let read = read(text);
        let seen: Vec<_> = read.iter().map(|file| (file.paths().collect::<Vec<_>>(), file.hunks.clone())).collect();
        let lines = |first, last| Lines { first, last };
        let expected = [(vec!["a.c", "b.c"], vec![lines(11, 12), lines(1, 3)]), (vec!["c", "d"], vec![])];
        assert_eq!(seen, expected);
        assert!(!read[0].text.contains("2.39.5") && !read[0].text.contains("Subject"), "{}", read[0].text);
        assert_eq!(read[0].new_hash.as_deref(), Some("3"));
    }

    #[test]
    fn a_log_begins_with_the_last_patch_of_a_file() {
        let text = "commit 2\n\ndiff --git a/a.c b/b.c\nsimilarity index 90%\nrename from a.c\nrename to b.c\nindex 2..3\n--- a/a.c\n+++ b/b.c\n@@ -1,1 +1,3 @@\n a\n+b\n+c\n\n\
            commit 1\n\ndiff --git a/a.c b/a.c\nindex 1..2\n--- a/a.c\n+++ b/a.c\n@@ -9,2 +9,2 @@\n-old\n+new\n x\n";
        let read = read(text);
        let lines = |first, last| Lines { first, last };
        assert_eq!((read.len(), read[0].path(), read[0].new_hash.as_deref()), (1, "b.c", Some("3")));
        assert_eq!(read[0].hunks, [lines(11, 12), lines(1, 3)]);
        assert!(read[0].text.find("+new") < read[0].text.find("+b\n"), "{}", read[0].text);
    }

    #[test]
    fn copies_and_files_that_take_each_others_names_are_files_of_their_own() {
        let header = |kind: &str, from: &str, to: &str| {
            format!(
                "diff --git a/{from} b/{to}\nsimilarity index 90%\n{kind} from {from}\n{kind} to {to}\n--- a/{from}\n+++ b/{to}\n@@ -1 +1 @@\n-x\n+y\n"
            )
        };
        let edited = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
        let paths = |text: &str| read(text).iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
        assert_eq!(paths(&(edited.to_owned() + &header("copy", "a", "b"))), ["a", "b"]);
        assert_eq!(paths(&(header("rename", "a", "b") + &header("rename", "b", "c"))), ["b", "c"]);
        assert_eq!(paths(&(header("rename", "a", "b") + "commit 2\n\n" + &header("rename", "b", "c"))), ["c"]);
    }

    #[test]
    fn a_merge_has_as_many_parents_as_its_widest_hunk() {
        let text = "diff --cc a\n--- a/a\n+++ b/a\n@@@ -1 -1 +1 @@@\n--a\n++b\n@@ -9 +9 @@\n-a\n+b\n";
        assert_eq!(read(text)[0].parents, 2);
    }

    #[test]
    fn the_diff_of_a_merge_is_read() {
        let text = "diff --cc a.py\nindex 1234567,2345678..3456789\n--- a/a.py\n+++ b/a.py\n@@@ -1,3 -1,3 +1,4 @@@\n  one\n- two\n -zwei\n++both\n++@@@ -9,9 -9,9 +9,9 @@@\n  three\n\
            diff --combined \"n\\303\\266\"\nindex 1,2..3\nmode 100644,100644..120000\n--- a/n\n+++ b/n\n@@@@ -1 -1 -1 +1 @@@@\n---a\n+++b\n\
            diff --cc gone\nindex 1,2..0\ndeleted file mode 100644,100644\n--- a/gone\n+++ /dev/null\n\
            diff --git a/next b/next\n--- a/next\n+++ b/next\n@@ -1 +1 @@\n-a\n+b\n";
        let read = read(text);
        let seen: Vec<_> = read.iter().map(|file| (file.path(), file.kind, file.parents, file.hunks.len())).collect();
        let expected = [
            ("a.py", FileKind::Text, 2, 1),
            ("nö", FileKind::Link, 3, 1),
            ("gone", FileKind::Text, 1, 0),
            ("next", FileKind::Text, 1, 1),
        ];
        assert_eq!(seen, expected);
        assert_eq!((read[0].hunks[0], read[0].new_hash.as_deref()), (Lines { first: 1, last: 4 }, Some("3456789")));
        assert_eq!(read[2].new_path, None);
        assert_eq!(read.iter().map(|file| file.text.as_str()).collect::<String>(), text);
    }

    #[test]
    fn a_change_of_permissions_alone_is_known() {
        let modes = "old mode 100644\nnew mode 100755\n";
        let all = format!(
            "diff --git a/x b/x\n{modes}diff --git a/y b/y\n{modes}index 1..2\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/z b/w\n{modes}similarity index 100%\nrename from z\nrename to w\ndiff --git a/n b/n\nnew file mode 100755\n"
        );
        assert_eq!(read(&all).iter().map(FileDiff::is_of_permissions).collect::<Vec<_>>(), [true, false, false, false]);
    }
}
