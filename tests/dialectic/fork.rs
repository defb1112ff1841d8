//! `dialectic fork`: a debate branches off another one and pays for what is new alone.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::resume::reply;
use crate::support::{Incoming, LogNormal, MockServer, Purpose, Reply, Sandbox, config, sample, short_reply};
use crate::timing::without_times;

const ROLES: [&str; 3] = ["architect", "kiss", "testing"];

/// Two rounds with summaries and scores, answered in any order, and the id of that debate.
fn parent(server: &MockServer) -> (Sandbox, String) {
    let debate = json!({
        "rounds": 2, "summarization": {"threshold": 1500, "maxLength": 500},
        "terminationCondition": {"type": "convergence", "threshold": 90},
    });
    let latency = LogNormal::with_mean(Duration::from_millis(10), 1.0, 3);
    server.set_script(move |request| reply(request).after(latency.of(request)));
    let sandbox = Sandbox::new().model_server(server).config(&config(&ROLES, &debate));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    (sandbox, id)
}

/// Forks and returns the id of the new debate.
fn forked(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let before: BTreeSet<String> = sandbox.debates().into_iter().collect();
    sandbox.run(["fork"].iter().chain(arguments).chain(&["--quiet"])).expect_code(0);
    let new: Vec<String> = sandbox.debates().into_iter().filter(|id| !before.contains(id)).collect();
    let [new] = <[String; 1]>::try_from(new).expect("one debate is new");
    sandbox.assert_state_is_the_fold(&new);
    sandbox.run(["verify", &new]).expect_code(0);
    new
}

fn requests_of(state: &Value) -> u64 {
    let usage = state["usage"].as_object();
    usage.into_iter().flatten().map(|(_, usage)| usage["requests"].as_u64().unwrap()).sum()
}

/// A state without what a fork has of its own.
fn common(state: &Value) -> Value {
    let mut state = without_times(state);
    let fields = state.as_object_mut().unwrap();
    fields.remove("forkedFrom");
    fields.remove("usage");
    state
}

#[test]
fn a_fork_takes_over_what_was_made_before_and_pays_for_the_rest() {
    let server = MockServer::start();
    let (sandbox, id) = parent(&server);
    server.set_script(reply);
    let whole = common(&sandbox.state(&id));
    let files = sandbox.files();
    let of_parent: BTreeSet<u64> = server.requests().iter().map(|request| request.digest).collect();
    // A round is 3 proposals, 6 critiques, 3 refinements and a score; the second has 3 summaries and no proposals.
    let points = [
        ("start", 28),
        ("1.summarization", 28),
        ("1.critique", 25),
        ("1.refinement", 19),
        ("1.evaluation", 16),
        ("2.summarization", 15),
        ("2.proposal", 12),
        ("2.critique", 12),
        ("2.refinement", 6),
        ("2.evaluation", 3),
        ("2.synthesis", 2),
    ];
    for (point, calls) in sample(points, 3) {
        let before = server.requests().len();
        let new = forked(&sandbox, &[&id, "--at", point]);
        let made = server.requests()[before..].to_vec();
        assert_eq!(made.len(), calls, "{point}");
        let state = sandbox.state(&new);
        assert_eq!(common(&state), whole, "{point}");
        assert_eq!(requests_of(&state), calls as u64, "{point}: what the parent paid for counts");
        assert_eq!(state["forkedFrom"], json!({"id": id, "at": point}));
        // The same questions: nobody is told anything else than in the parent.
        assert!(made.iter().all(|request| of_parent.contains(&request.digest)), "{point}: another prompt");
    }
    let now = sandbox.files();
    assert!(files.iter().all(|file| now.contains(file)), "the parent was changed");
}

#[test]
fn a_fork_goes_on_with_what_was_changed() {
    let server = MockServer::start();
    let (sandbox, id) = parent(&server);
    server.set_script(reply);
    let before = server.requests().len();
    let set = ["--set", "agents.agent-kiss.model=model-new", "--set", "debate.rounds=1"];
    let new = forked(&sandbox, &[&[&*id, "--at", "1.refinement"][..], &set].concat());
    let made = server.requests()[before..].to_vec();
    let refined: BTreeSet<&str> =
        made.iter().filter(|request| request.purpose == Purpose::Refine).map(|request| request.model()).collect();
    assert_eq!(refined, BTreeSet::from(["model-architect", "model-new", "model-testing"]));
    let state = sandbox.state(&new);
    assert_eq!((&state["settings"]["debate"]["rounds"], state["rounds"].as_array().unwrap().len()), (&json!(1), 1));
    assert_eq!(state["problem"], "Design a queue");

    // A fork of the fork, at a point of what that one took over.
    let before = server.requests().len();
    let newer = forked(&sandbox, &[&new, "--at", "1.critique", "--set", "agents[0].temperature=0.25"]);
    assert_eq!(server.requests()[before..].iter().filter(|one| one.purpose == Purpose::Critique).count(), 6);
    assert_eq!(sandbox.state(&newer)["forkedFrom"]["id"], new);
    assert_eq!(sandbox.state(&newer)["rounds"][0]["contributions"][0], state["rounds"][0]["contributions"][0]);

    // Without a call: closing after the first round, by other means.
    let before = server.requests().len();
    let closed = forked(&sandbox, &[&id, "--at", "1.synthesis", "--offline"]);
    assert_eq!((server.requests().len(), sandbox.state(&closed)["rounds"].as_array().unwrap().len()), (before, 1));
}

#[test]
fn failures_are_taken_over_unless_they_were_made_good() {
    let refuse = |request: &Incoming, purpose: Purpose| request.purpose == purpose && request.model() == "model-kiss";
    let server = MockServer::with(move |request| {
        let refused = refuse(request, Purpose::Refine) || request.purpose == Purpose::Synthesize;
        if refused { Reply::error(400, "no") } else { short_reply(request) }
    });
    let sandbox = Sandbox::new().model_server(&server).config(&config(&ROLES, &json!({})));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(3);
    let id = sandbox.only_debate();
    server.set_script(short_reply);
    let failures = |id: &str| sandbox.state(id)["failures"].as_array().map_or(0, Vec::len);
    let kept = forked(&sandbox, &[&id, "--at", "1.synthesis"]);
    let anew = forked(&sandbox, &[&id, "--at", "1.refinement"]);
    assert_eq!((failures(&id), failures(&kept), failures(&anew)), (2, 1, 0));
    assert_eq!(sandbox.state(&kept)["outcome"]["kind"], "degraded");
    assert_eq!(sandbox.state(&anew)["outcome"]["kind"], "full");
}

#[test]
fn what_cannot_be_forked_is_said_before_anything_is_paid() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    sandbox.run(["debate", "Design a queue", "--quiet"]).expect_code(0);
    let id = sandbox.only_debate();
    let made = server.requests().len();
    let attempts: [&[&str]; 8] = [
        &["--at", "2.critique"],
        &["--at", "1.vote"],
        &["--at", "0.critique"],
        &["--at", "1.critique", "--set", "debate.round=3"],
        &["--at", "1.critique", "--set", "debate.rounds=three"],
        &["--at", "1.critique", "--set", "agents.agent-kiss.enabled=false"],
        &["--at", "1.critique", "--set", "agents.agent-kiss.id=agent-new"],
        &["--at", "1.critique", "--set", "rounds"],
    ];
    let said = attempts.map(|arguments| {
        let finished = sandbox.run(["fork", &id].iter().chain(arguments)).expect_code(2);
        finished.stderr.lines().next().unwrap().replace(&id, "[id]")
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: cannot fork [id]: the debate never reached 2.critique; its last point is 1.synthesis
    error: cannot fork [id]: the protocol makes no calls in the stage `vote`; stages with calls: clarification, summarization, proposal, critique, refinement, evaluation, synthesis, check, final
    error: cannot fork [id]: critique belongs to a round; rounds are numbered from 1
    error: --set debate.round: unknown key `round` (did you mean `rounds`?)
    error: --set debate.rounds: expected a number, found a string
    error: cannot fork [id]: the changed settings must include all authors whose texts the fork keeps; missing: agent-kiss
    error: cannot fork [id]: the changed settings must include all authors whose texts the fork keeps; missing: agent-kiss
    error: invalid value 'rounds' for '--set <KEY=VALUE>': expected `<key>=<value>`, such as `debate.rounds=4`
    ");
    sandbox.run(["fork", &id]).expect_code(2);
    sandbox.run(["fork", "nobody", "--at", "start"]).expect_code(2);
    assert_eq!((server.requests().len(), sandbox.debates().len()), (made, 1));
    let old = Sandbox::new().file("old.json", &crate::fixtures::states()[0].1);
    let finished = old.run(["fork", "old.json", "--at", "1.critique"]).expect_code(2);
    assert!(finished.stderr.contains("has no journal"), "{finished}");
}

#[test]
fn a_fork_contradicts_nothing_that_it_takes_over() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Should we split it?", "--offline", "--protocol", "oxford", "-r", "3"]).expect_code(0);
    let fork = |arguments: &[&str]| {
        sandbox.run([&["fork", "latest", "--offline"][..], arguments].concat()).expect_code(2).stderr
    };
    let sides = fork(&["--at", "2.rebuttal", "--set", "agents.agent-architect.position=against"]);
    assert!(sides.contains("must not change the `position` of agent-architect"), "{sides}");
    let rounds = fork(&["--at", "3.closing", "--set", "debate.rounds=2"]);
    assert!(rounds.contains("the fork keeps 3 rounds, but the changed settings allow only 2"), "{rounds}");
    assert_eq!(sandbox.debates().len(), 1);
}

#[test]
fn a_stage_outside_of_the_rounds_is_named_as_it_is_to_be_written() {
    let sandbox = Sandbox::new();
    let agents = "architect,performance,kiss";
    sandbox
        .run(["debate", "Offices should be closed", "--offline", "--protocol", "oxford", "--agents", agents, "-r", "2"])
        .expect_code(0);
    let refused = sandbox.run(["fork", "latest", "--at", "1.poll-before", "--offline"]).expect_code(2);
    assert!(refused.stderr.contains("never reached 1.poll-before, but it reached 0.poll-before"), "{refused}");
    sandbox.run(["fork", "latest", "--at", "0.poll-before", "--offline"]).expect_code(0);
    // The tables of those who take part say who was on which side, also where only the order decided.
    let side = |markdown: &str, id: &str| {
        let row = markdown.lines().find(|line| line.starts_with(&format!("| {id} |"))).unwrap();
        row.trim_end_matches(" |").rsplit(" | ").next().unwrap().to_owned()
    };
    let markdown = sandbox.run(["report", "-d", "latest"]).expect_code(0).stdout;
    let sides = ["agent-architect", "agent-performance", "agent-kiss"].map(|id| side(&markdown, id));
    assert_eq!(sides, ["for", "against", "neutral"]);
    sandbox.run(["report", "-d", "latest", "-o", "page.html"]).expect_code(0);
    let page = sandbox.read("page.html");
    let (_, members) = page.split_once("Agents and judge, with").unwrap();
    let members = members.split("</table>").next().unwrap();
    for cell in [">Side<", "<td>for</td>", "<td>against</td>", "<td>neutral</td>"] {
        assert!(members.contains(cell), "{cell}: {members}");
    }
}

#[test]
fn a_stage_is_named_as_the_page_prints_it_and_a_dry_run_calls_nothing() {
    let server = MockServer::start();
    let (sandbox, id) = parent(&server);
    for (given, at) in [("1.Critiques", "1.critique"), ("refinements", "2.refinement"), ("Start", "start")] {
        let new = forked(&sandbox, &[&id, "--at", given, "--offline"]);
        assert_eq!(sandbox.state(&new)["forkedFrom"]["at"], at);
    }
    let (before, debates) = (server.requests().len(), sandbox.debates());
    let shown = sandbox.run(["fork", &id, "--at", "2.critiques", "--dry-run"]).expect_code(0);
    assert!(shown.stdout.contains("12 calls"), "{shown}");
    let unknown = sandbox.run(["fork", &id, "--at", "reviews"]).expect_code(2);
    assert!(unknown.stderr.contains("`reviews`; stages with calls: clarification, summarization"), "{unknown}");
    let limited = sandbox.run(["fork", &id, "--at", "2.critique", "--max-cost", "1"]).expect_code(4);
    assert!(limited.stderr.contains("the cost limit of $1.0000 cannot be enforced"), "{limited}");
    assert_eq!((server.requests().len(), sandbox.debates()), (before, debates));
}
