//! Describes a review in Markdown: upheld and dismissed findings, and the files that were read.

use std::fmt::Write;

use serde_json::Value;

use crate::change::{ChangeSet, Placed};
use crate::debate::{Debate, Metadata, Status};
use crate::ids::AgentId;
use crate::points::{FindingDecision, FindingRuling, Report, ReviewedFinding, Severity, Since, Stance, Voices, listed};
use crate::settings::AgentSettings;
use dialectic_base::figures::{counted, list};
use dialectic_base::markdown::{defused, defused_line, inline, is_bidi_control};

/// The maximum number of omitted files to list.
const LISTED_FILES: usize = 100;

pub fn describe_review(debate: &Debate, rulings: &[FindingRuling], summary: &str) -> String {
    let review = ReviewText::of(debate, debate.findings_ruled(rulings));
    let mut out = format!("**{}**\n", review.verdict());
    if !summary.trim().is_empty() {
        let _ = write!(out, "\n{}\n", defused(summary));
    }
    for part in [review.note(), review.kept_in_words(|_| true), review.dismissed_in_words(), review.receipt()] {
        out += &part;
    }
    out
}

/// The text of a review, in which Markdown written by models is escaped.
#[derive(Debug, Clone)]
pub struct ReviewText<'a> {
    debate: &'a Debate,
    findings: Vec<ReviewedFinding>,
    voices: Voices<'a>,
}

impl<'a> ReviewText<'a> {
    pub fn of(debate: &'a Debate, findings: Vec<ReviewedFinding>) -> Self {
        Self { debate, findings, voices: Voices::of(debate) }
    }

    pub fn kept(&self) -> impl Iterator<Item = &ReviewedFinding> {
        self.findings.iter().filter(|finding| finding.is_kept())
    }

    fn dismissed(&self) -> impl Iterator<Item = &ReviewedFinding> {
        self.findings.iter().filter(|finding| finding.is_dismissed())
    }

    pub fn verdict(&self) -> String {
        let readers = self.debate.agents().len();
        let has_read = |agent: &&AgentSettings| {
            let mut rounds = self.debate.rounds.iter();
            rounds.any(|round| self.debate.findings_of(&agent.id, round.round_number).is_some())
        };
        let read = self.debate.agents().iter().filter(has_read).count();
        let of_all =
            if read < readers { format!(", with results from only {read} of {readers} agents") } else { String::new() };
        let mut rest = match self.dismissed().count() {
            0 => String::new(),
            count => format!("; {count} rejected"),
        };
        if let Some((read, all)) = self.debate.files_read().filter(|(read, all)| read < all) {
            let _ = write!(rest, "; reviewed {read} of {}", counted(all as u64, "file"));
        }
        if let Some(earlier) = self.debate.earlier_review() {
            let count = |since: &Since| {
                self.findings.iter().filter(|one| one.since == Some(*since) && !one.is_dismissed()).count()
            };
            let counts = listed(Since::ALL.iter().map(|since| (count(since), since.name())));
            let counts = if counts.is_empty() { "nothing" } else { &counts };
            let _ = write!(rest, "; since {}: {counts}", earlier.id);
        }
        if read == 0 && readers > 0 {
            return self.unfinished().unwrap_or_else(|| "No agent returned readable findings.".to_owned());
        }
        let kept = self.kept().count();
        if kept == 0 {
            return format!("No findings{of_all}{rest}.");
        }
        let count = |severity: Severity| self.kept().filter(|finding| finding.severity == severity).count();
        let counts = listed(Severity::ALL.iter().map(|severity| (count(*severity), severity.name())));
        let merge = if count(Severity::Blocking) > 0 { " Blocking findings: do not merge." } else { "" };
        format!("{}{of_all}: {counts}{rest}.{merge}", counted(kept as u64, "finding"))
    }

    /// Why the agents' findings are missing, if the debate has not come to the ruling.
    pub fn unfinished(&self) -> Option<String> {
        let Debate { status, error, current_stage, stages, .. } = self.debate;
        let is_over = self.debate.final_solution.is_some() || *current_stage == stages.last().map(|last| last.id);
        match (status, error) {
            (Status::Failed, Some(error)) => Some(format!("The review failed: {}.", defused_line(error))),
            _ => (!is_over).then(|| "The review is not finished.".to_owned()),
        }
    }

    pub fn note(&self) -> String {
        let older = "An older version of dialectic ruled on groups of these findings; its rulings appear only in the saved answer.";
        let notes = [self.voices.note(), self.debate.has_group_rulings().then_some(older)];
        let notes = notes.into_iter().flatten().filter(|_| !self.findings.is_empty());
        notes.fold(String::new(), |notes, note| format!("{notes}\n{note}\n"))
    }

    pub fn kept_in_words(&self, is_wanted: impl Fn(&ReviewedFinding) -> bool) -> String {
        let section = |finding: &ReviewedFinding| {
            format!("\n## {} {}\n\n{}", finding.number, self.title(finding), self.in_words(finding))
        };
        self.kept().filter(|finding| is_wanted(finding)).map(section).collect()
    }

    /// Lists the rejected findings, and those that were fixed since the earlier review.
    pub fn dismissed_in_words(&self) -> String {
        let section = |heading: &str, is_rejected: bool| {
            let line = |finding: &ReviewedFinding| {
                let why = finding.ruling.as_ref().map(|ruling| defused_line(&ruling.reason)).unwrap_or_default();
                let (title, text) = (self.title(finding), defused_line(&finding.lead().text));
                format!("- {title}: {text} {heading}: {why} ({})\n", finding.id)
            };
            let over = self.findings.iter().filter(|one| !one.is_kept() && one.is_dismissed() == is_rejected);
            let lines: String = over.map(line).collect();
            if lines.is_empty() { lines } else { format!("\n## {heading}\n\n{lines}") }
        };
        section("Fixed", false) + &section("Rejected", true)
    }

    /// `[major] src/store.rs:42-48`
    pub fn title(&self, finding: &ReviewedFinding) -> String {
        let place = finding.place(self.debate).map(|(place, _)| {
            let place = place.to_string().replace(|c: char| c == '`' || c.is_control() || is_bidi_control(c), "'");
            format!(" `{place}`")
        });
        format!("[{}]{}", finding.severity.name(), place.unwrap_or_default())
    }

    /// The text below the [`title`](Self::title).
    pub fn in_words(&self, finding: &ReviewedFinding) -> String {
        let (lead, voices) = (finding.lead(), &self.voices);
        let mut out = format!("{}\n", defused(&lead.text));
        if let Some(evidence) = &lead.evidence {
            let _ = write!(out, "\n**To see it:** {}\n", defused(evidence));
        }
        if let Some(note) = self.misplaced(finding) {
            let _ = write!(out, "\n{note}\n");
        }
        out.push('\n');
        let is_alike = |report: &Report| {
            let point = &report.finding;
            point.text == lead.text
                && point.severity == lead.severity
                && report.opinions(Stance::Refuted).next().is_none()
        };
        let is_one = finding.reports.len() == 1 || finding.reports.iter().all(is_alike);
        let reports = if is_one { vec![&finding.reports[..]] } else { finding.reports.chunks(1).collect() };
        for same in reports {
            let Report { number, finding: point, .. } = &same[0];
            let by = list(&voices.finders(same));
            let own = if is_one { "Found".to_owned() } else { format!("{number} [{}] found", point.severity.name()) };
            let words =
                if point.text == lead.text { String::new() } else { format!(", as: {}", defused_line(&point.text)) };
            let confirmed = if is_one {
                voices.listed(finding.confirmed_by())
            } else {
                voices.listed(same[0].opinions(Stance::Confirmed).map(|(by, _)| by))
            };
            let confirmed = if confirmed.is_empty() { "nobody else".to_owned() } else { confirmed };
            let _ = writeln!(out, "- {own} by {}{words}; confirmed by {}", inline(&by), inline(&confirmed));
            let what = if is_one { "this finding" } else { number };
            for (stance, says) in [(Stance::Refuted, "Objection to"), (Stance::Left, "No verdict on")] {
                for (by, opinion) in same.iter().flat_map(|report| report.opinions(stance)) {
                    let reason = opinion.reason().map_or_else(|| "no reason given".to_owned(), defused_line);
                    let _ = writeln!(out, "- {says} {what} by {}: {reason}", inline(&voices.name(by)));
                }
            }
        }
        let since = finding.since.map(|since| format!(", {}", since.name())).unwrap_or_default();
        let _ = writeln!(out, "- ID: {}{since}", finding.id);
        let Some(ruling) = &finding.ruling else {
            let is_same = finding.since == Some(Since::StillThere);
            return out + if is_same { "- Ruling: none; the code is unchanged\n" } else { "- Ruling: none\n" };
        };
        let decision = match ruling.decision {
            FindingDecision::Stands => "stands",
            FindingDecision::Dismissed => "rejected",
            FindingDecision::Open => "open: the judge had too little information to decide",
            FindingDecision::Fixed => "fixed",
        };
        let reason = defused_line(&ruling.reason);
        let reason = if reason.is_empty() { reason } else { format!(". {reason}") };
        let _ = writeln!(out, "- Ruling: {decision}{reason}");
        out
    }

    fn misplaced(&self, finding: &ReviewedFinding) -> Option<&'static str> {
        self.debate.change.as_ref()?;
        match finding.place(self.debate)? {
            (_, Placed::InDiff(_) | Placed::InFile(_)) => None,
            (place, Placed::File) => place.lines.map(|_| "The diff does not show these lines of the file."),
            (_, Placed::Elsewhere) => Some("This file is not part of the change."),
        }
    }

    pub fn receipt(&self) -> String {
        let Some(set) = self.debate.change.as_deref() else { return String::new() };
        let ChangeSet { of, files, left_out, .. } = set;
        if files.is_empty() && left_out.is_empty() {
            return String::new();
        }
        let mut out =
            format!("\n## Files reviewed\n\n{}, {}:\n\n", defused_line(of), counted(files.len() as u64, "file"));
        for file in files {
            let extent = match file.lines {
                Some(lines) => format!("the diff and the whole file ({})", counted(u64::from(lines), "line")),
                None => "the diff".to_owned(),
            };
            let part = file.part().map(|part| format!(", in {part}")).unwrap_or_default();
            let _ = writeln!(out, "- {}: {extent}{part}", defused_line(&file.path));
        }
        if !left_out.is_empty() {
            out.push_str("\nLeft out:\n\n");
        }
        for one in left_out.iter().take(LISTED_FILES) {
            let _ = writeln!(out, "- {}: {}", defused_line(&one.path), inline(&one.reason));
        }
        if let Some(more @ 1..) = left_out.len().checked_sub(LISTED_FILES) {
            let _ = writeln!(out, "- and {}", counted(more as u64, "more file"));
        }
        for agent in self.debate.agents() {
            out += &describe_opened(&inline(&self.voices.name(&agent.id)), &self.debate.opened_by(&agent.id));
        }
        for agent in self.debate.agents() {
            let unread = self.debate.unread_parts(&agent.id);
            let unread: Vec<String> = unread.iter().map(ToString::to_string).collect();
            if unread.is_empty() || self.unfinished().is_some() {
                continue;
            }
            let of = if set.parts() > 1 { format!(" on part {}", list(&unread)) } else { String::new() };
            let _ = writeln!(out, "\n{} returned no readable findings{of}.", inline(&agent.name));
        }
        out
    }
}

/// The maximum number of files and searches to list on one line.
const SHOWN_CALLS: usize = 40;

impl Debate {
    /// The files that a reader opened and the searches that it ran with tools, without duplicates:
    /// `src/store.rs:10-80`, `search "charge\("`.
    pub fn opened_by(&self, reader: &AgentId) -> Vec<String> {
        let contributions = self.rounds.iter().flat_map(|round| &round.contributions);
        let own = contributions.filter(|contribution| contribution.agent_id == *reader);
        opened(own.map(|contribution| &contribution.metadata))
    }
}

pub fn describe_opened(who: &str, opened: &[String]) -> String {
    let shown: Vec<String> = opened.iter().take(SHOWN_CALLS).map(|one| defused_line(one)).collect();
    let more = match opened.len().saturating_sub(SHOWN_CALLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if shown.is_empty() { String::new() } else { format!("\n{who} also opened: {}{more}\n", shown.join(", ")) }
}

pub fn opened<'a>(all: impl Iterator<Item = &'a Metadata>) -> Vec<String> {
    let mut opened: Vec<String> = Vec::new();
    for (call, result) in all.flat_map(|one| one.tool_calls.iter().zip(&one.tool_results)) {
        let answer: Value = serde_json::from_str(&result.content).unwrap_or_default();
        if answer["status"] != "success" {
            continue;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let given = |name: &str| arguments[name].as_str().filter(|text| !text.is_empty());
        let place = |path: &str| given("lines").map_or_else(|| path.to_owned(), |lines| format!("{path}:{lines}"));
        let one = match call.name.as_str() {
            "file_read" => given("path").map(place),
            "file_search" | "context_search" => {
                given("pattern").or(given("term")).map(|text| format!("search \"{text}\""))
            }
            // Listing files shows no code.
            _ => None,
        };
        opened.extend(one.filter(|one| !opened.contains(one)));
    }
    opened
}
