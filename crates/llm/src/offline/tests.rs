//! Handwritten requests in the form of the real prompts. In tests of time, the clock stands still while a task runs.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use dialectic_base::markdown::fenced;

use super::problem::{Figure, ProblemReading, gaps, role};
use super::task::{NOT_ASSESSED, listed};
use super::*;
use crate::fixture::{self, Heard};

const EXPORT: &str = "Our nightly export takes five hours. It must be done in one. How?";
const ASSESSMENT: &str = "```json\n{\"tradeoffs\":[],\"unfulfilledMajorRequirements\":[],\"confidence\":0}\n```";

/// A fenced text under a heading.
fn shown(heading: &str, kind: &str, text: &str) -> String {
    format!("{heading}\n\n{}\n\n", fenced(kind, text))
}

fn prompt(problem: &str, role: &str, task: &str, material: &str) -> String {
    let problem = shown("# Problem", "problem", problem);
    format!("{problem}{material}# Your role: {role}\n\nYou look.\n\n# Your task: {task}")
}

fn ask(role: &str, task: &str, material: &str) -> String {
    PlayedAgent::new(&prompt(EXPORT, role, task, material), 0).text()
}

fn fill(role: &str, task: &str, material: &str, schema: &Value) -> Value {
    PlayedAgent::new(&prompt(EXPORT, role, task, material), 0).form(schema)
}

/// The points of a critique in the form of a prompt, each with its fate.
fn numbered(text: u32, critique: &str, fate: &str) -> String {
    let line = |(number, line): (usize, &str)| {
        let point = line.split_once(". ").map_or(line, |(_, point)| point);
        format!("- {text}.{number} {point}{fate}\n")
    };
    (1..).zip(critique.lines()).map(line).collect()
}

/// The number and the first word of each answer under a heading.
fn answers<'a>(text: &'a str, heading: &str) -> Vec<(&'a str, &'a str)> {
    let (_, answers) = text.split_once(&format!("## {heading}\n\n")).unwrap();
    let answer = |line: &'a str| {
        let (number, rest) = line.strip_prefix("- ")?.split_once(' ')?;
        Some((number, rest.split([' ', ':']).next()?))
    };
    answers.lines().filter_map(answer).collect()
}

/// The assessment at the end of a judge's answer.
fn assessed(answer: &str) -> Value {
    let (_, block) = answer.rsplit_once("```json\n").unwrap();
    serde_json::from_str(block.strip_suffix("\n```").unwrap()).unwrap()
}

#[test]
fn each_role_lists_what_the_problem_does_not_say() {
    for (role, gaps) in [
        ("Architect", "failure, load, data, rollback"),
        ("Performance", "load"),
        ("Simplicity", "deadline, budget, operator"),
        ("Security", "access, sensitive data, abuse, retention"),
        ("Testing", "acceptance, failure, consistency"),
        ("Data Modeling", "data, consistency, retention, access"),
        ("Operations", "operator, rollback, load, failure"),
        ("Generalist", "failure, deadline, acceptance"),
    ] {
        let text = ask(role, "propose\n\nEnd it with `## Requirements Coverage`.", "");
        assert!(
            text.starts_with(&format!(
                "“Our nightly export takes five hours” does not state: {gaps}. *Rehearsal: no model was called.*\n"
            )),
            "{text}"
        );
        assert!(text.contains("\n- Major: Our nightly export"), "{text}");
    }
    // A role of the user's acts as one of the built-in ones.
    assert!(ask("Poet", "propose", "").contains("does not state: "));
    let all = "It takes 300 ms a day today. We keep records; on failure the on call team rolls back within a week. Its \
               cost, access, abuse and what may be lost are measured. No personal data.";
    assert!(gaps().all(|gap| gap.title == "Rollback" || !ProblemReading::new(all, "").lacks(gap)));
}

#[test]
fn a_problem_is_read_by_its_own_words() {
    let long = format!("Design {} now", "a very large system ".repeat(20));
    for (problem, name) in [
        (EXPORT, "Our nightly export takes five hours"),
        ("# Design a “rate limiting” system.\n\n- It must be fast.", "Design a rate limiting system"),
        ("Should we split the monolith?", "Should we split the monolith?"),
        ("1. Must Node.js 2.5 stay?\n2. Costs matter", "Must Node.js 2.5 stay?"),
        ("キャッシュ層を設計する。遅い！", "キャッシュ層を設計する"),
        ("<b>x</b>", "bx/b"),
        ("...", "the problem"),
    ] {
        assert_eq!(ProblemReading::new(problem, "").name, name, "{problem}");
    }
    let cut = ProblemReading::new(&long, "").name;
    assert!(cut.ends_with('…') && cut.len() < 130, "{cut}");
    let read = ProblemReading::new("- It must be fast.\n- It should be `cheap`.\n\nIt may be late.", "");
    assert_eq!((read.major, read.minor), (vec!["It must be fast".to_owned()], vec!["It should be cheap".to_owned()]));
}

#[test]
fn figures_have_units_or_lack_them() {
    let problem = "We run 12 stateless instances, about 40 orders a minute, 300 on sale days, on PostgreSQL 9.5.\n\
                   1. It must answer within 5 ms at the 99th percentile (99.9% of 2,000 users).\n\
                   2. Since 2024 three servers have cost $2.00 per hour; two of them go. Keep 1000. S3 and UTF-8 stay.";
    let figures = ProblemReading::new(problem, "").figures;
    let texts =
        |with| figures.iter().filter(|one| one.has_unit == with).map(|one| one.text.as_str()).collect::<Vec<_>>();
    let united = [
        "12 stateless instances",
        "40 orders a minute",
        "5 ms",
        "99th percentile",
        "99.9%",
        "2,000 users",
        "three servers",
        "$2.00 per hour",
    ];
    assert_eq!(texts(true), united);
    assert_eq!(texts(false), ["300", "1000"]);
    let answer =
        PlayedAgent::new(&prompt("Serve 300 on Mondays.", "Judge", &format!("synthesise\n\n{ASSESSMENT}"), ""), 0)
            .text();
    assert!(answer.contains("## Figures found\n\n- 300 (of what?)"), "{answer}");
    assert!(!gaps().any(|gap| gap.title == "Units" && ProblemReading::new(EXPORT, "").lacks(gap)));
    assert_eq!(ProblemReading::new("2 km", "").figures, [Figure { text: "2 km".to_owned(), has_unit: true }]);
}

#[test]
fn a_point_is_raised_answered_rechecked_and_ruled_on() {
    let text = ask("Simplicity", "propose", "");
    let own = |text: &str| shown("# Text 2", "text", text);
    let critiques = ["Architect", "Performance"]
        .map(|critic| ask(critic, "critique\n\nCriticise Text 2 so", &own(&text)))
        .join("\n");
    let raised: Vec<&str> =
        critiques.lines().filter_map(|line| line.split_once(": ").map(|(start, _)| start)).collect();
    assert_eq!(raised, ["1. [major] Failure", "2. [minor] Budget", "1. [major] Load", "2. [minor] Budget"]);
    assert!(critiques.lines().all(|line| line.contains(" Resolved by: ")), "{critiques}");

    let points = shown("# Points to answer", "points", &numbered(2, &critiques, " - unanswered"));
    let refined = ask("Simplicity", "refine\n\nText 2 is yours.", &(own(&text) + &points));
    let given = ["accepted", "rejected", "accepted", "rejected"];
    let words =
        |text: &str, heading| answers(text, heading).into_iter().map(|(_, word)| word.to_owned()).collect::<Vec<_>>();
    assert_eq!(words(&refined, "Response to critiques"), given);
    assert!(refined.contains("- 2.1 accepted (Questions to answer first): What may happen while"), "{refined}");
    assert!(
        refined.contains("\n1. **Load**: How much") && !text.contains("**Load**"),
        "it stands in the list: {refined}"
    );

    let recheck = shown("# Points to recheck", "points", &numbered(2, &critiques, " - accepted: the change"));
    let critique = ask("Architect", "critique\n\nCriticise Text 2 so", &(own(&refined) + &recheck));
    assert_eq!(words(&critique, "Earlier points"), ["verified", "maintained", "verified", "maintained"]);
    assert!(critique.ends_with("## New points\n\nNo objections."), "{critique}");

    let open = shown("# Open points", "points", &(numbered(2, &critiques, "") + "- 2.7 [minor] Bells: none."));
    let task = format!("assess\n\nAnswer with {{\"rulings\":[],\"confidence\":0}}\n{ASSESSMENT}");
    let answer = ask("Judge", &task, &(open + &shown("# Solution", "solution", &refined)));
    let rulings = assessed(&answer)["rulings"].clone();
    let decided: Vec<&str> = rulings.as_array().unwrap().iter().map(|one| one["decision"].as_str().unwrap()).collect();
    assert_eq!(decided, ["met", "dismissed", "met", "dismissed", "notMet"]);
    assert!(rulings[1]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
}

#[test]
fn the_answer_says_what_it_is_and_the_check_adds_to_it() {
    let texts: String = ["Performance", "Simplicity"]
        .map(|role| shown(&format!("## Refinement of {role}"), "contribution", &ask(role, "propose", "")))
        .concat();
    let answer = ask("Judge", &format!("synthesise\n\n{ASSESSMENT}"), &texts);
    let (draft, _) = answer.split_once("\n\n```json").unwrap();
    assert!(draft.lines().next().unwrap().starts_with("This is a rehearsal: no model was called."), "{draft}");
    let asked = ["1. **Load**", "2. **Deadline**", "3. **Operator**", "4. **Budget**", "## Requirements Coverage\n"];
    assert!(asked.iter().all(|one| draft.contains(one)) && draft.contains("- five hours\n"), "{draft}");

    let [load, access] = ["Load", "Access"].map(|title| gaps().find(|gap| gap.title == title).unwrap().missing());
    let accepted = format!("- 1.1 {load} - accepted\n- 1.2 {access} - accepted\n- 1.3 [minor] Bells: x - accepted");
    let check = |lens: &str| {
        let accepted = shown("# Accepted points", "points", &accepted);
        let accepted = if lens == "requirements" { accepted } else { String::new() };
        let task = format!("check\n\nLens: {lens}\n\nYou wrote none of this.");
        ask("", &task, &(shown("# Draft", "draft", draft) + &accepted))
    };
    let first = check("requirements");
    assert_eq!(answers(&first, "Accepted points"), [("1.1", "verified"), ("1.2", "not"), ("1.3", "moot")]);
    assert!(first.contains("## New points\n\n1. [major] Failure: "), "{first}");
    let (facts, execute) = (check("facts"), check("execute"));
    assert!(
        facts.starts_with("1. [minor] Abuse: the list leaves it out.")
            && execute.starts_with("1. [minor] Budget: The answer to “")
    );
    let found: Vec<String> = (1..)
        .zip([first.split_once("1. [").unwrap().1, &execute[4..], &facts[4..]])
        .map(|(number, line)| format!("- D{number} (x) [{line}"))
        .collect();

    let material = shown("# Draft", "draft", draft)
        + &shown("# Points of the check", "points", &found.join("\n"))
        + &shown("# Accepted points that were not found", "points", &format!("- 1.2 {access} - accepted"));
    let task = format!("finalise\n\nEnd with `## Response to the check`. \"approach\":\"kept\"\n{ASSESSMENT}");
    let last = ask("Judge", &task, &material);
    let given = [("D1", "accepted"), ("D2", "rejected"), ("D3", "accepted"), ("1.2", "accepted")];
    assert_eq!(answers(&last, "Response to the check"), given);
    assert!(
        ["Load", "Failure", "Access", "Abuse"].iter().all(|title| last.contains(&format!("**{title}**"))),
        "{last}"
    );
    assert_eq!(assessed(&last)["approach"], "kept");
    // An author's amendment has the same answers, and a line about the approach if requested.
    let amended = ask("Architect", "amend\n\n`## Response to the check` `{\"approach\":\"kept\"}`", &material);
    assert!(amended.ends_with("\n\n{\"approach\":\"kept\"}") && answers(&amended, "Response to the check").len() == 4);
}

#[test]
fn nothing_is_claimed_that_no_model_had() {
    let solution = assessed(&ask("Judge", &format!("synthesise\n\n{ASSESSMENT}"), ""));
    assert_eq!(solution["confidence"], "none");
    assert_eq!((&solution["unfulfilledMajorRequirements"], &solution["partlyFulfilled"]), (&json!([]), &json!([])));
    assert!(solution["base"].is_null() && solution["rulings"].is_null(), "only what is asked for: {solution}");
    let number = json!({ "type": "number", "minimum": 0, "maximum": 100 });
    let ballot = json!({ "type": "object", "properties": {
        "reason": { "type": "string" }, "choice": { "enum": ["for", "against", "undecided"] }, "confidence": number,
    } });
    for task in ["vote", "poll"] {
        let cast = fill("Testing", task, &shown("# Text 1", "text", "Use a ring."), &ballot);
        assert!(cast["confidence"].is_null(), "{task}: {cast}");
    }
    let criterion = json!({ "type": "object", "properties": { "reasoning": { "type": "string" }, "score": number } });
    let evaluation = json!({ "type": "object", "properties": {
        "evaluation": { "type": "object", "properties": { "functional_completeness": criterion } },
        "overall_summary": { "type": "object", "properties": { "overall_score": number } },
    } });
    let scores = fill("", "judge this in my words", "", &evaluation);
    let given = &scores["evaluation"]["functional_completeness"];
    assert!(given["score"].is_null() && given["reasoning"].as_str().unwrap().starts_with("Rehearsal: "));
    assert!(scores["overall_summary"]["overall_score"].is_null());
    // If a protocol requires scores, everyone gets the same.
    let named = |key: &str, names: &[&str], other: &str| {
        let row = json!({ "type": "object", "properties": { key: { "enum": names }, other: number } });
        json!({ "type": "array", "items": row })
    };
    let verdict = json!({ "type": "object", "properties": {
        "scores": named("debater", &["Red", "Blue"], "score"),
        "criteria": named("name", &["logic"], "assessment"),
        "reasoning": { "type": "string" }, "adoptIf": { "type": "string" }, "rejectIf": { "type": "string" },
        "measure": { "type": "string" }, "winner": { "enum": ["Red", "Blue", "none"] },
    } });
    let judged = fill("Judge", "judge the debate", "", &verdict);
    assert_eq!(judged["scores"], json!([{ "debater": "Red", "score": 50 }, { "debater": "Blue", "score": 50 }]));
    assert_eq!((&judged["winner"], &judged["criteria"][0]["name"]), (&json!("none"), &json!("logic")));
    assert!(["adoptIf", "rejectIf", "measure"].iter().all(|advice| judged[advice] != judged["reasoning"]), "{judged}");
}

#[test]
fn an_unknown_task_gets_a_text_that_says_so_and_an_instance_of_its_schema() {
    let pitch = ask("Architect", "pitch", "");
    assert_eq!(pitch, "This is a rehearsal: no model was called, so “pitch” has no answer.");
    let asked = ask("Judge", "follow up", &shown("# Question", "follow-up", "What of the logs?"));
    assert!(asked.contains("“What of the logs?”") && asked.contains("no model was called"), "{asked}");
    let schema = json!({
        "type": "object",
        "properties": {
            "mood": { "enum": ["calm", "cross"] },
            "why": { "type": "string" },
            "inner": { "type": "object", "properties": { "count": { "type": "integer" } } },
            "none": { "type": "array", "items": { "type": "string" } },
            "share": { "type": ["number", "null"], "minimum": 1, "maximum": 10 },
            "is_final": { "type": "boolean" },
        },
    });
    let expected = json!({
        "mood": "calm", "why": NOT_ASSESSED, "inner": { "count": 0 }, "none": [], "share": 1, "is_final": false,
    });
    assert_eq!(fill("", "rank", "", &schema), expected);
}

#[test]
fn a_choice_follows_from_the_seed_and_all_voters_agree() {
    let texts = ["a", "b"].map(|text| shown(&format!("## Text {text}"), "text", &format!("Use {text}."))).concat();
    let schema = json!({ "type": "object", "properties": { "choice": { "type": "string" } } });
    let choice =
        |seed| PlayedAgent::new(&prompt(EXPORT, "Testing", "vote", &texts), seed).form(&schema)["choice"].clone();
    let of_another = PlayedAgent::new(&prompt(EXPORT, "Security", "vote", &texts), 1).form(&schema)["choice"].clone();
    assert_eq!(choice(1), of_another);
    let choices: BTreeSet<String> = (0..20).map(|seed| choice(seed).to_string()).collect();
    assert_eq!(choices, BTreeSet::from(["\"a\"", "\"b\""].map(str::to_owned)));
}

#[test]
fn a_question_is_asked_once_and_its_answer_closes_it() {
    let schema = json!({ "type": "object", "properties": { "questions": { "type": "array" } } });
    let asked = fill("Architect", "clarify", "", &schema)["questions"][0]["text"].as_str().unwrap().to_owned();
    let known = |answer| shown("## Question 1, asked by x", "question", &asked) + &fenced("answer", answer) + "\n\n";
    assert_eq!(fill("Architect", "clarify", &known("NA"), &schema)["questions"], json!([]));
    assert!(ask("Architect", "propose", &known("NA")).contains(&asked));
    assert!(!ask("Architect", "propose", &known("It waits.")).contains(&asked));
}

#[test]
fn the_council_reads_each_text_and_decisions_come_together() {
    let texts = [("1", "Architect"), ("3", "Operations")]
        .map(|(label, role)| shown(&format!("## Text {label}"), "text", &ask(role, "propose", "")))
        .concat();
    let review = ask("Simplicity", "review the texts\n\nHead each `## Text 2`.", &texts);
    assert!(
        review.starts_with("## Text 1\n\n1. [major] Deadline: ") && review.contains("\n\n## Text 3\n\n1. [major] "),
        "{review}"
    );

    let decided = |material: &str| {
        let text = ask("Simplicity", "rework\n\nText 2 is yours. 3. `## Decisions`: three to seven items", material);
        text.split_once("## Decisions\n\n").unwrap().1.lines().take_while(|line| line.starts_with("- ")).count()
    };
    let own = shown("# Text 2", "text", &ask("Simplicity", "propose", ""));
    assert_eq!((decided(&own), decided(&(own.clone() + &texts))), (3, 7));
    let schema = json!({ "type": "object", "properties": { "decisions": { "type": "array" } } });
    let listed = shown("# Decisions", "decisions", "1. One.\n2. Two.\n3. Three.");
    let related = fill("Judge", "relate the decisions", &listed, &schema);
    assert_eq!(related["decisions"].as_array().unwrap().len(), 3);
}

#[test]
fn speeches_ask_and_answer_and_repeat_nothing() {
    let (mut said, mut speeches) = (Vec::new(), String::new());
    for task in ["open", "rebut", "rebut", "question", "answer", "close"] {
        for (role, side) in [
            ("Security", "speak for the motion"),
            ("Data Modeling", "speak against the motion"),
            ("Testing", "take no side"),
        ] {
            let speech = ask(role, task, &format!("# Speeches\n\n{speeches}# Your side\n\nYou {side}.\n\n"));
            speeches += &shown(&format!("## {task} of x"), "contribution", &speech);
            said.push(speech);
        }
    }
    let starts = ["I speak for “Our", "I speak against “Our", "I take no side on “Our"];
    assert!(starts.iter().zip(&said).all(|(start, speech)| speech.starts_with(start)), "{said:?}");
    assert!(
        said[3].starts_with("1. Nobody answered “") && said[3].contains("\n2. Nobody has asked yet: "),
        "{}",
        said[3]
    );
    let lines: Vec<&str> = said[3..9]
        .iter()
        .flat_map(|speech| speech.lines())
        .filter_map(|line| line.split_once(". "))
        .map(|(_, line)| line)
        .collect();
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "nobody repeats anything: {lines:?}");
    let count = |speech: &str| speech.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    assert_eq!(count(&said[11]), count(&said[12]), "each question has its answer");
    assert!(said.iter().all(|speech| speech.contains("*Rehearsal: ")) && role("Operations") == "Operations");
}

#[test]
fn listed_points_have_their_numbers() {
    let points =
        listed("Open:\n- 2.7 [major] Cold start: slow\n  and dear. - rejected\n* **D3** (facts) x\n10. y\n2,000 z");
    let read: Vec<_> = points.iter().map(|one| (one.number.as_str(), one.text.as_str())).collect();
    assert_eq!(
        read,
        [("2.7", "[major] Cold start: slow and dear. - rejected"), ("D3", "(facts) x"), ("10", "y 2,000 z")]
    );
}

const PROMPT: &str = "# Problem\n\n```problem\nDesign a queue\n```\n\n# Your task: propose";

/// The answer, what was heard when, and how long it took, in milliseconds.
async fn followed(model: &OfflineProvider) -> (Result<Reply, FailedAttempt>, Vec<(u128, String)>, u128) {
    let (heard, start) = (Heard::default(), Instant::now());
    let reply = model.answer(&fixture::request(OFFLINE_MODEL, "", PROMPT), &heard).await;
    let took = start.elapsed().as_millis();
    (reply, heard.in_time().into_iter().map(|(at, text)| (at.as_millis(), text)).collect(), took)
}

#[tokio::test(start_paused = true)]
async fn words_are_spread_over_the_time_that_an_answer_takes() {
    let model = OfflineProvider::new(0, Duration::from_secs(4), None);
    let latency = model.latency_of(PROMPT).as_millis();
    let (reply, heard, took) = followed(&model).await;
    assert!(took.abs_diff(latency) <= 1, "{took} {latency}");
    assert_eq!(heard.iter().map(|(_, text)| text.as_str()).collect::<String>(), reply.unwrap().text);
    // Half of the words have arrived after half of the time.
    let early = heard.iter().filter(|(at, _)| *at <= latency / 2).count();
    assert!(early.abs_diff(heard.len() / 2) <= 2, "{early} of {}", heard.len());
}

#[tokio::test(start_paused = true)]
async fn at_once_is_at_once_and_a_failure_says_nothing() {
    let (reply, heard, took) = followed(&OfflineProvider::default()).await;
    assert!(reply.is_ok_and(|reply| !reply.text.is_empty()));
    assert_eq!((heard.len(), took), (0, 0));
    let failing = OfflineProvider::new(0, Duration::from_secs(1), NonZeroU32::new(1));
    let (reply, heard, _) = followed(&failing).await;
    assert!(matches!(reply.unwrap_err().error, ModelError::ServerFailed { status: 500, .. }));
    assert!(heard.is_empty());
}

#[tokio::test(start_paused = true)]
async fn latency_and_failures_are_as_asked() {
    let latency = Duration::from_millis(200);
    let model = OfflineProvider::new(7, latency, NonZeroU32::new(2));
    let mut took = Vec::new();
    for number in 1..=4 {
        let (reply, _, time) = followed(&model).await;
        took.push(time);
        match reply {
            Ok(reply) => {
                assert_eq!(number % 2, 1);
                assert_eq!((reply.served_model.as_deref(), reply.stated_cost), (Some(OFFLINE_MODEL), Some(Usd::ZERO)));
                assert_eq!(reply.tokens, Some(Tokens::default()));
            }
            Err(FailedAttempt { error, .. }) => assert!(number % 2 == 0 && error.is_transient(), "{error}"),
        }
    }
    assert!(took.iter().all(|one| one.abs_diff(took[0]) <= 1 && (100..=301).contains(one)), "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_makes_it_panic(problem in "\\PC{0,300}", text in "(\\PC|\n|\\*\\*|## |# |- |1\\. |2\\) |~~~|```){0,60}") {
        let tasks = [
            "propose", "critique", "refine", "summarise", "synthesise", "open", "rebut",
            "close", "question", "answer", "speak", "check", "finalise", "amend", "review the texts", "follow up",
        ];
        for kind in ["text", "critique", "contribution", "draft", "points", "solution"] {
            let material = format!("{}# Your side\n\nYou speak for the motion.\n\n{text}\n\n", shown("# X", kind, &text));
            for task in tasks {
                let prompt = prompt(&problem, "Simplicity", task, &material);
                let said = PlayedAgent::new(&prompt, 0).text();
                prop_assert_eq!(&said, &PlayedAgent::new(&prompt, 0).text());
                prop_assert!(!said.is_empty());
            }
            for task in ["clarify", "vote", "poll", "score the consensus", "assess", "judge the debate", ""] {
                let form = fill("Simplicity", task, &material, &json!({ "type": "object" }));
                prop_assert!(form.is_object());
            }
            // A prompt can be any text.
            prop_assert!(!PlayedAgent::new(&text, 0).text().is_empty());
        }
    }
}
