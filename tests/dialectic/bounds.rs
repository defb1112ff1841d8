//! What a dry run says a call reads at most is at least what it reads, with models that use up their answers for points:
//! thirty to a critique, each of them answered, maintained and not found.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::arena::Related;
use crate::support::{Incoming, MockServer, Reply, Sandbox, config, spread};

/// The output limit of everybody, in tokens of three bytes.
const TOKENS: usize = 1200;
const BYTES: usize = TOKENS * 3;
/// The round, the stage and the participants of a call.
type Call = (u64, String, String);

/// `text` with so many bytes.
fn padded(text: &str, bytes: usize) -> String {
    format!("{text}{}", "x".repeat(bytes.saturating_sub(text.len())))
}

/// Lines of `bytes` in all.
fn list(lines: &[String], bytes: usize) -> String {
    let each = (bytes / lines.len().max(1)).saturating_sub(1);
    lines.iter().map(|line| padded(line, each) + "\n").collect()
}

fn points(count: usize, bytes: usize) -> String {
    list(&(1..=count).map(|at| format!("{at}. [major] Part {at}: it fails. Resolved by: ")).collect::<Vec<_>>(), bytes)
}

/// The numbers of the points that a prompt lists.
fn listed(request: &Incoming) -> Vec<String> {
    let number = |line: &str| {
        let (number, rest) = line.trim_start_matches("- ").split_once(' ')?;
        let is_point = number.contains('.') && number.starts_with(|c: char| c.is_ascii_digit());
        (is_point && rest.starts_with('[')).then(|| number.to_owned())
    };
    request.prompt().lines().filter_map(number).collect()
}

/// What is said of the listed points.
fn on_listed(request: &Incoming, verdict: &str, bytes: usize) -> String {
    list(&listed(request).into_iter().map(|number| format!("- {number} {verdict} (Part): ")).collect::<Vec<_>>(), bytes)
}

fn assessed(text: &str) -> Reply {
    let assessment = json!({"base": "1", "approach": "another", "tradeoffs": [], "recommendations": ["x".repeat(BYTES / 3)],
        "unfulfilledMajorRequirements": [], "partlyFulfilled": [], "openQuestions": [], "title": "It", "confidence": 70});
    Reply::text(format!("{}\n\n```json\n{assessment}\n```", padded(text, BYTES / 2)))
}

fn script(request: &Incoming, verdict: &str) -> Reply {
    match request.task() {
        "propose" | "refine" | "revise" | "rework" | "write your last word" => {
            let answers = on_listed(request, verdict, BYTES / 2);
            Reply::text(format!("{}\n\n## Response to critiques\n\n{answers}", padded("# Plan\n\n", BYTES / 2 - 40)))
        }
        "critique" => {
            Reply::text(on_listed(request, "maintained", BYTES / 3) + "\n" + &points(30, BYTES - BYTES / 3 - 1))
        }
        "review the texts" => {
            let texts = ["1", "2", "3"].map(|number| format!("## Text {number}\n\n{}\n", points(15, BYTES / 3 - 60)));
            Reply::text(texts.concat() + "## Approach to give up\n\n- Text 1: no lock lasts. Instead: leases.")
        }
        "check" => Reply::text(on_listed(request, "not found", BYTES / 3) + &points(30, BYTES - BYTES / 3)),
        "amend" => Reply::text(padded("# Plan\n\n", BYTES)),
        "synthesise" | "finalise" | "assess" | "write the answer" => assessed("# Plan\n\n"),
        _ => crate::arena::script(request, Related::Same, &[]),
    }
}

/// A call's key in a journal or a dry run.
fn call(key: &Value) -> Option<Call> {
    let text = |field: &str| key[field].as_str().map(str::to_owned);
    let who = [text("agentId"), text("targetAgentId")].into_iter().flatten().collect::<Vec<_>>().join(" of ");
    Some((key["round"].as_u64()?, text("phase").or(text("node"))?, who))
}

/// What the calls of a dry run read at most, in tokens.
fn foreseen(text: &str) -> BTreeMap<Call, usize> {
    let mut most = BTreeMap::new();
    for planned in serde_json::from_str::<Value>(text).unwrap()["calls"].as_array().unwrap() {
        let high = usize::try_from(planned["inputTokens"]["high"].as_u64().unwrap()).unwrap();
        most.entry(call(&planned["key"]).unwrap()).and_modify(|known| *known = high.max(*known)).or_insert(high);
    }
    most
}

/// What the calls of a journal read, in tokens.
fn read(journal: &[String]) -> Vec<(Call, usize)> {
    let events = journal.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let read = |event: Value| {
        let tokens = event["call"]["tokens"]["inputTokens"].as_u64()?;
        Some((call(&event["key"])?, usize::try_from(tokens).unwrap()))
    };
    events.filter_map(read).collect()
}

#[test]
fn no_call_reads_more_than_a_dry_run_says_however_many_points_were_made_and_accepted() {
    for (number, protocol) in ["dialectic", "council", "arena"].into_iter().enumerate() {
        let verdicts = ["accepted", "partly", "rejected"];
        for verdict in spread(verdicts.len(), 1, number).map(|place| verdicts[place]) {
            let server = MockServer::with(move |request| {
                let reply = script(request, verdict);
                reply.usage(u64::try_from(request.text().len().div_ceil(3)).unwrap(), 0, 20)
            });
            let rounds = if protocol == "council" { 1 } else { 3 };
            let debate = json!({"protocol": protocol, "rounds": rounds, "check": 3});
            let mut settings = config(&["architect", "kiss", "testing"], &debate);
            for agent in settings["agents"].as_array_mut().unwrap() {
                agent["maxTokens"] = json!(TOKENS);
            }
            settings["judge"]["maxTokens"] = json!(TOKENS);
            let sandbox = Sandbox::new().model_server(&server).config(&settings);
            let most =
                foreseen(&sandbox.run(["debate", "--dry-run", "--json", "Design a lock."]).expect_code(0).stdout);
            sandbox.run(["debate", "--quiet", "Design a lock."]).expect_code(0);
            let read = read(&sandbox.journal(&sandbox.only_debate()));
            assert!(read.len() > 8, "{protocol}: {read:?}");
            for ((round, stage, who), tokens) in read {
                // A debate that ends early closes in an earlier round than was foreseen.
                let known = (round..=5).find_map(|round| most.get(&(round, stage.clone(), who.clone())));
                let foreseen = known.unwrap_or_else(|| panic!("{protocol}: {stage} of {who}, {round}, in {most:?}"));
                assert!(
                    tokens <= *foreseen,
                    "{protocol}, {verdict}: the {stage} of {who} in round {round} reads {tokens} tokens, {foreseen} were foreseen"
                );
            }
        }
    }
}
