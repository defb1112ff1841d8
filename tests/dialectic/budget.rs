//! Cost limits from outside: what is asked, what is said, what it costs.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{Debated, Incoming, MockServer, Purpose, Reply, Sandbox, config, default_reply};
use crate::{arena, check_limit};

/// A configuration whose models all cost one dollar for a million input tokens and ten for a million output tokens.
pub(crate) fn priced(roles: &[&str], debate: &Value) -> Value {
    let mut config = config(roles, debate);
    let price = json!({"inputPerMTok": 1.0, "outputPerMTok": 10.0});
    let models = roles.iter().map(|role| format!("model-{role}")).chain(["model-judge".to_owned()]);
    config["prices"] = models.map(|model| (model, price.clone())).collect();
    config
}

fn cost(state: &Value) -> f64 {
    let usage = state["usage"].as_object().expect("the state has its usage");
    usage.values().map(|model| model["costUsd"].as_f64().expect("every cost is known")).sum()
}

#[test]
fn a_debate_closes_before_it_costs_more_than_its_limit() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => default_reply(request).usage(900, 0, 500),
        _ => default_reply(request).usage(900, 0, 900),
    });
    let debate = json!({"rounds": 9, "check": 3});
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &debate));
    let finished = sandbox.run(["debate", "--max-cost", "0.70", "--strict", "Design a queue"]).expect_code(5);
    assert!(finished.stderr.contains("the cost limit of $0.7000 leaves no room for further calls"), "{finished}");
    assert!(finished.stderr.contains("this run is stopped"), "{finished}");
    let (_, state) = sandbox.only_state();
    assert_eq!(state["outcome"]["kind"], "stopped");
    let rounds = state["rounds"].as_array().unwrap().len();
    assert!((1..9).contains(&rounds), "{rounds} rounds");
    assert_eq!(state["checks"].as_array().map(Vec::len), Some(1 + 3), "the draft and its checks: {finished}");
    assert!(cost(&state) <= 0.7, "{}", cost(&state));
    assert!(state["finalSolution"]["description"].as_str().is_some_and(|text| !text.is_empty()));
    let asked: Vec<_> = server.requests().iter().map(|request| request.max_tokens()).collect();
    assert!(asked.iter().all(|limit| limit.is_some_and(|limit| (1024..=4096).contains(&limit))), "{asked:?}");
    // All of it fits only with the shortest answers, and that is said.
    assert!(asked.contains(&Some(1024)), "{asked:?}");
    assert_eq!(state["outputLimit"], 1024);
    assert!(finished.stderr.contains("limiting answers to 1024 tokens to stay within"), "{finished}");
    assert!(!state["outcome"]["reasons"].to_string().contains("cut off at the output limit"), "none was cut: {state}");
    server.assert_clean();
}

#[test]
fn a_limit_that_buys_no_round_is_refused_with_the_limits_that_do() {
    let server = MockServer::with(|request| default_reply(request).usage(900, 0, 900));
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 2})));
    let refused = sandbox.run(["debate", "--max-cost", "0.05", "Design a queue"]).expect_code(2);
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());
    let dry = sandbox.run(["debate", "--dry-run", "--max-cost", "0.05", "Design a queue"]).expect_code(2);
    let amounts: Vec<&str> = refused.stderr.split('$').skip(1).collect();
    let amounts: Vec<String> = amounts.iter().map(|text| text.chars().take(6).collect()).collect();
    let [limit, likely, one, likely_all, all] = amounts.as_slice() else { panic!("{refused}") };
    assert_eq!(limit, "0.0500");
    assert!(dry.stderr.contains(&format!("one round and the answer: likely ${likely}, at most ${one}")), "{dry}");
    assert!(dry.stderr.contains(&format!("all 2 rounds: likely ${likely_all}, at most ${all}")), "{dry}");
    let dollars = |amount: &String| amount.parse::<f64>().unwrap();
    assert!(dollars(likely) > 0.0 && dollars(likely) < dollars(one), "{refused}");
    assert!((dollars(likely)..=dollars(all)).contains(&dollars(likely_all)), "{refused}");

    // What is named is enough, to the last digit, and nothing below it is.
    let least: f64 = one.parse().unwrap();
    sandbox.run(["debate", "--max-cost", &format!("{:.4}", least - 0.0001), "Design a queue"]).expect_code(2);
    let dry = sandbox.run(["debate", "--dry-run", "--max-cost", one, "Design a queue"]).expect_code(0);
    assert!(dry.stderr.contains(&format!("The cost limit of ${one} covers ")), "{dry}");
    let dry = sandbox.run(["debate", "--dry-run", "--max-cost", all, "Design a queue"]).expect_code(0);
    assert!(dry.stderr.contains("covers all 2 rounds"), "{dry}");
    let (_, state) = sandbox.debated(["debate", "--max-cost", one, "Design a queue"]);
    assert_eq!(state["rounds"][0]["contributions"].as_array().unwrap().len(), 6);
    assert!(cost(&state) <= least);
}

#[test]
fn answers_that_may_be_shorter_and_are_not_cut_leave_a_debate_full() {
    let server = MockServer::with(|request| default_reply(request).usage(900, 0, 900));
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 1})));
    let dry = sandbox.run(["debate", "--max-cost", "0.0001", "Design a queue"]).expect_code(2);
    let least: String = dry.stderr.split("at most $").nth(1).unwrap().chars().take(6).collect();
    let (finished, state) = sandbox.debated(["debate", "--max-cost", &least, "Design a queue"]);
    assert!(finished.stderr.contains("limiting answers to 1024 tokens"), "{finished}");
    assert_eq!((&state["outputLimit"], &state["outcome"]), (&json!(1024), &json!({"kind": "full", "reasons": []})));
}

#[test]
fn a_limit_that_a_debate_is_given_when_it_goes_on_holds() {
    for (limit, code) in [("2", 0), ("0.0001", 2)] {
        let server = MockServer::with(|request| if request.index < 2 { default_reply(request) } else { Reply::hang() });
        let debate = json!({"rounds": 1});
        let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &debate));
        let running = sandbox.spawn(["debate", "Design a queue"]);
        server.wait_for_requests(3);
        running.signal(Signal::SIGKILL);
        drop(running.wait());
        server.settle();
        let made = server.requests().len();
        server.set_script(|request| default_reply(request).usage(900, 0, 900));
        let id = sandbox.only_debate();
        let reserved = || sandbox.events(&id).iter().filter(|event| event["type"] == "cost-reserved").count();
        assert_eq!(reserved(), 0);
        let resumed = sandbox.run(["resume", &id, "--max-cost", limit]).expect_code(code);
        let state = sandbox.state(&id);
        let recorded = &state["settings"]["debate"]["budget"]["maxCostUsd"];
        if code == 0 {
            assert!(reserved() > 4, "{}", reserved());
            assert_eq!(*recorded, 2.0, "later runs keep it");
            sandbox.assert_state_is_the_fold(&id);
            continue;
        }
        assert_eq!((reserved(), server.requests().len(), recorded), (0, made, &Value::Null), "{resumed}");
        assert!(resumed.stderr.contains("the cost limit of $0.0001 does not cover the answer"), "{resumed}");
    }
}

#[test]
fn what_is_set_aside_is_in_the_journal_before_the_call_and_a_kill_forgets_nothing() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = Sandbox::new().model_server(&server).config(&priced(&["architect", "kiss"], &json!({"rounds": 1})));
    let running = sandbox.spawn(["debate", "--max-cost", "2.00", "Design a queue"]);
    // Two models, neither of which has answered: one call of each.
    server.wait_for_requests(2);
    let id = sandbox.only_debate();
    let reserved = |sandbox: &Sandbox| -> Vec<f64> {
        let events = sandbox.events(&id).into_iter().filter(|event| event["type"] == "cost-reserved");
        events.map(|event| event["usd"].as_f64().unwrap()).collect()
    };
    assert_eq!(reserved(&sandbox).len(), 2);
    running.signal(Signal::SIGKILL);
    drop(running.wait());
    server.set_script(|request| default_reply(request).usage(900, 0, 900));
    drop(sandbox.run(["resume", &id]));
    let lost: f64 = reserved(&sandbox)[..2].iter().sum();
    let paid = cost(&sandbox.state(&id));
    assert!(lost > 0.05 && lost + paid <= 2.0, "{lost} may be on the bill, {paid} is");
}

#[test]
fn what_earlier_attempts_cost_is_known_when_their_call_is_abandoned() {
    // Billed but empty, then refused for a while: the user does not wait.
    let server = MockServer::with(|request| match request.index {
        0 => Reply::text("").usage(1000, 0, 3000),
        _ => Reply::hang(),
    });
    let mut config = priced(&["architect", "kiss"], &json!({"rounds": 1, "maxConcurrency": 1}));
    config["debate"]["maxRetries"] = json!(3);
    let sandbox = Sandbox::new().model_server(&server).config(&config);
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(2);
    running.signal(Signal::SIGINT);
    running.wait().expect_code(130);
    let id = sandbox.only_debate();
    assert!((cost(&sandbox.state(&id)) - 0.031).abs() < 1e-9, "{}", sandbox.state(&id)["usage"]);
    let list = sandbox.run(["list"]).expect_code(0);
    assert!(list.stdout.contains("$0.0310"), "{list}");
    sandbox.assert_state_is_the_fold(&id);
    sandbox.run(["verify", &id]).expect_code(0);
}

#[test]
fn a_broken_answer_of_the_judge_leaves_room_for_its_second_chance() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Synthesize => Reply::text("").usage(3000, 0, 1024),
        _ => default_reply(request).usage(900, 0, 900),
    });
    let config = priced(&["architect", "kiss"], &json!({"rounds": 1, "maxRetries": 2}));
    let sandbox = Sandbox::new().model_server(&server).config(&config);
    let refused = sandbox.run(["debate", "--max-cost", "0.05", "Design a queue"]).expect_code(2);
    let least: String = refused.stderr.split('$').nth(3).unwrap().chars().take(6).collect();
    // A debate of one round has one price.
    let said = format!(", at most ${least}\nhint: the limit must cover the maximum cost of a round: raise it");
    assert!(refused.stderr.contains(&said), "{refused}");
    drop(sandbox.run(["debate", "--max-cost", &least, "Design a queue"]));
    let asked = server.requests().iter().filter(|request| request.purpose == Purpose::Synthesize).count();
    assert!(asked >= 2, "{asked}");
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused_before_anything_is_paid() {
    let server = MockServer::start();
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    for wrong in ["0", "inf"] {
        let refused = sandbox.run(["debate", "--max-cost", wrong, "Design a queue"]).expect_code(2);
        assert!(refused.stderr.contains("expected a dollar amount above 0"), "{refused}");
    }
    for arguments in [&["debate"][..], &["debate", "--dry-run"]] {
        let refused = sandbox.run([arguments, &["--max-cost", "5", "Design a queue"]].concat()).expect_code(4);
        assert!(refused.stderr.contains("no price is known for model-architect, model-judge, model-kiss"), "{refused}");
        assert!(refused.stderr.contains("hint: give each model a price under `prices`"), "{refused}");
    }
    assert!(sandbox.debates().is_empty() && server.requests().is_empty());
}

#[test]
fn a_fork_counts_what_is_new_and_is_held_to_its_own_limit() {
    let Debated { server, sandbox, .. } =
        Debated::with(&priced(&["architect", "kiss"], &json!({"rounds": 1})), |request| {
            default_reply(request).usage(900, 0, 900)
        });
    let parent = sandbox.only_debate();
    let before = server.requests().len();
    let set = |limit| format!("debate.budget.maxCostUsd={limit}");
    let too_low = sandbox.run(["fork", &parent, "--at", "1.synthesis", "--set", &set("0.0001")]).expect_code(2);
    assert!(too_low.stderr.contains("does not cover one round and the answer: likely $0."), "{too_low}");
    assert_eq!((sandbox.only_debate(), server.requests().len()), (parent.clone(), before));

    // What the parent paid counts for nothing, and neither does the round that it has: only the judge is to be paid.
    let whole = sandbox.run(["debate", "--max-cost", "0.05", "Design a queue"]).expect_code(2);
    let least = |refused: &str| refused.split('$').nth(3).unwrap().chars().take(6).collect::<String>();
    let (closing, whole) = (least(&too_low.stderr), least(&whole.stderr));
    assert!(closing.parse::<f64>().unwrap() < whole.parse::<f64>().unwrap() / 2.0, "{closing} of {whole}");
    sandbox.run(["fork", &parent, "--at", "1.synthesis", "--set", &set(&closing)]).expect_code(0);
    assert_eq!(server.requests().len(), before + 1);
}

#[test]
fn the_warning_comes_once() {
    let limit = json!({"rounds": 2, "budget": {"warnCostUsd": 0.03}});
    let Debated { server, sandbox, finished, .. } =
        Debated::with(&priced(&["architect", "kiss"], &limit), |request| default_reply(request).usage(1000, 0, 1000));
    let warnings = finished.stderr.matches("reached the warning threshold of $0.0300").count();
    assert_eq!(warnings, 1, "{finished}");
    assert!(finished.stderr.contains("this debate has cost $0.0330"), "{finished}");
    assert!(server.requests().iter().all(|request| request.max_tokens().is_none()), "nobody asked for a limit");

    let unpriced = sandbox.config(&config(&["kiss"], &limit));
    let finished = unpriced.run(["debate", "Design a queue"]).expect_code(0);
    assert!(finished.stderr.contains("do not count towards `warnCostUsd`"), "{finished}");
}

#[test]
fn a_dry_run_prints_the_calls_that_the_debate_then_makes() {
    let server = MockServer::start();
    let debate = json!({
        "rounds": 3, "interactiveClarifications": true,
        "terminationCondition": {"type": "quality", "threshold": 100},
        "summarization": {"threshold": 1000, "maxLength": 500},
    });
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&priced(&["architect", "kiss", "testing"], &debate))
        .env("OPENAI_API_KEY", "");
    let dry = sandbox.run(["debate", "--dry-run", "--json", "Design a queue"]).expect_code(0);
    assert!(server.requests().is_empty() && sandbox.debates().is_empty());
    let forecast: Value = serde_json::from_str(&dry.stdout).unwrap();
    let mut planned: BTreeMap<String, usize> = BTreeMap::new();
    let calls = forecast["calls"].as_array().unwrap();
    let is_follow_up = |call: &&Value| call["key"]["pass"].as_u64().is_some_and(|pass| pass > 1);
    let (follow_ups, calls): (Vec<&Value>, Vec<&Value>) = calls.iter().partition(is_follow_up);
    // Two more passes of all three agents, if they have questions; here, nobody has.
    assert_eq!(follow_ups.len(), 2 * 3);
    assert!(follow_ups.iter().all(|call| call["certain"] == false && call["key"]["phase"] == "clarification"));
    let most = |pass: u64| {
        let of_pass = |call: &&&Value| call["key"]["pass"] == pass && call["key"]["agentId"] == "agent-kiss";
        follow_ups.iter().find(of_pass).unwrap()["inputTokens"]["high"].as_u64().unwrap()
    };
    assert!(most(3) > most(2) + 1000, "later passes show the questions and answers of earlier ones");
    for call in calls {
        // The server tells the judge's summary from others by nothing.
        let phase = call["key"]["phase"].as_str().unwrap().replace("judge-summary", "summarization");
        *planned.entry(phase).or_default() += 1;
    }

    let sandbox = sandbox.env("OPENAI_API_KEY", "test-key");
    let real = sandbox.run(["debate", "Design a queue"]).expect_code(0);
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for request in server.requests() {
        let phase = match request.purpose {
            Purpose::Clarify => "clarification",
            Purpose::Summarize => "summarization",
            Purpose::Propose => "proposal",
            Purpose::Critique => "critique",
            Purpose::Refine => "refinement",
            Purpose::Confidence => "evaluation",
            Purpose::Synthesize => "synthesis",
            _ => "unexpected",
        };
        *made.entry(phase.to_owned()).or_default() += 1;
    }
    assert_eq!(planned, made, "{dry}\n{real}");
}

#[test]
fn a_dry_run_says_what_it_cannot_know() {
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({"rounds": 2})));
    let dry = sandbox.run(["debate", "--dry-run", "Design a queue"]).expect_code(0);
    assert!(dry.stdout.lines().next().unwrap().contains("of unknown cost"), "{dry}");
    assert!(dry.stdout.contains("unknown   unknown\n") && !dry.stdout.contains('$'), "{dry}");
    assert!(sandbox.files().iter().all(|(path, _)| !path.starts_with("debates")), "something was written");
}

/// What is said in a debate: texts, votes, and what the judge makes of it. Where `at_length`, all answers are as long as
/// they may be.
pub(crate) fn said(request: &Incoming, at_length: bool) -> Reply {
    let most = request.max_tokens().unwrap_or(4096);
    let written = if at_length { most } else { most.min(500) };
    let criteria = ["logic", "evidence", "rebuttal", "clarity"];
    let criteria = criteria.map(|name| json!({"name": name, "assessment": "Both were sound."}));
    let reply = match request.task() {
        "poll" => Reply::json(json!({"choice": "for", "confidence": 70, "reason": "It is cheaper."})),
        "judge the debate" => Reply::json(json!({
            "scores": [{"debater": "Indigo", "score": 70}, {"debater": "Amber", "score": 60}],
            "criteria": criteria,
            "reasoning": "The first was answered less.",
            "winner": "Indigo",
        })),
        _ => match request.purpose {
            Purpose::Propose | Purpose::Critique | Purpose::Refine | Purpose::Text => {
                Reply::text("All. ".repeat(usize::try_from(written).unwrap() * 4 / 5))
            }
            _ => default_reply(request),
        },
    };
    let read = request.messages.iter().map(|message| message.text.len() as u64).sum::<u64>() / 4;
    reply.usage(read, 0, written)
}

const MOTION: &str = "This house would rewrite it in Rust";

/// A debate, and what a limit may leave out of it.
struct Bought {
    roles: &'static [&'static str],
    debate: Value,
    problem: &'static str,
    script: fn(&Incoming) -> Reply,
    extras: &'static str,
    /// Where a state has the last of what may be left out.
    last: &'static str,
    /// How it ends if nothing is left out: full, or degraded because answers are cut off.
    ends: &'static str,
}

impl Bought {
    fn new(debate: Value, problem: &'static str, script: fn(&Incoming) -> Reply) -> Self {
        Self { roles: &["architect", "kiss"], debate, problem, script, extras: "", last: "", ends: "full" }
    }

    fn or_without(self, extras: &'static str, last: &'static str) -> Self {
        Self { extras, last, ..self }
    }

    /// Holds a debate within limits: what one round needs, a hair less than all of it, all of it, and more.
    fn check(&self) {
        let Self { debate, extras, problem, .. } = self;
        let server = MockServer::with(self.script);
        let sandbox = || Sandbox::new().model_server(&server).config(&priced(self.roles, debate));
        let rounds = &debate["rounds"];
        let refused = sandbox().run(["debate", "--max-cost", "0.0001", problem]).expect_code(2).stderr;
        let with = if extras.is_empty() { String::new() } else { format!(" with {extras}") };
        assert!(refused.contains(&format!("all {rounds} rounds{with}: likely $")), "{refused}");
        let amounts: Vec<f64> = refused.split('$').skip(1).map(|text| text[..6].parse().unwrap()).collect();
        let [_, _, one, _, all] = amounts[..] else { panic!("{refused}") };
        assert!(one < all || extras.is_empty(), "{refused}");
        let limits = [(one, false), (all - 0.0001, false), (all, true), (1.1 * all, true)];
        for (limit, is_bought) in limits.into_iter().skip(if extras.is_empty() { 2 } else { 0 }) {
            let (sandbox, limit) = (sandbox(), format!("{limit:.4}"));
            let dry = sandbox.run(["debate", "--dry-run", "--max-cost", &limit, problem]).expect_code(0).stderr;
            let said = if is_bought {
                format!("covers all {rounds} rounds")
            } else {
                format!("without {extras}; the whole debate needs up to ${all:.4}")
            };
            assert!(dry.contains(&said), "{limit}: {dry}");
            assert_eq!(dry.contains("without"), !is_bought, "{limit}: {dry}");
            let (finished, state) = sandbox.debated(["debate", "--max-cost", &limit, problem]);
            let told = &finished.stderr;
            assert!(cost(&state) <= limit.parse().unwrap(), "{}", cost(&state));
            if !is_bought {
                let warned = told.find(&format!("the cost limit of ${limit} leaves no room for {extras}"));
                assert!(warned < told.find("started"), "{finished}");
                assert!(warned.is_some(), "{finished}");
                continue;
            }
            assert!(!told.contains("no room") && !told.contains("failed in"), "{limit}: {finished}");
            assert_eq!(state["outcome"]["kind"], self.ends, "{limit}: {finished}");
            assert!(!state["outcome"]["reasons"].to_string().contains("no room"), "{limit}: {finished}");
            assert_eq!(json!(state["rounds"].as_array().unwrap().len()), *rounds, "{limit}: {finished}");
            assert!(state.pointer(self.last).is_some(), "{limit}: {finished}");
        }
    }
}

#[test]
fn what_a_limit_is_said_to_buy_of_a_motion_is_what_it_buys_votes_included() {
    let scripts: [fn(&Incoming) -> Reply; 2] = [|request| said(request, false), |request| said(request, true)];
    for (script, ends) in scripts.into_iter().zip(["full", "degraded"]) {
        let oxford = Bought::new(json!({"protocol": "oxford", "rounds": 3}), MOTION, script);
        let oxford = oxford.or_without("votes before the debate and votes after the debate", "/polls/1");
        Bought { roles: &["architect", "kiss", "testing"], ends, ..oxford }.check();
    }
}

#[test]
fn a_limit_that_is_said_to_buy_all_rounds_buys_them_however_long_the_answers() {
    let quality = json!({"type": "quality", "threshold": 100});
    for (debate, last) in [
        (json!({"protocol": "lincoln-douglas", "rounds": 3}), "/judgements/1"),
        (json!({"protocol": "roundtable", "rounds": 3}), ""),
        (json!({"rounds": 3, "terminationCondition": quality}), ""),
    ] {
        Bought { last, ends: "degraded", ..Bought::new(debate, MOTION, |request| said(request, true)) }.check();
    }
}

/// The observer is another call that a debate can do without.
#[test]
fn what_a_limit_is_said_to_buy_of_an_arena_has_its_observations_in_it() {
    let debate = json!({"protocol": "arena", "rounds": 2, "arena": {"observer": true}});
    let arena = Bought::new(debate, arena::PROBLEM, |request| arena::script(request, arena::Related::Not, &[]));
    arena.or_without("observations", "/rounds/1/observations/0").check();
}

#[test]
fn what_a_limit_is_said_to_buy_has_the_check_in_it_and_what_is_written_after_it() {
    let debate = Bought::new(json!({"rounds": 2, "check": 3}), "Design a lock service", check_limit::script);
    debate.or_without("checks and final texts", "/checks/4").check();
}

#[test]
fn what_calls_did_not_say_stays_unknown_in_sums() {
    let server = MockServer::with(|request| match request.index {
        0 | 1 => default_reply(request).without_usage(),
        _ => default_reply(request).usage(900, 0, 900),
    });
    let sandbox = Sandbox::new()
        .model_server(&server)
        .config(&priced(&["architect", "kiss"], &json!({"rounds": 1, "maxConcurrency": 1})));
    let (_, state) = sandbox.debated(["debate", "Design a queue"]);
    let id = sandbox.only_debate();
    let models = state["usage"].as_object().unwrap();
    assert_eq!(models.values().filter_map(|model| model["silentCalls"].as_u64()).sum::<u64>(), 2, "{models:?}");
    let report = sandbox.run(["report", "-d", &id]).expect_code(0).stdout;
    let said = " tokens (2 calls did not report any)";
    assert!(report.contains("\nIn total: at least ") && report.contains(&format!("{said}\n")), "{report}");
    sandbox.run(["report", "-d", &id, "-o", "report.html"]).expect_code(0);
    assert!(sandbox.read("report.html").contains(said));
    sandbox.run(["verify", &id]).expect_code(0);
}
