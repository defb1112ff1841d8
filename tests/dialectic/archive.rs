//! What past debates have left: a memory that `list --text` searches, and ratings.

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, two_agents};
use dialectic_cli::archive::Archive;
use dialectic_record::store::Directory;

const SESSIONS: &str = "Where do we keep the sessions of our users?";

/// The ids of the debates that `list --text` finds.
fn found(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let rows = sandbox.run(["list", "--json", "--text", text]).expect_code(0).json();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_debate_is_remembered_until_it_is_removed() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", SESSIONS]).expect_code(0);
    let id = sandbox.only_debate();
    assert_eq!(found(&sandbox, "keeping a user session"), [id.as_str()], "by the stems of all words");
    assert!(found(&sandbox, "keeping a user password").is_empty());
    sandbox.run(["rm", "latest", "--yes"]).expect_code(0);
    assert!(found(&sandbox, "session").is_empty());
}

#[test]
fn a_file_that_is_no_archive_is_named_and_holds_up_no_debate() {
    let sandbox = Sandbox::new()
        .file("debates/archive.sqlite", "not a database")
        .config(&json!({ "debate": { "memory": true, "rounds": 1 } }));
    let debated = sandbox.run(["debate", "--offline", "-c", "debate-config.json", SESSIONS]).expect_code(0);
    assert!(debated.stderr.contains("warning: cannot index the debate yet"), "{debated}");
    let searched = sandbox.run(["list", "--text", "sessions of"]).expect_code(0);
    assert!(searched.stdout.contains(SESSIONS) && searched.stderr.contains("archive.sqlite"), "{searched}");
    assert_eq!(sandbox.read("debates/archive.sqlite"), "not a database");
}

#[test]
fn no_query_is_taken_for_an_expression() {
    let mut state: Value = serde_json::from_str(include_str!("../fixtures/shown/argued.json")).unwrap();
    state["problem"] = json!("Is NEAR(a b) a \"phrase\"?");
    let sandbox = Sandbox::new().file("debates/deb-1.json", state.to_string());
    let mut archive = Archive::open(&Directory::at(sandbox.directory().join("debates"))).unwrap();
    archive.update().unwrap();
    for query in ["", "\"", "a\"b OR", "NEAR(", "problem: x", "*", "-1", "'; DROP TABLE files; --", "\u{0}", "é ß 漢字"]
    {
        archive.search(query, true, 5).unwrap();
        archive.files_with(query).unwrap();
    }
    assert_eq!(archive.files_with("PHRASE NEAR").unwrap().len(), 1);
}

/// A finished debate of the arena with these scores.
fn contest(scores: &Value) -> Value {
    let mut state: Value = serde_json::from_str(include_str!("../fixtures/shown/argued.json")).unwrap();
    for agent in state["settings"]["agents"].as_array_mut().unwrap() {
        (agent["model"], agent["provider"]) =
            (json!(format!("model-{}", agent["role"].as_str().unwrap())), json!("openai"));
    }
    state["settings"]["debate"]["protocol"] = json!("arena");
    state["verdict"] = json!({"winner": "agent-architect", "scores": scores, "criteria": {}, "reasoning": ""});
    state
}

#[test]
fn models_have_their_ratings() {
    let server = MockServer::start();
    let sandbox = two_agents(&server, &json!({}));
    assert!(!sandbox.run(["models"]).expect_code(0).stdout.contains("RATING"));
    sandbox.write("debates/deb-1.json", contest(&json!({"agent-architect": 90, "agent-kiss": 60})).to_string());
    sandbox.run(["models"]).expect_code(0).prints(["RATING"]);
    let rows = sandbox.run(["models", "--json"]).expect_code(0).json();
    let rating = |model: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["model"] == model);
        row.unwrap_or_else(|| panic!("{model}: {rows}"))["rating"].clone()
    };
    assert_eq!((rating("model-architect"), rating("model-kiss")), (json!(1516.0), json!(1484.0)));
    assert_eq!(rating("model-judge"), Value::Null);
}
