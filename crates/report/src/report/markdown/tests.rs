//! Complete reports.

use serde_json::json;

use dialectic_record::debate::Debate;
use dialectic_record::protocol::upgrade_state;

use super::*;

mod hostile;

fn report_on(debate: &Debate, is_verbose: bool) -> String {
    let mut report = Vec::new();
    markdown(&View::new(debate, None), is_verbose, &mut report).unwrap();
    String::from_utf8(report).unwrap()
}

#[test]
fn objections_are_reported_with_all_that_became_of_them() {
    let report = report_on(&dialectic_record::debate::fixture::argued(), false);
    let from = report.find("\n## Objections\n").unwrap();
    insta::assert_snapshot!(report[from..]);
}

#[test]
fn a_debate_whose_record_holds_no_readings_is_reported_as_ever() {
    let mut debate = dialectic_record::debate::fixture::argued();
    for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
        let one = std::sync::Arc::make_mut(one);
        (one.reading, one.content) = (None, "1. [blocking] It is lost.".into());
    }
    let report = report_on(&debate, false);
    assert!(report.ends_with("### Final Synthesis\n```text\nOne store, one leader.\n```\n"), "{report}");
}

#[test]
fn a_debate_that_says_next_to_nothing_has_a_report() {
    let state = json!({"id": "d", "problem": "", "status": "pending", "rounds": [{"roundNumber": 1, "contributions": [
        {"agentId": "", "agentRole": "", "type": "critique", "content": ""},
    ]}]});
    let mut debate: Debate = serde_json::from_value(state).unwrap();
    upgrade_state(&mut debate);
    insta::assert_snapshot!(report_on(&debate, false));
}
