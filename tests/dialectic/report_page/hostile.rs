//! Debates of which every text is an attack.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::Plan;
use dialectic_record::debate::Debate;
use dialectic_record::event::fold;
use dialectic_record::points::{Ledger, Point};

/// How long a line is that has to be broken.
const LONG: usize = 20_000;
/// One text in so many has such a line; with all of them a page would be too large for any browser.
const LONG_EVERY: usize = 12;
/// Stands in for an attack while it is found out where any text can be.
const PROBE: &str = "any text";

/// Texts that try to run something, to call a server, or to leave their place.
pub(super) struct Hostile {
    attacks: Vec<String>,
}

impl Hostile {
    /// Attacks that call the server at that address when they succeed.
    pub(super) fn calling(server: &str) -> Self {
        let run = |name: &str| {
            let mark = format!("document.title='it ran';document.documentElement.setAttribute('data-ran','{name}')");
            format!("{mark};new Image().src='http://{server}/{name}'")
        };
        let script = |name: &str| format!("<script>{}</script>", run(name));
        let attribute = |name: &str| format!("\"{}\"", run(name));
        let address = |name: &str| format!("http://{server}/{name}");
        let attacks = vec![
            script("script"),
            format!("<img src={} onerror={}>", address("image"), attribute("onerror")),
            format!(
                "\"><svg onload={}><animate onbegin={} attributeName=x dur=1s>",
                attribute("svg"),
                attribute("animate")
            ),
            format!("' autofocus tabindex=0 onfocus={} x='", attribute("focus")),
            format!("[link](javascript:{}) [data](data:text/html,{})", run("link"), script("data")),
            format!("![image]({}) <{}> [a]", address("markdown-image"), address("autolink")),
            "[a]\n\n[a]: javascript:alert(1) \"x\" onclick=\"y\"".to_owned(),
            format!("</pre></code></p></div></td></title></style></section></script>{}", script("closing")),
            format!("```html\" onclick={}\n</code></pre>{}\n```", attribute("info"), script("fence")),
            (1..24).map(|ticks| "`".repeat(ticks)).collect::<Vec<_>>().join(" <b>"),
            format!("| a | b |\n| --- | --- |\n| {} | `|` |", script("table")),
            format!("<meta http-equiv=refresh content=\"0;url={}\"><base href={}>", address("meta"), address("base/")),
            format!("<link rel=stylesheet href={}><style>@import '{}';</style>", address("link"), address("import")),
            format!("<iframe src=javascript:{}></iframe><object data={}></object>", run("frame"), address("object")),
            format!("<details open ontoggle={}><summary>x</summary></details>", attribute("toggle")),
            format!("<!-- --!>{}<![CDATA[ ]]> <?x ?> -->", script("comment")),
            format!("<form action={}><input autofocus onfocus={}></form>", address("form"), attribute("input")),
            "\u{202e}\u{2066}\u{200f}right to left \u{5d0}\u{5d1}\u{5d2}\u{2067} \u{61c}\0\u{1b}[2J\u{feff}".to_owned(),
            "> > > - - 1. # ## [x] [ ] ***a** _b_ ~~c~~ \\<script> &lt;script&gt; &#60;script&#62; {{ 7*7 }}"
                .to_owned(),
        ];
        Self { attacks }
    }

    /// All attacks in one text. Each number begins with another one, since what a text begins with decides how
    /// Markdown reads it.
    pub(super) fn text(&self, number: usize) -> String {
        let (end, start) = self.attacks.split_at(number % self.attacks.len());
        let separator = if number.is_multiple_of(2) { "\n\n" } else { " " };
        let mut text = start.iter().chain(end).cloned().collect::<Vec<_>>().join(separator);
        if number % LONG_EVERY == LONG_EVERY - 1 {
            text.push_str(&"<b>x".repeat(LONG / 4));
        }
        text
    }

    /// Debates: one in which the same text stays the same everywhere, so that who spoke about whom
    /// still fits together, and one in which every place has a text of its own.
    pub(super) fn debates(&self) -> Vec<(&'static str, Debate)> {
        let state = full();
        let mut known = BTreeMap::new();
        let consistent = linked(self.overwritten(&state, |original, _| {
            let next = known.len();
            *known.entry(original.to_owned()).or_insert(next)
        }));
        let scattered = self.overwritten(&state, |_, place| place);
        let is_whole = |one: &Point| {
            one.answer().is_some_and(|answer| answer.reason.is_some())
                && one.recheck().is_some()
                && one.ruling().is_some()
        };
        assert!(Ledger::of(&consistent).objections.iter().any(is_whole), "no point has all that there can be");
        vec![("consistent", consistent), ("scattered", scattered)]
    }

    fn overwritten(&self, state: &Value, mut number: impl FnMut(&str, usize) -> usize) -> Debate {
        let mut place = 0;
        let mut attack = |original: &str| {
            place += 1;
            self.text(number(original, place))
        };
        overwrite(state.clone(), &mut attack, 90)
    }
}

/// The same debate with answers, rechecks and rulings that are of its points: attacks in place of ids name none.
fn linked(mut debate: Debate) -> Debate {
    let raised = Ledger::of(&debate).objections;
    for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions).map(Arc::make_mut) {
        let Some(reading) = &mut one.reading else { continue };
        let about = one.target_agent_id.as_ref().unwrap_or(&one.agent_id);
        let mut against = raised.iter().filter(|known| known.target_id == *about).map(|known| &known.id).cycle();
        let points = reading.rechecks.iter_mut().map(|recheck| &mut recheck.point);
        for point in points.chain(reading.answers.iter_mut().map(|reply| &mut reply.point)) {
            if let Some(id) = against.next() {
                point.clone_from(id);
            }
        }
    }
    let rulings = debate.final_solution.iter_mut().flat_map(|solution| &mut solution.rulings);
    for (ruling, known) in rulings.zip(&raised) {
        ruling.point.clone_from(&known.id);
    }
    debate
}

/// Puts what `attack` makes of it in place of every text that can be any text: values and the keys of maps. Which can
/// is found out by trying. Panics when there are fewer than `least` kinds of places.
fn overwrite<T: Serialize + DeserializeOwned>(
    mut value: Value,
    attack: &mut impl FnMut(&str) -> String,
    least: usize,
) -> T {
    let mut kinds: BTreeMap<String, bool> = BTreeMap::new();
    let mut free = Vec::new();
    for place in places(&value, &Vec::new()) {
        let kind: String = place.iter().map(Step::kind).collect();
        let can_be_any = *kinds.entry(kind).or_insert_with(|| {
            let mut tried = value.clone();
            put(&mut tried, &place, &mut |_| PROBE.to_owned());
            let read = serde_json::from_value::<T>(tried).and_then(|read| serde_json::to_string(&read));
            // Unknown keys are dropped when a value is read, so it counts only when it comes out again.
            read.is_ok_and(|written| written.contains(PROBE))
        });
        if can_be_any {
            free.push(place);
        }
    }
    let found = kinds.values().filter(|any| **any).count();
    assert!(found >= least, "only {found} kinds of texts: {kinds:?}");
    // Deepest first: a key that changes must not hide the places below it.
    free.sort_by_key(|place| std::cmp::Reverse(place.len()));
    for place in &free {
        put(&mut value, place, attack);
    }
    serde_json::from_value(value).expect("each place takes any text")
}

/// A step on the way to a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Item(usize),
    Field(String),
    /// The key itself, not what it leads to.
    Key(String),
}

impl Step {
    /// Items of a list are alike.
    fn kind(&self) -> String {
        match self {
            Self::Item(_) => "[]".to_owned(),
            Self::Field(name) => format!(".{name}"),
            Self::Key(name) => format!(" key {name}"),
        }
    }
}

/// The ways to all texts.
fn places(value: &Value, above: &[Step]) -> Vec<Vec<Step>> {
    let below = |step: Step| above.iter().cloned().chain([step]).collect::<Vec<_>>();
    match value {
        Value::String(_) => vec![above.to_vec()],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, item)| places(item, &below(Step::Item(index)))).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                let mut found = places(field, &below(Step::Field(name.clone())));
                found.push(below(Step::Key(name.clone())));
                found
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn put(value: &mut Value, place: &[Step], attack: &mut impl FnMut(&str) -> String) {
    match (place.split_first(), value) {
        (None, Value::String(text)) => *text = attack(text),
        (Some((Step::Item(index), rest)), Value::Array(items)) => put(&mut items[*index], rest, attack),
        (Some((Step::Field(name), rest)), Value::Object(fields)) => put(&mut fields[name], rest, attack),
        (Some((Step::Key(name), _)), Value::Object(fields)) => {
            let field = fields.remove(name).expect("the key is there");
            fields.insert(attack(name), field);
        }
        (step, value) => panic!("{step:?} does not lead into {value}"),
    }
}

/// A debate that has every part.
#[expect(clippy::too_many_lines, reason = "it is one document, field by field")]
fn full() -> Value {
    let plan = Plan {
        agents: 3,
        rounds: 2,
        clarified: true,
        summarized: true,
        failing: 8,
        unpriced: 5,
        interrupted: true,
        seed: 5,
    };
    let mut state = serde_json::to_value(fold(&plan.events(1)).unwrap()).unwrap();
    let agent = |agent: usize| Plan::agent_id(agent);
    let merge = |value: &mut Value, more: Value| {
        value.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    };
    let poll = |stage: &str| json!({"stage": stage, "votes": {agent(0): "a word", agent(2): "another word"}, "reasons": {agent(0): "a motive"}});
    let judged = |pass: u8| {
        json!({
            "pass": pass, "winner": agent(0), "scores": {agent(0): 70, agent(1): 60},
            "criteria": {"a criterion": "an assessment"}, "reasoning": format!("reasoning {pass}"),
        })
    };
    let mut verdict = judged(1);
    verdict["stable"] = json!(false);
    merge(
        &mut state,
        json!({
            "context": "the context", "error": "the error", "status": "failed", "stopReason": "budget",
            "outcome": {"kind": "degraded", "reasons": (0..9).map(|n| format!("reason {n}")).collect::<Vec<_>>()},
            "voting": {
                "tally": {agent(0): 2, agent(1): 1}, "tied": [agent(0), agent(1)], "winner": agent(0),
                "count": {
                    "rule": "majority", "voters": 3, "cast": 3, "quorum": 2, "selfVotes": 1,
                    "dissent": [{"agentId": agent(2), "for": agent(1), "reason": "the reason"}],
                },
            },
            "finalSolution": {
                "description": "the description", "implementation": "the implementation", "tradeoffs": ["a tradeoff"],
                "recommendations": ["a recommendation"], "confidence": 82, "synthesizedBy": "judge-main",
                "unfulfilledMajorRequirements": ["a requirement"], "openQuestions": ["an open question"],
                "base": agent(1), "parseError": "the parse error",
                "rulings": (0..40).map(|number| json!({"point": format!("point {number}"), "decision": "met",
                    "where": "a section", "reason": "a ruling"})).collect::<Vec<_>>(),
            },
            "polls": [poll("an early poll"), poll("a late poll")],
            "judgements": [judged(1), judged(2)], "verdict": verdict,
            "failures": [{
                "agentId": agent(0), "phase": "critique", "round": 1, "targetAgentId": agent(1), "error": "a failure",
                "attempts": 4, "at": "2025-01-01T01:02:03.000Z",
            }],
        }),
    );
    for one in state["rounds"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .flat_map(|round| round["contributions"].as_array_mut().unwrap())
    {
        if one["type"] == "critique" {
            one["reading"] = json!({
                "points": [{"severity": "blocking", "about": "a part", "text": "a point", "resolution": "a remedy"}],
                "rechecks": [{"point": "an earlier point", "standing": "maintained", "reason": "a doubt"}],
            });
        } else if one["type"] == "refinement" {
            one["reading"] = json!({
                "answers": [{"point": "a point's id", "answer": "rejected", "reason": "an answer"}],
                "change": {"added": 3, "removed": 2},
            });
        }
    }
    state["rounds"][0]["evaluation"] = json!({"type": "quality", "score": null, "threshold": 80});
    merge(
        &mut state["rounds"][0]["contributions"][0]["metadata"],
        json!({
            "servedModel": "served", "truncated": true,
            "toolCalls": [{"id": "c", "name": "a tool", "arguments": "the arguments"}],
            "toolResults": [{"tool_call_id": "c", "role": "tool", "content": "the content"}],
        }),
    );
    let ballot = json!({
        "agentId": agent(0), "agentRole": "kiss", "type": "vote", "content": "a ballot", "targetAgentId": agent(0),
        "metadata": {"confidence": 70},
    });
    let choice = json!({
        "agentId": agent(1), "agentRole": "kiss", "type": "vote", "content": "1. a demand",
        "metadata": {"confidence": 70, "choice": "a choice"},
    });
    let speech = json!({
        "agentId": agent(2), "agentRole": "kiss", "type": "an unknown stage", "content": "a speech",
        "targetAgentId": agent(1),
    });
    state["rounds"][1]["contributions"].as_array_mut().unwrap().extend([ballot, choice, speech]);
    merge(
        &mut state["settings"],
        json!({
            "providers": {"mine": {"baseUrl": "https://e.org", "apiKeyEnv": "KEY", "headers": {"X": "y"}}},
            "prices": {"gpt-4": {"inputPerMTok": 1.0, "outputPerMTok": 2.0}},
            "baseDir": "/base", "contextDir": "/context",
        }),
    );
    let paths = json!({"systemPromptPath": "/s", "summaryPromptPath": "/u", "clarificationPromptPath": "/c"});
    merge(&mut state["settings"]["agents"][0], paths);
    merge(
        &mut state["promptSources"]["judge"],
        json!({"source": "file", "path": "/j", "summarySource": "file", "summaryPath": "/k"}),
    );
    state
}
