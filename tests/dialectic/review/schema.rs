//! Whether a value is what a schema asks for, as far as the schemas in `tests/fixtures/schemas` say.

use serde_json::Value;

/// Panics with the place of the first fault.
pub(crate) fn assert_valid(schema: &str, value: &Value) {
    let path = format!("{}/tests/fixtures/schemas/{schema}", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    check(&schema, &schema, value, "$");
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) {
    for (keyword, wanted) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let target = root.pointer(wanted.as_str().unwrap().trim_start_matches('#')).unwrap();
                check(root, target, value, at);
            }
            "type" => {
                let is_it = match wanted.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    other => panic!("the type {other} is not known here"),
                };
                assert!(is_it, "{at} is no {wanted}: {value}");
            }
            "enum" => assert!(wanted.as_array().unwrap().contains(value), "{at} is not one of {wanted}: {value}"),
            "minimum" => assert!(value.as_i64() >= wanted.as_i64(), "{at} is below {wanted}: {value}"),
            "required" => {
                for name in wanted.as_array().unwrap() {
                    assert!(value.get(name.as_str().unwrap()).is_some(), "{at} lacks {name}");
                }
            }
            "properties" => {
                for (name, of) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(root, of, value, &format!("{at}.{name}"));
                    }
                }
            }
            "additionalProperties" => {
                assert_eq!(*wanted, Value::Bool(false));
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    assert!(schema["properties"].get(name).is_some(), "{at} has {name}");
                }
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}[{place}]"));
                }
            }
            "$comment" | "definitions" => {}
            other => panic!("the keyword {other} is not known here"),
        }
    }
}
