use std::fs;
use std::thread;

use serde_json::{Value, json};

use dialectic_engine::runner::DebateHistory as _;
use dialectic_record::ids::{AgentId, ResultKind, StageId, StageInfo};
use dialectic_record::settings::{AgentSettings, default_settings};

use super::*;

/// A directory with debates of the arena.
struct Debates {
    keep: tempfile::TempDir,
}

/// An agent's model, the judge's score, the agent's vote and its confidence.
type Entrant<'a> = (&'a str, f64, &'a str, f64);

impl Debates {
    fn new() -> Self {
        Self { keep: tempfile::tempdir().unwrap() }
    }

    fn directory(&self) -> Directory {
        Directory::at(self.keep.path())
    }

    fn archive(&self) -> Archive {
        let mut archive = Archive::open(&self.directory()).unwrap();
        archive.update().unwrap();
        archive
    }

    fn write(&self, id: &str, debate: &Value) {
        self.replace(id, &debate.to_string());
    }

    /// Replaces the file, as the program does when it saves.
    fn replace(&self, id: &str, text: &str) {
        let fresh = self.keep.path().join(format!(".{id}.new"));
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, self.keep.path().join(format!("{id}.json"))).unwrap();
    }

    fn remove(&self, id: &str) {
        fs::remove_file(self.keep.path().join(format!("{id}.json"))).unwrap();
    }

    fn contest(&self, id: &str, day: u32, winner: &str, entrants: &[Entrant<'_>]) {
        let mut debate = debate(id, "Where do we keep sessions?", "In Postgres.");
        debate["updatedAt"] = json!(format!("2026-01-{day:02}T00:00:00.000Z"));
        debate["settings"]["agents"] = entrants.iter().map(|(model, ..)| agent(model, "openai")).collect();
        let scores: serde_json::Map<String, Value> =
            entrants.iter().map(|(model, score, ..)| ((*model).to_owned(), json!(score))).collect();
        debate["verdict"] = json!({ "winner": winner, "scores": scores, "criteria": {}, "reasoning": "" });
        let ballots: Vec<Value> = entrants
            .iter()
            .map(|(voter, _, candidate, confidence)| {
                json!({
                    "agentId": voter, "agentRole": "architect", "type": "vote", "content": "it is simpler",
                    "targetAgentId": candidate, "metadata": { "confidence": confidence },
                })
            })
            .collect();
        debate["rounds"] = json!([{ "roundNumber": 1, "contributions": ballots }]);
        self.write(id, &debate);
    }

    /// Four debates whose ratings `four_debates_come_to_what_they_do_by_hand` computes by hand.
    fn four(&self) {
        self.contest("one", 1, "a", &[("a", 80.0, "a", 90.0), ("b", 70.0, "a", 60.0), ("c", 60.0, "c", 70.0)]);
        self.contest("two", 2, "b", &[("a", 75.0, "b", 80.0), ("b", 75.0, "b", 50.0), ("c", 50.0, "b", 100.0)]);
        self.contest("three", 3, "b", &[("b", 90.0, "b", 90.0), ("c", 85.0, "b", 20.0)]);
        self.contest("four", 4, "c", &[("a", 60.0, "b", 40.0), ("b", 55.0, "c", 80.0), ("c", 88.0, "c", 100.0)]);
    }
}

fn agent(model: &str, provider: &str) -> Value {
    let (id, name, model) = (AgentId::new(model), model.to_owned(), model.to_owned());
    json!(AgentSettings { id, name, model, provider: provider.to_owned(), ..default_settings().judge })
}

fn debate(id: &str, problem: &str, solution: &str) -> Value {
    let vote = StageInfo::new(StageId::new("vote"), ["vote", "votes", "voting", "votes", "voted", "vote"]);
    let mut settings = json!(default_settings());
    (settings["agents"], settings["judge"]) = (json!([agent("a", "openai")]), agent("judge", "openai"));
    settings["debate"]["protocol"] = json!("arena");
    json!({
        "id": id, "problem": problem, "status": "completed", "rounds": [],
        "finalSolution": { "description": solution, "tradeoffs": [], "recommendations": [], "confidence": 80 },
        "stages": [vote.yielding(ResultKind::Ballot).in_round()], "settings": settings,
        "updatedAt": "2026-01-01T00:00:00.000Z",
    })
}

/// A debate of a better and a worse agent.
fn won(id: &str, providers: [&str; 2]) -> Value {
    let mut debate = debate(id, "Which queue?", "A log.");
    debate["settings"]["agents"] = json!([agent("a", providers[0]), agent("b", providers[1])]);
    debate["verdict"] = json!({ "winner": "a", "scores": { "a": 80, "b": 20 }, "criteria": {}, "reasoning": "" });
    debate
}

fn figures(archive: &Archive) -> Vec<(String, f64, u32, Option<f64>)> {
    let mut figures: Vec<_> = archive.ratings().unwrap().into_iter().collect();
    figures.sort_by(|one, other| one.player.cmp(&other.player));
    figures.into_iter().map(|one| (one.player.model, one.rating, one.debates, one.calibration)).collect()
}

fn assert_four(archive: &Archive) {
    let found = figures(archive);
    // Computed independently from the formulas.
    let expected = [
        ("a", 1_521.335_120_514_096_2, 3, (0.1 + 0.2 + 0.4) / 3.0),
        ("b", 1_504.700_650_423_112_2, 4, (0.4 + 0.5 + 0.1 + 0.2) / 4.0),
        ("c", 1_473.964_229_062_791_7, 4, (0.7 + 0.0 + 0.8 + 0.0) / 4.0),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((model, rating, debates, calibration), expected) in found.iter().zip(expected) {
        assert_eq!((model.as_str(), *debates), (expected.0, expected.2));
        assert!((rating - expected.1).abs() < 1e-9, "{model}: {rating}");
        assert!((calibration.unwrap() - expected.3).abs() < 1e-12, "{model}: {calibration:?}");
    }
}

#[test]
fn four_debates_come_to_what_they_do_by_hand() {
    let debates = Debates::new();
    debates.four();
    let archive = debates.archive();
    assert_four(&archive);
    assert_eq!(archive.debates_counted().unwrap(), 4);
    assert_eq!(archive.ratings().unwrap()[0].player.model, "a", "the best first");
}

#[test]
fn a_debate_counts_once_whatever_becomes_of_its_files() {
    let debates = Debates::new();
    debates.four();
    let mut archive = debates.archive();
    assert_eq!(archive.update().unwrap(), 0);
    let path = |name: &str| debates.keep.path().join(format!("{name}.json"));
    fs::copy(path("one"), path("copy-of-one")).unwrap();
    debates.replace("two", &(fs::read_to_string(path("two")).unwrap() + "\n"));
    assert_eq!(archive.update().unwrap(), 2);
    assert_four(&archive);
    debates.remove("three");
    archive.update().unwrap();
    assert_four(&archive);
}

#[cfg(unix)]
#[test]
fn a_directory_that_has_not_changed_for_a_while_is_not_looked_through_again() {
    let debates = Debates::new();
    debates.four();
    let mut archive = debates.archive();
    let changed = |at: SystemTime| fs::File::open(debates.keep.path()).unwrap().set_modified(at).unwrap();
    let hour = Duration::from_hours(1);
    let touch = || {
        let path = debates.keep.path().join("two.json");
        fs::write(&path, fs::read_to_string(&path).unwrap() + "\n").unwrap();
    };
    changed(SystemTime::now() - hour);
    archive.update().unwrap();
    // No program saves like this, so only skipping the directory can miss it.
    touch();
    assert_eq!(archive.update().unwrap(), 0);
    // A recent change may have been followed by another with the same timestamp.
    changed(SystemTime::now() + hour);
    assert_eq!(archive.update().unwrap(), 1);
    touch();
    assert_eq!(archive.update().unwrap(), 1);
    changed(SystemTime::now() - hour);
    archive.update().unwrap();
    debates.remove("three");
    assert_eq!(archive.update().unwrap(), 1);
    assert_four(&archive);
}

#[test]
fn it_does_not_matter_which_debate_is_taken_in_first() {
    let debates = Debates::new();
    debates.contest("four", 4, "c", &[("a", 60.0, "b", 40.0), ("b", 55.0, "c", 80.0), ("c", 88.0, "c", 100.0)]);
    let mut archive = debates.archive();
    debates.four();
    archive.update().unwrap();
    assert_four(&archive);
}

#[test]
fn programs_that_look_at_once_lose_nothing() {
    let debates = Debates::new();
    debates.four();
    for number in 0..300 {
        debates.write(&format!("more-{number}"), &debate(&format!("more-{number}"), "Which queue?", "A log."));
    }
    let directory = debates.directory();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Archive::open(&directory).unwrap().update().unwrap());
        }
    });
    let archive = Archive::open(&directory).unwrap();
    assert_four(&archive);
    assert_eq!(archive.memories().unwrap(), 304);
}

#[test]
fn only_the_arena_rates_and_only_debates_that_are_over() {
    let debates = Debates::new();
    let mut running = debate("running", "Which queue?", "A log.");
    running["status"] = json!("running");
    debates.write("running", &running);
    let mut oxford = won("oxford", ["openai"; 2]);
    oxford["settings"]["debate"]["protocol"] = json!("oxford");
    debates.write("oxford", &oxford);
    let archive = debates.archive();
    assert!(archive.ratings().unwrap().is_empty());
    assert_eq!(archive.memories().unwrap(), 1, "the one that is over");
}

#[test]
fn who_calls_no_model_is_not_rated_as_one() {
    let debates = Debates::new();
    debates.write("rehearsal", &won("rehearsal", ["offline", "openai"]));
    let models: Vec<String> = figures(&debates.archive()).into_iter().map(|(model, ..)| model).collect();
    assert_eq!(models, ["b", "offline"]);
}

fn subjects(archive: &Archive, subject: &str) -> Vec<String> {
    archive.search(subject, false, 5).unwrap().into_iter().map(|one| one.debate).collect()
}

#[test]
fn what_was_decided_is_found_by_its_subject_and_by_its_words() {
    let debates = Debates::new();
    debates.write("sessions", &debate("sessions", "Where do we store user sessions?", "In Postgres, behind a cache."));
    debates.write("queue", &debate("queue", "Which queue carries the nightly export?", "A partitioned log."));
    let mut dry = debate("dry", "Where do we store sessions of users?", "Nowhere.");
    dry["settings"]["agents"] = json!([agent("a", "offline")]);
    dry["settings"]["judge"] = agent("judge", "offline");
    debates.write("dry", &dry);
    let mut archive = debates.archive();
    let subject = "We have to store the sessions of our users somewhere. What is the best place?";
    assert_eq!(subjects(&archive, subject), ["sessions"], "no rehearsal");
    assert!(subjects(&archive, "Which user interface do we want?").is_empty());
    let found = archive.search(subject, true, 5).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|one| one.decision.starts_with("In Postgres")), "{found:?}");
    let files = |archive: &Archive, text: &str| {
        let mut files: Vec<String> = archive.files_with(text).unwrap().into_iter().collect();
        files.sort();
        files
    };
    assert_eq!(files(&archive, "session"), ["dry.json", "sessions.json"], "by its stem");
    assert_eq!(files(&archive, "a session in POSTGRES"), ["sessions.json"], "all of its words");
    assert_eq!(files(&archive, "exporting nightly"), ["queue.json"]);
    assert!(files(&archive, "of the").is_empty());
    debates.remove("sessions");
    archive.update().unwrap();
    assert_eq!(files(&archive, "session"), ["dry.json"]);
    assert!(subjects(&archive, subject).is_empty());
}

#[test]
fn a_new_debate_is_told_how_its_agents_did_and_what_was_decided() {
    let debates = Debates::new();
    debates.four();
    let problem = "Where do we keep the sessions of our users?";
    let mut before = debate("sessions", problem, &"In Postgres. ".repeat(400));
    before["finalSolution"]["openQuestions"] = json!(["How long do they live?"]);
    debates.write("sessions", &before);
    let mut rehearsal = debate("rehearsal", problem, "Nowhere.");
    for agent in ["/settings/agents/0", "/settings/judge"] {
        rehearsal.pointer_mut(agent).unwrap()["provider"] = json!("offline");
    }
    debates.write("rehearsal", &rehearsal);
    let agents: Vec<AgentSettings> =
        ["c", "unknown"].map(|model| serde_json::from_value(agent(model, "openai")).unwrap()).into();
    let past = PastDebates::of(&debates.directory());
    let standings = past.standings(&agents).unwrap();
    assert_eq!(standings.debates, 4);
    let [known] = standings.agents.as_slice() else { panic!("{standings:?}") };
    assert_eq!((known.agent_id.as_str(), known.debates), ("c", 4));
    let mut settings: Settings = serde_json::from_value(before["settings"].clone()).unwrap();
    assert!(past.material(problem, &settings).unwrap().is_empty(), "it is not to be told");
    settings.debate.memory = true;
    let material =
        past.material("Users complain that sessions get lost. Where should we keep them?", &settings).unwrap();
    assert!(!material.iter().any(|one| one.text.contains("Nowhere.")), "a rehearsal decided it: {material:?}");
    let told = &material[0];
    assert!(told.name.contains("sessions of 2026-01-01"), "{told:?}");
    assert!(told.cut && told.text.contains("Decision:\nIn Postgres."), "{told:?}");
    assert!(told.text.contains("Open: How long do they live?"), "{told:?}");
}

#[test]
fn files_that_are_no_debates_are_passed_over() {
    let debates = Debates::new();
    debates.four();
    fs::write(debates.keep.path().join("broken.json"), "{").unwrap();
    fs::create_dir(debates.keep.path().join("folder.json")).unwrap();
    let archive = debates.archive();
    assert_four(&archive);
    assert_eq!(archive.memories().unwrap(), 4);
}

#[test]
fn what_a_newer_version_wrote_is_left_alone() {
    let debates = Debates::new();
    drop(debates.archive());
    let connection = Connection::open(debates.keep.path().join(FILE)).unwrap();
    connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    drop(connection);
    let refused = Archive::open(&debates.directory()).err().unwrap();
    assert!(matches!(refused, ArchiveError::Newer(_)), "{refused}");
}
