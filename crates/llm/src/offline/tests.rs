//! Requests by hand, in the form that the prompts have.

mod streaming;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use dialectic_base::markdown::fenced;

use super::script::{ProblemWords, debaters, part};
use super::task::PlayedAgent;
use super::text::listed;

const EXPORT: &str = "Our nightly export takes five hours. It must be done in one. How?";
const PLANTED: &str = "Twenty real cases a day go through both ways.";
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

/// The points of a critique as the program lists them, each with what became of it.
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
fn each_role_approaches_the_problem_in_its_own_way_and_in_its_words() {
    let mut approaches = BTreeSet::new();
    for role in debaters() {
        let text = ask(role.title, "propose\n\nEnd it with `## Requirements Coverage`.", "");
        let approach = text.lines().nth(2).unwrap();
        assert!(approach.contains("“Our nightly export takes five hours”"), "{text}");
        assert!(text.contains("\n- “It must be done in one” (major): ") && text.contains("*Offline: "), "{text}");
        assert!(!text.contains(['{', '}']) && !text.contains("## Response") && !text.contains(PLANTED), "{text}");
        approaches.insert(approach.to_owned());
        // Nobody raises against others what the own text lacks.
        assert!(text_holds(role.title), "{}", role.title);
        assert!(role.points.iter().all(|point| !point.get("answer").is_empty()), "{}", role.title);
    }
    assert_eq!(approaches.len(), debaters().count());
    // A role of the user's plays one of them.
    assert!(ask("Poet", "propose", "").starts_with("## Approach\n\n"));
}

fn text_holds(role: &str) -> bool {
    let own = shown("# Text 1", "text", &ask(role, "propose", ""));
    !ask(role, "critique\n\nCriticise Text 1 so", &own).contains(part(role).points[0].title)
}

#[test]
fn a_point_is_raised_answered_rechecked_and_ruled_on() {
    let text = ask("Performance", "propose", "");
    let own = |text: &str| shown("# Text 2", "text", text);
    let critiques: String = ["Architect", "Simplicity", "Security"]
        .map(|critic| ask(critic, "critique\n\nCriticise Text 2 so", &own(&text)))
        .join("\n");
    assert_eq!(critiques.lines().count(), 6, "{critiques}");
    assert!(critiques.lines().all(|line| line.contains(". [") && line.contains(" Resolved by: ")), "{critiques}");
    assert!(critiques.starts_with("1. [blocking] Both ways at once: "));

    let points = shown("# Points to answer", "points", &numbered(2, &critiques, " - unanswered"));
    let refined = ask("Performance", "refine\n\nText 2 is yours.", &(own(&text) + &points));
    let given = [("2.1", "accepted"), ("2.2", "rejected"), ("2.3", "accepted"), ("2.4", "rejected")];
    assert_eq!(answers(&refined, "Response to critiques")[..4], given);
    assert_eq!(answers(&refined, "Response to critiques")[5], ("2.6", "partly"));
    assert!(refined.contains("- 2.1 accepted (Plan): At every moment exactly one of the two ways may write"));
    let (plan, _) = refined.split_once("## Proof").unwrap();
    assert!(plan.contains("\n- At every moment exactly one"), "the change stands where the answer says: {refined}");

    let recheck = shown("# Points to recheck", "points", &numbered(2, &critiques, " - accepted: the change"));
    let critique = ask("Architect", "critique\n\nCriticise Text 2 so", &(own(&refined) + &recheck));
    let words = ["verified", "maintained", "verified", "maintained", "verified", "maintained"];
    assert_eq!(answers(&critique, "Earlier points").into_iter().map(|(_, word)| word).collect::<Vec<_>>(), words);
    assert!(critique.ends_with("## New points\n\nNo objections."), "{critique}");

    let again = shown("# Points to answer", "points", &numbered(2, &critiques, " - rejected: no - maintained: yes"));
    let second = ask("Performance", "refine\n\nText 2 is yours.", &(own(&refined) + &again));
    assert_eq!(answers(&second, "Response to critiques")[1], ("2.2", "rejected"));
    assert_eq!(answers(&second, "Response to critiques")[3], ("2.4", "accepted"));
    assert_eq!(second.matches("## Response to critiques").count(), 1);
    assert_eq!(second.matches("*Offline: ").count(), 1);

    let open = shown("# Open points", "points", &(numbered(2, &critiques, "") + "- 2.7 [minor] Bells: none."));
    let task = format!("assess\n\nAnswer with {{\"rulings\":[],\"confidence\":0}}\n{ASSESSMENT}");
    let answer = ask("Judge", &task, &(open + &shown("# Solution", "solution", &second)));
    let rulings = assessed(&answer)["rulings"].clone();
    let decided: Vec<&str> = rulings.as_array().unwrap().iter().map(|one| one["decision"].as_str().unwrap()).collect();
    assert_eq!(decided, ["met", "dismissed", "met", "met", "met", "partly", "notMet"]);
    assert!(rulings[1]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    assert!(rulings[5]["remains"].as_str().is_some_and(|remains| !remains.is_empty()));
}

#[test]
fn the_draft_has_a_fault_that_the_check_finds_and_the_final_has_not() {
    let texts: String = ["Architect", "Simplicity"]
        .map(|role| shown(&format!("## Refinement of {role}"), "contribution", &ask(role, "propose", "")))
        .concat();
    let answer = ask("Judge", &format!("synthesise\n\n{ASSESSMENT}"), &texts);
    let (draft, _) = answer.split_once("\n\n```json").unwrap();
    assert!(draft.contains(PLANTED) && draft.contains("\n- At every moment exactly one"), "{draft}");

    let accepted = "- 1.1 [blocking] Both ways at once: x - accepted\n- 1.2 [minor] Rare cases: x - accepted\n\
                    - 1.3 [minor] Bells: x - accepted";
    let check = |lens: &str| {
        let accepted = shown("# Accepted points", "points", accepted);
        let accepted = if lens == "requirements" { accepted } else { String::new() };
        ask(
            "",
            &format!("check\n\nLens: {lens}\n\nYou wrote none of this."),
            &(shown("# Draft", "draft", draft) + &accepted),
        )
    };
    let first = check("requirements");
    assert_eq!(answers(&first, "Accepted points"), [("1.1", "verified"), ("1.2", "not"), ("1.3", "moot")]);
    assert!(first.contains("## New points\n\n1. [major] The reader who does not believe it: “It must be done in one”"));
    let facts = check("facts");
    assert!(facts.starts_with("1. [blocking] ") && facts.contains("0.999^200 ≈ 0.82"), "{facts}");
    let found: String = [first.split_once("1. [").unwrap().1, &check("execute")[4..], &facts[4..]].join("\n");
    let found: Vec<String> =
        (1..).zip(found.lines()).map(|(number, line)| format!("- D{number} (x) [{line}")).collect();

    let material = shown("# Draft", "draft", draft)
        + &shown("# Points of the check", "points", &found.join("\n"))
        + &shown("# Accepted points that were not found", "points", "- 1.2 [minor] Rare cases: x - accepted")
        + &shown("# Open points", "points", "- 1.4 [minor] Callers: x - rejected: y - maintained: z");
    let task =
        format!("finalise\n\nEnd with `## Response to the check`. \"approach\":\"kept\" \"rulings\"\n{ASSESSMENT}");
    let last = ask("Judge", &task, &material);
    let (text, _) = last.split_once("\n\n```json").unwrap();
    let given = [("D1", "accepted"), ("D2", "rejected"), ("D3", "accepted"), ("1.2", "accepted")];
    assert_eq!(answers(text, "Response to the check"), given);
    let (text, _) = text.split_once("\n\n*Offline: ").unwrap();
    assert!(
        !text.contains(PLANTED) && text.contains("Two hundred real cases a day") && text.contains("Five rare cases")
    );
    let unchanged: Vec<&str> = draft.lines().filter(|line| !line.contains(PLANTED) && !line.starts_with('*')).collect();
    assert!(unchanged.iter().all(|line| text.contains(line)), "what no point names stays word for word");
    assert_eq!(
        (&assessed(&last)["approach"], &assessed(&last)["rulings"][0]["decision"]),
        (&json!("kept"), &json!("dismissed"))
    );
    // A text without the fault has no point against it.
    let sound = shown("# Draft", "draft", text);
    assert_eq!(ask("", "check\n\nLens: facts\n", &sound), "No objections.");
    // An author's amendment has the same answers, and one line on the approach where that is asked for.
    let amended = ask("Architect", "amend\n\n`## Response to the check` `{\"approach\":\"kept\"}`", &material);
    assert!(amended.ends_with("\n\n{\"approach\":\"kept\"}") && answers(&amended, "Response to the check").len() == 4);
}

#[test]
fn nothing_is_claimed_that_no_model_had() {
    let solution = assessed(&ask("Judge", &format!("synthesise\n\n{ASSESSMENT}"), ""));
    assert_eq!(solution["confidence"], "none");
    assert_eq!(solution["partlyFulfilled"][0]["requirement"], "It must be done in one");
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
    assert!(given["score"].is_null() && given["reasoning"].as_str().unwrap().starts_with("Offline: "));
    assert!(scores["overall_summary"]["overall_score"].is_null());
    // Where a protocol needs a score, all have the same.
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
    assert!(pitch.starts_with("Offline: ") && pitch.contains("“pitch”"), "{pitch}");
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
        "mood": "calm", "why": part("Judge").get("unweighed"), "inner": { "count": 0 }, "none": [], "share": 1, "is_final": false,
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
fn questions_are_asked_once() {
    let schema = json!({ "type": "object", "properties": { "questions": { "type": "array" } } });
    let asked = fill("Architect", "clarify", "", &schema)["questions"][0]["text"].as_str().unwrap().to_owned();
    let known = shown("## Question 1, asked by x", "question", &asked) + &fenced("answer", "NA") + "\n\n";
    assert_eq!(fill("Architect", "clarify", &known, &schema)["questions"], json!([]));
    assert_eq!(fill("Judge", "clarify", "", &schema)["questions"], json!([]));
}

#[test]
fn the_council_reads_each_text_and_decisions_come_together() {
    let texts = [("1", "Architect"), ("3", "Testing")]
        .map(|(label, role)| shown(&format!("## Text {label}"), "text", &ask(role, "propose", "")))
        .concat();
    let review = ask("Simplicity", "review the texts\n\nHead each `## Text 2`.", &texts);
    assert!(
        review.starts_with("## Text 1\n\n1. [major] ") && review.contains("\n\n## Text 3\n\n1. [major] "),
        "{review}"
    );

    let decided = |material: &str| {
        let text = ask("Simplicity", "rework\n\nText 2 is yours. 3. `## Decisions`: three to seven items", material);
        text.split_once("## Decisions\n\n").unwrap().1.lines().take_while(|line| line.starts_with("- ")).count()
    };
    let own = shown("# Text 2", "text", &ask("Simplicity", "propose", ""));
    assert_eq!((decided(&own), decided(&(own.clone() + &texts))), (3, 5));
    let schema = json!({ "type": "object", "properties": { "decisions": { "type": "array" } } });
    let listed = shown("# Decisions", "decisions", "1. One.\n2. Two.\n3. Three.");
    let related = fill("Judge", "relate the decisions", &listed, &schema);
    assert_eq!(related["decisions"].as_array().unwrap().len(), 3);
}

/// The speeches of a debate on a motion, two sides in turn.
fn speeches(tasks: &[&str]) -> Vec<String> {
    let (mut said, mut speeches) = (Vec::new(), String::new());
    for task in tasks {
        for side in ["for", "against"] {
            let side = format!("# Your side\n\nYou speak {side} the motion.\n\n");
            let speech = ask("Testing", task, &format!("# Speeches\n\n{speeches}{side}"));
            speeches += &shown(&format!("## {task} of x"), "contribution", &speech);
            said.push(speech);
        }
    }
    said
}

#[test]
fn speeches_argue_for_their_side_and_answer_what_was_said() {
    let said = speeches(&["open", "rebut", "rebut", "rebut", "rebut", "question", "answer", "close"]);
    assert!(said[0].contains("and I speak for it") && said[0].contains("\n3. It can be taken back."), "{}", said[0]);
    // The second speaker answers the first, and says the own case besides.
    assert!(
        said[1].contains("and I speak against it") && said[1].contains("1. You say that standing still"),
        "{}",
        said[1]
    );
    let rebuttals: BTreeSet<&String> = said[2..8].iter().collect();
    assert_eq!(rebuttals.len(), 6, "nobody repeats anything: {rebuttals:?}");
    assert!(said[2..7].iter().all(|speech| speech.starts_with("1. You say that ")), "{said:?}");
    assert!(said[9].starts_with("Everything that I would answer"));
    let count = |speech: &str| speech.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    assert_eq!(count(&said[10]), count(&said[13]), "each question has its answer");
    assert!(said[14].contains("What decides is ") && said.iter().all(|speech| speech.contains("*Offline: ")));
    // Somebody without a side speaks from its role, and takes up what was said last.
    let neutral = "# Your side\n\nYou take no side.\n\n";
    let first = ask("Security", "open", neutral);
    assert!(first.contains("I take no side") && first.contains("\n1. Write down the three worst outcomes"), "{first}");
    let second = ask("Security", "rebut", neutral);
    assert!(second.starts_with("To that I add: Two named people may switch"), "{second}");
    let heard = shown("# Speeches\n\n## Rebuttal of x", "contribution", &second);
    let third = ask("Testing", "rebut", &(heard.clone() + neutral));
    assert!(
        third.contains("been said: Two named people may switch") && third.contains("One check is written"),
        "{third}"
    );
    let last = ask("Security", "rebut", &(heard + neutral));
    assert!(last.contains("deleted after thirty days"), "nobody repeats anything: {last}");
}

#[test]
fn a_problem_is_quoted_by_its_own_words() {
    let long = format!("Design {} now", "a very large system ".repeat(20));
    for (problem, name, goal) in [
        (EXPORT, "Our nightly export takes five hours", "It must be done in one"),
        (
            "# Design a “rate limiting” system.\n\n- It must be fast; it should be *cheap*.",
            "Design a rate limiting system",
            "It must be fast",
        ),
        ("Should we split the monolith?", "Should we split the monolith?", "Should we split the monolith?"),
        ("1. Must Node.js 2.5 stay?\n2. Costs matter", "Must Node.js 2.5 stay?", "Must Node.js 2.5 stay?"),
        ("キャッシュ層を設計する。遅い！", "キャッシュ層を設計する", "キャッシュ層を設計する"),
        ("Caching", "Caching", "Caching"),
        ("{goal} {% raw %} <b>x</b>", "goal % raw % bx/b", "goal % raw % bx/b"),
        ("...", "the problem", "the problem"),
    ] {
        let read = ProblemWords::read(problem);
        assert_eq!((read.fill("{problem}"), read.fill("{goal}")), (name.to_owned(), goal.to_owned()), "{problem}");
    }
    let cut = ProblemWords::read(&long).fill("{problem}");
    assert!(cut.ends_with(" system…") && cut.len() < 130 || cut.ends_with("large…") || cut.ends_with("very…"), "{cut}");
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
            // A prompt is any text.
            prop_assert!(!PlayedAgent::new(&text, 0).text().is_empty());
        }
    }
}
