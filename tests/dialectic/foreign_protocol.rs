//! What a protocol gets for nothing: the one that the documentation shows, which the program does not know, is run,
//! resumed, forked, forecast, held to a cost limit and shown, through the public API and without a change to the
//! program.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::pitch::PITCHING;
use crate::support::{Incoming, MockServer, Reply, Sandbox, answer, block_on, by_task, sample};
use crate::timing::without_times;
use dialectic_base::price::Price;
use dialectic_engine::access::{Environment, UserSettings};
use dialectic_engine::engine::{RunEnding, forecast};
use dialectic_engine::runner::{Finished, Prepared, Runner, Services, new_debate};
use dialectic_record::debate::{Debate, Gathered, Status};
use dialectic_record::event::Created;
use dialectic_record::ids::DebateId;
use dialectic_record::live::{Follower, Span, Words};
use dialectic_record::settings::{Settings, default_settings, go_offline};
use dialectic_record::store::{Directory, Entry, read_journal};

fn reply(request: &Incoming) -> Reply {
    let assessment = json!({
        "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [], "openQuestions": [],
        "confidence": 70,
    });
    let script = by_task([
        (
            "pitch",
            Reply::json(json!({"idea": format!("A pitch of {}.", request.model()), "days": request.model().len()})),
        ),
        ("vote", Reply::json(json!({"choice": "1", "confidence": 60, "reason": "It is sound."}))),
        ("report", Reply::text(answer("Use what was chosen.", &assessment))),
    ]);
    script(request).usage(100, 0, 10)
}

fn settings() -> Settings {
    let mut settings = default_settings();
    settings.debate.rounds = 2;
    settings.debate.seed = Some(7);
    let price = Price::flat(1.0, None, 1.0);
    for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
        agent.model = format!("model-{}", agent.role);
        settings.prices.insert(agent.model.clone(), price);
    }
    settings
}

fn runner(server: &MockServer, sandbox: &Sandbox) -> Runner {
    let variables = [("OPENAI_API_KEY", "sk-test".to_owned()), ("OPENAI_BASE_URL", server.base_url())];
    let services = Services::new(Environment::from_pairs(variables));
    Runner::new(Directory::at(sandbox.directory().join("debates")), services).with_protocols(&[&PITCHING])
}

fn created(settings: Settings) -> Created {
    new_debate("Name the queue.", &PITCHING, settings)
}

fn run(prepared: Prepared) -> Finished {
    block_on(async { prepared.begin().unwrap().run().wait().await.unwrap() })
}

/// A server, a place for debates, and what runs them there.
fn set_up() -> (MockServer, Sandbox, Runner) {
    let (server, sandbox) = (MockServer::with(reply), Sandbox::new());
    let runner = runner(&server, &sandbox);
    (server, sandbox, runner)
}

/// The same with a debate that was held to its end.
fn debated() -> (MockServer, Sandbox, Runner, Debate) {
    let (server, sandbox, runner) = set_up();
    let finished = run(runner.prepare(created(settings())).unwrap());
    assert_eq!(finished.ending, RunEnding::Completed, "{:?}", finished.debate.error);
    (server, sandbox, runner, finished.debate)
}

fn saved(sandbox: &Sandbox, id: &DebateId) -> Entry {
    Directory::at(sandbox.directory().join("debates")).find(id.as_str()).unwrap()
}

fn state(debate: &Debate) -> Value {
    without_times(&serde_json::to_value(debate).unwrap())
}

#[test]
fn it_makes_the_calls_that_it_declares_in_the_order_of_their_inputs_and_shows_under_its_own_words() {
    let (server, sandbox, _, debate) = debated();
    let tasks: Vec<_> = server.calls().into_iter().map(|(_, task)| task).collect();
    let round = [["pitch"; 3], ["vote"; 3]].concat();
    assert_eq!(tasks, [&round[..], &round, &["report"]].concat());
    let requests = server.requests();
    let pitches = requests.iter().filter(|request| request.task() == "pitch");
    let shown: Vec<usize> = pitches.map(|request| request.prompt().matches("A pitch of").count()).collect();
    assert_eq!(shown, [0, 1, 2, 3, 4, 5], "each knows those before it");
    assert!(!requests[1].prompt().contains("(for)"), "it has no sides");
    assert!(debate.rounds.iter().all(|round| round.contributions.len() == 6));
    let written = requests.last().unwrap();
    let place = |pitch: &str| written.prompt().rfind(pitch).unwrap();
    let votes = |agent: &str| {
        let ballots = debate.rounds[1].contributions.iter().filter(|one| one.stage.as_str() == "show-of-hands");
        ballots
            .filter(|one| one.target_agent_id.as_ref().is_some_and(|id| id.as_str() == format!("agent-{agent}")))
            .count()
    };
    let mut agents = ["architect", "performance", "kiss"];
    agents.sort_by_key(|agent| place(&format!("A pitch of model-{agent}.")));
    let order = |agent: &&str| (votes(agent), std::cmp::Reverse(agent.len()));
    assert!(agents.is_sorted_by_key(order), "those with the most votes last, and of these the quickest");
    let solution = debate.final_solution.as_ref().unwrap();
    assert!(solution.description.starts_with("Use what was chosen.") && solution.confidence == Some(70.0));
    let id = debate.id.as_str();
    sandbox.assert_state_is_the_fold(id);
    sandbox.run(["report", "-d", id]).expect_code(0).prints(["Pitch", "Votes"]);
    sandbox.run(["report", "-d", id, "-o", "page.html"]).expect_code(0);
    let page = sandbox.read("page.html");
    for part in ["A pitch of model-kiss.", " · pitch<", ">Votes", "Use what was chosen."] {
        assert!(page.contains(part), "the page lacks {part}: {page}");
    }
    sandbox.run(["verify", id]).expect_code(0);
    assert!(sandbox.run(["list"]).expect_code(0).stdout.contains("completed"));
}

/// The user's prices, which no record brings.
fn own() -> UserSettings {
    UserSettings { prices: settings().prices, ..UserSettings::default() }
}

#[test]
fn it_is_resumed_from_behind_any_line_of_its_journal() {
    let (server, sandbox, _, whole) = debated();
    let id = whole.id.as_str();
    let journal = sandbox.journal(id);
    let paid = |lines: &[String]| lines.iter().filter(|line| line.contains("\"call\":{")).count();
    for length in sample(1..journal.len(), 6) {
        let place = Sandbox::new().file(format!("debates/{id}.events.jsonl"), journal[..length].join("\n") + "\n");
        let (before, runner) = (server.requests().len(), runner(&server, &place));
        let saved = runner.open(&saved(&place, &whole.id)).unwrap();
        let resumed = run(runner.resume(saved, &own()).unwrap());
        assert_eq!(state(&resumed.debate), state(&whole), "after line {length}: {}", journal[length - 1]);
        let made = server.requests().len() - before;
        assert_eq!(made, paid(&journal) - paid(&journal[..length]), "after line {length}");
    }
}

#[test]
fn it_forks_at_each_of_its_stages() {
    let (server, sandbox, runner, whole) = debated();
    let entry = saved(&sandbox, &whole.id);
    for (at, calls) in [("start", 13), ("1.show-of-hands", 10), ("2.pitch", 7), ("2.show-of-hands", 4), ("2.report", 1)]
    {
        let before = server.requests().len();
        let branch = runner.branch(&entry, &at.parse().unwrap(), &own()).unwrap();
        let mut settings = settings();
        settings.debate.protocol = PITCHING.name.to_owned();
        let forked = run(runner.fork(branch, settings).unwrap()).debate;
        assert_eq!(server.requests().len() - before, calls, "{at}");
        assert_eq!(forked.total_usage().requests, calls as u64, "{at}");
        assert_eq!(forked.final_solution, whole.final_solution, "{at}");
        assert!(forked.rounds.iter().all(|round| round.contributions.len() == 6), "{at}");
    }
    let nowhere = runner.branch(&entry, &"1.critique".parse().unwrap(), &own()).err().unwrap().to_string();
    let said = "makes no calls in the stage `critique`; stages with calls: clarification, pitch, show-of-hands, report";
    assert!(nowhere.ends_with(said), "{nowhere}");
}

#[test]
fn it_is_forecast_to_the_call() {
    let (server, _sandbox, runner) = set_up();
    let prepared = runner.prepare(created(settings())).unwrap();
    let created = prepared.created().unwrap().clone();
    let gathered = Span { low: Gathered::default(), high: Gathered::default() };
    let forecast = forecast(&PITCHING, &created, &BTreeSet::new(), &gathered).unwrap();
    assert!(forecast.calls.iter().all(|call| call.is_certain));
    let foreseen: Vec<_> = forecast.calls.iter().map(|call| call.key.clone()).collect();
    let mut made: Vec<_> = run(prepared).debate.settled.keys().cloned().collect();
    made.sort_by_key(|key| foreseen.iter().position(|known| known == key));
    assert_eq!(made, foreseen);
    assert_eq!(server.requests().len(), foreseen.len());
}

#[test]
fn it_keeps_a_cost_limit() {
    let (server, sandbox, runner) = set_up();
    let limited = |limit: f64| {
        let mut settings = settings();
        settings.debate.budget.max_cost_usd = Some(dialectic_base::money::Usd::from_dollars(limit));
        runner.prepare(created(settings)).unwrap()
    };
    let refused = limited(0.000_1).check_limit().unwrap_err().to_string();
    assert!(refused.contains("does not cover one round"), "{refused}");
    assert!(server.requests().is_empty());
    let prepared = limited(0.30);
    prepared.check_limit().unwrap();
    let finished = run(prepared);
    assert_eq!(finished.ending, RunEnding::Completed);
    let events = sandbox.events(finished.debate.id.as_str());
    let reserved = events.iter().filter(|event| kind(event) == "cost-reserved").count();
    assert_eq!(reserved, 13, "each attempt is set aside for before it is sent");
    assert!(finished.debate.total_cost().unwrap() < dialectic_base::money::Usd::from_dollars(0.30));
}

#[test]
fn whoever_joins_in_round_two_misses_nothing_and_whoever_never_reads_delays_nothing() {
    let (_server, sandbox, runner) = set_up();
    let (finished, seen, joined_behind) = block_on(async {
        let run = runner.start(created(settings())).unwrap();
        // This one never reads while the debate runs.
        let mut asleep = run.follow(Words::Wanted).unwrap();
        let mut early = run.follow(Words::Unwanted).unwrap();
        let mut seen = Vec::new();
        while seen.iter().filter(|event| kind(event) == "round-begun").count() < 2
            || kind(seen.last().unwrap()) != "contributed"
        {
            seen.push(next(&mut early).await.unwrap());
        }
        // This one comes when somebody has spoken in the second round, and is told of everything before.
        let late = run.follow(Words::Unwanted).unwrap();
        let joined_behind = seen.len();
        let collect = |mut follower: Follower, mut seen: Vec<Value>| async move {
            while let Some(event) = next(&mut follower).await {
                seen.push(event);
            }
            seen
        };
        let early = tokio::spawn(collect(early, seen));
        let late = tokio::spawn(collect(late, Vec::new()));
        let finished = run.wait().await.unwrap();
        let mut slept = Vec::new();
        while let Some(event) = next(&mut asleep).await {
            slept.push(event);
        }
        (finished, [early.await.unwrap(), late.await.unwrap(), slept], joined_behind)
    });
    let path = sandbox.directory().join(format!("debates/{}.events.jsonl", finished.debate.id));
    let journal = read_journal(&path).unwrap().events;
    let all: Vec<Value> = journal.iter().map(|recorded| json!(recorded)).collect();
    assert_eq!((finished.ending, finished.debate.current_round), (RunEnding::Completed, 2));
    assert!(joined_behind < all.len(), "the late one came while the debate ran");
    assert!(seen.iter().all(|seen| *seen == all), "{seen:?}");
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap()
}

/// The next event, as it is recorded.
async fn next(follower: &mut Follower) -> Option<Value> {
    loop {
        if let dialectic_record::live::Signal::Recorded(recorded) = &*follower.next().await.unwrap()? {
            return Some(json!(**recorded));
        }
    }
}

/// The reason of the kind's own check reaches the model, and the answer is recorded as its values.
#[test]
fn an_answer_that_its_own_kind_refuses_is_requested_once_more() {
    let server = MockServer::with(|request: &Incoming| {
        let is_second = request.text().contains("`days` must be above 0");
        if request.task() == "pitch" && request.model() == "model-kiss" && !is_second {
            return Reply::json(json!({"idea": "A pitch for nothing.", "days": 0}));
        }
        reply(request)
    });
    let sandbox = Sandbox::new();
    let debate = run(runner(&server, &sandbox).prepare(created(settings())).unwrap()).debate;
    assert_eq!((server.requests().len(), &debate.failures[..]), (13 + 2, &[][..]));
    for (_, one) in debate.contributions().filter(|(_, one)| one.stage.as_str() == "pitch") {
        let days = &one.reading.as_ref().unwrap().json.as_ref().unwrap()["days"];
        assert_ne!(*days, 0);
        assert!(one.content.ends_with(&format!("\n\nDays to build: {days}")), "{}", one.content);
    }
}

#[test]
fn it_closes_with_the_pitches_that_there_are_when_it_is_stopped() {
    let (server, _sandbox, runner) = set_up();
    let finished = block_on(async {
        let run = runner.start(created(settings())).unwrap();
        let mut events = run.follow(Words::Unwanted).unwrap();
        while kind(&next(&mut events).await.unwrap()) != "contributed" {}
        run.stop();
        run.wait().await.unwrap()
    });
    assert_eq!(finished.ending, RunEnding::Completed, "{:?}", finished.debate.error);
    let tasks: Vec<_> = server.calls().into_iter().map(|(_, task)| task).collect();
    assert!(tasks.len() < 5 && tasks.last().unwrap() == "report", "{tasks:?}");
    assert!(tasks.iter().filter(|task| *task != "pitch").count() == 1, "{tasks:?}");
    assert!(server.requests().last().unwrap().prompt().contains("A pitch of"));
    assert!(finished.debate.final_solution.is_some());
}

#[test]
fn nobody_votes_where_nothing_was_pitched() {
    let server = MockServer::with(by_task([("pitch", Reply::text("no").status(400))]));
    let sandbox = Sandbox::new();
    let finished = run(runner(&server, &sandbox).prepare(created(settings())).unwrap());
    assert_eq!(finished.ending, RunEnding::Failed);
    assert!(server.calls().into_iter().all(|(_, task)| task == "pitch"), "{:?}", server.calls());
}

/// With agents that ask a question each time.
fn curious() -> (MockServer, Sandbox, Runner, Settings) {
    let question = json!({"questions": [{"id": "q1", "text": "How fast?"}]});
    let script = move |request: &Incoming| {
        if request.task() == "clarify" { Reply::json(question.clone()).usage(100, 0, 10) } else { reply(request) }
    };
    let mut settings = settings();
    settings.debate.rounds = 1;
    settings.debate.interactive_clarifications = true;
    settings.debate.clarifications_max_iterations = 3;
    let (server, sandbox) = (MockServer::with(script), Sandbox::new());
    let runner = runner(&server, &sandbox);
    (server, sandbox, runner, settings)
}

#[test]
fn nobody_asks_again_when_the_questions_are_ended_behind_the_last_answer() {
    let (server, _sandbox, runner, settings) = curious();
    let finished = block_on(async {
        let mut run = runner.start(created(settings)).unwrap();
        let waiting = run.questions().await.unwrap();
        let open = waiting.open_questions().map(|(group, item)| (group.agent_id.clone(), item.id.clone()));
        for (agent, question) in open {
            run.answer(None, agent.clone(), question.clone(), "fast".to_owned());
            // The first answer counts, and a question that nobody asked is none.
            run.answer(None, agent.clone(), question, "slow".to_owned());
            run.answer(None, agent, "q99".to_owned(), "what?".to_owned());
        }
        run.end_questions(None);
        assert!(run.questions().await.is_none());
        run.wait().await.unwrap()
    });
    assert_eq!(finished.ending, RunEnding::Completed, "{:?}", finished.debate.error);
    let asked = server.calls().into_iter().filter(|(_, task)| task == "clarify").count();
    assert_eq!(asked, 3, "each agent once");
    let groups = finished.debate.clarifications.unwrap();
    let answers: Vec<_> = groups.iter().flat_map(|group| &group.items).map(|item| item.answer.as_str()).collect();
    assert_eq!(answers, ["fast"; 3]);
}

#[test]
fn questions_that_are_under_way_when_they_are_ended_are_not_waited_for_by_anybody() {
    let (_server, sandbox, runner, settings) = curious();
    let finished = block_on(async {
        let mut run = runner.start(created(settings)).unwrap();
        run.end_questions(None);
        assert!(run.questions().await.is_none());
        run.wait().await.unwrap()
    });
    assert_eq!(finished.ending, RunEnding::Completed, "{:?}", finished.debate.error);
    assert!(finished.debate.open_questions().next().is_none());
    sandbox.assert_state_is_the_fold(finished.debate.id.as_str());
}

#[test]
fn whoever_waits_for_a_run_that_waits_for_answers_gets_it_paused() {
    let (_server, _sandbox, runner, settings) = curious();
    let finished = run(runner.prepare(created(settings)).unwrap());
    assert_eq!((finished.ending, finished.debate.open_questions().count()), (RunEnding::Paused, 3));
}

#[test]
fn it_runs_offline_like_any_of_the_programs_own() {
    let sandbox = Sandbox::new();
    let directory = Directory::at(sandbox.directory().join("debates"));
    let runner = Runner::new(directory, Services::new(Environment::default())).with_protocols(&[&PITCHING]);
    let mut settings = settings();
    settings.agents.iter_mut().chain([&mut settings.judge]).for_each(go_offline);
    let debate =
        run(runner.prepare(new_debate("Design a queue. It must be fast.", &PITCHING, settings)).unwrap()).debate;
    assert_eq!((debate.status, debate.settled.len()), (Status::Completed, 2 * 3 * 2 + 1));
    assert_eq!(debate.total_usage().requests, 2 * 3 * 2 + 1, "each answer is what was asked for");
    let said = debate.contributions().map(|(_, one)| format!("{} of {}", one.stage, one.agent_id));
    let round = ["pitch", "show-of-hands"]
        .map(|stage| ["architect", "performance", "kiss"].map(|agent| format!("{stage} of agent-{agent}")));
    assert_eq!(said.collect::<Vec<_>>(), [round.concat(), round.concat()].concat());
    assert!(debate.final_solution.is_some());
}
