//! The result of each recording.

use futures_util::future::join_all;

use super::*;
use crate::Timeouts;

/// A program that prints a recording and exits as its name says.
fn replaying(recording: &str) -> Stage {
    let code = recording.split(".exit").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or("0");
    Stage::new(&format!("cat > /dev/null\ncat \"$RECORDINGS/{recording}\"\nexit {code}"))
}

fn tokens(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> Tokens {
    Tokens { input_tokens, cached_input_tokens, output_tokens, ..Tokens::default() }
}

#[tokio::test]
async fn every_recording_of_an_answer_has_its_text_and_its_figures() {
    for (program, recording, pieces, served, cost, word) in [
        ("claude", "claude-2.1.197-stream-ok.jsonl", 2, Some("claude-sonnet-4-6"), Some(0.00195), None),
        ("claude", "claude-2.1.197-ok.json", 0, Some("claude-sonnet-4-6"), Some(0.00195), None),
        ("codex", "codex-0.169.0-ok.jsonl", 1, None, None, None),
        ("codex", "codex-0.169.0-output-schema.jsonl", 1, None, None, None),
    ] {
        let (answer, words) = replaying(recording).ask(program).await;
        let reply = answer.unwrap_or_else(|failed| panic!("{recording}: {failed}"));
        assert_eq!(reply.text, "Use a queue.", "{recording}");
        assert_eq!((words.len(), reply.finish), (pieces, FinishReason::Complete), "{recording}");
        assert_eq!((reply.served_model.as_deref(), reply.finish_word.as_deref()), (served, word), "{recording}");
        assert_eq!(reply.tokens, Some(tokens(1200, 1000, 70)), "{recording}");
        assert_eq!(reply.stated_cost, cost.map(Usd::from_dollars), "{recording}");
    }
}

#[tokio::test]
async fn every_recording_of_a_failure_says_why() {
    for (program, recording, kind, part) in [
        ("claude", "claude-2.1.197-not-logged-in.exit1.json", "logged-out", "Not logged in · Please run /login"),
        ("codex", "codex-0.169.0-auth-missing.exit1.jsonl", "logged-out", "Missing environment variable: `MOCK_KEY`."),
    ] {
        let failed = replaying(recording).ask(program).await.0.unwrap_err();
        assert_eq!(failed.error.kind(), kind, "{recording}: {failed}");
        assert!(failed.to_string().contains(part), "{recording}: {failed}");
        assert_eq!(failed.usage.tokens, None, "what took no tokens says none: {recording}");
    }
}

/// Programs write in arbitrary pieces, and also write to standard error.
#[tokio::test]
async fn words_are_heard_as_they_come_however_they_are_cut() {
    let stage = Stage::new(
        "cat > /dev/null\nyes 'a warning of many words' | head -n 20000 >&2\nfor part in '{\"type\":\"stream_event\",\
         \"event\":{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Use' ' a \"}}}\n' \
         'no JSON\n{\"type\":\"unknown\"}\n'; do printf \"$part\"; sleep 0.1; done\n\
         grep -v '^{\"type\":\"stream_event\"' \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"",
    );
    let (answer, words) = stage.ask("claude").await;
    assert_eq!(answer.unwrap().text, "Use a queue.");
    assert_eq!(words, ["Use a "]);
}

#[tokio::test]
async fn a_program_that_goes_silent_after_its_first_text_is_ended_with_all_that_it_started() {
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"Use"}}}"#;
    let stage = Stage::new(&format!(
        "[ \"$1\" = auth ] && exit\nsleep 60 & echo $! > \"$KEPT/pid\"\nsleep 0.6\necho '{delta}'\nsleep 60"
    ));
    let begun = Instant::now();
    let (answer, words) = stage.ask("claude").await;
    let failed = answer.unwrap_err();
    // The caller limits the silence before the first text, since some programs print nothing until the end.
    assert_eq!((words, failed.error.kind()), (vec!["Use".to_owned()], "broken"), "{failed}");
    assert!(failed.may_be_billed && begun.elapsed() < Duration::from_secs(10));
    stage.is_ended().await;
}

#[tokio::test]
async fn dropping_a_call_ends_the_program_and_removes_its_directory() {
    let stage =
        Stage::new("[ \"$1\" = login ] && exit\npwd > \"$KEPT/where\"\nsleep 60 & echo $! > \"$KEPT/pid\"\nsleep 60");
    let model = CommandModel::new(stage.program("codex"));
    let request = request("What now?");
    let mut asked = Box::pin(ask(&model, &request));
    while stage.kept("pid").is_empty() {
        tokio::time::timeout(Duration::from_millis(10), &mut asked).await.unwrap_err();
    }
    drop(asked);
    let place = stage.kept("where");
    assert!(place.trim().ends_with("/work") && !Path::new(place.trim()).exists(), "{place}");
    stage.is_ended().await;
}

#[tokio::test]
async fn a_program_that_dies_or_is_refused_says_so() {
    for (script, kind, part) in [
        ("echo 'Segmentation fault' >&2; exit 139", "program-failed", "Segmentation fault"),
        ("exit 3", "program-failed", "it exited with code 3"),
        ("kill -9 $$", "program-failed", "it was killed by a signal"),
        ("echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"no\",\"api_error_status\":404}'", "refused", "no"),
        (
            "echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"no\",\"api_error_status\":529}'",
            "server-failed",
            "no",
        ),
    ] {
        let failed = Stage::new(&format!("cat > /dev/null\n{script}")).ask("claude").await.0.unwrap_err();
        assert_eq!(failed.error.kind(), kind, "{script}: {failed}");
        assert!(failed.to_string().contains(part), "{script}: {failed}");
    }
    // Cut off before the end of the answer, so it may have been billed.
    for (name, lines, recording) in
        [("claude", 6, "claude-2.1.197-stream-ok.jsonl"), ("codex", 4, "codex-0.169.0-ok.jsonl")]
    {
        let stage = Stage::new(&format!("cat > /dev/null\nhead -n {lines} \"$RECORDINGS/{recording}\""));
        let (answer, words) = stage.ask(name).await;
        let failed = answer.unwrap_err();
        assert_eq!((failed.error.kind(), failed.usage.tokens, failed.may_be_billed), ("broken", None, true), "{name}");
        assert_eq!(words.concat(), "Use a queue.", "{name}");
    }
    // Output without a finish reason is recorded as such.
    let script = "cat > /dev/null\nsed 's/\"stop_reason\":\"end_turn\",//' \"$RECORDINGS/claude-2.1.197-ok.json\"";
    assert_eq!(Stage::new(script).ask("claude").await.0.unwrap().finish_word.as_deref(), Some("not said"));
}

#[tokio::test]
async fn cut_and_refused_answers_are_marked() {
    let recording = recordings().join("claude-2.1.197-stream-ok.jsonl");
    for (word, finish) in [("max_tokens", FinishReason::Length), ("refusal", FinishReason::Filtered)] {
        let script = format!("sed 's/\"end_turn\"/\"{word}\"/' {}", recording.display());
        let reply = Stage::new(&script).ask("claude").await.0.unwrap();
        assert_eq!((reply.finish, reply.text.as_str()), (finish, "Use a queue."), "{word}");
        assert_eq!(reply.tokens, Some(tokens(1200, 1000, 70)), "{word}");
    }
}

#[tokio::test]
async fn a_reached_limit_says_when_it_goes_on_and_the_program_is_left_alone_until_then() {
    let until = Utc::now().timestamp() + 3600;
    let claude = format!(
        "cat > /dev/null\necho '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"rejected\",\
         \"resetsAt\":{until}}}}}'\necho '{{\"type\":\"result\",\"is_error\":true,\"result\":\"out of it\"}}'; exit 1"
    );
    let codex = "cat > /dev/null\necho '{\"type\":\"turn.failed\",\"error\":{\"message\":\"You have hit your usage \
                 limit. Or try again in 1 hour.\"}}'; exit 1";
    for (name, script) in [("claude", claude.as_str()), ("codex", codex)] {
        let stage = Stage::new(script);
        let model = CommandModel::new(stage.program(name));
        assert_eq!(model.reach().await, Ok(()));
        let failed = ask(&model, &request("What now?")).await.0.unwrap_err();
        let ModelError::UsageLimit { until: Some(told), .. } = &failed.error else { panic!("{failed}") };
        assert!((told.timestamp() - until).abs() < 60, "{told}");
        assert!(failed.error.is_server_gone() && !failed.error.is_transient() && !failed.may_be_billed);
        assert_eq!(model.reach().await.unwrap_err().kind(), "usage-limit");
    }
}

/// Whether a program's costs are notional, as known after a call.
async fn is_notional(stage: &Stage, name: &str) -> bool {
    let model = CommandModel::new(stage.program(name));
    ask(&model, &request("What now?")).await.0.unwrap();
    model.is_notional()
}

#[tokio::test]
async fn what_a_subscription_answers_is_notional() {
    let claude = "case \"$1\" in auth) echo '{\"loggedIn\":true,\"authMethod\":\"claude.ai\",\"subscriptionType\":\
                  \"max\"}';; *) cat > /dev/null; \
                  sed s/ANTHROPIC_API_KEY/none/ \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\";; esac";
    let codex = "case \"$1\" in login) echo 'Logged in using ChatGPT' >&2;; *) cat > /dev/null; \
                 cat \"$RECORDINGS/codex-0.169.0-ok.jsonl\";; esac";
    for (name, script) in [("claude", claude), ("codex", codex)] {
        assert!(is_notional(&Stage::new(script), name).await, "{name}");
    }
    let console = claude.replace("claude.ai", "console").replace("max", "");
    assert!(!is_notional(&Stage::new(&console), "claude").await);
}

#[tokio::test]
async fn the_output_of_a_program_of_ones_own_is_the_answer() {
    let stage = Stage::new("cat > \"$KEPT/input\"; echo \"$@\" > \"$KEPT/arguments\"\nprintf 'Use\\na queue.\\n'");
    let mut program = stage.program("mine");
    program.leading = vec!["--model={model}".to_owned()];
    let request = Request { max_tokens: Some(77), ..request("/cost") };
    let (answer, words) = ask(&CommandModel::new(program), &request).await;
    let reply = answer.unwrap();
    assert_eq!((reply.text.as_str(), reply.tokens, reply.stated_cost), ("Use\na queue.", None, None));
    assert_eq!(words, ["Use", "\na queue."]);
    assert_eq!(stage.kept("arguments").trim(), "--model=a-model");
    assert_eq!(stage.kept("input"), "Answer what follows.\n\nYou are terse.\n\n/cost");
}

#[tokio::test]
async fn a_second_chance_is_part_of_the_text() {
    let stage = Stage::new("cat > \"$KEPT/input\"; cat \"$RECORDINGS/codex-0.169.0-ok.jsonl\"");
    let turns = vec![
        Turn::Assistant { text: "Maybe.".to_owned(), calls: Vec::new(), message: None },
        Turn::User("That is no JSON.".to_owned()),
    ];
    let model = CommandModel::new(stage.program("codex"));
    ask(&model, &Request { turns, ..request("What now?") }).await.0.unwrap();
    insta::assert_snapshot!(stage.kept("input"), @r"
    Answer what follows.

    What now?

    # Your answer so far

    Maybe.

    # On that answer

    That is no JSON.
    ");
}

#[tokio::test]
async fn a_program_that_has_said_all_and_does_not_end_has_answered() {
    let stage = Stage::new(
        "[ \"$1\" = auth ] && exit\ncat > /dev/null\ncat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\"\nsleep 60",
    );
    let begun = Instant::now();
    let (answer, _) = stage.ask("claude").await;
    assert!(!answer.unwrap().text.is_empty() && begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_text_is_whole_only_if_its_program_ends_by_itself() {
    for (script, is_whole) in [
        ("cat > /dev/null\necho 'The whole text.'", true),
        ("cat > /dev/null\necho 'A part of it'\nexec >&- 2>&-\nsleep 60", false),
    ] {
        let stage = Stage::new(script);
        let (answer, _) = ask(&CommandModel::new(stage.program("mine")), &request("What now?")).await;
        assert_eq!(answer.is_ok(), is_whole, "{script}: {answer:?}");
    }
}

#[tokio::test]
async fn figures_of_nothing_are_unknown() {
    let said = "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Yes.\"}}\n\
                {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":0,\"cached_input_tokens\":0,\"output_tokens\":0}}";
    let stage = Stage::new(&format!("case \"$1\" in login) exit;; esac\ncat > /dev/null\ncat <<'END'\n{said}\nEND"));
    let reply = stage.ask("codex").await.0.unwrap();
    assert_eq!((reply.text.as_str(), reply.tokens), ("Yes.", None));
}

#[tokio::test]
async fn what_is_paid_beside_a_subscription_is_real() {
    let info = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","isUsingOverage":true}}"#;
    let script = format!(
        "case \"$1\" in auth) echo '{{\"loggedIn\":true,\"authMethod\":\"claude.ai\",\"subscriptionType\":\"max\"}}';; \
         *) cat > /dev/null; echo '{info}'; cat \"$RECORDINGS/claude-2.1.197-stream-ok.jsonl\";; esac"
    );
    assert!(
        !is_notional(&Stage::new(&script.replace("cat \"$R", "sed s/ANTHROPIC_API_KEY/none/ \"$R")), "claude").await
    );
    // What it reports about its key also counts.
    let keyed = script.replace("isUsingOverage\":true", "isUsingOverage\":false");
    assert!(!is_notional(&Stage::new(&keyed), "claude").await);
}

/// Two debates in one process are separate callers that share the program.
#[tokio::test]
async fn no_more_than_two_of_a_program_run_at_once_however_many_debates_call_it() {
    let stage = Stage::new(
        "cat > /dev/null\necho + >> \"$KEPT/calls\"\nleft=3000\n\
         while [ $(grep -c + \"$KEPT/calls\") -lt 2 ] && [ $left -gt 0 ]; do sleep 0.01; left=$((left-1)); done\n\
         sleep 0.15\necho - >> \"$KEPT/calls\"\necho 'Use a queue.'",
    );
    let timeouts = Timeouts { first_token: IDLE, idle: IDLE };
    let caller = || {
        let chat = CommandModel::new(stage.program("mine"));
        fixture::caller(Arc::new(chat), timeouts, 0)
    };
    let (one, other, what) = (caller(), caller(), request("What now?"));
    let calls = [&one, &other].into_iter().flat_map(|caller| [(); 3].map(|()| caller.call(&what)));
    for answered in join_all(calls).await {
        answered.unwrap();
    }
    let running = stage.kept("calls").lines().map(|line| if line == "+" { 1 } else { -1 }).collect::<Vec<i32>>();
    let most = running.iter().scan(0, |sum, one| {
        *sum += one;
        Some(*sum)
    });
    assert_eq!(most.max(), Some(2));
}
