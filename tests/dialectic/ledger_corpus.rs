//! What critiques and refinements say, as a person reads them, against what the program reads.
//!
//! Beside each text of `tests/fixtures/ledger` stands what a person made of it, written down before there was a reader.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::support::thoroughness;
use dialectic_record::points::parser::{ANSWERS_HEADING, ReadAnswers, ReadCritique, read_answers, read_critique};
use dialectic_record::points::{RaisedPoint, RecheckStanding, Response, Severity};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Expected {
    #[serde(rename_all = "camelCase")]
    Critique {
        earlier: usize,
        points: Vec<ExpectedPoint>,
        says_none: bool,
        rechecks: Vec<Recheck>,
        #[serde(default)]
        form: Form,
    },
    Refinement {
        critiques: Vec<Critique>,
        earlier: Vec<String>,
        answers: Vec<Answer>,
        #[serde(default)]
        form: Form,
    },
}

/// Whether a text has the form that the prompts ask for, with the decoration that models add.
#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Form {
    #[default]
    Asked,
    /// Another one, which a person reads and the program asks for once more.
    Other,
}

#[derive(Deserialize)]
struct ExpectedPoint {
    severity: Severity,
    says: String,
}

#[derive(Deserialize)]
struct Recheck {
    point: String,
    standing: RecheckStanding,
}

#[derive(Deserialize)]
struct Critique {
    points: Vec<String>,
}

#[derive(Deserialize)]
struct Answer {
    point: String,
    #[serde(rename = "answer")]
    response: Response,
    reason: bool,
}

struct Sample {
    name: String,
    text: String,
    expected: Expected,
}

/// What the program makes of a text in another form.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ParsedAnswer {
    Exact,
    /// All that is read is what a person reads, who reads more.
    InPart,
    Otherwise,
    Unread,
}

/// Texts in another form of which a part has the form that the prompts ask for.
const READ_IN_PART: [&str; 3] = ["61-traps", "74-real-bracket-paragraph", "51-headings-critic-names"];
/// Texts in another form of which something else is read than a person reads. Thanks are kept as the words that follow a
/// verdict, which a person does not call a reason; `**Minority Requirement**` is no tag, so that its point is a major one.
const READ_OTHERWISE: [&str; 2] = ["55-no-reasons", "71-real-starts-at-two"];

/// How many were expected, read, and both.
#[derive(Default)]
struct Score {
    expected: usize,
    read: usize,
    both: usize,
    misses: String,
}

impl Score {
    /// Counts what is in both lists, each entry once.
    fn count(&mut self, name: &str, expected: &[String], read: &[String], is_same: impl Fn(&str, &str) -> bool) {
        let mut left: Vec<&String> = read.iter().collect();
        for one in expected {
            match left.iter().position(|other| is_same(one, other)) {
                Some(at) => {
                    left.remove(at);
                    self.both += 1;
                }
                None => writeln!(self.misses, "  {name}: not read: {one}").unwrap(),
            }
        }
        for one in left {
            writeln!(self.misses, "  {name}: read too much: {one}").unwrap();
        }
        self.expected += expected.len();
        self.read += read.len();
    }

    fn check(&self, what: &str) {
        let ratio = |of: usize| f64::from(u32::try_from(self.both).unwrap()) / f64::from(u32::try_from(of).unwrap());
        let (precision, recall) = (ratio(self.read), ratio(self.expected));
        println!("{what}: {} expected, precision {precision:.3}, recall {recall:.3}\n{}", self.expected, self.misses);
        assert!(precision >= 0.97 && recall >= 0.97, "{what}: {precision:.3}, {recall:.3}\n{}", self.misses);
    }
}

fn texts_below(directory: &Path, texts: &mut Vec<Sample>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts_below(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let expected = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let text = std::fs::read_to_string(path.with_extension("md")).unwrap();
            texts.push(Sample { name: path.file_stem().unwrap().to_string_lossy().into_owned(), text, expected });
        }
    }
}

fn corpus() -> Vec<Sample> {
    let mut texts = Vec::new();
    texts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ledger"), &mut texts);
    assert!(texts.len() >= 40);
    texts
}

fn labels(earlier: usize) -> Vec<String> {
    (1..=earlier).map(|number| format!("P{number}")).collect()
}

/// The numbers of the points that a refinement was shown: those of each critique, then the earlier ones.
fn numbers(critiques: &[Critique], earlier: &[String]) -> Vec<String> {
    let of_critiques = (1..)
        .zip(critiques)
        .flat_map(|(index, one): (usize, _)| (1..=one.points.len()).map(move |number| format!("{index}.{number}")));
    of_critiques.chain(labels(earlier.len())).collect()
}

fn borrowed(numbers: &[String]) -> Vec<&str> {
    numbers.iter().map(String::as_str).collect()
}

/// All that is said of a point, on one line.
fn whole(point: &RaisedPoint) -> String {
    let parts = [Some(&*point.text), point.about.as_deref(), point.resolution.as_deref()];
    let parts: Vec<String> = parts.into_iter().flatten().map(one_line).collect();
    format!("{:?} {}", point.severity, parts.join(" | "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether what is read is what was expected, in this order, or a part of it.
fn subset<E, R>(expected: &[E], read: &[R], is_same: impl Fn(&E, &R) -> bool) -> ParsedAnswer {
    let mut left = expected.iter();
    let is_part = read.iter().all(|one| left.any(|other| is_same(other, one)));
    match (is_part, read.len() == expected.len()) {
        (true, true) => ParsedAnswer::Exact,
        (true, false) => ParsedAnswer::InPart,
        (false, _) => ParsedAnswer::Otherwise,
    }
}

#[test]
fn texts_in_the_form_are_read_as_a_person_reads_them() {
    let (mut points, mut rechecks, mut answers) = (Score::default(), Score::default(), Score::default());
    let (mut wrong, mut others) = (Vec::new(), Vec::new());
    let corpus = corpus();
    for Sample { name, text, expected } in &corpus {
        match expected {
            Expected::Critique { earlier, points: expected, says_none, rechecks: standings, form } => {
                let labels = labels(*earlier);
                let read = read_critique(text, &borrowed(&labels));
                let is_none = read.points.as_ref().is_some_and(Vec::is_empty);
                if *form == Form::Other {
                    wrong.extend((is_none && !says_none).then(|| name.clone()));
                    let is_same = |one: &ExpectedPoint, read: &RaisedPoint| {
                        one.severity == read.severity && whole(read).contains(&one_line(&one.says))
                    };
                    others.push((name, read.points.as_ref().map(|points| subset(expected, points, is_same))));
                    continue;
                }
                if is_none != (*says_none || expected.is_empty() && !standings.is_empty()) {
                    wrong.push(format!("{name}: {is_none}"));
                }
                let expected: Vec<String> =
                    expected.iter().map(|one| format!("{:?} {}", one.severity, one_line(&one.says))).collect();
                let found: Vec<String> = read.points.iter().flatten().map(whole).collect();
                points.count(name, &expected, &found, |expected, read| {
                    let (severity, says) = expected.split_once(' ').unwrap();
                    read.starts_with(severity) && read.contains(says)
                });
                let expected: Vec<String> =
                    standings.iter().map(|one| format!("{} {:?}", one.point, one.standing)).collect();
                let found: Vec<String> =
                    read.said.iter().map(|one| format!("{} {:?}", labels[one.point], one.verdict)).collect();
                rechecks.count(name, &expected, &found, |expected, read| expected == read);
            }
            Expected::Refinement { critiques, earlier, answers: expected, form } => {
                let numbers = numbers(critiques, earlier);
                let ReadAnswers { answers: read, .. } = read_answers(text, ANSWERS_HEADING, &borrowed(&numbers));
                let mut expected: Vec<String> =
                    expected.iter().map(|one| format!("{} {:?} {}", one.point, one.response, one.reason)).collect();
                let read =
                    read.iter().map(|one| format!("{} {:?} {}", numbers[one.point], one.verdict, one.reason.is_some()));
                let mut read: Vec<String> = read.collect();
                if *form == Form::Other {
                    expected.sort();
                    read.sort();
                    others
                        .push((name, (!read.is_empty()).then(|| subset(&expected, &read, |one, other| one == other))));
                    continue;
                }
                answers.count(name, &expected, &read, |expected, read| expected == read);
            }
        }
    }
    println!("no objections, wrongly: {wrong:?}");
    let others = others.into_iter().map(|(name, read)| (name, read.unwrap_or(ParsedAnswer::Unread)));
    let others: Vec<(&String, ParsedAnswer)> = others.collect();
    println!("texts in another form: {others:?}");
    let of = |wanted| others.iter().filter(move |(_, read)| *read == wanted).map(|(name, _)| name.as_str());
    assert_eq!(of(ParsedAnswer::InPart).collect::<Vec<_>>(), READ_IN_PART);
    assert_eq!(of(ParsedAnswer::Otherwise).collect::<Vec<_>>(), READ_OTHERWISE);
    points.check("points");
    rechecks.check("rechecks");
    answers.check("answers");
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A source of chance that gives the same numbers in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        text.floor_char_boundary(at)
    }

    fn piece<'a>(&mut self, text: &'a str) -> &'a str {
        let (one, other) = (self.place(text), self.place(text));
        &text[one.min(other)..one.max(other)]
    }

    /// The text cut, spliced with another, with a piece twice, or with two pieces swapped.
    fn mutate(&mut self, text: &str, other: &str) -> String {
        let at = self.place(text);
        let (before, after) = text.split_at(at);
        match self.below(5) {
            0 => before.to_owned(),
            1 => after.to_owned(),
            2 => format!("{before}{}", self.piece(other)),
            3 => format!("{before}{}{after}", self.piece(text)),
            _ => {
                let end = self.place(after);
                format!("{}{before}{}", &after[..end], &after[end..])
            }
        }
    }
}

#[test]
fn no_damage_to_a_text_makes_more_of_it_than_was_asked() {
    let texts = corpus();
    let short: Vec<&Sample> = texts.iter().filter(|one| one.text.len() < 2500).collect();
    let mut chance = Chance(11);
    for _ in 0..3_000 * thoroughness() {
        let (one, other) = (short[chance.below(short.len())], short[chance.below(short.len())]);
        let mut text = chance.mutate(&one.text, &other.text);
        if chance.below(2) == 0 {
            text = chance.mutate(&text, &other.text);
        }
        let labels = labels(chance.below(6));
        let ReadCritique { points, said: rechecks, .. } = read_critique(&text, &borrowed(&labels));
        assert!(points.iter().flatten().all(|point| point.text.contains(char::is_alphanumeric)), "{text}");
        let numbers: Vec<usize> = rechecks.iter().map(|one| one.point).collect();
        assert!(numbers.iter().all(|at| *at < labels.len()), "{text}");
        assert_eq!(numbers.len(), numbers.iter().collect::<std::collections::BTreeSet<_>>().len(), "{text}");
        if let Expected::Refinement { critiques, earlier, .. } = &one.expected {
            let numbers = self::numbers(critiques, earlier);
            let ReadAnswers { answers, section } = read_answers(&text, ANSWERS_HEADING, &borrowed(&numbers));
            let places: std::collections::BTreeSet<usize> = answers.iter().map(|one| one.point).collect();
            assert!(places.len() == answers.len() && places.iter().all(|at| *at < numbers.len()), "{text}");
            assert!(section.is_none_or(|section| text.get(section).is_some()), "{text}");
        }
    }
}
