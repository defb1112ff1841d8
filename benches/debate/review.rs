//! What the challenge of a review is worth: how many planted faults it keeps and how many false findings fall in it,
//! where readers err now and then and the judge follows the majority of those who read a finding.

use std::process::Command;

use serde_json::{Value, json};

use super::Row;
use super::support::{Incoming, MockServer, Planted, Reply, Sandbox, config, planted, readers};

/// Of so many hundred words on a finding one is wrong.
const ERRORS: [u64; 3] = [0, 10, 25];

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let all = planted();
    let row = |errors: u64| {
        let (mut kept, mut fallen) = (0, 0);
        for planted in &all {
            let review = review(planted, errors)?;
            let of_fault = |one: &&Value| one["text"].as_str().is_some_and(|text| text.contains(&planted.fault.text));
            let findings = review["findings"].as_array().ok_or("no findings")?;
            kept += usize::from(findings.iter().filter(of_fault).any(|one| one["dismissed"] == false));
            fallen += findings.iter().filter(|one| !of_fault(one) && one["dismissed"] == true).count();
        }
        let (faults, wrong) = (all.len(), 2 * all.len());
        let figure = format!("{kept} of {faults} faults kept, {fallen} of {wrong} false findings fallen");
        Ok(Row::new(format!("review: planted faults, readers wrong in {errors} % of their words"), figure, ""))
    };
    ERRORS.into_iter().map(row).collect()
}

/// The review of one change.
fn review(planted: &Planted, errors: u64) -> Result<Value, String> {
    let fault = planted.fault.text.clone();
    let scripted = readers(planted, move |model, text| text.contains(&fault) != errs(model, text, errors));
    let server =
        MockServer::with(
            move |request| {
                if request.task() == "rule on the findings" { majority(request) } else { scripted(request) }
            },
        );
    let roles = ["architect", "security", "testing"];
    let sandbox = Sandbox::new().model_server(&server).file("own.json", config(&roles, &json!({})).to_string());
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(sandbox.directory()).args(["-c", "user.name=n", "-c", "user.email=n@example.org"]);
        let ended = command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").status();
        ended.map_err(|error| format!("git: {error}"))?.success().then_some(()).ok_or("git failed".to_owned())
    };
    git(&["init", "-qb", "main"])?;
    sandbox.write(&planted.path, &planted.before);
    git(&["add", &planted.path])?;
    git(&["commit", "-qm", "base"])?;
    sandbox.write(&planted.path, &planted.after);
    let run = sandbox.run(["review", "-c", "own.json", "--quiet", "--base", "main", "--format", "json"]).expect_code(0);
    serde_json::from_str(&run.stdout).map_err(|error| error.to_string())
}

/// Whether a model errs on a finding: as often as is wanted, and always on the same.
fn errs(model: &str, text: &str, errors: u64) -> bool {
    let hash = model
        .bytes()
        .chain(text.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 29)) % 100 < errors
}

/// A judge that counts words. A finding stands where more confirm it than refute it, whose finder counts as one.
fn majority(request: &Incoming) -> Reply {
    let (mut rulings, mut group, mut votes) = (Vec::new(), String::new(), 0);
    let prompt = request.prompt();
    let from = prompt.rfind("found\n").map_or("", |at| &prompt[at..]);
    for line in from.lines().skip(1).chain(["F"]) {
        match line {
            _ if line.starts_with('F') => {
                if !group.is_empty() {
                    let decision = if votes > 0 { "stands" } else { "dismissed" };
                    rulings.push(json!({"finding": group, "reason": "counted", "decision": decision}));
                }
                (group, votes) = (line.to_owned(), 0);
            }
            _ if line.starts_with("- ") => votes += 1,
            _ if line.contains(": confirmed") => votes += 1,
            _ if line.contains(": refuted") => votes -= 1,
            _ => {}
        }
        if line.starts_with("```") {
            break;
        }
    }
    if !group.is_empty() && rulings.iter().all(|one| one["finding"] != group.as_str()) {
        let decision = if votes > 0 { "stands" } else { "dismissed" };
        rulings.push(json!({"finding": group, "reason": "counted", "decision": decision}));
    }
    Reply::json(json!({"rulings": rulings, "summary": "", "title": ""}))
}
