//! The older program's words for other ways to a solution: all of them mean the judge.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Debated, short_reply};

#[test]
fn whatever_the_method_the_same_is_asked_and_the_words_that_mean_nothing_else_are_warned_of() {
    let asked = |method: &str| {
        let debate = json!({"rounds": 1, "synthesisMethod": method, "seed": 7});
        let Debated { server, finished, .. } = Debated::of_two(&debate, short_reply);
        server.assert_clean();
        let requests: BTreeSet<u64> = server.requests().iter().map(|request| request.digest).collect();
        (requests, finished.stderr)
    };
    let (judged, told) = asked("judge");
    assert!(!judged.is_empty() && !told.contains("synthesisMethod"), "{told}");
    for method in ["voting", "merge"] {
        let (requests, told) = asked(method);
        assert_eq!(requests, judged, "{method}");
        let warning = format!("`debate.synthesisMethod`: `{method}` has the same effect as `judge`");
        assert!(told.contains(&warning), "{told}");
    }
}
