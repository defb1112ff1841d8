//! Thirty changes with planted faults, and readers who find them by a script.

use std::path::Path;

use serde_json::json;

use super::{Incoming, Reply};

/// A change with one planted fault, and two statements about it that are wrong.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) fault: Claim,
    pub(crate) wrong: [Claim; 2],
}

/// What a reader says of a change.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// The first line and the last.
    pub(crate) lines: (u32, u32),
    pub(crate) severity: String,
    pub(crate) text: String,
    pub(crate) evidence: String,
}

impl Claim {
    fn read(line: &str) -> Self {
        let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [lines, severity, text, evidence] = parts[..] else { panic!("not four parts: {line}") };
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let lines = (
            first.parse().expect("the set is as its readers expect"),
            last.parse().expect("the set is as its readers expect"),
        );
        Self { lines, severity: severity.into(), text: text.into(), evidence: evidence.into() }
    }

    fn shown_lines(&self) -> String {
        let (first, last) = self.lines;
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    }
}

/// All of them, sorted by name.
pub(crate) fn planted() -> Vec<Planted> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/planted");
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .expect("the set is as its readers expect")
        .map(|entry| entry.expect("the set is as its readers expect").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Planted {
    let text = std::fs::read_to_string(path).expect("the set is as its readers expect");
    let (head, texts) = text.split_once("=== before\n").expect("the set is as its readers expect");
    let (before, after) = texts.split_once("=== after\n").expect("the set is as its readers expect");
    let of = |key: &str| head.lines().filter_map(|line| line.strip_prefix(key)).collect::<Vec<_>>();
    let wrong: Vec<Claim> = of("false: ").into_iter().map(Claim::read).collect();
    Planted {
        name: path
            .file_stem()
            .expect("the set is as its readers expect")
            .to_str()
            .expect("the set is as its readers expect")
            .to_owned(),
        path: of("path: ")[0].to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
        fault: Claim::read(of("fault: ")[0]),
        wrong: wrong.try_into().expect("the set is as its readers expect"),
    }
}

/// Readers of one change: one finds the fault and says something wrong, another finds it at its first line and says
/// something else that is wrong, each in its own form; a third finds nothing. Whether the others and the judge see
/// through what is wrong is `sees`, by the model that is asked and the text of a finding.
pub(crate) fn readers<S: Fn(&str, &str) -> bool + Send + Sync>(
    planted: &Planted,
    sees: S,
) -> impl Fn(&Incoming) -> Reply + use<S> {
    let Planted { path, fault, wrong, .. } = planted.clone();
    move |request| match request.task() {
        "find faults" => {
            let Claim { severity, text, evidence, .. } = &fault;
            let [one, other] = &wrong;
            Reply::text(match request.model() {
                "model-architect" => format!(
                    "1. **[{severity}]** `{path}:{}`: {text}. **To see it:** {evidence}\n2. [{}] {path}:{}: {}. To see it: {}",
                    fault.shown_lines(),
                    one.severity,
                    one.shown_lines(),
                    one.text,
                    one.evidence
                ),
                "model-security" => format!(
                    "## Findings\n\n### 1. [{severity}] `{path}` (line {})\n\n{text}.\n\n**To see it:** {evidence}\n\n\
                     ### 2. [{}] b/{path}:L{}\n\n{}.",
                    fault.lines.0, other.severity, other.lines.0, other.text
                ),
                _ => "No findings.".to_owned(),
            })
        }
        "confirm the findings" => {
            let word = |(number, text): (String, String)| {
                let stance = if sees(request.model(), &text) { "confirmed" } else { "refuted" };
                format!("- {number} {stance}: I followed the lines")
            };
            Reply::text(listed(request.prompt()).into_iter().map(word).collect::<Vec<_>>().join("\n"))
        }
        "rule on the findings" => {
            let all = listed(request.prompt());
            let is_seen = |text: &str| sees(request.model(), text);
            let whole = |(_, text): &&(String, String)| text.contains(&format!(":{}: ", fault.shown_lines()));
            let first = all.iter().filter(|(_, text)| is_seen(text)).find(whole).map(|(number, _)| number);
            let ruling = |(number, text): &(String, String)| {
                let mut ruling = json!({"finding": number, "reason": "the lines decide", "severity": "major"});
                ruling["decision"] = if is_seen(text) { "stands" } else { "dismissed" }.into();
                if is_seen(text) && first.is_some_and(|first| first != number) {
                    ruling["sameAs"] = json!(first);
                }
                ruling
            };
            let rulings: Vec<_> = all.iter().map(ruling).collect();
            Reply::json(json!({"rulings": rulings, "summary": "Read the findings.", "title": "A planted change"}))
        }
        other => Reply::error(400, &format!("no answer to `{other}`")),
    }
}

/// The numbers and findings of the list in a prompt.
pub(crate) fn listed(prompt: &str) -> Vec<(String, String)> {
    let from = prompt.rfind("found\n").expect("the set is as its readers expect");
    let lines = prompt[from..].lines().skip(1).take_while(|line| !line.starts_with("```"));
    let item = |line: &str| {
        let (number, text) = line.strip_prefix("- ")?.split_once(' ')?;
        Some((number.to_owned(), text.to_owned()))
    };
    lines.filter_map(item).collect()
}
