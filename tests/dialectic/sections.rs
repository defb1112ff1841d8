//! Sections of ordinary texts reach everybody whole; what authors answer to critics, where they were asked to, is taken
//! out of what others read.

use serde_json::{Value, json};

use crate::arena;
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, answer, config};
use dialectic_record::points::parser::ANSWERS_HEADING;

/// Headings of designs that sound like answers to critics.
const HEADINGS: [&str; 30] = [
    "## Response headers",
    "## Response codes",
    "## Responses",
    "## Response",
    "### Response times",
    "## Response format",
    "## Replies",
    "## Reply queue",
    "## Addressing failures",
    "## Addressing",
    "# Answers",
    "## Answers to auditors",
    "## Rebuttals",
    "## Disposition",
    "## Critiques addressed",
    "## Responding to incidents",
    "## Response to incidents",
    "## Response to reviews of code",
    "## Responses to critics of the past",
    "## Reviews answered: replies",
    "## Answer to the requirements",
    "## Antworten",
    "## Umgang mit Fehlern",
    "## Réponses",
    "## Respuestas",
    "## Risposte HTTP",
    "## Ответы",
    "## 响应与回复",
    "**Responses:**",
    "**Replies to comments**",
];

const SECTION: &str = "## Response to critiques\n\n- 1.1 accepted: the KEYS ARE SPLIT now.";

/// A text with all of them, in each a line that could be an answer.
fn text(of: &str) -> String {
    let sections = (1..).zip(HEADINGS).map(|(number, heading): (usize, _)| {
        format!("{heading}\n\n- 1.1 accepted: orders of {of} come in.\n- What stands in {number} of {of}.")
    });
    let sections: Vec<String> = sections.collect();
    format!("## Approach\n\nBy {of}.\n\n{}\n\n## Requirements Coverage\n\n- All.", sections.join("\n\n"))
}

/// The same of one that nobody was asked to answer anything in, whatever its last heading is.
fn unasked(of: &str) -> String {
    format!("{}\n\n{SECTION}\n\n## Decisions\n- Keep it as {of} says", text(of))
}

fn prompts(server: &MockServer, tasks: &[&str]) -> Vec<String> {
    let requests = server.requests();
    let of = requests.iter().filter(|request| tasks.contains(&request.task()));
    let prompts: Vec<String> = of.map(|request| request.prompt().to_owned()).collect();
    assert!(!prompts.is_empty(), "nobody was asked to {tasks:?}");
    prompts
}

fn assert_shows(prompt: &str, text: &str) {
    let missing = text.lines().find(|line| !prompt.contains(line));
    assert!(prompt.contains(text), "{missing:?} is missing:\n{prompt}");
}

fn debated(server: &MockServer, roles: &[&str], debate: &Value, problem: &str) -> (String, Value) {
    let mut configured = config(roles, debate);
    configured["debate"]["seed"] = json!(7);
    configured["debate"]["historyLimit"] = json!(1_000_000);
    let sandbox = Sandbox::new().model_server(server).config(&configured);
    let (finished, state) = sandbox.debated(["debate", problem, "--quiet"]);
    server.assert_clean();
    (finished.stdout, state)
}

fn solution() -> Reply {
    let assessment = json!({"base": "1", "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
        "openQuestions": [], "confidence": 70});
    Reply::text(answer(&unasked("the judge"), &assessment))
}

fn judged() -> Reply {
    let criteria = ["logic", "evidence", "rebuttal", "clarity"];
    let criteria = criteria.map(|name| json!({"name": name, "assessment": "A is plainer."}));
    let scores = json!([{"debater": "Indigo", "score": 60}, {"debater": "Amber", "score": 50}]);
    Reply::json(json!({"scores": scores, "criteria": criteria, "reasoning": unasked("the judge"), "winner": "Indigo"}))
}

#[test]
fn in_a_dialectic() {
    let script = |request: &Incoming| match request.purpose {
        Purpose::Propose => Reply::text(unasked(request.model())),
        Purpose::Critique => Reply::text("1. [major] Keys: one for all."),
        Purpose::Refine => Reply::text(format!("{}\n\n{SECTION}", text(&format!("{} again", request.model())))),
        Purpose::Synthesize => solution(),
        _ => crate::support::default_reply(request),
    };
    let server = MockServer::with(script);
    let debate = json!({"rounds": 2, "summarization": {"enabled": false}});
    let (printed, state) = debated(&server, &["architect", "kiss"], &debate, "Design a queue");
    let shown = prompts(&server, &["critique", "refine"]);
    assert_eq!(shown.len(), 8);
    for prompt in &shown {
        // What was said in earlier rounds stands before it.
        let (_, body) = prompt.rsplit_once("\n# Text ").unwrap();
        let is_again = body.contains(" again.\n");
        let author = if body.contains("By model-kiss") { "model-kiss" } else { "model-architect" };
        assert_shows(body, &if is_again { text(&format!("{author} again")) } else { unasked(author) });
        assert!(!is_again || !body.contains(SECTION), "the list of points says it: {body}");
    }
    assert_eq!(shown.iter().filter(|prompt| prompt.contains(" again.\n")).count(), 4, "in the second round");
    let heading = format!("`## {ANSWERS_HEADING}`");
    assert!(prompts(&server, &["refine"]).iter().all(|prompt| prompt.contains(&heading)), "it is named");
    for prompt in prompts(&server, &["synthesise"]) {
        for author in ["model-kiss again", "model-architect again"] {
            assert_shows(&prompt, &text(author));
        }
    }
    assert_shows(&printed, &unasked("the judge"));
    assert_eq!(state["outcome"]["kind"], "full");
}

#[test]
fn in_a_text_that_its_author_criticised() {
    let server = MockServer::with(|request| match request.purpose {
        Purpose::Propose => Reply::text(unasked(request.model())),
        Purpose::Critique => Reply::text("1. [major] Keys: one for all."),
        Purpose::Refine => Reply::text(format!("{}\n\n{SECTION}", text(request.model()))),
        _ => crate::support::default_reply(request),
    });
    let (printed, _) = debated(&server, &["kiss"], &json!({"protocol": "self-refine", "rounds": 1}), "Design a queue");
    assert_shows(&prompts(&server, &["critique"])[0], &unasked("model-kiss"));
    assert_shows(&printed, &text("model-kiss"));
    assert!(!printed.contains("KEYS ARE SPLIT"), "{printed}");
}

#[test]
fn in_an_arena() {
    let server = MockServer::with(|request| match request.task() {
        "propose" => Reply::text(unasked(request.model())),
        "critique" => Reply::text("1. [major] Keys: one for all."),
        "revise" | "rework" | "write your last word" => {
            let again = format!("{} again", request.model());
            Reply::text(format!("{}\n\n## Decisions\n- Keep it as {again} says\n\n{SECTION}", text(&again)))
        }
        "write the answer" => solution(),
        _ => arena::script(request, arena::Related::Not, &[]),
    });
    let (printed, _) =
        debated(&server, &["architect", "kiss"], &json!({"protocol": "arena", "rounds": 3}), arena::PROBLEM);
    for prompt in prompts(&server, &["critique", "revise"]) {
        let shown = ["model-kiss", "model-architect"].into_iter().filter(|of| prompt.contains(&format!("By {of}.")));
        for author in shown {
            assert_shows(&prompt, &unasked(author));
        }
    }
    for prompt in
        prompts(&server, &["rework", "write your last word", "vote", "score the candidates", "write the answer"])
    {
        let shown = ["model-kiss", "model-architect"].map(|author| prompt.contains(&format!("By {author} again.")));
        assert!(shown.contains(&true), "{prompt}");
        for author in ["model-kiss", "model-architect"] {
            if prompt.contains(&format!("By {author} again.")) {
                assert_shows(&prompt, &text(&format!("{author} again")));
            }
        }
    }
    assert_shows(&printed, &unasked("the judge"));
}

#[test]
fn in_a_debate_on_a_motion() {
    for protocol in ["lincoln-douglas", "oxford", "roundtable"] {
        let server = MockServer::with(|request| match request.task() {
            "open" | "rebut" | "question" | "answer" | "close" => {
                Reply::text(unasked(&format!("{} to {}", request.model(), request.task())))
            }
            "poll" => Reply::json(json!({"choice": "for", "confidence": 60, "reason": "It holds."})),
            "judge the debate" => judged(),
            "synthesise" => solution(),
            _ => crate::support::default_reply(request),
        });
        let motion = "This house would rewrite it in Rust";
        let (printed, state) =
            debated(&server, &["architect", "kiss"], &json!({"protocol": protocol, "rounds": 3}), motion);
        let mut speeches = 0;
        for round in state["rounds"].as_array().unwrap() {
            for speech in round["contributions"].as_array().unwrap() {
                let whole = speech["content"].as_str().unwrap();
                let by = whole.lines().nth(2).unwrap();
                assert_eq!(whole, unasked(by.trim_start_matches("By ").trim_end_matches('.')), "{protocol}");
                for prompt in prompts(
                    &server,
                    &["open", "rebut", "question", "answer", "close", "judge the debate", "synthesise"],
                )
                .into_iter()
                .filter(|prompt| prompt.contains(by))
                {
                    assert_shows(&prompt, whole);
                }
                speeches += 1;
            }
        }
        assert!(speeches >= 4, "{protocol}: {speeches}");
        assert_shows(&printed, &text("the judge"));
    }
}
