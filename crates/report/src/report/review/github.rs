//! A review as the body of `POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews`: a comment, never an approval.
//! Nothing is posted.

use serde_json::{Value, json};

use dialectic_base::markdown::defused_line;
use dialectic_record::debate::{Debate, ReviewText, ReviewedFinding};

use super::{pretty, shown};

/// The maximum number of characters of a text on the platform, with room for a closing note.
const MOST: usize = 60_000;

/// The review with a comment at each finding that the diff shows, and all others in its text.
pub fn review_github(debate: &Debate) -> String {
    let review = ReviewText::of(debate, debate.findings());
    let comments: Vec<Value> = review.kept().filter_map(|finding| comment(debate, &review, finding)).collect();
    let elsewhere = review.kept_in_words(|finding| comment(debate, &review, finding).is_none());
    let mut body = format!("**{}**\n{}", review.verdict(), review.note());
    for part in [elsewhere, review.dismissed_in_words(), review.receipt()] {
        if body.chars().count() + part.chars().count() > MOST {
            body += "\nThe rest exceeds what a review can contain; the record has all of it.\n";
            break;
        }
        body += &part;
    }
    let reasons = debate.outcome.iter().flat_map(|outcome| &outcome.reasons).take(20);
    body.extend(reasons.map(|reason| format!("\nNot complete: {}\n", defused_line(reason))));
    let mut written = json!({ "event": "COMMENT", "body": body, "comments": comments });
    if let Some(head) = debate.change.as_ref().and_then(|change| change.head.as_ref()) {
        written["commit_id"] = json!(head);
    }
    pretty(&written)
}

/// The comment at a finding's place; `None` if the diff does not show it, or the platform does not accept its length.
fn comment(debate: &Debate, review: &ReviewText<'_>, finding: &ReviewedFinding) -> Option<Value> {
    let shown = shown(debate, finding).filter(|shown| shown.is_in_diff)?;
    let lines = shown.lines?;
    let body: String = format!("**{}**\n\n{}", review.title(finding), review.in_words(finding));
    if body.chars().count() > MOST {
        return None;
    }
    let mut comment = json!({ "path": shown.path, "body": body, "line": lines.last, "side": "RIGHT" });
    if lines.first < lines.last {
        comment["start_line"] = json!(lines.first);
        comment["start_side"] = json!("RIGHT");
    }
    Some(comment)
}
