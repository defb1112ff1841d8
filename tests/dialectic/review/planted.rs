//! Thirty planted faults, found by readers with a script: what is true is reported with its lines, in every form.

use serde_json::{Value, json};

use super::schema::assert_valid;
use super::{commit, parsed, repository, served};
use crate::support::{MockServer, Planted, planted, readers, sample};

/// The findings of one change, in all forms.
fn review(planted: &Planted) -> [Value; 3] {
    let fault = planted.fault.text.clone();
    let server = MockServer::with(readers(planted, move |_, text| text.contains(&fault)));
    let sandbox = repository(served(&server), &[(&planted.path, &planted.before)]);
    commit(&sandbox, &[(&planted.path, &planted.after)]);
    let review = ["review", "-c", "own.json", "--quiet", "--base", "main", "--head", "work", "--format", "json"];
    let json = sandbox.run(review).expect_code(0).stdout;
    let form = |format: &str| sandbox.run(["report", "latest", "--format", format]).expect_code(0).stdout;
    let forms = [json, form("sarif"), form("github")];
    // For validators that have all of the official schemas.
    if let Ok(place) = std::env::var("PLANTED_OUT") {
        std::fs::write(format!("{place}/{}.sarif", planted.name), &forms[1]).unwrap();
        std::fs::write(format!("{place}/{}.github.json", planted.name), &forms[2]).unwrap();
    }
    forms.map(|text| parsed(&text))
}

#[test]
fn the_set_is_thirty_changes_in_five_languages_each_with_its_line() {
    let all = planted();
    let languages: std::collections::BTreeSet<&str> =
        all.iter().map(|one| one.name.split('-').next().unwrap()).collect();
    assert_eq!((all.len(), languages.len()), (30, 5), "{languages:?}");
    for Planted { name, after, fault, wrong, .. } in &all {
        let count = u32::try_from(after.lines().count()).unwrap();
        for claim in [fault, &wrong[0], &wrong[1]] {
            let (first, last) = claim.lines;
            assert!(1 <= first && first <= last && last <= count, "{name}: {claim:?}");
        }
    }
}

#[test]
fn what_is_true_is_reported_with_its_lines_and_what_is_false_is_not() {
    for planted in sample(planted(), 3) {
        let [own, sarif, github] = review(&planted);
        let name = &planted.name;
        let (first, last) = planted.fault.lines;
        let kept: Vec<&Value> =
            own["findings"].as_array().unwrap().iter().filter(|one| one["dismissed"] == false).collect();
        assert_eq!(kept.len(), 1, "{name}: {own:#}");
        assert_eq!(kept[0]["place"], json!({"path": planted.path, "lines": {"first": first, "last": last}}), "{name}");
        assert_eq!(kept[0]["foundBy"], json!(["model-architect", "model-security"]), "{name}");
        assert_eq!(kept[0]["confirmedBy"], json!(["model-testing"]), "{name}");
        let dismissed = own["findings"].as_array().unwrap().iter().filter(|one| one["dismissed"] == true);
        assert_eq!(dismissed.count(), 2, "{name}");

        assert_valid("sarif-2.1.0.json", &sarif);
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let location = json!([{"physicalLocation": {
            "artifactLocation": {"uri": planted.path}, "region": {"startLine": first, "endLine": last},
        }}]);
        assert_eq!(results.len(), 1, "{name}");
        assert_eq!(results[0]["locations"], location, "{name}");

        assert_valid("github-create-review.json", &github);
        let comments = github["comments"].as_array().unwrap();
        assert_eq!(
            (comments.len(), &comments[0]["path"], &comments[0]["line"]),
            (1, &json!(planted.path), &json!(last))
        );
        assert_eq!(*comments[0].get("start_line").unwrap_or(&comments[0]["line"]), json!(first), "{name}");
        assert!(github["body"].as_str().unwrap().contains("## Rejected"), "{name}");
    }
}
