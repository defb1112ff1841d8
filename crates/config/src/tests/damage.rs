//! Damaged files: always a message, never a panic.

use proptest::prelude::*;

use super::*;

fn failure(text: &str) -> String {
    load_text(text).unwrap_err().to_string()
}

#[test]
fn what_is_not_json_is_placed() {
    insta::assert_snapshot!(failure("{\n  \"agents\": [,]\n}"), @"the configuration `c.json` is not valid JSON (line 2, column 14): expected value");
    insta::assert_snapshot!(failure("{\"debate\": {\"rounds\": 3,}}"), @"the configuration `c.json` is not valid JSON (line 1, column 25): trailing comma");
    insta::assert_snapshot!(failure(" \n"), @"the configuration `c.json` is not valid JSON (line 2, column 1): the file is empty");
    insta::assert_snapshot!(failure("{\n  \"rounds\": 3, // three\n}"), @"the configuration `c.json` is not valid JSON (line 2, column 16): it contains a comment");
    insta::assert_snapshot!(failure("{\"a\": \"http://x\" 1}"), @"the configuration `c.json` is not valid JSON (line 1, column 18): expected `,` or `}`");
    insta::assert_snapshot!(failure("{} {}"), @"the configuration `c.json` is not valid JSON (line 1, column 4): trailing characters");
    assert!(failure(&"[".repeat(100_000)).contains("recursion limit"));
}

#[test]
fn a_value_of_the_wrong_type_is_placed_and_said_what_belongs_there() {
    insta::assert_snapshot!(failure("{\n  \"agents\": [\n    {},\n    {\"temperature\": \"0.5\"}\n  ]\n}"), @"the configuration `c.json` has an invalid value at agents[1].temperature (line 4, column 21): expected a number, found a string");
    insta::assert_snapshot!(failure("{\"debate\": {\"includeFullHistory\": \"yes\"}}"), @"the configuration `c.json` has an invalid value at debate.includeFullHistory (line 1, column 35): expected true or false, found a string");
    insta::assert_snapshot!(failure("{\"agents\": {\"a\": 1}}"), @"the configuration `c.json` has an invalid value at agents (line 1, column 12): expected an array, found an object");
    insta::assert_snapshot!(failure("{\"debate\": {\"synthesisMethod\": \"vote\"}}"), @"the configuration `c.json` has an invalid value at debate.synthesisMethod (line 1, column 32): expected one of `judge`, `voting`, `merge`, found `vote`");
    for (text, message) in [
        ("[]", "the top level (line 1, column 1): expected an object, found an array"),
        ("3", "the top level (line 1, column 1): expected an object, found a number"),
        ("null", "the top level (line 1, column 1): expected an object, found null"),
        ("{\"debate\": {\"budget\": [1, 2]}}", "debate.budget (line 1, column 23): expected an object, found an array"),
        ("{\"judge\": []}", "judge (line 1, column 11): expected an object, found an array"),
        ("{\"agents\": [1]}", "agents[0] (line 1, column 13): expected an object, found a number"),
        ("{\"judge\": {\"id\": true}}", "judge.id (line 1, column 18): expected a string, found true or false"),
        ("{\"judge\": {\"tools\": {}}}", "judge.tools (line 1, column 21): expected an array, found an object"),
        ("{\"debate\": {\"trace\": 1}}", "debate.trace (line 1, column 22): expected"),
        ("{\"judge\": {}, \"judge\": {}}", "expected each key once, found `judge` twice"),
    ] {
        let failure = failure(text);
        assert!(failure.contains(message), "{text}: {failure}");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_shown() {
    for text in [
        r#"{"providers": {"openai": "sk-hunter2"}}"#,
        r#"{"providers": {"openai": {"headers": "sk-hunter2"}}}"#,
        r#"{"providers": "sk-hunter2"}"#,
        r#"{"debate": {"rounds": "sk-hunter2"}}"#,
        r#"{"providers": {"x": {"api": "sk-hunter2-and-many-more-characters"}}}"#,
        r#"{"providers": {"x": {"baseUrl": "sk-hunter2, expected sk-hunter2", "headers": {"token": "hunter2"}}}}"#,
    ] {
        let failure = failure(text);
        assert!(!failure.contains("hunter2"), "{failure}");
    }
}

#[test]
fn a_byte_order_mark_is_tolerated_and_other_encodings_are_not() {
    let text = format!("\u{feff}{}", with(&json!({})));
    assert!(load_text(&text).is_ok());
    let latin = b"{\n \"judge\": {\"name\": \"J\xe4rgen\"}}";
    let error = load_with(latin, &Overrides::default(), &Environment::default()).unwrap_err();
    assert_eq!(error.to_string(), "the configuration `c.json` is not UTF-8 text (line 2, column 22)");
}

/// Checks that the bytes either load or fail with a message.
fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    let environment = Environment::from_pairs([("OPENAI_API_KEY", "sk-hunter2")]);
    let shown = match load_with(bytes, &Overrides::default(), &environment) {
        Ok(loaded) => {
            let rows = show(&loaded, &environment);
            let _ = missing_keys(&loaded.settings, &environment);
            let saved =
                serde_json::to_string(&loaded.settings).map_err(|error| TestCaseError::fail(error.to_string()))?;
            // Values are not compared, because without `float_roundtrip` serde_json may misread the last bit of a long
            // number.
            prop_assert!(serde_json::from_str::<Settings>(&saved).is_ok());
            prop_assert!(!rows.is_empty());
            format!("{rows:?}{:?}", loaded.warnings)
        }
        Err(error) => error.to_string(),
    };
    prop_assert!(!shown.contains("hunter2"));
    Ok(())
}

/// Collects the JSON pointers of all values in a document.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                pointers(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                pointers(value, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "(\\$\\{[A-Z_]{0,3}\\}?|https?://\\PC{0,8})".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{"": []}], null])),
        "\\PC{0,6}".prop_map(|key| json!({ key: {"": null} })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3400))]

    #[test]
    fn damaged_bytes_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6)
    ) {
        let mut bytes = include_bytes!("full.json").to_vec();
        for (place, byte, edit) in edits {
            let place = place.index(bytes.len());
            match edit {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => {
                    bytes.remove(place);
                }
            }
        }
        survives(&bytes)?;
    }

    #[test]
    fn damaged_structures_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), replacement()), 1..4)
    ) {
        let mut config: Value = serde_json::from_str(include_str!("full.json")).unwrap();
        for (place, value) in edits {
            let mut places = Vec::new();
            pointers(&config, "", &mut places);
            *config.pointer_mut(place.get(places.as_slice()).as_str()).unwrap() = value;
        }
        survives(config.to_string().as_bytes())?;
    }

    #[test]
    fn anything_at_all_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes)?;
    }
}
