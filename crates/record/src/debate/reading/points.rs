//! The points of a critique: which lines begin one, what belongs to it, and what its parts are.

use std::ops::Range;

use dialectic_base::severity::Severity;

use super::Point;
use super::blocks::{Kind, Line, Page};
use super::words::{self, Grade, Marks, Section};

/// Characters that mark text up, at the beginning of a line or around a word.
const MARKUP: &[char] =
    &['*', '_', '#', '>', '|', '~', '`', '•', '·', '–', '—', '-', '+', '➡', '→', '\u{fe0f}', ' ', '\t'];
/// Bytes that a severity, a number or a label in brackets may have.
const BRACKET: usize = 60;
/// Words of a line that says what follows it.
const MOST_WORDS: usize = 25;
/// End a sentence that says that there is nothing to object to.
static ENDS: Marks = Marks::new(&['.', '!', '。', ';', '！']);
/// Ends of a sentence before one that makes a point.
static STOPS: Marks = Marks::new(&['.', '!', '?', '。', ';', '；']);
/// Bytes of what a point is said to be about.
const ABOUT: usize = 90;

/// How a line is numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Digit(u32),
    /// A letter or a Roman numeral.
    Letter,
    /// A Chinese or Japanese numeral.
    Numeral,
    /// `Objection 2`.
    Named,
    /// `P2`, which may be a label.
    Label,
}

/// What a line begins with, before it says anything.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lead {
    pub(super) mark: Option<Mark>,
    grade: Option<Grade>,
    /// A mark of praise: what follows is no objection.
    is_praise: bool,
    /// A bracket that was opened, with nothing behind it.
    is_cut: bool,
    /// Where the rest begins.
    pub(super) rest: usize,
}

/// A severity in brackets or in a cell, whatever else is said there: `Severity: high`, `blocking, R3`.
fn grade_of(text: &str) -> Option<Grade> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || MARKUP.contains(&c));
    let text = words::begins(text, &words::SEVERITY_FIELDS)
        .map_or(text, |(end, _)| text[end..].trim_start_matches([':', '：', '=', '*', ' ']));
    let (grade, end) = words::grade(text)?;
    let named = text[end..].trim_start_matches(|c: char| !c.is_alphanumeric());
    // A mark of colour gives way to the word behind it.
    if text.starts_with(char::is_alphanumeric) {
        Some(grade)
    } else {
        words::grade(named).map_or(Some(grade), |(grade, _)| Some(grade))
    }
}

/// The bracket that `text` begins with: what is in it, and where it ends.
fn bracket(text: &str) -> Option<(&str, usize)> {
    let open = text.chars().next()?;
    let close = match open {
        '[' => ']',
        '(' => ')',
        '（' => '）',
        '【' => '】',
        '［' => '］',
        '〔' => '〕',
        '「' => '」',
        _ => return None,
    };
    let inside = &text[open.len_utf8()..];
    let end = inside.char_indices().take_while(|(at, _)| *at <= BRACKET).find(|(_, c)| *c == close)?.0;
    Some((&inside[..end], open.len_utf8() + end + close.len_utf8()))
}

/// A number that `text` begins with, where it ends, and whether a space is enough behind it.
fn number(text: &str, loose: bool) -> Option<(Mark, usize)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let digits = text[..digits].trim_end_matches('.').len();
    let numerals = text.len() - text.trim_start_matches(|c| "一二三四五六七八九十".contains(c)).len();
    let letters = text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    if let Some(circled) = text.chars().next().filter(|c| ('①'..='⑳').contains(c)) {
        return Some((Mark::Digit(circled as u32 - '①' as u32 + 1), circled.len_utf8()));
    }
    let (mark, end) = if digits > 0 {
        (Mark::Digit(text[..digits].split('.').next_back().and_then(|last| last.parse().ok()).unwrap_or(0)), digits)
    } else if (1..=9).contains(&numerals) {
        (Mark::Numeral, numerals)
    } else if letters == 1 || (2..=5).contains(&letters) && text[..letters].trim_matches(['i', 'v', 'x']).is_empty() {
        (Mark::Letter, letters)
    } else if let Some(name) = words::begins(text, &words::POINT_NAMES).map(|(end, _)| end) {
        let rest = text[name..].trim_start_matches([' ', '#', '.', '№', '-']);
        let (_, length) = number(rest, true).filter(|(mark, _)| matches!(mark, Mark::Digit(_) | Mark::Numeral))?;
        return Some((Mark::Named, text.len() - rest.len() + length));
    } else {
        return None;
    };
    let mut rest = &text[end..];
    let mut is_label = false;
    if mark == Mark::Letter {
        // `P2:`
        let label = rest.trim_start_matches('-').trim_start_matches(|c: char| c.is_ascii_digit());
        is_label = label.len() < rest.len() && !rest.starts_with("- ") && text.starts_with('p') && end == 1;
        rest = if is_label { label } else { rest };
    }
    let rest = rest.trim_start_matches(['*', '_', '点', '条', '個']);
    let end = text.len() - rest.len();
    let mark = if is_label { Mark::Label } else { mark };
    let mut after = rest.chars();
    let is_end = match after.next() {
        None => matches!(mark, Mark::Digit(_)),
        Some('.' | ')' | ':' | '）') => after.next().is_none_or(|c| !c.is_ascii_alphanumeric()),
        Some('、' | '．' | '：' | ']' | '】') => true,
        Some('，' | ',') => mark == Mark::Numeral,
        Some(' ') => {
            let dash = rest.trim_start().starts_with(['-', '–', '—', '[', '(', '·', '|']);
            (loose || dash && !matches!(mark, Mark::Letter)) && mark != Mark::Letter || mark == Mark::Label && dash
        }
        Some(_) => false,
    };
    is_end.then(|| {
        (mark, end + rest.chars().next().filter(|c| *c != ' ' && !c.is_alphanumeric()).map_or(0, char::len_utf8))
    })
}

/// Reads what a line begins with.
pub(super) fn lead(page: &Page, line: &Line) -> Lead {
    let text = &page.lower[line.start..line.end];
    let mut lead = Lead::default();
    let mut at = 0;
    for _ in 0..12 {
        let before = at;
        let rest = &text[at..];
        let marks = rest.len() - rest.trim_start_matches(MARKUP).len();
        let hashed = rest[..marks].ends_with('#') && !matches!(line.kind, Kind::Heading(_));
        at += marks;
        let rest = &text[at..];
        if let Some((inside, end)) = bracket(rest) {
            if matches!(inside, "x" | " " | "") {
                at += end;
            } else if let Some(grade) =
                grade_of(inside).filter(|_| lead.grade.is_none_or(|grade| grade == Grade::Yellow))
            {
                (lead.grade, at) = (Some(grade), at + end);
            } else if let Some((mark, _)) = number(&format!("{inside}."), false)
                .filter(|(mark, _)| is_number(inside) && (lead.mark.is_none() || *mark != Mark::Letter))
            {
                lead.mark = lead.mark.or(Some(mark));
                at += end;
            }
        } else if rest.starts_with(['[', '(', '（', '【']) {
            lead.is_cut =
                line.end == page.text.trim_end().len() && rest.len() < BRACKET && rest.starts_with(['[', '【']);
        } else if let Some((mark, end)) =
            number(rest, hashed || matches!(line.kind, Kind::Heading(_)) && lead.mark.is_none())
        {
            // The first number counts: what follows may be a part of the text.
            if lead.mark.is_none() || matches!(mark, Mark::Digit(_) | Mark::Named) {
                lead.mark = lead.mark.filter(|old| *old == Mark::Label).or(Some(mark));
                at += end;
            }
        } else if let Some((grade, end)) = words::grade(rest).filter(|(_, end)| {
            !rest.starts_with(char::is_alphanumeric) || is_apart(&rest[*end..], matches!(line.kind, Kind::Heading(_)))
        }) {
            if lead.grade.is_none_or(|_| rest.starts_with(char::is_alphanumeric)) {
                lead.grade = Some(grade);
                at += end;
                let noun = text[at..].trim_start_matches([' ', '*', '_']);
                if let Some((end, _)) =
                    words::begins(noun, &words::POINT_NAMES).filter(|_| noun.len() < text[at..].len())
                {
                    at = text.len() - noun.len() + end;
                }
                at += text[at..].len()
                    - text[at..].trim_start_matches(|c: char| MARKUP.contains(&c) || ":：.)）/,，".contains(c)).len();
                if lead.mark.is_none()
                    && let Some((mark, end)) =
                        number(&text[at..], true).filter(|(mark, _)| matches!(mark, Mark::Digit(_)))
                {
                    (lead.mark, at) = (Some(mark), at + end);
                }
            }
        } else if let Some(end) = tag(rest) {
            at += end;
        } else if let Some(c) =
            rest.chars().next().filter(|c| !c.is_alphanumeric() && !"\"'“‘«„$\\&/%.…<「『".contains(*c))
        {
            lead.is_praise |= "✅✔☑👍💚✓".contains(c);
            at += c.len_utf8();
        }
        if at == before {
            break;
        }
    }
    lead.rest = line.start + at;
    lead
}

fn is_number(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 6
        && (text.chars().all(|c| c.is_ascii_digit() || c == '.')
            || text.len() == 1
            || text.trim_matches(['i', 'v', 'x']).is_empty()
            || text.chars().all(|c| "一二三四五六七八九十".contains(c)))
}

/// The HTML tag that `text` begins with.
fn tag(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let end = inside.char_indices().take_while(|(at, _)| *at < BRACKET).find(|(_, c)| *c == '>')?.0;
    inside.starts_with(|c: char| c == '/' || c.is_ascii_alphabetic()).then_some(end + 2)
}

/// Whether the severity before `text` stands on its own: `Major: `, `**Major** `, but not `Major cities`.
fn is_apart(text: &str, is_heading: bool) -> bool {
    let marks = text.trim_start_matches(['*', '_', '\u{fe0f}']);
    let noun = marks.trim_start();
    let rest = words::begins(noun, &words::POINT_NAMES)
        .or_else(|| words::begins(noun, &words::SEVERITY_FIELDS))
        .map_or(marks, |(end, _)| &noun[end..]);
    let rest = rest.trim_start_matches(['*', '_', '#', ' ']).trim_start_matches(|c: char| c.is_ascii_digit());
    let was_bold = marks.len() < text.len() && !rest.starts_with(|c: char| c.is_alphanumeric())
        || text.starts_with("**")
        || text.starts_with("__");
    let mut after = rest.chars();
    match after.next() {
        None | Some(':' | '：' | '–' | '—' | '】' | '|' | '/' | '、' | '→' | '·' | '•') => true,
        Some('(' | '[' | '（') => is_heading,
        Some('-') => after.next() == Some(' '),
        Some('.' | ')' | ',') => after.next().is_none_or(char::is_whitespace),
        Some(c) => was_bold || !c.is_alphanumeric() && !text.starts_with(' ') && text.starts_with('\u{fe0f}'),
    }
}

/// What a line is the title of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Title {
    Section(Section),
    Graded(Grade),
    /// Nothing in particular: back to the text itself.
    Text,
}

/// Whether a line is the title of a section: all of it says what follows.
fn title(page: &Page, line: &Line, lead: &Lead) -> Option<Title> {
    let text = page.lower[line.start..line.end].trim();
    let rest = page.lower[lead.rest..line.end]
        .trim_matches(|c: char| c.is_whitespace() || MARKUP.contains(&c) || ":：.".contains(c));
    let is_heading = matches!(line.kind, Kind::Heading(_));
    let bare = text.trim_end_matches(['*', '_']).trim_end();
    let is_bold =
        text.starts_with("**") && (text.ends_with("**") || bare.ends_with(':')) && text.matches("**").count() == 2;
    let ends_open = bare.ends_with([':', '：', '👇']);
    // More words than these make no title.
    let count = || rest.split_whitespace().take(MOST_WORDS + 1).count();
    let is_short = || rest.len() <= 48 && count() <= 4 && !bare.ends_with(['.', '。', '!', ';', ',']);
    if !line.first || !(is_heading || is_bold || ends_open || is_short()) {
        return None;
    }
    if let Some(grade) = lead.grade.filter(|_| lead.mark.is_none() && words::is_filler(rest)) {
        return Some(Title::Graded(grade));
    }
    if let Some((grade, _)) = words::grade(rest)
        .filter(|(_, end)| lead.grade.is_none() && lead.mark.is_none() && words::is_filler(&rest[*end..]))
    {
        // `Critique` is a severity in some languages, and what the text is.
        return (grade != Grade::Grave || !rest.starts_with("critique") && !rest.starts_with("kritik"))
            .then_some(Title::Graded(grade));
    }
    if lead.grade.is_some() || rest.is_empty() || count() > if is_heading || is_bold { 8 } else { MOST_WORDS } {
        return None;
    }
    let hit = |wanted| words::SECTIONS.iter().any(|(section, list)| *section == wanted && words::has(rest, list));
    let (earlier, other, points) = (hit(Section::Earlier), hit(Section::Other), hit(Section::Points));
    let is_own_title = line.kind == Kind::Item || lead.mark.is_some();
    if is_own_title && !is_all_titles(rest) {
        return None;
    }
    // What the text is, not what a part of it holds.
    if words::begins(rest, &words::CRITIQUE_NAMES).is_some_and(|(end, _)| end == rest.len()) {
        return is_heading.then_some(Title::Text);
    }
    let is_new = words::has(rest, &words::NEW);
    let is_strong = points && !["points", "critiques", "critique"].contains(&rest);
    Some(match (earlier, other, points) {
        (true, _, _) if !is_new => Title::Section(Section::Earlier),
        (_, true, false) => Title::Section(Section::Other),
        (_, true, true)
            if !is_strong
                || words::has(rest, &words::NO_OBJECTION)
                || rest.contains("forts")
                || rest.contains("fuertes")
                || rest.contains("cover") =>
        {
            Title::Section(Section::Other)
        }
        (_, true, true) => Title::Text,
        (_, _, true) => Title::Section(Section::Points),
        _ if is_heading && lead.mark.is_none() => Title::Text,
        _ => return None,
    })
}

/// Whether each word says what a section is.
fn is_all_titles(text: &str) -> bool {
    words::starts(text).all(|at| {
        let word = &text[at..];
        !word.starts_with(char::is_alphanumeric)
            || words::entry(word, &words::SECTIONS).is_some()
            || words::is_filler(&word[..word.find(' ').unwrap_or(word.len())])
    })
}

/// The parts of a point that is a row of a table.
#[derive(Debug, Clone)]
struct Cells {
    about: Range<usize>,
    objection: Vec<Range<usize>>,
    resolution: Range<usize>,
}

/// A point that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// From its mark to the end of what belongs to it.
    pub(super) range: Range<usize>,
    /// Where its words begin.
    rest: usize,
    /// The end of its first line.
    line_end: usize,
    grade: Option<Grade>,
    /// The severity of the section in which it stands.
    section: Option<Grade>,
    mark: Option<Mark>,
    kind: Kind,
    depth: usize,
    /// The ends of the paragraphs that follow it without a mark of their own.
    followers: Vec<usize>,
    /// Whether the next point follows, so that all in between belongs to this one.
    is_followed: bool,
    /// Whether its section is one of points.
    is_announced: bool,
    /// Its parts, where it is a row of a table.
    cells: Option<Cells>,
}

/// How much of a mark the points of a text have, the weakest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    Paragraph,
    Bold,
    Bullet,
    Marked,
}

/// A line with what is known of it before any point is.
struct Seen {
    lead: Lead,
    region: usize,
    is_title: bool,
    /// A heading without a mark below one that announces points.
    is_named: bool,
    field: Option<Grade>,
    /// What is said of an earlier point.
    is_recheck: bool,
}

struct Region {
    title: Title,
    /// The level of its heading; 7 where its title is none.
    level: u8,
    scheme: Option<Scheme>,
    has_rechecks: bool,
}

struct Finder<'a> {
    page: &'a Page,
    seen: Vec<Seen>,
    regions: Vec<Region>,
    found: Vec<Found>,
    /// Whether the last point found may still go on.
    open: bool,
    /// A title without a mark, which a severity below it makes that of a point.
    pending: Option<usize>,
    columns: Option<[Option<usize>; 3]>,
}

/// The points of a text in their order.
pub(super) fn find(page: &Page, is_label: impl Fn(&str) -> bool) -> Vec<Found> {
    let mut finder = Finder {
        page,
        seen: Vec::with_capacity(page.lines.len()),
        regions: vec![Region { title: Title::Text, level: 0, scheme: None, has_rechecks: false }],
        found: Vec::new(),
        open: false,
        pending: None,
        columns: None,
    };
    finder.look(is_label);
    for at in 0..page.lines.len() {
        finder.take(at);
    }
    finder.chosen()
}

impl Finder<'_> {
    /// Looks at each line on its own, and at which marks the points of each section have.
    fn look(&mut self, is_label: impl Fn(&str) -> bool) {
        let page = self.page;
        let letters = page.lines.iter().filter(|line| matches!(lead(page, line).mark, Some(Mark::Letter))).count();
        for line in &page.lines {
            let mut lead = lead(page, line);
            if lead.mark == Some(Mark::Letter) && letters < 2 && lead.grade.is_none() {
                lead = Lead { rest: line.start, ..Lead::default() };
            }
            let text = &page.lower[line.start..line.end];
            let may_be_title =
                matches!(line.kind, Kind::Heading(_) | Kind::Item) || line.kind == Kind::Text && line.depth == 0;
            let title = if may_be_title { title(page, line, &lead) } else { None };
            let level = if let Kind::Heading(level) = line.kind { level } else { 7 };
            let above = self.regions.last().map_or((Title::Text, 0), |region| (region.title, region.level));
            let is_below = title == Some(Title::Text) && level > above.1 && above.1 > 0;
            let is_named = is_below && matches!(above.0, Title::Graded(_) | Title::Section(Section::Points));
            let title = if is_named { None } else { title };
            if let Some(title) = title.filter(|_| !is_below) {
                self.regions.push(Region { title, level, scheme: None, has_rechecks: false });
            } else if line.kind == Kind::Text
                && line.depth == 0
                && line.first
                && words::begins(text, &words::CONTRASTS).is_some()
            {
                self.regions.push(Region { title: Title::Text, level: 7, scheme: None, has_rechecks: false });
            }
            let region = self.regions.len() - 1;
            let is_recheck = is_label(&text[..text.floor_char_boundary(400)]);
            let field = words::begins(text.trim_start_matches(MARKUP), &words::SEVERITY_FIELDS)
                .and_then(|_| field(text, 0, &words::SEVERITY_FIELDS))
                .and_then(|(_, value)| grade_of(&text[value]));
            self.regions[region].has_rechecks |= is_recheck;
            let scheme = if title.is_some()
                || is_recheck
                || matches!(line.kind, Kind::Quoted | Kind::Rule | Kind::Header | Kind::Row)
            {
                None
            } else if lead.grade.is_some() || lead.mark.is_some() || field.is_some() || is_named {
                Some(Scheme::Marked)
            } else if line.kind == Kind::Item {
                Some(Scheme::Bullet)
            } else if line.kind == Kind::Text && line.first && text.starts_with("**") {
                Some(Scheme::Bold)
            } else {
                (line.kind == Kind::Text && line.first).then_some(Scheme::Paragraph)
            };
            self.regions[region].scheme = self.regions[region].scheme.max(scheme);
            self.seen.push(Seen {
                lead,
                region,
                is_title: title.is_some_and(|title| title != Title::Text),
                is_named,
                field,
                is_recheck,
            });
        }
        // A table of points is as good as a list of them.
        let is_marked = self.regions.iter().any(|region| match region.title {
            Title::Section(Section::Other | Section::Earlier) => false,
            Title::Section(Section::Points) | Title::Graded(_) => region.scheme > Some(Scheme::Paragraph),
            Title::Text => region.scheme == Some(Scheme::Marked),
        });
        for region in &mut self.regions {
            let least = match region.title {
                Title::Graded(_) => Scheme::Paragraph,
                Title::Section(Section::Points) => Scheme::Bold,
                _ if is_marked => Scheme::Marked,
                _ => Scheme::Bold,
            };
            region.scheme = region.scheme.filter(|scheme| *scheme >= least);
        }
    }

    /// Takes the next line: it begins a point, belongs to the one before, or ends it.
    fn take(&mut self, at: usize) {
        let line = &self.page.lines[at];
        let owner =
            self.found.last().filter(|_| self.open).map(|owner| (owner.kind, owner.depth, owner.mark, owner.grade));
        let lead = self.seen[at].lead;
        if self.seen[at].is_title && !self.owns(at) {
            self.end(false);
            self.pending = Some(at);
            return;
        }
        match line.kind {
            Kind::Rule => {
                self.end(true);
                return;
            }
            Kind::Header => {
                self.columns = if self.owns(at) { None } else { self.columns_of(line) };
                self.extend(at);
                return;
            }
            Kind::Row => {
                self.row(at);
                return;
            }
            Kind::Quoted => {
                self.extend(at);
                return;
            }
            Kind::Heading(_) if !self.owns(at) => {
                self.end(false);
                self.pending = Some(at);
            }
            _ => {}
        }
        if let Some(grade) = self.seen[at].field {
            match self.found.last_mut().filter(|_| self.open) {
                Some(owner) if owner.grade.is_none() => {
                    owner.grade = Some(grade);
                    return self.extend(at);
                }
                _ if !line.first => {
                    // The first field of the paragraph begins it.
                    let first = (0..at).rev().find(|at| self.page.lines[*at].first).unwrap_or(at);
                    if let Some(owner) = self.found.last_mut().filter(|_| self.open && first > 0) {
                        owner.range.end = owner.range.end.min(self.page.lines[first - 1].end).max(owner.line_end);
                    }
                    self.end(true);
                    self.begin(first);
                    self.extend(at);
                    if let Some(owner) = self.found.last_mut() {
                        owner.grade = Some(grade);
                    }
                    return;
                }
                None if self.pending.is_some_and(|title| !self.seen[title].is_title) => {
                    let title = self.pending.unwrap_or(at);
                    self.begin(title);
                    self.extend(at);
                    if let Some(owner) = self.found.last_mut() {
                        owner.grade = Some(grade);
                    }
                    return;
                }
                _ => {}
            }
        }
        if self.owns(at) {
            // What only gathers points with severities of their own is none.
            let is_group =
                owner.is_some_and(|(_, _, _, grade)| grade.is_none()) && lead.grade.is_some() && self.owner_is_title();
            if !is_group {
                return self.extend(at);
            }
            self.found.pop();
            self.open = false;
        }
        if self.is_point(at) {
            self.end(true);
            self.begin(at);
        } else if self.open {
            self.extend(at);
        } else if line.kind == Kind::Text && line.first {
            let text = &self.page.lower[line.start..line.end];
            self.pending = (text.starts_with("**") && text.ends_with("**"))
                .then_some(at)
                .or(self.pending.filter(|_| line.depth > 0));
        }
    }

    /// Whether a line is a part of the point before it, whatever it begins with.
    fn owns(&self, at: usize) -> bool {
        let Some(owner) = self.found.last().filter(|owner| self.open && owner.cells.is_none()) else { return false };
        let (line, Seen { lead, .. }) = (&self.page.lines[at], &self.seen[at]);
        match (owner.kind, line.kind) {
            (Kind::Heading(level), Kind::Heading(below)) => below > level,
            (Kind::Heading(_), _) => !self.seen[at].is_recheck,
            (_, Kind::Heading(_)) => false,
            (_, Kind::Item) if owner.depth == 0 => lead.grade.is_none() && !self.seen[at].is_title,
            _ if line.depth > owner.depth => true,
            (Kind::Item, Kind::Text) if line.depth == owner.depth => true,
            _ if lead.grade.is_some() => false,
            _ => match (owner.mark, lead.mark) {
                (Some(Mark::Digit(_) | Mark::Numeral | Mark::Named), Some(Mark::Letter)) => true,
                // A list that the sentence before it announces.
                (Some(Mark::Digit(before)), Some(Mark::Digit(number))) => {
                    number <= before && number == 1 && at > 0 && {
                        let announcing = &self.page.lines[at - 1];
                        announcing.depth == 0
                            && announcing.kind == Kind::Text
                            && self.page.text[announcing.start..announcing.end].ends_with(':')
                            && !self.seen[at - 1].is_title
                    }
                }
                (Some(_), None) => line.kind == Kind::Item,
                _ => false,
            },
        }
    }

    /// Whether the point before has nothing but a title so far.
    fn owner_is_title(&self) -> bool {
        let Some(owner) = self.found.last() else { return false };
        matches!(owner.kind, Kind::Heading(_))
            || self.page.text[owner.rest..owner.line_end].split_whitespace().count() <= 8
    }

    fn is_point(&self, at: usize) -> bool {
        let (line, seen) = (&self.page.lines[at], &self.seen[at]);
        let region = &self.regions[seen.region];
        let Some(scheme) = region.scheme else { return false };
        if seen.is_recheck || seen.lead.is_praise && seen.lead.grade.is_none() {
            return false;
        }
        let is_graded = seen.lead.grade.is_some() || seen.field.is_some();
        match region.title {
            Title::Section(Section::Other) => return is_graded,
            Title::Section(Section::Earlier) if !region.has_rechecks || !is_graded => return false,
            _ => {}
        }
        let text = &self.page.lower[seen.lead.rest..line.end];
        // `**Strengths:** clear and short.`
        let titled =
            text.find([':', '：']).map(|end| &text[..end]).filter(|title| title.split_whitespace().count() <= 2);
        if !is_graded
            && titled.is_some_and(|title| {
                words::entry(title, &words::SECTIONS)
                    .is_some_and(|(section, end, _)| section == Section::Other && end == title.len())
            })
        {
            return false;
        }
        match scheme {
            // A bullet among bullets with severities is a point without one.
            Scheme::Marked => {
                is_graded
                    || seen.is_named
                    || (seen.lead.mark.is_some()
                        && (line.first
                            || seen.lead.mark != Some(Mark::Letter)
                            || self.found.last().is_some_and(|last| self.open && last.mark == Some(Mark::Letter))))
                    || line.kind == Kind::Item
                        && self.open
                        && self.found.last().is_some_and(|last| {
                            last.kind == Kind::Item && last.mark.is_none() && last.depth == line.depth
                        })
            }
            Scheme::Bullet => line.kind == Kind::Item,
            Scheme::Bold => {
                line.first
                    && line.kind == Kind::Text
                    && self.page.text[line.start..].starts_with("**")
                    && words::begins(text, &words::RESOLUTION_FIELDS).is_none()
            }
            Scheme::Paragraph => {
                line.first && line.kind == Kind::Text && words::begins(text, &words::RESOLUTION_FIELDS).is_none()
            }
        }
    }

    fn begin(&mut self, at: usize) {
        let (line, seen) = (&self.page.lines[at], &self.seen[at]);
        let section = match self.regions[seen.region].title {
            Title::Graded(grade) => Some(grade),
            _ => None,
        };
        self.found.push(Found {
            range: line.start..line.end,
            rest: seen.lead.rest,
            line_end: line.end,
            grade: seen.lead.grade.or(seen.field),
            section,
            mark: seen.lead.mark,
            kind: line.kind,
            depth: line.depth,
            followers: Vec::new(),
            is_followed: false,
            is_announced: self.regions[seen.region].title == Title::Section(Section::Points),
            cells: None,
        });
        (self.open, self.pending) = (true, None);
    }

    /// Adds a line to the point before it.
    fn extend(&mut self, at: usize) {
        let line = &self.page.lines[at];
        if self.seen[at].lead.mark.is_some() && self.seen[at].lead.rest >= line.end {
            return;
        }
        let Some(owner) = self.found.last_mut().filter(|owner| self.open && owner.cells.is_none()) else { return };
        let is_follower = line.depth < owner.depth.max(1) && line.first && !matches!(owner.kind, Kind::Heading(_));
        let starts = self.page.lower[line.start..line.end].trim_start_matches(MARKUP);
        if is_follower && words::begins(starts, &words::RESOLUTION_FIELDS).is_none() && line.kind != Kind::Item {
            owner.followers.push(owner.range.end);
        }
        owner.range.end = line.end;
    }

    fn end(&mut self, is_followed: bool) {
        if let Some(owner) = self.found.last_mut().filter(|_| self.open) {
            owner.is_followed = is_followed;
        }
        self.open = false;
    }

    /// Which columns of a table of points hold the severity, what it is about, and what would resolve it.
    fn columns_of(&self, line: &Line) -> Option<[Option<usize>; 3]> {
        let is_one = |cell: &Range<usize>, list| words::has(self.page.lower[cell.clone()].trim_matches(MARKUP), list);
        let column = |list| line.cells.iter().position(|cell| is_one(cell, list));
        let columns = [&words::SEVERITY_FIELDS, &words::ABOUT_FIELDS, &words::RESOLUTION_FIELDS].map(column);
        let others = line.cells.iter().enumerate().filter(|(at, _)| !columns.contains(&Some(*at)));
        let has_objections = others.into_iter().any(|(_, cell)| is_one(cell, &words::OBJECTION_FIELDS));
        let is_coverage = words::has(&self.page.lower[line.start..line.end], &words::COVERED);
        (columns[0].is_some() || has_objections && !is_coverage).then_some(columns)
    }

    fn row(&mut self, at: usize) {
        let line = &self.page.lines[at];
        let region = &self.regions[self.seen[at].region];
        let Some(columns) = self.columns.filter(|_| !self.seen[at].is_recheck) else { return self.extend(at) };
        let [severity, about, resolution] =
            columns.map(|column| column.and_then(|at| line.cells.get(at)).cloned().unwrap_or(line.end..line.end));
        let grade = grade_of(&self.page.lower[severity.clone()]);
        let is_point = match region.title {
            Title::Section(Section::Earlier) => false,
            Title::Section(Section::Other) => grade.is_some() && self.found.is_empty(),
            _ => grade.is_some() || columns[0].is_none() || self.found.last().is_some_and(|last| last.cells.is_some()),
        };
        if !is_point {
            return;
        }
        let says = |cell: &&Range<usize>| self.page.text[(*cell).clone()].contains(char::is_alphabetic);
        let others = line.cells.iter().filter(|cell| ![&severity, &about, &resolution].contains(cell)).filter(says);
        let mut objection: Vec<Range<usize>> = others.cloned().collect();
        if objection.is_empty() {
            objection.push(about.clone());
        }
        self.end(true);
        self.begin(at);
        if let Some(last) = self.found.last_mut() {
            last.grade = grade;
            last.cells = Some(Cells { about, objection, resolution });
        }
    }

    /// The points without those that turn out to be none.
    fn chosen(mut self) -> Vec<Found> {
        self.end(false);
        let most = self.found.iter().filter(|one| one.is_followed).map(|one| one.followers.len()).max().unwrap_or(0);
        let (page, last) = (self.page, self.found.last().map(|last| last.range.clone()));
        for one in &mut self.found {
            let own = page.text[one.rest..one.line_end].trim_end();
            let is_titled = own.ends_with(|c: char| "*:：".contains(c) || c.is_alphanumeric())
                && own.split_whitespace().count() <= 8
                && one.followers.first() == Some(&one.line_end);
            // What follows the last one is as much as followed the others, and then the text's own end.
            if Some(&one.range) == last.as_ref()
                && !one.is_followed
                && let Some(end) = one.followers.get(most.max(usize::from(is_titled)))
            {
                one.range.end = *end;
            }
        }
        // A table that sums up the points beside it.
        let rows = self.found.iter().filter(|one| one.cells.is_some()).count();
        if rows * 2 == self.found.len() {
            self.found.retain(|one| one.cells.is_none());
        }
        let is_graded = self.found.iter().any(|one| one.grade.is_some());
        let regions: Vec<usize> = self.found.iter().map(|one| self.region_of(one)).collect();
        // A list is left out as a whole: what has no severity among what has one is major.
        let mut lists = Vec::with_capacity(regions.len());
        for (at, one) in self.found.iter().enumerate() {
            let begins = at == 0
                || regions[at] != regions[at - 1]
                || one.mark == Some(Mark::Digit(1)) && self.found[at - 1].mark != Some(Mark::Digit(1));
            lists.push(if begins { at } else { lists[at - 1] });
        }
        let mut graded = vec![false; self.found.len()];
        for (at, one) in self.found.iter().enumerate() {
            graded[lists[at]] |= one.grade.is_some()
                || one.section.is_some()
                || one.mark == Some(Mark::Named)
                || self.suffix(one).is_some()
                || matches!(self.regions[regions[at]].title, Title::Section(Section::Points));
        }
        let ends_plainly =
            |one: &Found| page.text[one.range.clone()].trim_end().ends_with(|c: char| !c.is_alphanumeric());
        let are_sentences = self.found.len() < 2 || self.found.iter().rev().skip(1).all(ends_plainly);
        let kept: Vec<Found> = self
            .found
            .iter()
            .enumerate()
            .filter(|(at, one)| {
                let is_cut = one.range.end == page.text.trim_end().len() && are_sentences && !ends_plainly(one);
                (!is_graded || graded[lists[*at]]) && self.is_objection(one, is_cut)
            })
            .map(|(_, one)| one.clone())
            .collect();
        kept
    }

    fn region_of(&self, one: &Found) -> usize {
        let at = self.page.lines.partition_point(|line| line.start < one.range.start);
        self.seen.get(at).map_or(0, |seen| seen.region)
    }

    fn suffix(&self, one: &Found) -> Option<(Grade, Range<usize>)> {
        suffix(self.page, one)
    }

    /// Whether a point says anything against the text.
    fn is_objection(&self, one: &Found, is_cut: bool) -> bool {
        let range = one.cells.as_ref().map_or(one.rest..one.range.end, |cells| cells.objection[0].clone());
        let text = self.page.lower[range].trim_matches(|c: char| c.is_whitespace() || MARKUP.contains(&c));
        let own = text.find(['.', '\n', '。']).map_or(text, |end| &text[..end]);
        let is_bracket = bracket(text).is_some_and(|(_, end)| text[end..].chars().all(|c| !c.is_alphanumeric()))
            || text.starts_with('[') && !text.contains(']');
        let after = own.find([':', '：']).map_or(own, |at| &own[at..]);
        let is_covered = one.grade.is_none()
            && after.len() < own.len()
            && words::begins(after.trim_start_matches(|c: char| !c.is_alphanumeric()), &words::COVERED).is_some();
        let too_short = is_cut && after.split_whitespace().count() < 3 && !after.contains(words::is_unspaced);
        let opens = text.contains(char::is_alphanumeric) && !is_bracket && !too_short && !is_covered;
        let begins_with_praise = words::begins(text, &words::NO_OBJECTION).is_some()
            || one.grade.is_none() && words::has(own, &words::NO_OBJECTION);
        opens
            && !begins_with_praise
            && !(own.len() < 120 && text.len() < 200 && words::says_none(own))
            && words::begins(text, &words::NONE).is_none()
    }
}

/// A field in `text` from `from` on, `Severity: high`: where it begins, and its value up to the end of the line.
fn field(text: &str, from: usize, list: &'static words::List) -> Option<(usize, Range<usize>)> {
    let rest = &text[from..];
    words::starts(rest).find_map(|at| {
        let (end, _) = words::begins(&rest[at..], list)?;
        let tail = rest[at + end..].trim_start_matches(['*', '_', ' ']);
        let value = tail.strip_prefix([':', '：'])?.trim_start_matches(['*', '_', ' ']);
        let start = text.len() - value.len();
        let end = value.find(['\n', '|', ';']).map_or(text.len(), |end| start + end);
        Some((from + at, start..end))
    })
}

/// A severity in brackets behind the title or the text of a point, or behind a dash at the end of its title.
fn suffix(page: &Page, one: &Found) -> Option<(Grade, Range<usize>)> {
    let line = &page.lower[one.rest..one.line_end];
    for (at, c) in line.char_indices().filter(|(_, c)| "[(（【".contains(*c)).take(20) {
        let Some((inside, end)) = bracket(&line[at..]) else { continue };
        let after = line[at + end..].trim_start_matches(['*', '_', ' ']);
        let before = line[..at].trim_end();
        let stands_apart = "[【".contains(c)
            || after.is_empty()
            || after.starts_with([':', '：', '.', '—', '–'])
            || before.ends_with("**")
            || line[at + end..].starts_with("**");
        if let Some(grade) = grade_of(inside).filter(|_| stands_apart && inside.len() <= 40) {
            // With the markup that is around nothing else.
            let is_alone = line[..at].ends_with([' ', '*', '_'])
                && line[..at].ends_with(['*', '_'])
                && line[at + end..].starts_with(['*', '_'])
                && !line[..at].trim_end_matches(['*', '_']).ends_with(char::is_alphanumeric);
            let marks = if is_alone {
                line[at + end..].len() - line[at + end..].trim_start_matches(['*', '_']).len()
            } else {
                0
            };
            let start = line[..at - marks].trim_end().len();
            return Some((grade, one.rest + start..one.rest + at + end + marks));
        }
    }
    let text = page.lower[one.rest..one.range.end].trim_end_matches(['*', '_', '.', '。', ' ', '\n']);
    let end = one.rest + text.len();
    if text.ends_with([')', ']', '）', '】'])
        && let Some(at) = text.rfind(['(', '[', '（', '【'])
    {
        let grade =
            bracket(&text[at..]).filter(|(inside, _)| inside.len() <= 40).and_then(|(inside, _)| grade_of(inside));
        if let Some(grade) = grade {
            return Some((grade, one.rest + at..end));
        }
    }
    let title = line.trim_end_matches(['*', '_', ' ']);
    let (at, dash) = title.char_indices().rev().find(|(_, c)| "—–-:：".contains(*c))?;
    let last = title[at + dash.len_utf8()..].trim_matches(|c: char| c == ' ' || c == '*' || c == '_');
    let grade = words::grade(last).filter(|(_, end)| at > 0 && words::is_filler(&last[*end..]))?.0;
    Some((grade, one.rest + at..one.rest + title.len()))
}

/// The points with their parts.
pub(super) fn points(page: &Page, found: &[Found]) -> Vec<Point> {
    let drafts: Vec<(Point, Option<Grade>)> = found.iter().map(|one| point(page, one)).collect();
    let grades: Vec<Grade> = drafts.iter().filter_map(|(_, grade)| *grade).collect();
    let of_three = grades.contains(&Grade::Block) && !grades.contains(&Grade::Middle);
    let severity = |grade: Option<Grade>| match grade {
        Some(Grade::Block) => Severity::Blocking,
        Some(Grade::Grave) if !of_three => Severity::Blocking,
        Some(Grade::Low) => Severity::Minor,
        Some(Grade::Yellow) if grades.contains(&Grade::Middle) || !grades.contains(&Grade::Low) => Severity::Minor,
        _ => Severity::Major,
    };
    let drafts = drafts.into_iter().filter(|(point, _)| point.text.contains(char::is_alphanumeric));
    drafts.map(|(point, grade)| Point { severity: severity(grade), ..point }).collect()
}

fn point(page: &Page, one: &Found) -> (Point, Option<Grade>) {
    let some = |range: &Range<usize>| {
        Some(page.text.get(range.clone())?.trim().to_owned()).filter(|text| text.contains(char::is_alphanumeric))
    };
    let draft = |about, text, resolution| Point { severity: Severity::Major, about, text, resolution, target: None };
    if let Some(Cells { about, objection, resolution }) = &one.cells {
        let objection: Vec<String> = objection.iter().filter_map(some).collect();
        return (draft(some(about), objection.join(" – "), some(resolution)), one.grade.or(one.section));
    }
    let (text, lower) = (&page.text[..one.range.end], &page.lower[..one.range.end]);
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut grade = one.grade;
    if let Some((found, range)) = suffix(page, one).filter(|_| grade.is_none()) {
        grade = Some(found);
        cuts.push(range);
    }
    if let Some((start, value)) = field(lower, one.rest, &words::SEVERITY_FIELDS)
        && let Some(found) = grade_of(&lower[value.clone()])
    {
        let value = value.start..lower[value.clone()].find(". ").map_or(value.end, |end| value.start + end + 1);
        grade = grade.or(Some(found));
        let line = lower[..start].rfind('\n').map_or(one.rest, |at| (at + 1).max(one.rest));
        if lower[line..start].trim_matches(MARKUP).is_empty() && value.len() <= ABOUT {
            cuts.push(line..value.end);
        }
    }
    let mut end = one.range.end;
    let resolution = field(lower, one.rest, &words::RESOLUTION_FIELDS).and_then(|(start, value)| {
        let text = some(&(value.start..one.range.end))?;
        end = start;
        Some(dedent(&text))
    });
    let mut body = String::new();
    let mut at = one.rest;
    cuts.sort_by_key(|cut| cut.start);
    for cut in cuts.iter().filter(|cut| cut.end <= end) {
        body.push_str(text.get(at..cut.start).unwrap_or_default());
        at = cut.end.max(at);
    }
    body.push_str(text.get(at..end).unwrap_or_default());
    let body = if end < one.range.end {
        body.trim_end_matches(['*', '_']).trim_end_matches(|c: char| c.is_whitespace() || MARKUP[7..].contains(&c))
    } else {
        &body
    };
    // Of markup around number and title, the beginning went with the number.
    let opened = text[one.range.start..one.rest].matches("**").count() % 2 == 1 && body.contains("**");
    let body = dedent(body.trim());
    let body = if opened { format!("**{}", body.trim_start()) } else { body };
    let about = field(lower, one.rest, &words::ABOUT_FIELDS)
        .filter(|(start, _)| {
            lower[..*start].trim_end_matches([' ', '*', '_', '-', '+']).ends_with('\n') || *start == one.rest
        })
        .and_then(|(_, value)| some(&(value.start..value.end.min(end))))
        .or_else(|| about(&body, one.kind));
    (draft(about, body, resolution), grade.or(one.section))
}

/// What a point is about: its title, or what stands before the first colon.
fn about(text: &str, kind: Kind) -> Option<String> {
    let line = text.lines().next()?;
    let title = match line.strip_prefix("**") {
        Some(bold) => bold.split("**").next(),
        None if matches!(kind, Kind::Heading(_)) => Some(line),
        None => line.find([':', '：']).map(|at| &line[..at]).filter(|title| !title.contains(['.', '。', ',', ';'])),
    };
    let title = title?.trim_matches(|c: char| MARKUP.contains(&c) || ":：.".contains(c));
    (!title.is_empty() && title.len() <= ABOUT && title.len() < text.len()).then(|| title.to_owned())
}

/// Text without the indentation that its lines have in common, the first apart.
fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { line } else { line.get(least..).unwrap_or_default() })
        .collect();
    lines.join("\n").trim().to_owned()
}

/// The points that a text makes in sentences, each with its ordinal: `First, … Second, …`.
pub(super) fn ordinals(page: &Page) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for line in page.lines.iter().filter(|line| line.kind == Kind::Text && line.depth == 0) {
        let text = &page.lower[line.start..line.end];
        let mut at = 0;
        for sentence in STOPS.sentences(text) {
            let rest = text[at..].trim_start_matches(MARKUP);
            at += sentence.len();
            let article = words::begins(rest, &words::ARTICLES).map_or(0, |(end, _)| end);
            let start = line.start + text.len() - rest.len();
            let rest = rest[article..].trim_start();
            let rank = words::ordinal(rest, |end| {
                let after = rest[end..].trim_start();
                article == 0 && after.starts_with([',', ':', '，', '、', '：', '-', '–', '—', '(', '['])
                    || words::begins(after, &words::POINT_NAMES)
                        .is_some_and(|(noun, _)| !after.starts_with("point") && after[noun..].starts_with([' ', ':']))
                    || rest[..end].ends_with(words::is_unspaced)
            });
            let expected = found.len();
            if rank.is_some_and(|rank| rank == expected || expected > 0 && rank + 1 == words::ORDINALS.len()) {
                if let Some(last) = found.last_mut() {
                    last.range.end = start;
                }
                let end = (0..)
                    .zip(&words::ORDINALS)
                    .find_map(|(_, list)| words::begins(rest, list))
                    .map_or(0, |(end, _)| end);
                let skipped =
                    rest[end..].len() - rest[end..].trim_start_matches([',', ':', '，', '、', '：', ' ']).len();
                let graded =
                    bracket(&rest[end + skipped..]).and_then(|(inside, length)| Some((grade_of(inside)?, length)));
                let words = end + skipped + graded.map_or(0, |(_, length)| length);
                let rest = if article > 0 { start } else { start + words };
                found.push(Found {
                    range: start..line.end,
                    rest,
                    line_end: line.end,
                    grade: graded.map(|(grade, _)| grade),
                    section: None,
                    mark: Some(Mark::Named),
                    kind: Kind::Text,
                    depth: 0,
                    followers: Vec::new(),
                    is_followed: true,
                    is_announced: false,
                    cells: None,
                });
            }
        }
        if let Some(last) = found.last_mut()
            && last.range.end <= line.start
            && !line.first
        {
            last.range.end = line.end;
        }
    }
    if found.len() < 2 { Vec::new() } else { found }
}

/// Whether nothing but a number makes points of these, in a text that may speak of something else in its list.
pub(super) fn are_mere_lists(page: &Page, found: &[Found]) -> bool {
    found.iter().all(|one| {
        let is_listed = matches!(one.mark, Some(Mark::Digit(_)) | None) && one.kind == Kind::Item && !one.is_announced;
        is_listed && one.grade.or(one.section).is_none() && suffix(page, one).is_none()
    })
}

/// Whether the text says in a short sentence that there is nothing to object to, of whatever severity.
pub(super) fn says_plainly_none(page: &Page) -> bool {
    let is_plain = |sentence: &str| {
        sentence.len() <= 48
            && sentence.split_whitespace().count() <= 4
            && words::says_none(sentence)
            && !words::starts(sentence).any(|at| words::grade(&sentence[at..]).is_some())
    };
    page.lines
        .iter()
        .filter(|line| line.kind == Kind::Text && line.depth == 0)
        .any(|line| ENDS.sentences(&page.lower[line.start..line.end]).any(is_plain))
}

/// Whether the text says somewhere that there is nothing to object to.
pub(super) fn says_none(page: &Page) -> bool {
    page.lines
        .iter()
        .filter(|line| !matches!(line.kind, Kind::Quoted | Kind::Rule | Kind::Row | Kind::Header))
        .map(|line| &page.lower[line.start..line.end])
        .any(|text| words::may_say_none(text) && ENDS.sentences(text).any(words::says_none))
}
