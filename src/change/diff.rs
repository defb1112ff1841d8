//! Diffs: written for two versions of a file, and parsed if they come from elsewhere.

use std::fmt::Write;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

use dialectic_record::debate::Lines;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The change of a file, as a diff describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// The old path; `None` if the file is new.
    pub(super) old_path: Option<String>,
    /// The new path; `None` if the file was deleted.
    pub(super) new_path: Option<String>,
    /// The beginning of the new content's hash, if the diff contains it.
    pub(super) new_hash: Option<String>,
    /// The kind of change, if it is not a change of text.
    pub(super) kind: Kind,
    /// The line ranges of the changed file that the diff shows.
    pub(super) hunks: Vec<Lines>,
    /// The diff, including its header.
    pub(super) text: String,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
    Link,
    Submodule,
}

impl FileDiff {
    /// The file's current path.
    pub(super) fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }

    /// The file's old and new paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.old_path.as_deref().into_iter().chain(self.new_path.as_deref())
    }
}

/// The diff between two texts; `None` if they are equal.
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
    Some(FileDiff { old_path, new_path, new_hash: None, kind: Kind::Text, hunks, text })
}

/// Puts a path on one line, so that it cannot begin another line of a diff.
fn one_line(path: &str) -> String {
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
    // Changes with touching context share a hunk.
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

/// The changes of files in a diff from elsewhere, in the format of git or `diff -u`.
pub(super) fn read(text: &str) -> Vec<FileDiff> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut found, mut at): (Vec<FileDiff>, usize) = (Vec::new(), 0);
    while at < lines.len() {
        let is_headed = lines[at].starts_with("diff --git ");
        let is_bare = lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "));
        if !is_headed && !is_bare {
            at += 1;
            continue;
        }
        let end = end_of(&lines, at);
        found.push(file(&lines[at..end]));
        at = end;
    }
    found
}

/// The end of a file's section, before the next one. Lines within a hunk are counted, so that none of them passes for
/// the start of another file.
fn end_of(lines: &[&str], start: usize) -> usize {
    let mut at = start + 1;
    let (mut has_hunks, mut old, mut new) = (false, 0_u32, 0_u32);
    while let Some(line) = lines.get(at) {
        if old > 0 || new > 0 {
            match line.chars().next() {
                Some('+') => new = new.saturating_sub(1),
                Some('-') => old = old.saturating_sub(1),
                Some('\\') => {}
                _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
        } else if let Some((before, after)) = stretch(line) {
            (has_hunks, old, new) = (true, before.1, after.1);
        } else if line.starts_with("diff ")
            || has_hunks && line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
        {
            break;
        }
        at += 1;
    }
    at
}

/// Parses the start and length of a hunk, before and after: `@@ -10,4 +12,6 @@`.
fn stretch(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (from, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((from.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old)?, range(new)?))
}

fn file(lines: &[&str]) -> FileDiff {
    let text = lines.concat();
    let mut file =
        FileDiff { old_path: None, new_path: None, new_hash: None, kind: Kind::Text, hunks: Vec::new(), text };
    let header = lines.iter().take_while(|line| stretch(line).is_none());
    let (mut is_new, mut is_gone) = (false, false);
    for line in header.map(|line| line.trim_end_matches(['\n', '\r'])) {
        if let Some(both) = line.strip_prefix("diff --git ") {
            (file.old_path, file.new_path) = both_paths(both);
        } else if let Some(path) = line.strip_prefix("--- ") {
            file.old_path = path_of(path, "a/");
        } else if let Some(path) = line.strip_prefix("+++ ") {
            file.new_path = path_of(path, "b/");
        } else if let Some(path) = line.strip_prefix("rename from ") {
            file.old_path = Some(unquoted(path));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            file.new_path = Some(unquoted(path));
        } else if let Some(hashes) = line.strip_prefix("index ") {
            let (hashes, mode) = hashes.split_once(' ').unwrap_or((hashes, ""));
            file.new_hash = hashes.split_once("..").map(|(_, new)| new.to_owned());
            note_mode(&mut file, mode);
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            is_new = true;
            note_mode(&mut file, mode);
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            is_gone = true;
            note_mode(&mut file, mode);
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            note_mode(&mut file, mode);
        } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
            file.kind = Kind::Binary;
        }
    }
    if is_new {
        file.old_path = None;
    }
    if is_gone {
        file.new_path = None;
    }
    let stretches = lines.iter().filter_map(|line| stretch(line));
    file.hunks =
        stretches.filter_map(|(_, (from, count))| Lines::new(from, from.checked_add(count)?.checked_sub(1)?)).collect();
    file
}

fn note_mode(file: &mut FileDiff, mode: &str) {
    match mode {
        "120000" => file.kind = Kind::Link,
        "160000" => file.kind = Kind::Submodule,
        _ => {}
    }
}

/// Parses `a/one path b/one path`. Both paths are the same except in a rename, which repeats them.
fn both_paths(text: &str) -> (Option<String>, Option<String>) {
    if text.starts_with('"') {
        return (None, None);
    }
    let half = text.len().saturating_sub(1) / 2;
    let same = text.is_char_boundary(half).then(|| text.split_at(half)).and_then(|(old, new)| {
        let (old, new) = (old.strip_prefix("a/")?, new.strip_prefix(" b/")?);
        (old == new).then(|| old.to_owned())
    });
    (same.clone(), same)
}

fn path_of(text: &str, side: &str) -> Option<String> {
    // Some tools write a time after it.
    let path = unquoted(text.split('\t').next().unwrap_or(text));
    (path != "/dev/null").then(|| path.strip_prefix(side).map_or(path.clone(), str::to_owned))
}

/// A path in quotation marks, with the escapes of C.
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
    fn lines_of_a_file_never_pass_for_another_file() {
        let text = "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,4 @@\n a\n--- a/y\n+++ b/y\n+diff --git a/z b/z\n+@@ -1 +900 @@\n";
        let read = read(text);
        assert_eq!(read.len(), 1, "{read:#?}");
        assert_eq!((read[0].path(), read[0].new_hash.as_deref()), ("x", Some("89abcde")));
        assert_eq!(read[0].hunks, [Lines { first: 1, last: 4 }]);
    }

    #[test]
    fn names_and_kinds_are_read_as_tools_write_them() {
        let text = "--- old/a.c\t2026-01-01\n+++ b/a.c\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n\
            diff --git a/s b/s\nindex 1..2 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-x\n+y\n\
            diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n\
            diff --git \"a/n\\303\\266.rs\" \"b/n\\303\\266.rs\"\n--- \"a/n\\303\\266.rs\"\n+++ \"b/n\\303\\266.rs\"\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/one b/two\nsimilarity index 100%\nrename from one\nrename to two\n";
        let read: Vec<_> = read(text).iter().map(|file| (file.path().to_owned(), file.kind)).collect();
        let expected = [
            ("a.c", Kind::Text),
            ("l", Kind::Link),
            ("s", Kind::Submodule),
            ("p.png", Kind::Binary),
            ("nö.rs", Kind::Text),
            ("two", Kind::Text),
        ];
        assert_eq!(read, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }
}
