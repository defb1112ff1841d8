//! Entries that begin with a point's number and a verdict: `- 2.7 accepted (Storage): monthly partitions.`

use std::ops::Range;
use std::sync::Arc;

use super::Statement;
use super::blocks::{BlockKind, BlockLine, Page};

pub(super) struct Entries<'a, V> {
    pub(super) page: &'a Page,
    pub(super) numbers: &'a [&'a str],
    /// Phrases and their verdicts. Longer phrases come before their prefixes.
    pub(super) verdicts: &'a [(&'a str, V)],
}

const DECORATION: &str = "*_`~[](){}#";
const SEPARATORS: &str = ":.,;–—-=→|";

/// The beginning of an entry: the indices of its points, its verdict, and the offset of the text after them.
struct Lead<V> {
    points: Vec<usize>,
    verdict: Option<V>,
    rest: usize,
}

impl<V: Copy + PartialEq> Entries<'_, V> {
    /// If more than one entry names a point, only the last one counts. If that entry has no verdict, the point has no
    /// statement.
    pub(super) fn read(&self, lines: &[BlockLine]) -> Vec<Statement<V, usize>> {
        let mut entries: Vec<Statement<V, usize>> = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some((lead, end)) = self.entry(lines, at) else {
                at += 1;
                continue;
            };
            entries.retain(|known| !lead.points.contains(&known.point));
            if let Some(verdict) = lead.verdict {
                let (section, reason) = self.section_and_reason(lead.rest..lines[end - 1].end);
                let reason = reason.map(Arc::from);
                let of = |point| Statement { point, verdict, section: section.clone(), reason: reason.clone() };
                entries.extend(lead.points.into_iter().map(of));
            }
            at = end;
        }
        entries
    }

    /// The entry that starts at line `at`, and the index of the line after it.
    fn entry(&self, lines: &[BlockLine], at: usize) -> Option<(Lead<V>, usize)> {
        let line = &lines[at];
        let mut lead = self.lead(line)?;
        let mut end = at + 1;
        while let Some(next) = lines.get(end).filter(|next| belongs(line, next) && self.lead(next).is_none()) {
            // Matches `- 2.7 Backups` followed by `Decision: accepted`.
            if lead.verdict.is_none()
                && let Some((verdict, rest)) = self.verdict_below(next)
            {
                (lead.verdict, lead.rest) = (Some(verdict), rest);
            }
            end += 1;
        }
        Some((lead, end))
    }

    pub(super) fn is_entry(&self, line: &BlockLine) -> bool {
        self.lead(line).is_some()
    }

    fn lead(&self, line: &BlockLine) -> Option<Lead<V>> {
        if matches!(line.kind, BlockKind::Quoted | BlockKind::Rule) {
            return None;
        }
        let text = &self.page.text[line.start..line.end];
        let mut rest = spoken(without_bullet(text));
        let mut points = Vec::new();
        loop {
            let word = strip_word(rest, "point").map_or(rest, spoken);
            let Some((point, after)) = self.number(word) else { break };
            points.push(point);
            rest = after;
            // Matches `2.1, 2.3 and 2.4` and `2.1-2.4`.
            let next =
                rest.trim_start_matches(|c: char| c.is_whitespace() || DECORATION.contains(c) || ",&/–-".contains(c));
            let next = spoken(strip_word(next, "and").unwrap_or(next));
            let Some((last, _)) = self.number(next).filter(|_| next.len() < rest.len()) else { break };
            if rest[..rest.len() - next.len()].contains(['-', '–']) {
                points.extend(point + 1..last);
            }
            rest = next;
        }
        if points.is_empty() {
            return None;
        }
        // Matches `2.7 (Failover): maintained`.
        let titled = || closing(rest.trim_start().strip_prefix(['(', '['])?).map(|end| &rest.trim_start()[end + 2..]);
        let verdict = self.verdict(spoken(rest)).or_else(|| self.verdict(spoken(titled()?)));
        // `2.7 accepted risks` contains no verdict.
        let verdict = verdict.filter(|(_, after)| ends_a_verdict(after));
        let (verdict, rest) = verdict.map_or((None, rest), |(verdict, after)| (Some(verdict), after));
        Some(Lead { points, verdict, rest: line.end - rest.len() })
    }

    /// The index of the number at the beginning of `text` (`2.7`, `D3`), and the text after it.
    fn number<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
        let word = text[..end].trim_end_matches('.');
        let at = self.numbers.iter().position(|number| number.eq_ignore_ascii_case(word))?;
        Some((at, &text[word.len()..]))
    }

    /// The verdict at the beginning of `text`, such as `withdrawn` or `is withdrawn`, and the text after it.
    fn verdict<'t>(&self, text: &'t str) -> Option<(V, &'t str)> {
        let text = strip_word(text, "is").map_or(text, spoken);
        self.verdicts.iter().find_map(|(words, verdict)| Some((*verdict, strip_word(text, words)?)))
    }

    /// The verdict on the line below a number, such as `Decision: accepted`, and the offset of the text after it.
    fn verdict_below(&self, line: &BlockLine) -> Option<(V, usize)> {
        let text = spoken(without_bullet(&self.page.text[line.start..line.end]));
        let named = text.split_once(':').filter(|(name, _)| name.split_whitespace().count() <= 2);
        let (verdict, after) = self.verdict(spoken(named.map_or(text, |(_, after)| after)))?;
        ends_a_verdict(after).then(|| (verdict, line.end - after.len()))
    }

    /// Splits `(section): reason`.
    fn section_and_reason(&self, range: Range<usize>) -> (Option<String>, Option<String>) {
        let rest = after_separator(&self.page.text[range]);
        let bracketed = rest.strip_prefix(['(', '[']).and_then(|inner| Some((inner, closing(inner)?)));
        let named =
            || strip_word(rest, "in").and_then(|inner| Some((inner, inner.find(':').filter(|end| *end <= 80)?)));
        let section = bracketed.or_else(named);
        let why = tidy(section.map_or(rest, |(inner, end)| &inner[end + 1..]));
        let section = section.map(|(inner, end)| inner[..end].trim()).filter(|section| !section.is_empty());
        (section.map(str::to_owned), Some(why).filter(|why| why.contains(char::is_alphanumeric)))
    }
}

/// Whether `next` continues the entry or point that starts at `line`.
pub(super) fn belongs(line: &BlockLine, next: &BlockLine) -> bool {
    let is_nested = next.depth > line.depth && !matches!(next.kind, BlockKind::Heading(_));
    let is_wrapped = next.kind == BlockKind::Text && !next.first && next.depth == line.depth;
    match line.kind {
        // The text under a heading extends to the next heading or rule.
        BlockKind::Heading(_) => !matches!(next.kind, BlockKind::Heading(_) | BlockKind::Rule),
        BlockKind::Text => is_wrapped || is_nested && next.kind != BlockKind::Item,
        BlockKind::Item => {
            is_nested || next.depth == line.depth && !matches!(next.kind, BlockKind::Item | BlockKind::Heading(_))
        }
        BlockKind::Row | BlockKind::Rule | BlockKind::Quoted => false,
    }
}

/// Whether a verdict can end before `after`. False for ` risks` in `accepted risks`.
fn ends_a_verdict(after: &str) -> bool {
    let after = after.trim_start_matches(['*', '_', '`']);
    let next = after.trim_start().chars().next();
    next.is_none_or(|c| SEPARATORS.contains(c) || DECORATION.contains(c) || c == '>')
        || after.starts_with('\n')
        || strip_word(after.trim_start(), "in").is_some()
}

/// Removes heading and quotation marks (`#`, `>`), a list marker, a checkbox and a number with a dot or bracket (`1.`)
/// from the beginning.
pub(super) fn without_bullet(text: &str) -> &str {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "#>".contains(c));
    let bulleted = text.strip_prefix(['-', '*', '+', '•', '|']).filter(|rest| rest.starts_with(char::is_whitespace));
    let text = bulleted.unwrap_or(text).trim_start();
    let text = text.strip_prefix("[ ]").or_else(|| text.strip_prefix("[x]")).unwrap_or(text);
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let unnumbered = rest.strip_prefix(['.', ')']).filter(|rest| rest.starts_with(char::is_whitespace));
    unnumbered.unwrap_or(text).trim_start()
}

/// The text from its first letter or digit on.
pub(super) fn spoken(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Removes `word` from the beginning of `text`, ignoring case. Returns `None` if the text does not start with `word`,
/// or `word` is only the beginning of a longer word.
pub(super) fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word)).map(|_| &text[word.len()..])?;
    (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
}

/// The offset of the bracket, on the first line of `text`, that closes a bracket opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.lines().next()?.find(|c| {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        depth < 0
    })
}

/// The text after the separator that follows a verdict or tag, such as `:** `, ` - ` or ` → `.
pub(super) fn after_separator(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = rest.trim_start_matches(|c: char| SEPARATORS.contains(c));
        // In `->` and `=>`, the `>` is part of an arrow and is skipped. Any other `>` is a comparison and is kept.
        let is_arrow = rest[..rest.len() - after.len()].ends_with(['-', '=']);
        let after = after.strip_prefix('>').filter(|_| is_arrow).unwrap_or(after);
        // In `-5 degrees` and `.5`, the `-` and `.` are part of the text, not separators.
        let is_apart =
            after.is_empty() || after.starts_with([' ', '\n', '*', '_']) || rest.starts_with([':', ',', '|']);
        let after = if is_apart { after } else { rest };
        // Skips a mark that closes emphasis opened before `text`.
        let closed = ["**", "__", "*", "_", "`"]
            .iter()
            .find_map(|mark| after.strip_prefix(mark).filter(|inner| inner.matches(mark).count() % 2 == 0));
        let after = closed.unwrap_or(after).trim_start();
        if after.len() == rest.len() {
            return rest;
        }
        rest = after;
    }
}

/// The text without leading separators, list indentation or surrounding whitespace.
pub(super) fn tidy(text: &str) -> String {
    let text = after_separator(text);
    let indents = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = indents.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let dedented = text.lines().enumerate().map(|(at, line)| match line.get(common..) {
        Some(rest) if at > 0 && line[..common].trim().is_empty() => rest.trim_end(),
        Some(_) | None => line.trim_end(),
    });
    dedented.collect::<Vec<_>>().join("\n").trim_end_matches(['|', ' ', '\n']).to_owned()
}
