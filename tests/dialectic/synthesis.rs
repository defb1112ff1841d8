//! How the solution is made other than by the judge alone: by a vote, or as a merge.

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, answer, config, short_reply};

const THREE: [&str; 3] = ["architect", "performance", "kiss"];

/// Runs a debate of three agents over one round with that synthesis method. Returns the server, what was printed, and
/// the saved state.
fn debate(method: &str, script: impl Fn(&Incoming) -> Reply + Send + Sync + 'static) -> (MockServer, String, Value) {
    let server = MockServer::with(script);
    let debate = json!({"rounds": 1, "synthesisMethod": method});
    let sandbox = Sandbox::new().model_server(&server).config(&config(&THREE, &debate));
    let finished = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    server.assert_clean();
    let id = sandbox.only_debate();
    sandbox.assert_state_is_the_fold(&id);
    (server, finished.stdout, sandbox.state(&id))
}

/// The label under which a request shows the candidate that contains `text`.
pub(crate) fn label_of(request: &Incoming, text: &str) -> String {
    let prompt = request.prompt();
    let before = &prompt[..prompt.find(text).expect("the candidate is shown")];
    let heading = before.rfind("## Text ").expect("under a heading") + "## Text ".len();
    before[heading..].lines().next().unwrap().to_owned()
}

/// A reply by which each agent's refinement names its author, so that it can be told under any label.
fn signed(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Refine => Reply::text(format!("Refined by {}.", request.model())),
        _ => short_reply(request),
    }
}

fn ballot(choice: &str) -> Reply {
    Reply::json(json!({"choice": choice, "confidence": 70, "reason": "It holds."}))
}

/// The model of the agent that comes after this one.
fn next(model: &str) -> &'static str {
    match model {
        "model-architect" => "model-performance",
        "model-performance" => "model-kiss",
        _ => "model-architect",
    }
}

fn agent(role: &str) -> String {
    format!("agent-{role}")
}

#[test]
fn the_winner_of_a_vote_is_the_solution() {
    let (server, printed, state) = debate("voting", |request| match request.purpose {
        Purpose::Vote => ballot(&label_of(request, "Refined by model-kiss.")),
        _ => signed(request),
    });
    assert!(printed.starts_with("Refined by model-kiss.\n\n---\n\n## Vote\n"), "{printed}");
    let expected = json!({
        "tally": {agent("architect"): 0, agent("kiss"): 3, agent("performance"): 0},
        "winner": agent("kiss"),
        "decidedBy": "vote",
    });
    assert_eq!(state["voting"], expected);
    assert_eq!(state["outcome"]["kind"], "full");
    // Twelve calls of the round, three ballots, and no call of the judge.
    assert_eq!(server.requests().len(), 15);
    let votes: Vec<&Value> =
        state["rounds"][0]["contributions"].as_array().unwrap().iter().filter(|one| one["type"] == "vote").collect();
    assert_eq!(votes.len(), 3);
    assert!(votes.iter().all(|vote| vote["targetAgentId"] == agent("kiss") && vote["metadata"]["confidence"] == 70));
}

#[test]
fn voters_see_the_candidates_without_names_and_each_in_an_order_of_its_own() {
    let seen = |state: &Value| state["seed"].as_u64().unwrap();
    // The order follows from a random seed: of some debates, one at least shows two voters different orders.
    let differs = (0..6).any(|_| {
        let (server, _, state) = debate("voting", |request| match request.purpose {
            Purpose::Vote => ballot(&label_of(request, "Refined by model-kiss.")),
            _ => signed(request),
        });
        let orders: Vec<Vec<String>> = server
            .requests()
            .iter()
            .filter(|request| request.purpose == Purpose::Vote)
            .map(|request| {
                assert!(!request.prompt().contains("agent-"), "a ballot names an agent (seed {})", seen(&state));
                // The numbers are those of the debate; the order in which they are shown is each voter's own.
                let shown = request.prompt().lines().filter_map(|line| line.strip_prefix("## Text "));
                shown.map(str::to_owned).collect()
            })
            .collect();
        assert_eq!(orders.len(), 3);
        orders.iter().any(|order| *order != orders[0])
    });
    assert!(differs);
}

#[test]
fn a_tie_is_recorded_as_a_tie_and_the_judge_decides() {
    let (server, printed, state) = debate("voting", |request| match request.purpose {
        Purpose::Vote if request.model() == "model-judge" => {
            ballot(&label_of(request, "Refined by model-performance."))
        }
        Purpose::Vote => ballot(&label_of(request, &format!("Refined by {}.", next(request.model())))),
        _ => signed(request),
    });
    let expected = json!({
        "tally": {agent("architect"): 1, agent("kiss"): 1, agent("performance"): 1},
        "tied": [agent("architect"), agent("performance"), agent("kiss")],
        "winner": agent("performance"),
        "decidedBy": "judge",
        "reason": "It holds.",
    });
    assert_eq!(state["voting"], expected);
    assert!(printed.starts_with("Refined by model-performance.\n"), "{printed}");
    assert!(printed.contains("Tied: agent-architect, agent-performance, agent-kiss. The judge decided"), "{printed}");
    assert_eq!(server.requests().len(), 16);
}

#[test]
fn a_tie_that_nobody_breaks_is_said_and_the_judge_writes_the_solution() {
    let (_, printed, state) = debate("voting", |request| match request.purpose {
        Purpose::Vote if request.model() == "model-judge" => Reply::text("I like them all."),
        Purpose::Vote => ballot(&label_of(request, &format!("Refined by {}.", next(request.model())))),
        _ => signed(request),
    });
    assert_eq!(state["voting"]["winner"], Value::Null);
    assert_eq!(state["voting"]["decidedBy"], "nobody");
    assert_eq!(state["outcome"]["kind"], "degraded");
    assert!(printed.contains("## Judge Assessment"), "{printed}");
}

#[test]
fn a_spoiled_ballot_counts_for_nobody_and_is_named() {
    let (_, _, state) = debate("voting", |request| match request.purpose {
        Purpose::Vote if request.model() == "model-kiss" => ballot("Z"),
        Purpose::Vote => ballot(&label_of(request, "Refined by model-kiss.")),
        _ => signed(request),
    });
    assert_eq!(state["voting"]["tally"][agent("kiss")], 2);
    assert_eq!(state["outcome"]["kind"], "degraded");
    let reason = state["outcome"]["reasons"][0].as_str().unwrap();
    assert!(
        reason.starts_with("agent-kiss failed in the vote of round 1: the ballot could not be read: `Z` is not one of")
    );
    // Both attempts at the ballot were paid for.
    assert_eq!(state["usage"]["model-kiss"]["requests"], 6);
}

#[test]
fn a_ballot_is_read_whole_and_asked_for_again_where_it_is_not_one_label() {
    // The first answer is no choice; the second is one, in whatever dress.
    for (first, second, requests) in [
        ("not {}", Some("**{}**"), 6),
        ("{} or Y", Some("({})"), 6),
        ("{}: as refined", None, 5),
        ("Text **{}**", None, 5),
    ] {
        let (_, _, state) = debate("voting", move |request| match request.purpose {
            Purpose::Vote => {
                let again = request.messages.iter().any(|message| message.role == "assistant");
                let label = label_of(request, "Refined by model-kiss.");
                let choice = if again { second.expect("it is not asked for again") } else { first };
                Reply::json(json!({"choice": choice.replace("{}", &label), "reason": "It holds."}))
            }
            _ => signed(request),
        });
        assert_eq!(state["voting"]["tally"][agent("kiss")], 3, "{first}");
        assert_eq!(state["outcome"]["kind"], "full", "{first}");
        assert_eq!(state["usage"]["model-kiss"]["requests"], requests, "{first}");
    }
    // Nobody is voted for by what names somebody else.
    let (_, _, state) = debate("voting", |request| match request.purpose {
        Purpose::Vote if request.model() == "model-kiss" => {
            ballot(&format!("not {}", label_of(request, "Refined by model-kiss.")))
        }
        Purpose::Vote => ballot(&label_of(request, "Refined by model-architect.")),
        _ => signed(request),
    });
    assert_eq!(
        (&state["voting"]["tally"][agent("kiss")], &state["voting"]["tally"][agent("architect")]),
        (&json!(0), &json!(2))
    );
    assert_eq!(state["failures"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_merge_amends_the_base_and_says_who_is_behind_the_labels() {
    let (server, printed, state) = debate("merge", |request| match request.purpose {
        Purpose::Synthesize => Reply::text(answer(
            "# Merged",
            &json!({
                "base": label_of(request, "Refined by model-architect."), "tradeoffs": [], "recommendations": ["measure"],
                "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 61,
            }),
        )),
        _ => signed(request),
    });
    assert!(printed.starts_with("# Merged\n"), "{printed}");
    assert!(printed.contains("agent-architect (the base)"), "{printed}");
    assert_eq!(state["finalSolution"]["base"], agent("architect"));
    assert_eq!(state["finalSolution"]["confidence"], 61);
    assert_eq!(server.requests().len(), 13);
}

#[test]
fn a_merge_without_a_base_is_asked_for_its_assessment_with_the_candidates() {
    for base in [json!("Z"), Value::Null] {
        let (server, printed, state) = debate("merge", move |request| match request.purpose {
            Purpose::Synthesize => Reply::text(answer(
                "# Merged",
                &json!({
                    "base": base, "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
                    "openQuestions": [], "confidence": 61,
                }),
            )),
            Purpose::Assess => Reply::json(json!({
                "base": label_of(request, "Refined by model-kiss."), "tradeoffs": [], "recommendations": [],
                "unfulfilledMajorRequirements": [], "openQuestions": [], "confidence": 55,
            })),
            _ => signed(request),
        });
        assert!(printed.starts_with("# Merged\n") && printed.contains("agent-kiss (the base)"), "{printed}");
        assert_eq!(state["finalSolution"]["base"], agent("kiss"));
        assert_eq!((server.requests().len(), &state["outcome"]["kind"]), (14, &json!("full")));
    }
}
