//! Complete reports.

use serde_json::json;

use dialectic_record::debate::Debate;
use dialectic_record::protocol::upgrade_state;

use super::*;

mod hostile;

fn report_on(debate: &Debate, detail: ReportDetail) -> String {
    let mut report = Vec::new();
    markdown(&View::new(debate, None), detail, &mut report).unwrap();
    String::from_utf8(report).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is the section, line by line")]
fn objections_are_reported_with_all_that_became_of_them() {
    let report = report_on(&dialectic_record::debate::fixture::argued(), ReportDetail::Plain);
    let from = report.find("\n## Objections\n").unwrap();
    insta::assert_snapshot!(report[from..], @r"
    ## Objections

    The critics raised 8 points. 5 are open: 1 blocking, 2 major, 2 minor. 1 is claimed: only the author says that the text was changed. 1 is fixed. 1 is rejected.

    | Point | Severity | Status | Raised by | Against |
    | --- | --- | --- | --- | --- |
    | 1.1 | blocking | open | agent-kiss | agent-architect |
    | 1.3 | major | open | agent-kiss | agent-architect |
    | 1.6 | major | open | agent-kiss | agent-architect |
    | 1.4 | minor | open | agent-kiss | agent-architect |
    | 1.5 | minor | open | agent-kiss | agent-architect |
    | 2.1 | major | claimed | agent-architect | agent-kiss |
    | 1.2 | major | fixed | agent-kiss | agent-architect |
    | 2.2 | minor | rejected by agent-kiss | agent-architect | agent-kiss |

    ### 2.1 · major · *agent-architect* on *agent-kiss*: claimed

    About: Restart

    Objection (major):

    ```text
    Counters are gone after a restart.
    ```

    Asks for:

    ```text
    Write them to disk once a second.
    ```

    Round 1, *agent-kiss*, accepted:

    ```text
    They are written every second.
    ```

    ### 2.2 · minor · *agent-architect* on *agent-kiss*: rejected by *agent-kiss*

    Objection (minor):

    ```text
    The header has no name.
    ```

    Round 1, *agent-kiss*, rejected:

    ```text
    It needs none.
    ```

    Round 2, *agent-architect*, withdrawn:

    ```text
    True.
    ```

    ### 1.1 · blocking · *agent-kiss* on *agent-architect*: open

    About: Failover

    Objection (blocking):

    ```text
    A write that is in flight while the **leader** changes is lost.
    ```

    Asks for:

    ```text
    Acknowledge it from the new leader.
    ```

    Round 1, *agent-architect*, rejected:

    ```text
    The client repeats it.
    ```

    Round 2, *agent-kiss*, maintained:

    ```text
    Not every client does.
    ```

    Round 2, *agent-architect*, rejected:

    ```text
    All of ours do.
    ```

    The judge, not met:

    ```text
    A client may be gone.
    ```

    ### 1.2 · major · *agent-kiss* on *agent-architect*: fixed

    About: Operation

    Objection (major):

    ```text
    Three stores are two too many.
    ```

    Resolved by:

    ```text
    Begin with one.
    ```

    Round 1, *agent-architect*, accepted:

    ```text
    One store is left.
    ```

    Round 2, *agent-kiss*, withdrawn: no reason given

    ### 1.3 · major · *agent-kiss* on *agent-architect*: open

    Objection (major):

    ```text
    Nobody knows what a lease costs.
    ```

    Round 1, *agent-architect*, accepted in part:

    ```text
    Measured for reads only.
    ```

    The judge, partly met (*Cost*):

    ```text
    Reads are most of it.
    ```

    ### 1.4 · minor · *agent-kiss* on *agent-architect*: open

    About: Names

    Objection (minor):

    ```text
    A bucket is a window elsewhere.
    ```

    Round 1, *agent-architect*, accepted, no change named: no reason given

    ### 1.5 · minor · *agent-kiss* on *agent-architect*: open

    Objection (minor):

    ```text
    The table has no index.
    ```

    *agent-architect* did not answer it.

    ### 1.6 · major · *agent-kiss* on *agent-architect*: open

    About: Operation

    Objection (major):

    ```text
    Who is called at night?
    ```

    *agent-architect* did not answer it.

    The judge was asked and did not rule on it.

    ### Who moved, and why

    | Round | Agent | Accepted | Accepted in part | Rejected | Unanswered | Lines added | Lines removed |
    | ---: | --- | --- | --- | --- | --- | ---: | ---: |
    | 1 | agent-architect | 1.2, 1.4 | 1.3 | 1.1 | 1.5 | 12 | 3 |
    | 1 | agent-kiss | 2.1 | - | 2.2 | - | 1 | 0 |
    | 2 | agent-architect | - | - | 1.1 | 1.3, 1.4, 1.5, 1.6 | 0 | 2 |
    ");
}

#[test]
fn a_debate_whose_record_holds_no_readings_is_reported_as_ever() {
    let mut debate = dialectic_record::debate::fixture::argued();
    for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
        let one = std::sync::Arc::make_mut(one);
        (one.reading, one.content) = (None, "1. [blocking] It is lost.".into());
    }
    let report = report_on(&debate, ReportDetail::Plain);
    assert!(report.ends_with("### Final Synthesis\n```text\nOne store, one leader.\n```\n"), "{report}");
}

#[test]
fn a_debate_that_says_next_to_nothing_has_a_report() {
    let state = json!({"id": "d", "problem": "", "status": "pending", "rounds": [{"roundNumber": 1, "contributions": [
        {"agentId": "", "agentRole": "", "type": "critique", "content": ""},
    ]}]});
    let mut debate: Debate = serde_json::from_value(state).unwrap();
    upgrade_state(&mut debate);
    insta::assert_snapshot!(report_on(&debate, ReportDetail::Plain), @r"
    # Debate: 
    Time: N/A

    ## Problem Description
    ```text

    ```

    ## Agents

    | ID | Name | Role | Model | Provider | Temperature | Enabled | SystemPromptPath | SummaryPromptPath | Summarization |
    |----|------|------|-------|----------|-------------|----------|------------------|-------------------|---------------|
    |  |  | architect | N/A | openai | 0.5 | N/A | N/A | N/A | N/A |


    ## Judge

    | ID | Name | Role | Model | Provider | Temperature | Enabled | SystemPromptPath | SummaryPromptPath | Summarization |
    |----|------|------|-------|----------|-------------|----------|------------------|-------------------|---------------|
    | judge-main | judge-main | generalist | N/A | openai | 0.3 | N/A | N/A | N/A | N/A |


    ## Rounds

    ### Round 1

    #### Proposals
    No proposals in this round.

    #### Critiques
    N/A &rarr; N/A:
    ```text

    ```

    #### Refinements
    No refinements in this round.

    ### Final Synthesis
    ```text
    No final solution available.
    ```
    ");
}
