//! The report as Markdown. It starts with the outcome, the answer and the open points, for people. The rest has the
//! format of older versions, which programs parse. Reports on debates from older versions lack the first part.
//!
//! Text from models and users is fenced, escaped within a line or, in the answer, nested below the report's headings,
//! so that it cannot change headings, tables and blocks of the report. Fences are longer than any fence inside the
//! text.

use std::borrow::Cow;
use std::{fmt, io};

use chrono::Local;

use dialectic_base::figures::{UNKNOWN, thousands};
use dialectic_base::markdown::{cell, fence, heading, inline, line as first_of_line};
use dialectic_record::debate::{Answerer, Clarification, Contribution, Debate, Failure, Question};
use dialectic_record::ids::{CallKey, ResultKind};
use dialectic_record::points::Ledger;

use super::block::{Audience, Block, ListItem, Phrase, Piece, TableBlock, TableHead, figure, foreign, line};
use super::prose::{below, gist};
use super::stages::{self, capitalized, sections};
use super::{View, subject};

/// Writes the report of a debate as Markdown to `out`, piece by piece, because texts may be large. Times are local.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
pub fn markdown(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    // Debates from older versions have no format version.
    let is_older = view.debate.format_version.is_none();
    let mut out = Document { out, written: Ok(()), reader: None };
    head(&mut out, view, is_older);
    if is_older {
        out.line("");
    } else {
        // People read this part; programs parse the rest.
        out.reader = Some(view);
        verdict(&mut out, view);
        out.reader = None;
    }
    out.line("## Problem Description");
    text_of(&mut out, &view.debate.problem);
    participants(&mut out, "## Agents", &subject::agents(view));
    clarifications(&mut out, view);
    participants(&mut out, "## Judge", &subject::judge(view));
    write_run(&mut out, view);
    write_rounds(&mut out, view);
    if is_older {
        solution(&mut out, view);
    }
    // The final solution is a subsection of the rounds, so the objections follow it.
    write_objections(&mut out, view);
    follow_ups(&mut out, view);
    out.written
}

fn head(out: &mut Document<'_>, view: &View<'_>, is_older: bool) {
    let first_line = view.debate.problem.lines().find(|line| !line.trim().is_empty()).filter(|_| is_older);
    let created = view.debate.created_at;
    let time = created.map(|at| at.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string());
    let title = first_line.map_or_else(|| view.debate.title(), Into::into);
    out.line(format_args!("# Debate: {}", heading(&title)));
    out.line(format_args!("Time: {}", time.as_deref().unwrap_or(UNKNOWN)));
}

fn verdict(out: &mut Document<'_>, view: &View<'_>) {
    let debate = &view.debate.with_named_texts();
    out.line(format_args!("\n**Run:** {}\n", inline(&view.run_in_words())));
    if let Some(answer) = debate.answer_state() {
        out.line(format_args!("**Answer:** {}\n", inline(&answer.to_string())));
    }
    if let Some(confidence) = subject::confidence(view) {
        out.line(format_args!("**Confidence:** {}\n", inline(&confidence)));
    }
    out.line("## Answer\n");
    match &debate.final_solution {
        Some(solution) => out.line(format_args!("{}\n", below(&solution.description).trim())),
        None => out.line("There is no answer.\n"),
    }
    let ledger = Ledger::of(debate);
    let open = debate.open_points(&ledger);
    if !open.is_empty() {
        out.line("## Open Points\n");
        let items = open.into_iter().map(|one| {
            let said = line![": ", foreign(gist(&one.point.in_words(), POINT))];
            ListItem::of([subject::head(one), said].concat())
        });
        write(out, &[Block::List(items.collect())]);
    }
}

/// The maximum length of an open point, in characters.
const POINT: usize = 300;

/// The separator line of older reports, in which one column is a dash too short.
const RULE: &str = "|----|------|------|-------|----------|-------------|----------|------------------|-------------------|---------------|";

const COLUMNS: usize = 10;

/// Keeps the separator line of older reports, which programs parse.
fn participants(out: &mut Document<'_>, title: &str, table: &TableBlock<'_>) {
    out.line(format_args!("{title}\n"));
    let more = "------|".repeat(table.columns.iter().filter(|column| out.has(column)).count().saturating_sub(COLUMNS));
    write_table(out, table, Some(&format!("{RULE}{more}")));
    out.line("");
}

fn clarifications(out: &mut Document<'_>, view: &View<'_>) {
    let groups = view.debate.clarifications.as_deref().unwrap_or_default();
    if groups.iter().all(|group| group.items.is_empty()) {
        return;
    }
    // `answer` takes these numbers. Older records have no passes; their questions are known by their ids.
    let questions = view.debate.questions();
    let id_of = |item: &Clarification| {
        let is_it = |question: &&Question<'_>| question.items.iter().any(|(_, one)| std::ptr::eq(*one, item));
        let number = questions.iter().find(is_it).filter(|question| question.pass.is_some());
        number.map_or_else(|| item.id.clone(), |question| format!("q{}", question.number))
    };
    out.line("## Clarifications\n");
    for group in groups.iter().filter(|group| !group.items.is_empty()) {
        out.line(format_args!("### {}", heading(&format!("{} ({})", group.agent_name, group.role))));
        for item in &group.items {
            let pass = item.follow_up_pass().map(|pass| format!(", pass {pass}")).unwrap_or_default();
            out.line(format_args!("Question ({}{pass}):\n", inline(&id_of(item))));
            out.fenced(&item.question);
            if item.answer.is_empty() {
                out.line("\nNot answered yet.\n");
            } else {
                out.line(match item.answered_by {
                    Some(Answerer::Agent) => "\nAnswer (an agent's):\n",
                    None => "\nAnswer:\n",
                });
                text_of(out, &item.answer);
            }
        }
    }
    out.line("");
}

fn solution(out: &mut Document<'_>, view: &View<'_>) {
    out.line(format_args!("### {}", heading(&format!("Final {}", capitalized(stages::answer(view.debate))))));
    let solution = view.debate.final_solution.as_ref();
    out.fenced(solution.map_or("No final solution available.", |solution| &solution.description));
}

fn follow_ups(out: &mut Document<'_>, view: &View<'_>) {
    let asked = &view.debate.follow_ups;
    if asked.is_empty() {
        return;
    }
    out.line("\n## Follow-ups\n");
    for (number, one) in (1..).zip(asked) {
        out.line(format_args!("### Question {number}\n"));
        out.fenced(&one.question);
        match &one.answer {
            Some(answer) => {
                out.line("\nAnswer:\n");
                text_of(out, answer);
            }
            None => out.line("\nNot answered.\n"),
        }
    }
}

/// The output of a report. Keeps the first error, and does not write anything after it.
struct Document<'a> {
    out: &'a mut dyn io::Write,
    written: io::Result<()>,
    /// The view, if the text is being written for people rather than programs.
    reader: Option<&'a View<'a>>,
}

impl Document<'_> {
    fn push(&mut self, text: impl fmt::Display) {
        if self.written.is_ok() {
            self.written = write!(self.out, "{text}");
        }
    }

    fn line(&mut self, line: impl fmt::Display) {
        self.push(format_args!("{line}\n"));
    }

    fn fenced(&mut self, content: &str) {
        let fence = fence(content);
        self.push(format_args!("{fence}text\n{content}\n{fence}\n"));
    }

    fn row<T: fmt::Display>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.push("|");
        for cell in cells {
            self.push(format_args!(" {cell} |"));
        }
        self.push("\n");
    }

    fn prose(&self, line: &[Piece<'_>]) -> String {
        self.pieces(line, false)
    }

    fn cell(&self, line: &[Piece<'_>]) -> String {
        self.pieces(line, true)
    }

    fn has(&self, column: &TableHead<'_>) -> bool {
        match column.audience {
            Audience::Everywhere => true,
            Audience::People => self.reader.is_some(),
            Audience::Programs => self.reader.is_none(),
        }
    }

    fn pieces(&self, line: &[Piece<'_>], in_cell: bool) -> String {
        let escaped = |text: &str| if in_cell { cell(text) } else { inline(text) }.into_owned();
        let piece = |piece: &Piece<'_>| match (piece, self.reader) {
            (Piece::Words(words), _) => words.clone().into_owned(),
            (Piece::Agent(agent), Some(view)) => escaped(view.name_of(agent)),
            (Piece::Agent(agent), None) if !in_cell => id(agent.as_str()),
            (Piece::Agent(agent), None) => escaped(agent.as_str()),
            (Piece::Marked(text), _) if !in_cell => id(text),
            (Piece::Foreign(text) | Piece::Marked(text), _) => escaped(text),
            (Piece::Point(number), _) => escaped(number),
            (Piece::Severity(severity), _) => severity.name().to_owned(),
            (Piece::Aside(pieces), Some(_)) => self.pieces(pieces, in_cell),
            (Piece::Aside(_), None) => String::new(),
        };
        line.iter().map(piece).collect()
    }
}

/// An id in italics, or `N/A` if it is empty.
fn id(id: &str) -> String {
    let shown = inline(id);
    if shown.is_empty() { UNKNOWN.to_owned() } else { format!("*{shown}*") }
}

/// Writes the check of the answer and the objections. Objections are not derived from the texts of older debates, so
/// that reports of these debates stay unchanged.
fn write_objections(out: &mut Document<'_>, view: &View<'_>) {
    let check = subject::check(view.debate);
    if !check.is_empty() {
        out.line("\n## Check\n");
        write(out, &check);
    }
    let ledger = &Ledger::of(view.debate);
    if ledger.is_empty() {
        return;
    }
    out.line("\n## Objections\n");
    write(out, &subject::counts(view.debate, ledger));
    write(out, &[Block::Table(subject::table(ledger))]);
    for one in &ledger.objections {
        write(out, &[subject::title(one)]);
        write(out, &subject::point(one));
    }
    write(out, &subject::given_up(view.debate));
    write(out, &subject::changes(ledger));
}

fn write_rounds(out: &mut Document<'_>, view: &View<'_>) {
    out.line("## Rounds\n");
    if view.debate.rounds.is_empty() {
        out.line("No rounds yet.\n");
    }
    for round in &view.debate.rounds {
        out.line(format_args!("### Round {}\n", round.round_number));
        for (name, contributions) in sections(view.debate, round) {
            write_section(out, view, &name, &contributions);
        }
    }
}

fn write_section(out: &mut Document<'_>, view: &View<'_>, name: &str, contributions: &[&Contribution]) {
    out.line(format_args!("#### {}", heading(&capitalized(name))));
    if contributions.is_empty() {
        out.line(format_args!("No {} in this round.\n", inline(name)));
    }
    for contribution in contributions {
        out.line(format_args!("{}{}:", who(view.debate, contribution), took(view, contribution)));
        text_of(out, &contribution.content);
    }
}

/// Names the author and the target of a critique, vote or speech: `*agent-kiss* &rarr; *agent-architect*`. For other
/// texts, names only the author: `Agent *agent-kiss*`.
fn who(debate: &Debate, contribution: &Contribution) -> String {
    let agent = id(contribution.agent_id.as_str());
    let target = contribution.target_agent_id.as_ref().map(|target| id(target.as_str()));
    let yields = debate.yield_of(contribution);
    let is_ballot = yields == Some(ResultKind::Ballot);
    match target {
        // A review of several texts has no single target.
        None if yields == Some(ResultKind::Critique) && contribution.reading.is_some() => format!("Agent {agent}"),
        target if is_ballot || yields == Some(ResultKind::Critique) => {
            format!("{agent} &rarr; {}", target.as_deref().unwrap_or(UNKNOWN))
        }
        Some(target) if yields.is_none_or(|yields| yields == ResultKind::Speech) => {
            format!("{agent} &rarr; {target}")
        }
        _ => format!("Agent {agent}"),
    }
}

fn took(view: &View<'_>, contribution: &Contribution) -> String {
    if !view.has_usage {
        return String::new();
    }
    let known =
        |figure: Option<u64>, unit: &str| figure.map_or_else(|| UNKNOWN.to_owned(), |figure| format!("{figure}{unit}"));
    let metadata = &contribution.metadata;
    format!(" (latency={}, tokens={})", known(metadata.latency_ms, "ms"), known(metadata.tokens_used, ""))
}

/// Writes the section about the run, unless an older version recorded the debate without any of this data.
fn write_run(out: &mut Document<'_>, view: &View<'_>) {
    let debate = view.debate;
    let kept = debate.settings.is_some() || debate.outcome.is_some();
    if !kept && debate.failures.is_empty() && debate.usage.is_empty() {
        return;
    }
    out.line("## Run\n");
    write(out, &[Block::List([subject::ending(debate), subject::extent(debate)].concat())]);
    let noun = |yields, otherwise: &'static str| {
        stages::first(debate, yields).map_or_else(|| otherwise.to_owned(), |stage| capitalized(&stage.words.noun))
    };
    let subjects = [
        ("Usage".to_owned(), subject::usage(debate)),
        ("Scores".to_owned(), subject::scores(debate)),
        ("Team".to_owned(), subject::team(debate)),
        ("Agreement".to_owned(), subject::agreement(&debate.rounds, &debate.extensions)),
        ("Kinds of argument".to_owned(), subject::arguments(&debate.rounds)),
        (noun(ResultKind::Ballot, "Vote"), debate.voting.as_ref().map(subject::vote).unwrap_or_default()),
        ("Polls".to_owned(), subject::polls(debate)),
        (noun(ResultKind::Verdict, "Verdict"), subject::verdict(view)),
        ("Failures".to_owned(), failures(&debate.failures)),
    ];
    for (title, said) in subjects.into_iter().filter(|(_, said)| !said.is_empty()) {
        write(out, &[Block::Heading(line![foreign(title)])]);
        write(out, &said);
    }
    out.line("");
}

fn failures(failures: &[Failure]) -> Vec<Block<'_>> {
    let rows = failures.iter().map(|failure| {
        let CallKey { round, stage, agent_id, target_agent_id, .. } = &failure.key;
        let target: Phrase<'_> = target_agent_id.as_ref().map(|target| line![" of ", target]).unwrap_or_default();
        vec![
            line![agent_id],
            [line![foreign(stage.as_str())], target].concat(),
            line![figure(round)],
            line![figure(thousands(failure.attempts.into()))],
            line![foreign(&*failure.error)],
        ]
    });
    let columns = [
        TableHead::words("Agent"),
        TableHead::words("Call"),
        TableHead::figures("Round"),
        TableHead::figures("Attempts"),
    ];
    let columns = columns.into_iter().chain([TableHead::words("Error")]);
    let table = TableBlock::new("failures", "Calls that failed permanently", columns, rows);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

fn write(out: &mut Document<'_>, blocks: &[Block<'_>]) {
    for block in blocks {
        match block {
            Block::Heading(line) => {
                let line = out.prose(line);
                // A trailing `#` would not be part of the heading.
                let line = line.strip_suffix('#').map_or(Cow::Borrowed(&*line), |before| format!("{before}\\#").into());
                out.line(format_args!("### {line}\n"));
            }
            Block::Paragraph(line) => out.line(format_args!("{}\n", out.prose(line))),
            Block::List(items) => {
                list(out, items, 0);
                out.line("");
            }
            Block::Table(table) => write_table(out, table, None),
            Block::Text(text) | Block::Verbatim(text) => text_of(out, text),
            Block::Said(line, Some(text)) => {
                out.line(format_args!("{}:\n", out.prose(line)));
                text_of(out, text);
            }
            Block::Said(line, None) => out.line(format_args!("{}: no reason given\n", out.prose(line))),
            Block::Folded(line, blocks) | Block::Indented(line, blocks) => {
                out.line(format_args!("{}\n", out.prose(line)));
                write(out, blocks);
            }
            Block::Warning(blocks) => write(out, blocks),
            Block::Aside(blocks) => {
                if out.reader.is_some() {
                    write(out, blocks);
                }
            }
        }
    }
}

fn text_of(out: &mut Document<'_>, text: &str) {
    out.fenced(text);
    out.line("");
}

fn list(out: &mut Document<'_>, items: &[ListItem<'_>], depth: usize) {
    let for_readers = out.reader.is_some();
    for ListItem { line, more, .. } in items.iter().filter(|item| !item.is_aside || for_readers) {
        let said = match line.as_slice() {
            // Escape foreign text here, so that it cannot begin a block.
            [Piece::Foreign(text), rest @ ..] => first_of_line(text).into_owned() + &out.prose(rest),
            line => out.prose(line),
        };
        out.line(format_args!("{}- {said}", "  ".repeat(depth)));
        for block in more {
            match block {
                Block::List(items) => list(out, items, depth + 1),
                Block::Text(text) => {
                    out.line("");
                    out.fenced(text);
                }
                other => write(out, std::slice::from_ref(other)),
            }
        }
    }
}

/// Writes a table. If `rule` is given, it replaces the separator line.
fn write_table(out: &mut Document<'_>, table: &TableBlock<'_>, rule: Option<&str>) {
    let kept: Vec<usize> = (0..table.columns.len()).filter(|place| out.has(&table.columns[*place])).collect();
    let titles: Vec<String> = kept.iter().map(|place| out.cell(&table.columns[*place].title)).collect();
    out.row(titles);
    match rule {
        Some(rule) => out.line(rule),
        None => out.row(kept.iter().map(|place| if table.columns[*place].is_figure { "---:" } else { "---" })),
    }
    for row in &table.rows {
        let cells: Vec<String> = kept.iter().filter_map(|place| row.get(*place)).map(|cell| out.cell(cell)).collect();
        out.row(cells);
    }
    out.line("");
}

/// Renders blocks for people, with names instead of ids, and with the parts that are omitted for programs.
pub(crate) fn for_readers(blocks: &[Block<'_>], view: &View<'_>) -> String {
    let mut written = Vec::new();
    write(&mut Document { out: &mut written, written: Ok(()), reader: Some(view) }, blocks);
    String::from_utf8(written).unwrap_or_default()
}

#[cfg(test)]
mod tests;
