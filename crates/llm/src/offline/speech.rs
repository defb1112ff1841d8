//! What is said for and against a motion, or about a problem in turn: speeches, questions, answers, polls, the verdict.
//!
//! A speech is a list of numbered points. The tasks differ in which points these are (those that the others made last,
//! or arguments of the own), and the sides in what they say to one.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use dialectic_base::figures::{counted, list};

use super::agent::Agent;
use super::checklist::{Entry, field, motions};
use super::prompt::Fenced;
use super::text::{Point, covers, holds, numbered, unique};
use super::words::{filled, mixed, one_line, paragraphs, percent, ratio, words};

/// What speeches are made of.
const SPEECHES: &str = include_str!("../../../../prompts/offline/speeches.md");
/// Arguments of a speech.
const ARGUMENTS: usize = 3;
/// Points of the last speaker's that a speech for no side agrees with.
const AGREED: usize = 2;
/// A motion is quoted up to so many characters.
const QUOTED_CHARS: usize = 160;
const FOR: &str = "for";
const AGAINST: &str = "against";
const NEITHER: &str = "neither";

/// The side of which a heading or a sentence tells. Of several it is the last: `Questions of A (for) by B (against)`.
fn side_in(text: &str) -> &'static str {
    let side = |word: &str| [FOR, AGAINST].into_iter().find(|side| word.eq_ignore_ascii_case(side));
    words(text).filter_map(side).last().unwrap_or(NEITHER)
}

impl<'a> Agent<'a> {
    /// What is said in turn: answers to points of the other side's, then points of the own.
    pub(super) fn speech(&self) -> String {
        let side = self.side();
        let voice = if side == NEITHER && !self.is_motion() { "view" } else { side };
        let voice = SPEECHES.split("\n## ").find(|section| section.starts_with(voice)).unwrap_or_default();
        let latest = self.latest_of_others().filter(|_| side != NEITHER);
        let (title, attacked) = latest.unwrap_or_default();
        let (answers, own) = match self.task {
            "question" => (ARGUMENTS, ARGUMENTS.saturating_sub(attacked.len())),
            "answer" if !attacked.is_empty() => (attacked.len(), 0),
            "rebut" if !attacked.is_empty() => (ARGUMENTS, 1),
            _ => (0, ARGUMENTS),
        };
        let said = self.entries_of(|_| true);
        let (known, new): (Vec<&Entry>, _) = self.arguments().into_iter().partition(|one| covers(&said, one));
        // A closing brings nothing new.
        let is_closing = self.task == "close" && side != NEITHER && !known.is_empty();
        let points = if is_closing { known } else { new };
        let say = |what: &str, entry: &Entry| match self.task {
            "question" => self.problem.about(entry.question),
            _ => self.problem.about(&filled(field(voice, what), |name| field(entry.body, name).to_owned())),
        };
        let answered = attacked.into_iter().take(answers).map(|point| {
            let unknown = || "What shows that this holds, and what would show that it does not?".to_owned();
            (point.title, point.entry.map_or_else(unknown, |entry| say("reply", entry)))
        });
        let own = points.into_iter().take(own).map(|entry| (entry.title.to_owned(), say("argument", entry)));
        let parts: Vec<(String, String)> = answered.chain(own).collect();
        // Who has nothing to answer makes the case.
        let is_special = side != NEITHER && (matches!(self.task, "question" | "close") || answers > 0);
        let start = filled(field(voice, if is_special { self.task } else { "open" }), |name| match name {
            "motion" => self.motion(),
            "title" => title.to_owned(),
            "count" => counted(parts.len() as u64, "reason"),
            "problem" => self.problem.full_subject.clone(),
            "view" => self.checklist.view.to_owned(),
            _ => self.problem.about(self.checklist.approach),
        });
        let agreed = if side == NEITHER { self.agreement() } else { String::new() };
        let nothing = if parts.is_empty() { "What I look for has been said; I have nothing to add." } else { "" };
        let end = if matches!(self.task, "question" | "answer") { "" } else { field(voice, "end") };
        let numbered = (1..).zip(parts).map(|(number, (title, text))| format!("{number}. **{title}.** {text}"));
        let end = [nothing.to_owned(), end.to_owned(), self.colophon()];
        paragraphs([start, agreed].into_iter().chain(numbered).chain(end))
    }

    /// What the last speaker said that is right.
    fn agreement(&self) -> String {
        let Some(last) = self.material().last() else { return String::new() };
        let made = unique(numbered(last.text).into_iter().filter_map(|point| point.entry));
        match &made.into_iter().take(AGREED).map(Entry::bold).collect::<Vec<_>>()[..] {
            [] => String::new(),
            held => format!("I agree with “{}” on {}. To that I add:", last.title, list(held)),
        }
    }

    /// A poll: for or against, by the arguments of each side that stand.
    pub(super) fn poll(&self) -> (&'static str, u32, String) {
        let arguments = self.arguments();
        let [in_favour, opposed] = [FOR, AGAINST].map(|side| {
            let made = self.entries_of(|one| one == side);
            // What the voter itself looks for first counts double.
            made.len() + arguments.iter().take(ARGUMENTS).filter(|entry| holds(&made, entry)).count()
        });
        let choice = match in_favour.cmp(&opposed) {
            Ordering::Greater => FOR,
            Ordering::Less => AGAINST,
            Ordering::Equal if in_favour == 0 => "undecided",
            // Somebody who has heard arguments is moved by them; a rule decides by which.
            Ordering::Equal => {
                let tie_break = mixed(self.seed, &format!("{} {}", self.checklist.title, self.motion()));
                [FOR, AGAINST][usize::from(tie_break.is_multiple_of(2))]
            }
        };
        let depends = arguments.first().map_or("", |entry| entry.question);
        let reason = format!(
            "By count: {in_favour} for the motion and {opposed} against it, with the arguments that {} looks for counted \
             twice. From that point of view it depends on this: {depends}",
            self.checklist.view
        );
        let share = if choice == "undecided" { 0.5 } else { ratio(in_favour.max(opposed), in_favour + opposed) };
        (choice, percent(share), reason)
    }

    /// The judge's verdict on debaters under labels: who made more points.
    pub(super) fn verdict(&self, schema: &Value) -> Value {
        let labels = names(schema, "/properties/scores/items/properties/debater/enum");
        let author = |text: &Fenced<'a>| words(text.title).filter(|word| labels.contains(word)).last();
        let arguments = |label: &&str| {
            let own = self.material().filter(|text| author(text) == Some(label));
            own.flat_map(|text| numbered(text.text)).map(|point| point.title).collect::<BTreeSet<String>>().len()
        };
        let counts: Vec<usize> = labels.iter().map(arguments).collect();
        let debaters = || labels.iter().zip(&counts);
        let most = counts.iter().copied().max().unwrap_or_default();
        let mut best = debaters().filter(|(_, count)| **count == most);
        let winner = best.next().filter(|_| best.next().is_none()).map(|(label, _)| *label);
        let scores = debaters().map(|(label, count)| {
            // With no argument half of nothing is left; one more than the others is no triumph either.
            json!({ "debater": label, "score": percent(0.9 * ratio(*count, most + 1)) })
        });
        let told =
            debaters().map(|(label, count)| format!("Debater {label} makes {}", counted(*count as u64, "point")));
        let told = told.collect::<Vec<_>>().join(", ");
        let criteria = names(schema, "/properties/criteria/items/properties/name/enum").into_iter().map(|name| {
            let assessment = format!("No rule can weigh this; what can be counted for {name} are points: {told}.");
            json!({ "name": name, "assessment": assessment })
        });
        let ahead = winner.map_or("nobody".to_owned(), |label| format!("Debater {label}"));
        json!({
            "scores": scores.collect::<Value>(),
            "criteria": criteria.collect::<Value>(),
            "reasoning": format!("By rule, without a model: {told}, so {ahead} is ahead."),
            "winner": winner.unwrap_or("none"),
        })
    }

    fn motion(&self) -> String {
        one_line(self.prompt.first("problem"), QUOTED_CHARS).trim_end_matches('.').to_owned()
    }

    fn side(&self) -> &'static str {
        self.prompt.section("Your side").map_or(NEITHER, side_in)
    }

    /// Whether the checklist of the role has nothing to say of it: it is a motion about no system.
    fn is_motion(&self) -> bool {
        let has_sides = self.prompt.section("Your side").is_some();
        self.task == "poll" || (has_sides && !self.problem.names_a_thing())
    }

    /// What can be argued, in an order of the role's own: about a motion what can be said about any, else what the role
    /// looks at. Against a motion stands first what its own words call for on the role's checklist; these points say how
    /// something is done well, so nobody speaks for it with them.
    fn arguments(&self) -> Vec<&'static Entry> {
        let side = self.side();
        if side == NEITHER && !self.is_motion() {
            return self.own.clone();
        }
        let is_opposed = side == AGAINST && self.problem.names_a_thing();
        let is_called = |entry: &Entry| entry.score(&self.problem) > 0;
        let called = self.own.iter().copied().filter(|entry| is_opposed && is_called(entry)).take(2);
        let mut general: Vec<&Entry> = motions().applicable(&self.problem);
        general.sort_by_key(|entry| (!is_called(entry), mixed(0, &format!("{}{}", self.checklist.title, entry.title))));
        called.chain(general).collect()
    }

    /// What was written in the debate, in the order of the prompt.
    fn material(&self) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        const GIVEN: [&str; 4] = ["Problem", "Files", "Clarifications", "Requirements information"];
        self.prompt.texts().filter(|text| !GIVEN.contains(&text.part))
    }

    /// The newest text of others with numbered points. Where headings tell no sides, all are others'.
    fn latest_of_others(&self) -> Option<(&'a str, Vec<Point>)> {
        let mut others = self.material().rev().filter(|text| side_in(text.title) != self.side());
        others.find_map(|text| Some((text.title, numbered(text.text))).filter(|(_, points)| !points.is_empty()))
    }

    /// What was argued by some sides, as far as headings tell them.
    fn entries_of(&self, is_meant: impl Fn(&str) -> bool) -> Vec<&'static Entry> {
        let texts = self.material().filter(|text| is_meant(side_in(text.title)));
        unique(texts.flat_map(|text| numbered(text.text)).filter_map(|point| point.entry))
    }
}

/// The names that a schema allows at this place.
pub(super) fn names<'a>(schema: &'a Value, place: &str) -> Vec<&'a str> {
    schema.pointer(place).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
