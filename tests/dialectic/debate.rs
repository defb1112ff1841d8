//! `dialectic debate`: which calls it makes, and what they are made from.

use serde_json::{Value, json};

use crate::support::{
    Debated, Incoming, MockServer, Purpose, Reply, Sandbox, config, default_reply, prose, short_reply,
};

/// The contributions of a round that are of a kind.
fn of_kind<'a>(round: &'a Value, kind: &str) -> Vec<&'a Value> {
    let contributions = round["contributions"].as_array().unwrap();
    contributions.iter().filter(|contribution| contribution["type"] == kind).collect()
}

#[test]
fn the_default_debate_over_two_rounds_makes_22_calls_and_three_checks() {
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server);
    let (_, state) = sandbox.debated(["debate", "Design a queue", "--rounds", "2"]);
    let counts = [Purpose::Propose, Purpose::Critique, Purpose::Refine, Purpose::Synthesize];
    assert_eq!(counts.map(|purpose| server.asked(purpose).len()), [3, 12, 6, 1]);
    // 22, and three checks that find nothing. Nothing is condensed, and nobody is shown the rounds before.
    assert_eq!(server.requests().len(), 25);
    assert!(server.asked(Purpose::Summarize).is_empty());
    assert!(server.requests().iter().all(|request| !request.text().contains("# Finished rounds")));
    server.assert_clean();
    assert_eq!((&state["status"], &state["outcome"]["kind"]), (&json!("completed"), &json!("full")));
    assert_eq!(state["usage"]["gpt-5.6-luna"]["requests"], 25);
    // A refinement is the next round's proposal, at no cost.
    let (refinements, proposals) =
        (of_kind(&state["rounds"][0], "refinement"), of_kind(&state["rounds"][1], "proposal"));
    assert_eq!((refinements.len(), proposals.len()), (3, 3));
    for (refinement, proposal) in refinements.into_iter().zip(proposals) {
        for field in ["agentId", "agentRole", "content"] {
            assert_eq!(refinement[field], proposal[field], "{field}");
        }
        assert!(refinement["metadata"]["tokensUsed"].as_u64().unwrap() > 0);
        assert_eq!((&proposal["metadata"]["tokensUsed"], &proposal["metadata"]["latencyMs"]), (&json!(0), &json!(0)));
    }
}

/// Three thousand characters and more, and critiques in which no points can be read: they are shown as texts.
fn long_prose(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Synthesize => default_reply(request),
        purpose => Reply::text(format!("<{purpose:?}> {}", prose(request.digest, 600))),
    }
}

/// How long summaries are that were cut: a break between words or paragraphs at the end falls away.
const CUT: std::ops::RangeInclusive<usize> = 2498..=2500;

/// With histories and summaries, which a debate has only if requested.
#[test]
fn long_histories_are_condensed_and_the_judge_has_the_final_round_in_full() {
    let server = MockServer::with(long_prose);
    let settings = json!({"debate": {"includeFullHistory": true, "summarization": {"enabled": true}, "check": 0}});
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let (_, state) = sandbox.debated(["debate", "Design a queue", "--rounds", "2"]);
    server.assert_clean();
    // Three agents at the start of round 2, and the judge.
    assert_eq!(server.asked(Purpose::Summarize).len(), 4);
    assert!(state["rounds"][0].get("summaries").is_none());
    let summaries = state["rounds"][1]["summaries"].as_object().unwrap();
    assert_eq!(summaries.keys().collect::<Vec<_>>(), ["agent-architect", "agent-kiss", "agent-performance"]);
    // A critique without points is asked for once more.
    let first = |request: &std::sync::Arc<Incoming>| request.messages.len() == 2;
    for (agent, summary) in summaries {
        let text = summary["summary"].as_str().unwrap();
        let length = text.chars().count();
        assert!(CUT.contains(&length), "{agent}'s summary is cut to its limit: {length}");
        let metadata = &summary["metadata"];
        assert!(metadata["beforeChars"].as_u64().unwrap() >= 5000);
        assert_eq!((&metadata["afterChars"], &metadata["method"]), (&json!(length), &json!("length-based")));
        assert!(metadata["tokensUsed"].as_u64().unwrap() > 0);
        // Two critiques and a refinement of round 2 show it.
        let holders = server.requests().into_iter().filter(|request| first(request) && request.text().contains(text));
        assert_eq!(holders.inspect(|request| assert!(!request.text().contains("# Finished rounds"))).count(), 3);
    }

    let summary = state["judgeSummary"]["summary"].as_str().unwrap();
    assert!(CUT.contains(&summary.chars().count()));
    let synthesis = server.asked(Purpose::Synthesize)[0].text();
    assert!(synthesis.contains(summary));
    assert!(!synthesis.contains("agent-"), "the judge is not to know who wrote what");
    for contribution in of_kind(&state["rounds"][1], "refinement") {
        assert!(synthesis.contains(contribution["content"].as_str().unwrap()));
    }
    // A critique without numbered points is shown up to 3,000 characters.
    for contribution in of_kind(&state["rounds"][1], "critique") {
        let content: Vec<char> = contribution["content"].as_str().unwrap().chars().collect();
        let shown: String = content[..3000].iter().collect();
        assert!(content.len() > 3100 && synthesis.contains(shown.trim_end()));
        assert!(!synthesis.contains(&content.iter().collect::<String>()));
    }
    let earlier = of_kind(&state["rounds"][0], "critique")[0]["content"].as_str().unwrap();
    let earlier: String = earlier.chars().take(1400).collect();
    assert!(!synthesis.contains(&earlier), "of the first round the judge has its summary");
    let summarize = server.asked(Purpose::Summarize);
    let summarize = summarize.iter().find(|request| request.prompt().contains("# Your role: Judge")).unwrap().text();
    assert!(summarize.contains(&earlier));
    for contribution in of_kind(&state["rounds"][0], "refinement") {
        assert!(summarize.contains(contribution["content"].as_str().unwrap()));
    }
    for contribution in of_kind(&state["rounds"][1], "refinement") {
        assert!(!summarize.contains(contribution["content"].as_str().unwrap()), "the summary is of what came before");
    }
}

#[test]
fn without_a_summary_the_judge_is_shown_what_came_before_up_to_a_limit() {
    let debate = json!({"rounds": 2, "includeFullHistory": true, "historyLimit": 9500});
    let Debated { server, state, .. } = Debated::of_two(&debate, long_prose);
    assert!(server.asked(Purpose::Summarize).is_empty());
    let synthesis = server.asked(Purpose::Synthesize)[0].text();
    for (kind, in_full) in [("refinement", true), ("critique", false), ("proposal", false)] {
        for contribution in of_kind(&state["rounds"][0], kind) {
            let content = contribution["content"].as_str().unwrap();
            assert_eq!(synthesis.contains(content), in_full, "{kind}");
            // What has no place is mentioned.
            let words: String = content.chars().take(100).collect();
            assert!(synthesis.contains(&words), "{kind}");
        }
    }
}

#[test]
fn an_agent_is_shown_what_concerns_it_newest_first_up_to_a_limit() {
    let script = |request: &Incoming| match request.purpose {
        Purpose::Confidence => Reply::json(json!({"confidence": 1})),
        purpose => Reply::text(format!("<{purpose:?}> {}", prose(request.digest, 120))),
    };
    let roles = ["architect", "kiss", "testing"];
    let debate = json!({"rounds": 5, "includeFullHistory": true, "historyLimit": 6000});
    let Debated { server, state, .. } = Debated::with(&config(&roles, &debate), script);
    let refines: Vec<_> = server.asked(Purpose::Refine).into_iter().filter(|one| one.model() == "model-kiss").collect();
    // Of the first round: what it said, what was said to it and by it, and nothing else.
    let second = refines[1].text();
    for contribution in state["rounds"][0]["contributions"].as_array().unwrap() {
        let concerns = contribution["agentId"] == "agent-kiss" || contribution["targetAgentId"] == "agent-kiss";
        let beginning: String = contribution["content"].as_str().unwrap().chars().take(80).collect();
        assert_eq!(second.contains(&beginning), concerns, "{contribution}");
    }
    let place = |title: &str| second.find(title).unwrap();
    assert!(place("(refinement)") < place("(proposal)"), "the newest come first");
    // A round costs no more the more was said before it.
    let size = |round: usize| refines[round].text().len();
    assert!(size(4) < size(2) + 6000, "{} after {}", size(4), size(2));
    let history = |text: String| text[text.find("# Finished rounds").unwrap()..text.find("\n# Text ").unwrap()].len();
    for request in &refines[1..] {
        assert!(history(request.text()) < 6000 + 9000, "{}", history(request.text()));
    }
}

#[test]
fn a_system_prompt_of_the_users_is_sent_as_the_system_message() {
    let server = MockServer::with(short_reply);
    let mut configured = config(&["architect", "kiss"], &json!({}));
    configured["agents"][0]["systemPromptPath"] = json!("mine.md");
    configured["judge"]["systemPromptPath"] = json!("judge.md");
    let sandbox = Sandbox::new().model_server(&server).config(&configured);
    let sandbox = sandbox.file("mine.md", "You count every {joule}.").file("judge.md", "You are strict.");
    sandbox.run(["debate", "Design a queue"]).expect_code(0);
    for request in server.requests() {
        let own = match request.model() {
            "model-architect" => Some("You count every {joule}."),
            "model-judge" => Some("You are strict."),
            _ => None,
        };
        let common = "You take part in a structured debate about one problem.";
        assert!(request.system().starts_with(common));
        match own {
            Some(own) => {
                assert!(request.system().ends_with(own), "{}", request.system());
                assert!(!request.prompt().contains(own));
            }
            None => assert!(!request.system().contains("You count") && !request.system().contains("You are strict")),
        }
    }
    server.assert_clean();
}

#[test]
fn the_agents_option_keeps_roles_and_max_concurrency_bounds_the_calls() {
    let script = |request: &Incoming| short_reply(request).after(std::time::Duration::from_millis(20));
    let (server, gate) = MockServer::held(script, |_| true);
    let settings = config(&["architect", "kiss", "testing", "security"], &json!({"maxConcurrency": 2}));
    let sandbox = Sandbox::new().model_server(&server).config(&settings);
    let running = sandbox.spawn(["debate", "Design a queue", "--agents", "kiss,architect,security"]);
    server.wait_for_requests(2);
    gate.open();
    running.wait().expect_code(0);
    assert_eq!(server.requests().len(), 13);
    assert_eq!(server.peak_in_flight(), 2);
    let state = sandbox.state(&sandbox.only_debate());
    let agents: Vec<_> = state["settings"]["agents"].as_array().unwrap().iter().map(|agent| &agent["id"]).collect();
    assert_eq!(agents, ["agent-architect", "agent-kiss", "agent-security"]);
}
