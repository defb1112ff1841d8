//! What a text says of points that were raised before: in lines that begin with a label, in sentences, in tables.

use std::collections::HashMap;
use std::ops::Range;

use super::blocks::{Kind, Line, Page};
use super::points::{Mark, lead};
use super::words::{self, Hit, List, Verdict};
use super::{ANSWERS_HEADING, Raised, ReadAnswers};

/// Bytes of a sentence: nobody writes longer ones.
const LONGEST: usize = 4000;
/// Bytes of a title by which a point can be known.
const TITLE: usize = 100;

/// Bytes of a line ahead of the label that it begins with.
const LABELLED: usize = 16;

/// What is said of a point: which one, the verdict, and why.
pub(super) type Said = (usize, Verdict, Option<String>);

/// Reads what is said of `raised`, in the words of `table`.
pub(super) struct Reader<'a> {
    page: &'a Page,
    raised: &'a [Raised<'a>],
    places: HashMap<(Option<usize>, usize), usize>,
    /// The titles of the points, and the names of their critics with the numbers of the critiques.
    titles: Vec<(String, usize)>,
    names: Vec<(String, usize)>,
    table: &'static [(Verdict, List)],
    /// What a denied rejection means.
    denied: Option<Verdict>,
}

/// Points that are named together.
#[derive(Debug, Clone)]
struct Group {
    range: Range<usize>,
    points: Vec<usize>,
    /// The critique, and the number there, of the last of them.
    last: (Option<usize>, usize),
}

/// Where a point is from: a critique by its number, or, without one, an earlier round.
type Origin = Option<usize>;

/// What the titles above a line say: whose points follow, and what becomes of them.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    critique: Option<Origin>,
    /// Whether the critic is named, so that the name counts for more than a number.
    is_named: bool,
    verdict: Option<Verdict>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        page: &'a Page,
        raised: &'a [Raised<'a>],
        table: &'static [(Verdict, List)],
        denied: Option<Verdict>,
    ) -> Self {
        let places = raised
            .iter()
            .enumerate()
            .map(|(at, one)| ((one.critique.map(|(critique, _)| critique), one.number), at))
            .collect();
        let titles =
            raised.iter().enumerate().filter_map(|(at, one)| Some((words::lower(title(one.text)?), at))).collect();
        let mut names: Vec<(String, usize)> = Vec::new();
        for (critique, name) in raised.iter().filter_map(|one| one.critique) {
            let name = words::lower(name.trim());
            if name.chars().count() > 1 && !names.iter().any(|(_, known)| *known == critique) {
                names.push((name, critique));
            }
        }
        Self { page, raised, places, titles, names, table, denied }
    }

    fn place(&self, critique: Option<usize>, number: usize) -> Option<usize> {
        self.places.get(&(critique, number)).copied()
    }

    /// The critics that are named in `text`, and where.
    fn names_in(&self, text: &str) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (name, critique) in &self.names {
            let is_word = |at: usize| {
                !text[..at].ends_with(words::is_letter) && !text[at + name.len()..].starts_with(words::is_letter)
            };
            found.extend(
                text.match_indices(name.as_str()).filter(|(at, _)| is_word(*at)).map(|(at, _)| (at, *critique)),
            );
        }
        found.sort_unstable();
        found
    }

    /// The points that are named in `text`, in its order.
    fn groups(&self, text: &str, context: Context) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let critics = self.names_in(text);
        let mut critique_before = None;
        // Without a number or a name, only a title can name a point.
        let may_name = !critics.is_empty() || context.critique.is_some() || text.contains(char::is_numeric);
        for at in words::starts(if may_name { text } else { "" }) {
            if groups.last().is_some_and(|last: &Group| at < last.range.end)
                || text[..at].ends_with('.') && text[..at - 1].ends_with(|c: char| c.is_ascii_digit())
            {
                continue;
            }
            let rest = &text[at..];
            let next = critics.partition_point(|(place, _)| *place < at);
            let whose = next.checked_sub(1).map(|before| critics[before].1);
            let found = if let Some((critique, number, end)) = label(rest) {
                let critique = match (critique, context) {
                    (Some(_), Context { critique: Some(Some(of)), is_named: true, .. })
                        if self.place(Some(of), number).is_some() =>
                    {
                        Some(of)
                    }
                    (critique, _) => critique,
                };
                Some((critique, number, end))
            } else if let Some((critique, end)) = critique_number(rest) {
                critique_before = Some(critique);
                // `Critique 2, point 3`
                let after = rest[end..].trim_start_matches([',', ':', ' ', '-', '–', '—', '*', '/', '、', '的']);
                numbered(after).map(|(number, length)| (Some(critique), number, rest.len() - after.len() + length))
            } else if let Some((number, end)) =
                ordinal(rest).or_else(|| numbered(rest).filter(|_| !rest.starts_with(|c: char| c.is_ascii_digit())))
            {
                // Whose it is, the name before it says, or the one behind it.
                let behind =
                    || critics.get(next).filter(|(place, _)| *place < at + end + 40).map(|(_, critique)| *critique);
                let counted = critique_number(
                    rest[end..].trim_start_matches(|c: char| !c.is_alphanumeric()).trim_start_matches("of "),
                )
                .map(|(critique, _)| critique);
                let critique = whose
                    .or(critique_before)
                    .map(Some)
                    .or_else(|| counted.or_else(behind).map(Some))
                    .or(context.critique);
                critique.map(|critique| (critique, number, end))
            } else {
                // `Security 2`, `Security's #2`
                critics.get(next).filter(|(place, _)| *place == at).and_then(|(_, critique)| {
                    let name = self.names.iter().find(|(_, known)| known == critique)?.0.len();
                    let after =
                        rest[name..].trim_start_matches(['\'', '’', 's', ',', ' ', '-', '–', '*', '/', ':', '(', '#']);
                    let (number, length) = numbered(after)?;
                    Some((Some(*critique), number, rest.len() - after.len() + length))
                })
            };
            if let Some((critique, number, end)) = found {
                self.join(&mut groups, text, at..at + end, critique, number);
            }
        }
        for (title, at) in &self.titles {
            let Some(start) = text.find(title.as_str()) else { continue };
            let of = self.raised[*at].critique.map(|(critique, _)| critique);
            let alike = self.titles.iter().filter(|(other, _)| other == title).count();
            let whose = critics.first().map(|(_, critique)| Some(*critique)).or(context.critique);
            // Its label is as good a name of it, or of another one.
            let end = start + title.len();
            let is_labelled = groups.iter().any(|group| {
                (group.range.end..=group.range.end + 12).contains(&start)
                    || (end..=end + 4).contains(&group.range.start)
            });
            if (alike == 1 || whose == Some(of)) && !is_labelled {
                groups.push(Group { range: start..end, points: vec![*at], last: (of, self.raised[*at].number) });
            }
        }
        groups.sort_by_key(|group| group.range.start);
        groups
    }

    /// Adds a label: to the group before it where `and`, a comma or a range is all that stands between them.
    fn join(&self, groups: &mut Vec<Group>, text: &str, range: Range<usize>, critique: Option<usize>, number: usize) {
        let mut points = Vec::from_iter(self.place(critique, number));
        let mut end = range.end;
        let mut last = number;
        // `points 1 and 2`, `1.1–3`
        while let Some((is_range, gap)) = link(&text[end..]) {
            let rest = &text[end + gap..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let is_number = digits > 0
                && digits < 4
                && !rest[digits..].starts_with(words::is_letter)
                && !(rest[digits..].starts_with('.') && rest[digits + 1..].starts_with(|c: char| c.is_ascii_digit()));
            let Some(next) = rest[..digits].parse::<usize>().ok().filter(|_| is_number) else { break };
            points.extend(
                (if is_range { last + 1 } else { next }..=next)
                    .take(100)
                    .filter_map(|number| self.place(critique, number)),
            );
            (end, last) = (end + gap + digits, next);
        }
        if let Some(before) = groups.last_mut().filter(|before| before.range.end <= range.start)
            && let Some((is_range, gap)) = link(&text[before.range.end..range.end])
            && gap >= range.start - before.range.end
        {
            if is_range && before.last.0 == critique {
                points.extend((before.last.1 + 1..number).take(100).filter_map(|number| self.place(critique, number)));
            }
            before.points.append(&mut points);
            (before.range.end, before.last) = (end, (critique, last));
            return;
        }
        groups.push(Group { range: range.start..end, points, last: (critique, last) });
    }

    /// What the lines say. A line that begins with a label goes before what is said of the point in passing.
    pub(super) fn read(&self, lines: &[Line]) -> Vec<Said> {
        if self.raised.is_empty() {
            return Vec::new();
        }
        let mut said: Vec<Said> = Vec::new();
        let mut contexts: Vec<(u8, Context)> = Vec::new();
        let mut header: Option<&Line> = None;
        let mut at = 0;
        while at < lines.len() {
            let line = &lines[at];
            let text = &self.page.lower[line.start..line.end];
            let rank = match line.kind {
                Kind::Heading(level) => level,
                _ => u8::try_from(line.depth).unwrap_or(u8::MAX).saturating_add(10),
            };
            let context = contexts.last().map_or(Context::default(), |(_, context)| *context);
            at += 1;
            match line.kind {
                Kind::Quoted | Kind::Rule => continue,
                Kind::Header => {
                    header = Some(line);
                    continue;
                }
                Kind::Row => {
                    self.row(line, header, context, &mut said);
                    continue;
                }
                _ => {}
            }
            if is_machine(text) {
                continue;
            }
            if let Some(found) = self.context(line, &contexts, rank) {
                contexts.retain(|(above, _)| *above < rank);
                contexts.push((rank, found));
                continue;
            }
            if matches!(line.kind, Kind::Heading(_)) {
                contexts.retain(|(above, _)| *above < rank);
            }
            if let Some(group) = self.lead_group(line, context) {
                let is_titled = matches!(line.kind, Kind::Heading(_));
                let is_open = is_titled || self.verdict_of(&self.page.lower[group.range.end..line.end]).is_none();
                let mut end = line.end;
                while let Some(next) = lines.get(at) {
                    let is_nested = next.depth > line.depth && (line.depth > 0 || lead(self.page, next).mark.is_none())
                        || next.kind == Kind::Text && (next.depth == line.depth && line.depth > 0 || !next.first);
                    let is_below = is_open
                        && matches!(next.kind, Kind::Text | Kind::Item)
                        && (is_titled || end == line.end && self.groups(self.near(next), context).is_empty());
                    if !(is_nested || is_below)
                        || matches!(next.kind, Kind::Heading(_) | Kind::Row | Kind::Header)
                        || self.lead_group(next, context).is_some()
                    {
                        break;
                    }
                    end = if next.kind == Kind::Quoted { end } else { next.end };
                    at += 1;
                }
                self.entries(line.start, group, end, context, &mut said);
            } else {
                // Sentences of a paragraph: the next of its lines belong to them.
                let mut end = line.end;
                while let Some(next) = lines
                    .get(at)
                    .filter(|next| next.kind == Kind::Text && !next.first && self.lead_group(next, context).is_none())
                {
                    end = next.end;
                    at += 1;
                }
                self.sentences(line.start..end, context, &mut said);
            }
        }
        said
    }

    /// What a title says of the lines below it.
    fn context(&self, line: &Line, above: &[(u8, Context)], rank: u8) -> Option<Context> {
        let whole = self.page.text[line.start..line.end].trim();
        let text = &self.page.lower[lead(self.page, line).rest..line.end];
        let bare = text.trim_end_matches(['*', '_', ' ']);
        let is_title = matches!(line.kind, Kind::Heading(_))
            || bare.ends_with([':', '：'])
            || whole.starts_with("**") && whole.ends_with("**")
            || bare.len() <= 40 && line.first;
        let raw = &self.page.lower[line.start..line.end];
        if !is_title || bare.is_empty() {
            return None;
        }
        let outer =
            above.iter().rev().find(|(level, _)| *level < rank).map_or(Context::default(), |(_, context)| *context);
        let names = self.names_in(raw);
        let counted = words::starts(raw).find_map(|at| critique_number(&raw[at..]));
        let is_one = !names.is_empty() && names.iter().all(|(_, critique)| *critique == names[0].1);
        // With a label, it is what is said of a point.
        let found = if is_one && self.groups(raw, Context::default()).is_empty() && names[0].0 <= 40 {
            Context { critique: Some(Some(names[0].1)), is_named: true, ..outer }
        } else if let Some((critique, _)) = counted.filter(|_| self.groups(raw, Context::default()).is_empty()) {
            Context { critique: Some(Some(critique)), is_named: false, ..outer }
        } else if words::entry(bare, &words::SECTIONS).is_some_and(|(section, _, _)| section == words::Section::Earlier)
            && !raw.contains('.')
        {
            Context { critique: Some(None), is_named: false, ..outer }
        } else {
            let hit = words::entry(bare, self.table).filter(|(_, end, _)| words::is_filler(&bare[*end..]));
            let is_bare = raw.trim_start_matches(|c: char| !c.is_alphanumeric()).len() >= bare.trim_start().len();
            Context {
                verdict: hit.filter(|_| is_bare && lead(self.page, line).mark.is_none()).map(|(verdict, _, _)| verdict),
                ..outer
            }
        };
        // A title that names a critic may go on with what is said: `Security: accepted`.
        let is_plain = self.verdict_of(bare).is_none() || found.verdict.is_some();
        (is_plain
            && (found.critique != outer.critique || found.verdict.is_some() || found.is_named || counted.is_some()))
        .then_some(found)
    }

    /// The points that a line begins with.
    fn lead_group(&self, line: &Line, context: Context) -> Option<Group> {
        if matches!(line.kind, Kind::Quoted | Kind::Rule | Kind::Header | Kind::Row) {
            return None;
        }
        let text = &self.page.lower[line.start..line.end];
        let near = &text[..text.floor_char_boundary(300)];
        let first = self.groups(near, context).into_iter().next();
        let is_lead = |group: &Group| {
            let before = text[..group.range.start].trim_start_matches(|c: char| !c.is_alphanumeric());
            let before = before
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start_matches(|c: char| !c.is_alphanumeric());
            before.len() <= 16 && words::is_filler(before)
                || words::begins(before, &words::LEAD_INS).is_some_and(|(end, _)| before[end..].trim().is_empty())
                || self.is_name(before)
        };
        if let Some(group) = first.filter(is_lead) {
            return Some(Group { range: line.start + group.range.start..line.start + group.range.end, ..group });
        }
        if let Some(group) = self.titled(line, context) {
            return Some(group);
        }
        // A number alone is that of the critique above, or of the only one.
        let lead = lead(self.page, line);
        let only = || {
            self.names.first().map(|(_, critique)| Some(*critique)).filter(|_| {
                self.raised.iter().all(|one| {
                    one.critique.map(|(critique, _)| critique) == self.raised[0].critique.map(|(critique, _)| critique)
                })
            })
        };
        let critique = context.critique.or_else(only)?;
        let (Some(Mark::Digit(number)), true) = (lead.mark, line.first || line.kind == Kind::Text) else {
            // `2 accepted`, `1, 2: accepted`
            let rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
            let start = line.end - rest.len();
            let (number, length) = numbered(rest)?;
            let mut groups = Vec::new();
            self.join(&mut groups, rest, 0..length, critique, number);
            let group = groups.pop()?;
            let after = rest[group.range.end..].trim_start_matches(|c: char| !c.is_alphanumeric());
            return words::entry(after, self.table).map(|_| Group { range: start..start + group.range.end, ..group });
        };
        let points = Vec::from_iter(self.place(critique, number as usize));
        Some(Group { range: line.start..lead.rest, points, last: (critique, number as usize) })
    }

    /// The point whose title a line begins with in other words: `Odometers: accepted`.
    fn titled(&self, line: &Line, context: Context) -> Option<Group> {
        let text = &self.page.lower[line.start..line.end];
        let head = &text[..text.find([':', '：', '–', '—']).filter(|end| *end <= TITLE)?];
        let is_content = |word: &&str| word.chars().count() > 3 || word.contains(words::is_unspaced);
        let words: Vec<&str> = head.split(|c: char| !c.is_alphanumeric()).filter(is_content).collect();
        let fits = |(title, at): &(String, usize)| {
            let critique = self.raised[*at].critique.map(|(critique, _)| critique);
            let is_near = context.critique.map_or(words.len() > 1, |of| of == critique);
            is_near && words.iter().all(|word| title.contains(word))
        };
        let mut fitting = self.titles.iter().filter(|one| !words.is_empty() && fits(one)).map(|(_, at)| *at);
        let (Some(at), None) = (fitting.next(), fitting.next()) else { return None };
        let last = (self.raised[at].critique.map(|(critique, _)| critique), self.raised[at].number);
        words::entry(head, self.table).is_none().then(|| Group {
            range: line.start..line.start + head.len(),
            points: vec![at],
            last,
        })
    }

    /// Whether `text` is the name of a critic: `Security's`.
    fn is_name(&self, text: &str) -> bool {
        let bare = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        let owner = bare.strip_suffix('s').map(|name| name.trim_end_matches(['\'', '’']));
        self.names.iter().any(|(name, _)| name == bare || Some(name.as_str()) == owner)
    }

    fn verdict_of(&self, text: &str) -> Option<Hit> {
        let hits = words::verdicts(text, self.table, self.denied);
        let sentence = text
            .char_indices()
            .find(|(at, c)| "\n。".contains(*c) || *c == '.' && text[at + 1..].starts_with([' ', '\n']) && *at > 3)
            .map_or(text.len(), |(at, _)| at);
        // A verdict that stands apart goes before one that is a part of a title or a reason.
        let before = |hit: &Hit| text[..hit.range.start].trim_end_matches(['*', '_', ' ', '\t']).chars().next_back();
        let begins = |hit: &Hit| {
            before(hit).is_none_or(|c| !c.is_alphanumeric() && !",\"'’“".contains(c))
                || before(hit).is_some_and(words::is_unspaced) && hit.range.start < 40
        };
        let ends = |hit: &Hit| {
            text[hit.range.end..]
                .trim_start_matches(['*', '_', ' '])
                .chars()
                .next()
                .is_none_or(|c| !words::is_letter(c) && c != '-')
        };
        let is_first = |hit: &Hit| text[..hit.range.start].chars().all(|c| !c.is_alphanumeric());
        let apart = || {
            hits.iter().find(|hit| {
                begins(hit)
                    && ends(hit)
                    && (hit.range.start <= sentence
                        || !hit.weak
                        || text[..hit.range.start].ends_with('\n')
                        || text[..hit.range.start].trim_end().ends_with([':', '*']))
            })
        };
        let first = hits.iter().find(|hit| is_first(hit));
        let plain = || hits.iter().find(|hit| !hit.weak && hit.range.start <= sentence);
        let found = match first {
            Some(hit) if ends(hit) => Some(hit),
            Some(hit) => apart().filter(|other| other.range.start <= sentence).or(Some(hit)),
            None => match (apart(), plain()) {
                (Some(apart), Some(plain)) if plain.range.start < apart.range.start && apart.range.start > sentence => {
                    Some(plain)
                }
                (Some(apart), _) => Some(apart),
                (None, Some(plain)) => Some(plain),
                (None, None) => hits.iter().find(|hit| {
                    let sentence = text[..hit.range.start].rsplit(['.', '\n', '。', ';']).next().unwrap_or_default();
                    let sentence = sentence.trim_matches(|c: char| !c.is_alphanumeric());
                    sentence.split_whitespace().count() <= 4
                        && (sentence.is_empty() || words::begins(sentence, &words::SUBJECTS).is_some())
                }),
            },
        };
        found.cloned()
    }

    /// The beginning of a line, in which its label stands.
    fn near(&self, line: &Line) -> &str {
        let text = &self.page.lower[line.start..line.end];
        &text[..text.floor_char_boundary(300)]
    }

    /// Answers that begin with their labels: `1.1 accepted; 1.2 rejected`.
    fn entries(&self, mut start: usize, mut group: Group, end: usize, context: Context, said: &mut Vec<Said>) {
        let from = group.range.end;
        let rest = &self.page.lower[from..end];
        for next in self.groups(rest, Context { critique: None, ..context }) {
            let before = rest[..next.range.start].trim_end_matches(['*', '_', ' ', '(', '-']);
            // `As for P2, …`
            let near_end = before.floor_char_boundary(before.len().saturating_sub(40));
            let opening = before[near_end..].rfind(['.', ';', '!', '?', '\n']).map_or(near_end, |at| near_end + at + 1);
            let phrase = before[opening..].trim_start();
            let is_opening = words::begins(phrase, &words::LEAD_INS).is_some_and(|(end, _)| end == phrase.len());
            let before = if is_opening { &before[..opening] } else { before };
            let after = rest[next.range.end..].trim_start_matches(|c: char| !c.is_alphanumeric());
            let near = &rest[next.range.end..];
            let decides =
                words::entry(after, self.table).is_some() || emoji(&near[..near.floor_char_boundary(8)]).is_some();
            let begins = match before.chars().next_back() {
                Some('.' | ';' | '!' | '?' | '。' | '；' | '\n') => {
                    let sentence = after.split(['.', ';', '。', '\n']).next().unwrap_or_default();
                    decides || !words::verdicts(sentence, self.table, self.denied).is_empty()
                }
                Some(c) => decides && !c.is_alphanumeric(),
                None => false,
            };
            if begins {
                let place = from + next.range.start;
                self.entry(start, &group, place, context, said);
                start = place;
                group = Group { range: place..from + next.range.end, ..next };
            }
        }
        self.entry(start, &group, end, context, said);
    }

    /// An answer that begins with its label.
    fn entry(&self, from: usize, group: &Group, end: usize, context: Context, said: &mut Vec<Said>) {
        let own_title = group.points.iter().find_map(|at| {
            let (title, _) = self.titles.iter().find(|(_, of)| of == at)?;
            let rest = &self.page.lower[group.range.end..end];
            let place = rest.find(title.as_str()).filter(|place| *place <= 8)?;
            Some(group.range.end + place + title.len())
        });
        let start = own_title.unwrap_or(group.range.end);
        let text = &self.page.lower[start..end];
        let mark = || emoji(&self.page.text[from..end]);
        let hit = self.verdict_of(text);
        let Some(verdict) = hit.as_ref().map(|hit| hit.verdict).or(context.verdict).or_else(mark) else { return };
        let behind = start + hit.as_ref().map_or(0, |hit| hit.range.end);
        let mut why = &self.page.text[behind..end];
        if !self.is_reason(why, &group.points)
            && let Some(hit) = &hit
        {
            // What stands before the verdict is the title of the point, unless it is a sentence.
            why = &self.page.text[start..start + hit.range.start];
            let words = why.trim_matches(|c: char| !c.is_alphanumeric());
            if !words.contains(['.', ',', ';', '。', '，', '、']) && words.split_whitespace().count() < 7 {
                why = "";
            }
        }
        let why = Some(why).filter(|why| self.is_reason(why, &group.points)).map(tidy);
        said.extend(group.points.iter().map(|at| (*at, verdict, why.clone())));
    }

    /// Answers in running text, sentence by sentence.
    fn sentences(&self, range: Range<usize>, context: Context, said: &mut Vec<Said>) {
        let text = &self.page.lower[range.clone()];
        let mut start = 0;
        // Points of the sentence before, of which it said nothing yet.
        let mut pending: Vec<usize> = Vec::new();
        // Answers of the sentence before that it gave no reason for.
        let mut bare: Vec<usize> = Vec::new();
        let ends = text.char_indices().filter(|(at, c)| {
            let after = &text[at + c.len_utf8()..];
            let begins_anew = || words::entry(after.trim_start_matches(['*', '_', '-', ' ']), self.table).is_some();
            "。！？；".contains(*c)
                || ".!?;".contains(*c) && after.starts_with(char::is_whitespace)
                || *c == '\n' && begins_anew()
        });
        for end in ends.map(|(at, c)| at + c.len_utf8()).chain([text.len()]).collect::<Vec<_>>() {
            let sentence = &text[start..end];
            let place = range.start + start;
            start = end;
            if sentence.trim().is_empty() || sentence.len() > LONGEST || is_order(sentence) {
                continue;
            }
            let groups = self.groups(sentence, context);
            let has_label = !groups.is_empty();
            if !has_label && pending.is_empty() {
                // The reason may stand in a sentence of its own.
                let why = Some(sentence).filter(|text| self.is_reason(text, &[]) && !words::says_none(text));
                let why = why.map(|_| tidy(&self.page.text[place..place + sentence.len()]));
                for one in std::mem::take(&mut bare) {
                    said[one].2.clone_from(&why);
                }
                continue;
            }
            bare.clear();
            let hits = words::verdicts(sentence, self.table, self.denied);
            let hits: Vec<&Hit> = hits.iter().filter(|hit| !hit.weak || has_label).collect();
            if !has_label {
                if let Some(hit) = hits.first() {
                    let why = self.why(place + hit.range.end..range.start + end, &pending);
                    said.extend(pending.drain(..).map(|at| (at, hit.verdict, why.clone())));
                }
                continue;
            }
            pending.clear();
            let leads = hits.first().is_some_and(|hit| hit.range.start < groups[0].range.start);
            for (index, group) in groups.iter().enumerate() {
                let next = groups.get(index + 1).map_or(sentence.len(), |next| next.range.start);
                let hit = if leads {
                    hits.iter().rev().find(|hit| hit.range.start < group.range.start)
                } else {
                    hits.iter().find(|hit| (group.range.end..next).contains(&hit.range.start)).or_else(|| {
                        hits.iter().find(|hit| index + 1 == groups.len() && hit.range.start > group.range.end)
                    })
                };
                let verdict = hit.map(|hit| hit.verdict).or(context.verdict);
                let Some(verdict) = verdict else {
                    pending.extend(&group.points);
                    continue;
                };
                let from = hit.map_or(0, |hit| hit.range.end).max(group.range.end);
                // A reason may name another point, of which nothing is said.
                let own = |at: usize| hits.iter().any(|hit| !hit.weak && hit.range.start >= at);
                let next = if leads || own(next) { next } else { sentence.len() };
                let other = hits.iter().filter(|hit| !hit.weak && hit.verdict != verdict).map(|hit| hit.range.start);
                let until = other.filter(|at| *at >= from && *at < next).min().unwrap_or(next);
                let why = self.why(place + from..place + until, &group.points);
                for point in &group.points {
                    bare.extend(why.is_none().then_some(said.len()));
                    said.push((*point, verdict, why.clone()));
                }
            }
        }
    }

    /// The reason at the beginning of a range, up to what is said of another point.
    fn why(&self, range: Range<usize>, points: &[usize]) -> Option<String> {
        let text = self.page.text[range].trim_start_matches([')', ' ', '.']);
        let end = text
            .char_indices()
            .find(|(at, c)| {
                ".。".contains(*c)
                    && text[at + c.len_utf8()..].starts_with(|c: char| c.is_whitespace() || words::is_unspaced(c))
            })
            .map_or(text.len(), |(at, c)| at + c.len_utf8());
        Some(&text[..end]).filter(|text| self.is_reason(text, points)).map(tidy)
    }

    /// Whether `text` says more than thanks, and more than what the point is called.
    fn is_reason(&self, text: &str, points: &[usize]) -> bool {
        let text = words::lower(text);
        let text = text.trim_matches(|c: char| !c.is_alphanumeric());
        let is_title = |at: &usize| {
            let whole = words::lower(title(self.raised[*at].text).unwrap_or_default());
            let shared = |text: &str| {
                words::starts(text).filter(|at| text[*at..].starts_with(char::is_alphanumeric)).all(|at| {
                    let word = &text[at..];
                    let end = word.find(|c: char| !words::is_letter(c)).unwrap_or(word.len());
                    let word = &word[..end.max(word.chars().next().map_or(0, char::len_utf8))];
                    whole.contains(word)
                })
            };
            whole.contains(text) || text.split_whitespace().count() <= 6 && shared(text)
        };
        !words::is_courtesy(text) && !points.iter().any(is_title)
    }

    /// An answer in a table.
    fn row(&self, line: &Line, header: Option<&Line>, context: Context, said: &mut Vec<Said>) {
        let cell = |at: usize| &self.page.lower[line.cells[at].clone()];
        let mut context = context;
        let mut label = None;
        for at in 0..line.cells.len() {
            let text = cell(at).trim_matches(|c: char| c.is_whitespace() || c == '*');
            let groups = self.groups(text, context);
            if let Some(group) = groups.first().filter(|group| text[..group.range.start].len() <= 24) {
                let points: Vec<usize> = groups
                    .iter()
                    .take_while(|other| other.range.start <= group.range.end + 200)
                    .flat_map(|group| group.points.clone())
                    .collect();
                label = Some((at, points));
                break;
            }
            let names_critique = || {
                header
                    .and_then(|header| header.cells.get(at))
                    .is_some_and(|cell| words::has(&self.page.lower[cell.clone()], &words::CRITIQUE_NAMES))
            };
            if let Some((critique, length)) = numbered(text).filter(|_| names_critique())
                && length == text.len()
            {
                context = Context { critique: Some(Some(critique)), is_named: false, ..context };
            } else if let Some((_, critique)) = self.names_in(text).first() {
                context = Context { critique: Some(Some(*critique)), is_named: true, ..context };
            } else if let Some((critique, _)) = critique_number(text) {
                context = Context { critique: Some(Some(critique)), is_named: false, ..context };
            } else if let (Some(critique), Some((number, length))) = (context.critique, numbered(text))
                && length == text.len()
            {
                label = Some((at, Vec::from_iter(self.place(critique, number))));
                break;
            }
        }
        let Some((labelled, points)) = label else { return };
        let others = || (0..line.cells.len()).filter(|at| *at != labelled);
        // The cell with the verdict: one that begins with it, or is named so.
        let starting = others().find_map(|at| {
            let hits = words::verdicts(cell(at), self.table, self.denied);
            let first = hits.into_iter().find(|hit| {
                cell(at)[..hit.range.start]
                    .split_whitespace()
                    .all(|word| !word.contains(char::is_alphanumeric) || words::has(word, &words::NEGATIONS))
            })?;
            Some((at, first))
        });
        let marked = || {
            others().find_map(|at| Some((at, Hit { verdict: emoji(cell(at))?, range: 0..cell(at).len(), weak: false })))
        };
        let Some((decided, hit)) =
            starting.or_else(marked).or_else(|| others().find_map(|at| Some((at, self.verdict_of(cell(at))?))))
        else {
            return;
        };
        let is_title = |at: usize| {
            let title =
                header.and_then(|header| header.cells.get(at)).map_or("", |cell| &self.page.lower[cell.clone()]);
            words::has(title, &words::TITLE_COLUMNS) && !words::has(title, &words::REASON_COLUMNS)
        };
        let behind = self.page.text[line.cells[decided].clone()].get(hit.range.end..).unwrap_or_default();
        let reasons =
            others().filter(|at| *at != decided && !is_title(*at)).map(|at| &self.page.text[line.cells[at].clone()]);
        let reasons: Vec<String> =
            std::iter::once(behind).chain(reasons).filter(|text| self.is_reason(text, &points)).map(tidy).collect();
        let why = (!reasons.is_empty()).then(|| reasons.join(" "));
        said.extend(points.iter().map(|at| (*at, hit.verdict, why.clone())));
    }

    /// Whether a line of a critique begins with the label of an earlier point and is thus no new one.
    pub(super) fn is_recheck(&self, line: &str) -> bool {
        let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let text =
            text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(|c: char| !c.is_alphanumeric());
        let text = words::begins(text, &words::POINT_NAMES).map_or(text, |(end, _)| text[end..].trim_start());
        if words::entry(text, self.table).is_some() {
            // `Withdrawn: P1, P3`
            return words::starts(text).any(|at| matches!(label(&text[at..]), Some((None, ..))));
        }
        let Some((None, number, end)) = label(text) else { return false };
        self.place(None, number).is_some() || !words::verdicts(&text[end..], self.table, self.denied).is_empty()
    }

    /// Whether a line begins with a label and says no more than a solution could, too.
    fn is_plain_answer(&self, line: &Line) -> bool {
        let group = Some(line).filter(|line| self.near(line).contains(char::is_numeric));
        let group = group.and_then(|line| self.lead_group(line, Context::default()));
        let Some(group) = group.filter(|group| !group.points.is_empty()) else { return false };
        let rest = self.page.lower[group.range.end..line.end].trim_start_matches(|c: char| !c.is_alphanumeric());
        words::entry(rest, self.table).is_some_and(|(_, end, _)| {
            let after = rest[end..].trim_start_matches(['*', '_', ' ']);
            after.is_empty() || after.starts_with([':', '：', '.', ',', ';', '-', '–', '—', '。', '，', '('])
        })
    }
}

fn emoji(text: &str) -> Option<Verdict> {
    text.chars().find_map(|c| match c {
        '✅' | '✔' | '☑' | '👍' | '✓' => Some(Verdict::Yes),
        '❌' | '✖' | '🚫' | '👎' | '✗' | '✘' => Some(Verdict::No),
        '⚠' | '🟡' | '🔶' | '◐' | '🟠' => Some(Verdict::Partly),
        _ => None,
    })
}

/// Data, or a comment in it, that only looks like what is said.
fn is_machine(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '*', ' ', '`']);
    text.starts_with(['{', '}'])
        || ["//", "/*", "[{"].iter().any(|mark| text.starts_with(mark))
        || text.contains("\": \"")
        || text.contains("\":\"")
}

/// What is said to whoever runs the debate: an order is no answer.
fn is_order(sentence: &str) -> bool {
    words::has(sentence, &words::ADDRESSEES)
        || words::begins(sentence.trim_start_matches(|c: char| !c.is_alphanumeric()), &words::ORDERS).is_some()
}

/// The short title of a point, by which it can be known.
fn title(text: &str) -> Option<&str> {
    let line = text.trim_start_matches(['*', '_', '#', ' ']).lines().next()?;
    let title = line.split([':', '：', '。']).next()?.split(". ").next()?.trim_matches(['*', '_', ' ', '.']);
    let is_telling = title.len() >= 6
        && title.len() <= TITLE
        && (title.contains(' ') || title.contains(words::is_unspaced) || title.len() >= 10);
    is_telling.then_some(title)
}

/// `P3`, `2.3`, `C2.3`: the critique, the number there, and where the label ends.
fn label(text: &str) -> Option<(Option<usize>, usize, usize)> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bounded = |end: usize| {
        !text[end..].starts_with(|c: char| words::is_letter(c) || c == '%')
            && !text[end..].strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if let Some(rest) = text.strip_prefix('p') {
        let rest = rest.trim_start_matches(['-', '#']);
        let (start, length) = (text.len() - rest.len(), digits(rest));
        let number = rest[..length].parse().ok().filter(|_| (1..=6).contains(&length) && bounded(start + length))?;
        return Some((None, number, start + length));
    }
    let rest = text.trim_start_matches(['c', 'k', '#', 'r']);
    let start = text.len() - rest.len();
    let first = digits(rest);
    let tail = rest[first..]
        .strip_prefix(['.', '-', '/'])
        .filter(|_| start <= 2 && (1..=4).contains(&first) && (start > 0 || rest[first..].starts_with('.')))?;
    let tail = tail.strip_prefix(['p', '#']).unwrap_or(tail);
    let second = digits(tail);
    let end = text.len() - tail.len() + second;
    let (critique, number) = (rest[..first].parse().ok()?, tail[..second].parse().ok()?);
    ((1..=4).contains(&second) && bounded(end)).then_some((Some(critique), number, end))
}

/// `Critique 2`.
fn critique_number(text: &str) -> Option<(usize, usize)> {
    let (end, _) = words::begins(text, &words::CRITIQUE_NAMES).or_else(|| {
        text.strip_prefix('c').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).map(|_| (1, false))
    })?;
    let rest = text[end..].trim_start_matches([' ', '#', '№']);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok().filter(|_| digits < 5)?;
    let is_label =
        rest[digits..].starts_with(['.', '-']) && rest[digits + 1..].starts_with(|c: char| c.is_ascii_digit());
    (!is_label).then(|| (number, text.len() - rest.len() + digits))
}

/// `point 3`, `#3`, `3`: a number that is not a part of another one.
fn numbered(text: &str) -> Option<(usize, usize)> {
    let (noun, _) = words::begins(text, &words::POINT_NAMES).unwrap_or_default();
    let rest = text[noun..].trim_start_matches([' ', '#', '№', '*']);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let after = &rest[digits..];
    let is_whole = !after.starts_with(words::is_letter)
        && !after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    rest[..digits].parse().ok().filter(|_| digits < 5 && is_whole).map(|number| (number, text.len() - after.len()))
}

/// `first`, `second point`.
fn ordinal(text: &str) -> Option<(usize, usize)> {
    let (number, end) =
        words::ORDINALS[..8].iter().enumerate().find_map(|(at, list)| Some((at + 1, words::begins(text, list)?.0)))?;
    let noun = text[end..].trim_start();
    let end = words::begins(noun, &words::POINT_NAMES).map_or(end, |(length, _)| text.len() - noun.len() + length);
    Some((number, end))
}

/// What links labels that are named together: whether it is a range, and how long it is.
fn link(text: &str) -> Option<(bool, usize)> {
    let rest = text.trim_start_matches(['*', '_', ' ', ')', ']']);
    let (end, is_range) = match words::begins(rest, &words::RANGES) {
        Some((end, _)) => (end, true),
        None => (words::begins(rest, &words::LINKS)?.0, false),
    };
    let tail = rest[end..].trim_start_matches(['*', '_', ' ', '(', '[']);
    // `1.1, and 1.2`
    let tail = words::begins(tail, &words::LINKS)
        .map_or(tail, |(end, _)| tail[end..].trim_start_matches(['*', '_', ' ', '(', '[']));
    Some((is_range, text.len() - tail.len()))
}

/// A reason without the punctuation and the markup around it.
fn tidy(text: &str) -> String {
    text.trim_start_matches(|c: char| !c.is_alphanumeric() && !"`\"“„«'‘$€£<[(/".contains(c))
        .trim_end_matches(['*', '_', ' ', '\n', '|'])
        .to_owned()
}

/// Reads what a refinement answers.
pub(super) fn read(page: &Page, raised: &[Raised<'_>]) -> ReadAnswers {
    let reader = Reader::new(page, raised, &words::RESPONSES, None);
    let mut last: Vec<Option<(Verdict, Option<String>)>> = vec![None; raised.len()];
    let (mut has_section, mut at) = (false, 0);
    let mut order: Vec<usize> = Vec::new();
    let mut take = |said: Vec<Said>| {
        for (place, verdict, why) in said {
            order.retain(|other| *other != place);
            order.push(place);
            last[place] = Some((verdict, why));
        }
    };
    while at < page.lines.len() {
        let Some(until) = section_at(page, at) else {
            at += 1;
            continue;
        };
        has_section = true;
        take(reader.read(&page.lines[at + 1..until]));
        at = until;
    }
    if !has_section {
        // Without a title, the answers are the lines at the end that are nothing else.
        let is_answer = |line: &Line| reader.is_plain_answer(line);
        let end = page.lines.iter().rposition(is_answer).map_or(0, |last| last + 1);
        let start = page.lines[..end]
            .iter()
            .rposition(|line| !is_answer(line) && line.depth == 0)
            .map_or(0, |before| before + 1);
        let is_last = page.lines[end..].iter().filter(|line| line.first).count() <= 1;
        let said = if is_last { reader.read(&page.lines[start..end]) } else { Vec::new() };
        if said.len() >= 2 && said.len() * 2 >= raised.len() {
            take(said);
        }
    }
    let answers = order.into_iter().filter_map(|place| {
        let (verdict, why) = last[place].take()?;
        Some((place, verdict.response(), why))
    });
    ReadAnswers { answers: answers.collect(), section: asked_section(page, &reader) }
}

/// The section that the prompt asked for: under the heading that it names, and with an answer in it. Of several the last.
fn asked_section(page: &Page, reader: &Reader<'_>) -> Option<Range<usize>> {
    let mut from = page.lines.len();
    loop {
        from = page.lines[..from].iter().rposition(|line| is_asked_title(page, line))?;
        let level = title_level(page, &page.lines[from]);
        let ends = |line: &Line| title_level(page, line).is_some_and(|other| level.is_none_or(|level| other <= level));
        let below = &page.lines[from + 1..];
        let length = below.iter().position(ends).unwrap_or(below.len());
        let (lines, next) = below.split_at(length);
        if !reader.read(lines).is_empty() || lines.iter().any(|line| is_answer_line(page, line)) {
            let end = next.first().map_or(page.text.trim_end().len(), |line| line.start);
            return Some(page.lines[from].start..end);
        }
    }
}

/// Whether a line is the title that the prompt names, with a number or a colon or without.
fn is_asked_title(page: &Page, line: &Line) -> bool {
    let text = page.lower[line.start..line.end].trim_matches(|c: char| c.is_whitespace() || "#*_:：".contains(c));
    let unnumbered = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".)".contains(c)).trim_start();
    title_level(page, line).is_some() && unnumbered.trim_start_matches(['*', '_']) == words::lower(ANSWERS_HEADING)
}

/// How high a title stands: a line in bold below all headings.
fn title_level(page: &Page, line: &Line) -> Option<u8> {
    match line.kind {
        Kind::Heading(level) => Some(level),
        Kind::Text if line.first && line.depth == 0 => {
            let text = page.text[line.start..line.end].trim_end_matches([':', '：']);
            let inner = |mark| text.strip_prefix(mark)?.strip_suffix(mark);
            let is_bold = ["**", "__"].into_iter().filter_map(inner).any(|inner: &str| !inner.contains("**"));
            is_bold.then_some(7)
        }
        Kind::Text | Kind::Item | Kind::Header | Kind::Row | Kind::Rule | Kind::Quoted => None,
    }
}

/// Whether a line begins with the label of a point, known or not, and a verdict: `2.3 accepted: …`.
fn is_answer_line(page: &Page, line: &Line) -> bool {
    if matches!(line.kind, Kind::Quoted | Kind::Rule) {
        return false;
    }
    let text = &page.lower[line.start..line.end];
    let end = words::starts(text).take_while(|at| *at <= LABELLED).find_map(|at| Some(at + label(&text[at..])?.2));
    end.is_some_and(|end| !words::verdicts(&text[end..], &words::RESPONSES, None).is_empty())
}

/// Where the section of answers ends that begins with the line at `at`, if it is its title.
fn section_at(page: &Page, at: usize) -> Option<usize> {
    let line = &page.lines[at];
    let text = &page.lower[line.start..line.end];
    let whole = text.trim_end_matches([' ', ':', '：', '*', '_']);
    let level = match line.kind {
        Kind::Heading(level) => level,
        Kind::Text
            if line.first
                && line.depth == 0
                && (text.starts_with("**") && whole.matches("**").count() <= 1
                    || text.ends_with(':')
                    || text.ends_with("：")
                    || text.len() < 40 && !text.ends_with(['.', '。'])) =>
        {
            7
        }
        _ => return None,
    };
    let rest = page.lower[lead(page, line).rest..line.end].trim();
    let is_title =
        words::has(rest, &words::RESPONSE_SECTIONS) && rest.split_whitespace().count() <= 8 && !rest.contains('.');
    let about_critique = level < 7 && rest.split_whitespace().count() <= 3 || words::has(rest, &words::CRITIQUE_WORDS);
    if !is_title || !about_critique {
        return None;
    }
    let ends = |line: &Line| matches!(line.kind, Kind::Heading(other) if other <= level);
    Some(page.lines[at + 1..].iter().position(ends).map_or(page.lines.len(), |length| at + 1 + length))
}
