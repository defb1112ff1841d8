//! Questions to the user, before agents begin.

use serde_json::{Value, json};

use crate::support::{
    Incoming, MockServer, Purpose, Reply, Sandbox, Terminal, sample, short_reply, two_agents, wait_until,
};

/// Two agents that ask at most twice, two questions each at most.
fn sandbox(server: &MockServer) -> Sandbox {
    let debate = json!({"clarificationsMaxIterations": 2, "clarificationsMaxPerAgent": 2});
    two_agents(server, &debate)
}

/// Two agents that ask one question each at most, as often as is usual.
fn patient_sandbox(server: &MockServer) -> Sandbox {
    two_agents(server, &json!({"clarificationsMaxPerAgent": 1}))
}

/// Every agent asks two questions each time. Both call them q1 and q2, as models do.
fn curious(request: &Incoming) -> Reply {
    if request.purpose != Purpose::Clarify {
        return short_reply(request);
    }
    let agent = request.model().trim_start_matches("model-");
    // The questions of earlier passes are in the prompt.
    let times = ["First", "Second", "Third", "Fourth"];
    let time = times.into_iter().find(|time| !request.text().contains(&format!("{time} question of "))).unwrap();
    let question =
        |number: u32| json!({"id": format!("q{number}"), "text": format!("{time} question of {agent}, {number}?")});
    Reply::json(json!({"questions": [question(1), question(2)]}))
}

/// `id question answer`, a line each, in the order of the state.
fn answers(state: &Value) -> Vec<String> {
    let groups = state["clarifications"].as_array().unwrap();
    let items = groups.iter().flat_map(|group| group["items"].as_array().unwrap());
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    items.map(|item| [text(item, "id"), text(item, "question"), text(item, "answer")].join(" ")).collect()
}

/// The last word of each answer.
fn last_words(state: &Value) -> Vec<String> {
    answers(state).iter().map(|answer| answer.split(' ').next_back().unwrap().to_owned()).collect()
}

#[test]
fn questions_are_asked_until_the_limit_and_answers_reach_every_later_prompt() {
    let server = MockServer::with(curious);
    let sandbox = sandbox(&server);
    let input = "alpha\n  beta \n\ndelta\r\nepsilon";
    let finished = sandbox.run_with_input(["debate", "Design a queue", "--clarify", "--quiet"], input).expect_code(0);
    insta::assert_snapshot!(finished.stderr.trim_start().replace(&sandbox.only_debate(), "[id]"), @"
    9 to 11 calls, of unknown cost (no price is known for model-architect and 2 more)

    Each line of input answers a question. An empty line skips it; the end of input skips the rest.

    Question 1 of 4, from The architect (architect):
    First question of architect, 1?

    Question 2 of 4, from The architect (architect):
    First question of architect, 2?

    Question 3 of 4, from The kiss (kiss):
    First question of kiss, 1?

    Question 4 of 4, from The kiss (kiss):
    First question of kiss, 2?

    Follow-up questions on your answers: second pass, 2 of at most 2.

    Follow-up question 5 of 8, from The architect (architect):
    Second question of architect, 1?

    Follow-up question 6 of 8, from The architect (architect):
    Second question of architect, 2?
    Saved debate to ./debates/[id].json
    ");
    let (_, state) = sandbox.only_state();
    server.assert_clean();
    let answers = answers(&state);
    insta::assert_snapshot!(answers.join("\n"), @"
    q1 First question of architect, 1? alpha
    q2 First question of architect, 2? beta
    q5 Second question of architect, 1? epsilon
    q6 Second question of architect, 2? NA
    q3 First question of kiss, 1? NA
    q4 First question of kiss, 2? delta
    q7 Second question of kiss, 1? NA
    q8 Second question of kiss, 2? NA
    ");
    assert_eq!((&state["clarificationIterations"], &state["outcome"]["kind"]), (&json!(2), &json!("full")));
    // Both agents are asked twice, then the debate begins.
    assert_eq!(server.requests().len(), 4 + 7);
    let debate = &server.requests()[4..];
    let questions = answers.iter().map(|answer| &answer[answer.find(' ').unwrap() + 1..=answer.find('?').unwrap()]);
    for said in questions.chain(["alpha", "beta", "delta", "epsilon"]) {
        assert!(debate.iter().all(|request| request.text().contains(said)), "{said}");
    }
}

#[test]
fn agents_to_whom_all_is_clear_ask_nothing() {
    let server = MockServer::with(short_reply);
    let sandbox = sandbox(&server);
    let (finished, state) = sandbox.debated(["debate", "Design a queue", "--clarify"]);
    assert!(!finished.stderr.contains("Question"), "{finished}");
    assert_eq!(server.requests().len(), 2 + 7);
    assert_eq!((&state["clarifications"], &state["clarificationIterations"]), (&json!([]), &json!(1)));
    // Not asked for, not asked.
    let server = MockServer::with(curious);
    self::sandbox(&server).run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn too_many_questions_are_dropped_and_unreadable_ones_skipped() {
    let server = MockServer::with(|request| match (request.purpose, request.model()) {
        (Purpose::Clarify, "model-kiss") => Reply::text("What do you mean?"),
        (Purpose::Clarify, _) => Reply::text(
            r#"Well: {"questions": [{"text": "One?"}, {"id": "x", "text": " Two? "}, {"id": "x", "text": "Three?"}]}"#,
        ),
        _ => short_reply(request),
    });
    let debate =
        json!({"clarificationsMaxIterations": 1, "clarificationsMaxPerAgent": 2, "interactiveClarifications": true});
    let sandbox = two_agents(&server, &debate);
    let finished = sandbox.run_with_input(["debate", "Design a queue", "--quiet"], "1\n2\n3\n").expect_code(0);
    let said = finished.stderr.replace(&sandbox.only_debate(), "[id]");
    assert!(said.contains("warning: agent-architect asked more than 2 questions; dropped 1\n"), "{said}");
    assert!(said.contains("agent-kiss failed in the clarification: the answer could not be read: "), "{said}");
    let state = sandbox.state(&sandbox.only_debate());
    assert_eq!(
        answers(&state).iter().map(|answer| answer.split_once(' ').unwrap().1).collect::<Vec<_>>(),
        ["One? 1", "Two? 2"]
    );
    assert_eq!(state["outcome"]["kind"], "degraded", "what could not be read is on record");
    // Two for the agent that cannot be read, one for the other.
    assert_eq!(server.requests().len(), 3 + 7);
    assert_eq!(sandbox.run(["debate", "Design a queue", "--quiet", "--offline"]).code, Some(0));
}

#[test]
fn in_a_terminal_questions_are_asked_one_by_one() {
    let server = MockServer::with(curious);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue", "--clarify"]);
    for (position, answer) in ["alpha", "beta", "", "delta", "epsilon", "", "eta", ""].into_iter().enumerate() {
        let (kind, total) = if position < 4 { ("Question", 4) } else { ("Follow-up question", 8) };
        if position == 4 {
            terminal.wait_for("Follow-up questions on your answers: second pass, 2 of at most 2.");
        }
        terminal.wait_for(&format!("{kind} {} of {total}", position + 1));
        terminal.wait_for("Answer");
        terminal.type_line(answer);
    }
    terminal.expect_code(0);
    // An agent's questions stand together.
    let (_, state) = sandbox.only_state();
    assert_eq!(last_words(&state), ["alpha", "beta", "epsilon", "NA", "NA", "delta", "eta", "NA"]);
}

#[test]
fn an_interrupt_at_a_question_keeps_the_answers_so_far() {
    let server = MockServer::with(curious);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue", "--clarify"]);
    terminal.wait_for("Question 1 of 4");
    terminal.wait_for("Answer");
    terminal.type_line("alpha");
    terminal.wait_for("Question 2 of 4");
    terminal.wait_for("Answer");
    // What is typed is shown key by key: from here on keys are read, and the terminal is in raw mode.
    terminal.type_text("half an ans");
    terminal.wait_for("half an ans");
    terminal.type_control('c');
    let (_, screen) = terminal.expect_code(130);
    let (id, state) = sandbox.only_state();
    assert!(screen.text().ends_with(&format!("hint: continue with: dialectic resume {id}")), "{}", screen.text());
    assert_eq!(state["status"], "paused");
    assert_eq!(answers(&state)[0], "q1 First question of architect, 1? alpha");
    assert_eq!(server.requests().len(), 2);

    // Only the open questions are asked, under their numbers: three, then four of the second pass.
    let finished = sandbox.run_with_input(["resume", &id, "--quiet"], "beta\ngamma\ndelta\nepsilon\n").expect_code(0);
    assert!(
        finished.stderr.contains("Question 2 of 4, from The architect (architect):\nFirst question of architect, 2?"),
        "{finished}"
    );
    let answers = last_words(&sandbox.state(&id));
    assert_eq!(answers, ["alpha", "beta", "epsilon", "NA", "gamma", "delta", "NA", "NA"]);
    assert_eq!(server.requests().len(), 4 + 7);
}

#[test]
fn after_the_end_of_input_nobody_is_asked_and_no_agent_looks_for_questions() {
    let server = MockServer::with(curious);
    let debate = json!({"clarificationsMaxIterations": 5, "clarificationsMaxPerAgent": 2});
    let sandbox = two_agents(&server, &debate);
    let arguments = ["debate", "Design a queue", "--clarify", "--quiet"];
    let finished = sandbox.run_with_input(arguments, "alpha\n").expect_code(0).says(["Question 2 of 4"]);
    assert!(!finished.stderr.contains("Question 3 of 4") && !finished.stderr.contains("ollow-up"), "{finished}");
    // Both agents are asked for questions once, then the debate.
    assert_eq!(server.requests().len(), 2 + 7);
    assert_eq!(last_words(&sandbox.only_state().1), ["alpha", "NA", "NA", "NA"]);
}

#[test]
fn in_a_terminal_control_d_skips_the_rest_and_typing_can_be_mended() {
    let server = MockServer::with(curious);
    let sandbox = sandbox(&server);
    let mut terminal = Terminal::start(&sandbox, ["debate", "Design a queue", "--clarify"]);
    terminal.wait_for("Question 1 of 4");
    terminal.wait_for("Ctrl-D: skip the rest): ");
    // Back over the last two letters.
    terminal.type_line("alphXY\u{7f}\u{7f}a");
    terminal.wait_for("Question 2 of 4");
    terminal.wait_for("Ctrl-D: skip the rest): ");
    // The earlier answer, followed by more.
    terminal.type_text("\u{1b}[A");
    terminal.wait_for("alpha");
    terminal.type_line(" too");
    terminal.wait_for("Question 3 of 4");
    terminal.wait_for("Ctrl-D: skip the rest): ");
    terminal.type_control('d');
    let (output, _) = terminal.expect_code(0);
    assert!(!output.contains("Question 4 of 4"), "{output:?}");
    let answers = answers(&sandbox.state(&sandbox.only_debate()));
    insta::assert_snapshot!(answers.join("\n"), @"
    q1 First question of architect, 1? alpha
    q2 First question of architect, 2? alpha too
    q3 First question of kiss, 1? NA
    q4 First question of kiss, 2? NA
    ");
    assert_eq!(server.requests().len(), 2 + 7);
}

#[test]
fn what_several_agents_ask_alike_is_asked_once_and_the_answer_goes_to_each() {
    let server = MockServer::with(|request| {
        if request.purpose != Purpose::Clarify || request.text().contains("How many users") {
            return short_reply(request);
        }
        let texts = match request.model() {
            "model-architect" => ["How many users?", "Which database?"],
            _ => ["Which language?", "how many  users"],
        };
        Reply::json(json!({"questions": [{"id": "q1", "text": texts[0]}, {"id": "q2", "text": texts[1]}]}))
    });
    let sandbox = sandbox(&server);
    let arguments = ["debate", "Design a queue", "--clarify", "--quiet"];
    let finished = sandbox.run_with_input(arguments, "a million\nnone\nRust\n").expect_code(0);
    insta::assert_snapshot!(finished.stderr.trim_start().replace(&sandbox.only_debate(), "[id]"), @"
    9 to 11 calls, of unknown cost (no price is known for model-architect and 2 more)

    Each line of input answers a question. An empty line skips it; the end of input skips the rest.

    Question 1 of 3, from The architect (architect) and The kiss (kiss):
    How many users?

    Question 2 of 3, from The architect (architect):
    Which database?

    Question 3 of 3, from The kiss (kiss):
    Which language?
    Saved debate to ./debates/[id].json
    ");
    insta::assert_snapshot!(answers(&sandbox.state(&sandbox.only_debate())).join("\n"), @"
    q1 How many users? a million
    q2 Which database? none
    q3 Which language? Rust
    q4 how many  users a million
    ");
    let report = sandbox.run(["report"]).expect_code(0).stdout;
    assert!(report.contains("Question (q1):\n\n```text\nhow many  users"), "as it was asked: {report}");
}

/// The purposes of the requests, and which passes' answers each prompt has.
fn passes_shown(server: &MockServer) -> Vec<(Purpose, String, Vec<&'static str>)> {
    let shown = |request: &Incoming| {
        ["one", "two", "three"].into_iter().filter(|pass| request.text().contains(&format!("answer {pass}"))).collect()
    };
    server.requests().iter().map(|request| (request.purpose, request.model().to_owned(), shown(request))).collect()
}

/// Every agent is asked in each of three passes, with the answers of all earlier ones, and the debate has them all.
fn assert_three_passes(server: &MockServer) {
    let made = passes_shown(server);
    let every = ["one", "two", "three"];
    for (pass, calls) in made[..6].chunks(2).enumerate() {
        let mut models: Vec<&str> = calls.iter().map(|(_, model, _)| model.as_str()).collect();
        models.sort_unstable();
        assert_eq!(models, ["model-architect", "model-kiss"], "{made:?}");
        assert!(calls.iter().all(|(purpose, _, shown)| *purpose == Purpose::Clarify && shown == &every[..pass]));
    }
    let debate = &made[6..];
    assert_eq!(debate.len(), 7, "{made:?}");
    assert!(debate.iter().all(|(purpose, _, shown)| *purpose != Purpose::Clarify && shown == &every), "{made:?}");
}

const THREE_PASSES: &str = "answer one\nanswer one\nanswer two\nanswer two\nanswer three\nanswer three\n";

#[test]
fn every_agent_is_asked_in_three_passes_through_a_pipe() {
    let server = MockServer::with(curious);
    let sandbox = patient_sandbox(&server);
    // Each asks two, of which one counts.
    let finished =
        sandbox.run_with_input(["debate", "Design a queue", "--clarify", "--quiet"], THREE_PASSES).expect_code(0);
    assert_three_passes(&server);
    for said in [
        "9 to 13 calls",
        "\nQuestion 2 of 2, from The kiss (kiss):\nFirst question of kiss, 1?\n",
        "\nFollow-up questions on your answers: third pass, 3 of at most 3.\n",
        "\nFollow-up question 6 of 6, from The kiss (kiss):\nThird question of kiss, 1?\n",
    ] {
        assert!(finished.stderr.contains(said), "{said}: {finished}");
    }
    let (id, state) = sandbox.only_state();
    assert_eq!(state["clarificationIterations"], 3);
    let passes = |group: usize| {
        let items = state["clarifications"][group]["items"].as_array().unwrap();
        items.iter().map(|item| item["pass"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((passes(0), passes(1)), (vec![1, 2, 3], vec![1, 2, 3]));
    let report = sandbox.run(["report", &id]).expect_code(0).stdout;
    assert!(report.contains("### The kiss (kiss)\nQuestion (q2):\n"), "{report}");
    assert!(report.contains("Question (q4, pass 2):") && report.contains("Question (q6, pass 3):"), "{report}");
    let page = sandbox.run(["report", &id, "--format", "html"]).expect_code(0).stdout;
    assert_eq!((page.matches("Asked in pass 2.").count(), page.matches("Asked in pass 3.").count()), (2, 2));
}

#[test]
fn passes_end_when_nobody_asks_and_who_has_no_question_is_asked_again() {
    // One agent asks in the first pass, the other in the second.
    let server = MockServer::with(|request| {
        let (asker, question) = match request.text() {
            text if text.contains("How deep?") => ("", ""),
            text if text.contains("How wide?") => ("model-kiss", "How deep?"),
            _ => ("model-architect", "How wide?"),
        };
        match request.purpose {
            Purpose::Clarify if request.model() == asker => {
                Reply::json(json!({"questions": [{"id": "q1", "text": question}]}))
            }
            _ => short_reply(request),
        }
    });
    let sandbox = two_agents(&server, &json!({"clarificationsMaxIterations": 9}));
    sandbox.run_with_input(["debate", "Design a queue", "--clarify", "--quiet"], "a mile\nten feet\n").expect_code(0);
    let asked: Vec<_> = server.requests().iter().map(|request| request.purpose == Purpose::Clarify).collect();
    assert_eq!(asked, [[true; 6].as_slice(), &[false; 7]].concat(), "two of each pass, and nobody asks in the third");
    let last = server.requests()[5].text();
    assert!(last.contains("a mile") && last.contains("ten feet"), "{last}");
    assert_eq!(sandbox.state(&sandbox.only_debate())["clarificationIterations"], 3);
}

/// Killed in the middle of each pass: an agent that was asked is not asked again, and no answer is lost.
#[test]
fn a_pass_that_was_cut_by_a_kill_goes_on_where_it_was() {
    let first_of = |pass: usize| ["answer one", "answer two", "answer three"][pass - 1];
    for cut_pass in sample([2_usize, 1, 3], 1) {
        let (server, gate) = MockServer::held(curious, move |request| {
            let times = ["First", "Second", "Third"];
            let pass = 1 + times.iter().filter(|time| request.text().contains(&format!("{time} question of "))).count();
            request.purpose == Purpose::Clarify && request.model() == "model-kiss" && pass == cut_pass
        });
        let sandbox = patient_sandbox(&server);
        let (given, rest) = THREE_PASSES.split_at(THREE_PASSES.find(first_of(cut_pass)).unwrap());
        let mut command = sandbox.command(["debate", "Design a queue", "--clarify", "--quiet"]);
        let mut child =
            command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
        // Its input stays open, as that of a user who thinks.
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, given.as_bytes()).unwrap();
        server.wait_for_requests(2 * cut_pass);
        let asked = || {
            let debates = sandbox.debates();
            let journals = debates.iter().map(|id| sandbox.journal(id));
            journals.flatten().filter(|line| line.contains("\"type\":\"questions-asked\"")).count()
        };
        wait_until("the other agent's questions come", || asked() >= 2 * cut_pass - 1);
        child.kill().unwrap();
        child.wait().unwrap();
        gate.open();
        server.settle();
        let before = server.requests().len();
        assert_eq!(before, 2 * cut_pass);
        sandbox.run_with_input(["resume", &sandbox.only_debate(), "--quiet"], rest).expect_code(0);
        let made = server.requests();
        assert_eq!(made.len(), 6 + 1 + 7, "only the call that was cut is made again");
        assert_eq!((made[before].model(), made[before].purpose), ("model-kiss", Purpose::Clarify));
        let (_, state) = sandbox.only_state();
        assert_eq!((&state["clarificationIterations"], &state["outcome"]["kind"]), (&json!(3), &json!("full")));
        let answers: Vec<String> =
            answers(&state).iter().map(|one| one.split("? ").nth(1).unwrap().to_owned()).collect();
        assert_eq!(answers, ["answer one", "answer two", "answer three"].repeat(2));
    }
}
