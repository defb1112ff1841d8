//! What each protocol tells models: headings, sides, JSON keys, and tidy text.

use super::*;

/// The minimum that a call shows: one text, without which there is nothing to criticise.
fn bare(all: Values<'_>) -> Values<'_> {
    Values {
        inputs: all.inputs[..1].to_vec(),
        draft: Some(CheckedDraft { text: "DRAFT".to_owned(), lens: "facts", ..CheckedDraft::default() }),
        listing: Listing { labels: all.listing.labels, criteria: all.listing.criteria, ..Listing::default() },
        role: all.role,
        question: all.question,
        side: all.side,
        target: all.target,
        max_questions: all.max_questions,
        max_words: all.max_words,
        ..Values::default()
    }
}

/// Whether the role has the section that the prompt uses; the judge's role has only one.
fn fits(prompt: &Prompt, role: &Role) -> bool {
    prompt.focus == Focus::None || !role.focusing(prompt.focus).focus.is_empty()
}

fn texts() -> Texts {
    Texts::of(&str::to_uppercase)
}

fn render(file: &str, side: &'static str) -> String {
    let (prompt, role, texts) = (prompt(file), Role::judge(), texts());
    prompt.render(&Values { side, ..texts.values(role.focusing(prompt.focus)) }).unwrap()
}

#[test]
fn texts_are_tidy_with_everything_and_with_nothing() {
    let texts = texts();
    for prompt in prompts() {
        for role in roles().chain([Role::judge()]).filter(|role| fits(prompt, role)) {
            for side in ["for", "against", "neutral"] {
                let full = Values { side, ..texts.values(role.focusing(prompt.focus)) };
                assert_tidy(prompt.file, &prompt.render(&full).unwrap());
                assert_tidy(prompt.file, &prompt.render(&bare(full)).unwrap());
            }
        }
    }
}

#[test]
fn every_prompt_shows_the_texts_that_it_is_given() {
    let dialectic = [
        ("phases/propose.md", vec!["SUMMARY"]),
        ("phases/critique.md", vec!["INPUT-1", "SUMMARY", "POINTS"]),
        ("phases/refine.md", vec!["INPUT-1", "INPUT-2", "INPUT-3", "SUMMARY", "POINTS"]),
        ("phases/summarize.md", vec!["PROPOSAL", "CRITIQUE", "REFINEMENT", "SUMMARY"]),
        ("phases/clarify.md", vec![]),
        ("phases/vote.md", vec!["CANDIDATE"]),
        ("judge/evaluate-convergence.md", vec!["CANDIDATE"]),
        ("judge/evaluate-quality.md", vec!["CANDIDATE"]),
        ("judge/summarize.md", vec!["ENTRY-1", "ENTRY-2"]),
        ("judge/synthesize.md", vec!["ENTRY-1", "ENTRY-2", "POINTS", "CLAIMS"]),
    ];
    let arena = [
        ("arena/propose.md", vec!["DISPUTE"]),
        ("arena/critique.md", vec!["INPUT-1", "DISPUTE", "POINTS"]),
        ("arena/revise.md", vec!["INPUT-1", "INPUT-2", "INPUT-3", "DISPUTE", "POINTS"]),
        ("arena/rework.md", vec!["INPUT-1", "INPUT-2", "INPUT-3", "DISPUTE", "POINTS"]),
        ("arena/refine.md", vec!["INPUT-1", "INPUT-2", "INPUT-3", "DISPUTE", "POINTS"]),
        ("arena/relate.md", vec!["DECISION", "REQUIREMENT"]),
        ("arena/challenge.md", vec!["CANDIDATE", "POINTS"]),
        ("arena/observe.md", vec!["ENTRY-1", "ENTRY-2"]),
        ("arena/vote.md", vec!["CANDIDATE"]),
        ("arena/score.md", vec!["CANDIDATE"]),
        ("arena/solve.md", vec!["CANDIDATE", "POINTS", "CLAIMS"]),
    ];
    let texts: Vec<String> = texts().0.into_values().chain(["CLAIMS", "REQUIREMENT"].map(str::to_owned)).collect();
    for prompt in prompts() {
        let text = render(prompt.file, "for");
        let shown: BTreeSet<&str> = texts.iter().map(String::as_str).filter(|one| text.contains(one)).collect();
        #[expect(clippy::match_same_arms, reason = "a row for each prompt")]
        let expected = match prompt.file {
            file if file.starts_with("motion/") => vec!["ENTRY-1", "ENTRY-2"],
            "check/check.md" => vec!["DRAFT", "ACCEPTED", "ASSESSMENT"],
            "check/finalise.md" => vec!["DRAFT", "ACCEPTED", "RAISED", "POINTS", "ASSESSMENT"],
            "check/amend.md" => vec!["DRAFT", "ACCEPTED", "RAISED"],
            "review/find.md" => vec![],
            "review/confirm.md" | "review/rule.md" => vec!["POINTS"],
            "council/propose.md" => vec![],
            "judge/follow-up.md" => vec!["ASKED", "ENTRY-1", "ENTRY-2", "POINTS"],
            "council/review.md" => vec!["ENTRY-1", "ENTRY-2", "INPUT-1"],
            "council/synthesize.md" => vec!["ENTRY-1", "ENTRY-2", "POINTS", "APPROACHES"],
            file => {
                let known = dialectic.iter().chain(&arena).find(|(known, _)| *known == file);
                known.unwrap_or_else(|| panic!("a row above is to say which texts {file} shows: {shown:?}?")).1.clone()
            }
        };
        assert_eq!(shown, expected.into_iter().collect(), "{}", prompt.file);
    }
}

#[test]
fn each_prompt_of_a_motion_has_these_headings() {
    let headings = |file| {
        let text = render(file, "for");
        let headings = text.lines().filter(|line| line.starts_with("# ") || line.starts_with("## "));
        headings.map(str::to_owned).collect::<Vec<_>>().join("|")
    };
    let speeches = "# Speeches|## Opening of Ada, for|## Opening of Ben|# Your role: Judge|# Your side|# Your task: ";
    for (file, task) in [
        ("motion/open.md", "open"),
        ("motion/rebut.md", "rebut"),
        ("motion/close.md", "close"),
        ("motion/question.md", "question"),
        ("motion/answer.md", "answer"),
        ("motion/poll.md", "poll"),
    ] {
        assert_eq!(headings(file), format!("{speeches}{task}"));
    }
    assert_eq!(
        headings("motion/verdict.md"),
        "# Speeches|## Opening of Ada, for|## Opening of Ben|# Your role: Judge|# Criteria|# Your task: judge the debate"
    );
}

#[test]
fn sides_are_told_in_these_words() {
    for (side, words) in [
        ("for", "You speak for the motion."),
        ("against", "You speak against the motion."),
        ("neutral", "You take no side."),
    ] {
        for file in ["open", "rebut", "close", "question", "answer", "poll"] {
            let text = render(&format!("motion/{file}.md"), side);
            assert!(text.contains(&format!("# Your side\n\n{words}\n\n# Your task")), "{text}");
        }
    }
    assert!(render("motion/close.md", "for").contains("why the motion stands all the same"));
    assert!(render("motion/close.md", "against").contains("why the motion falls all the same"));
}

#[test]
fn an_audience_votes_before_there_is_anything_to_hear() {
    let (role, texts) = (Role::built_in("kiss").unwrap(), texts());
    let text = prompt("motion/poll.md").render(&bare(texts.values(role.focusing(Focus::None)))).unwrap();
    assert!(text.contains("The debate has not begun") && !text.contains("# Speeches"));
    assert!(render("motion/poll.md", "neutral").contains("The debate is over"));
}

#[test]
fn prompts_about_the_same_texts_begin_alike() {
    // Providers bill a repeated prefix at a fraction of the price.
    let shared = |one: &str, other: &str| {
        let (one, other) = (render(one, "for"), render(other, "against"));
        let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        one.chars().take(same).collect::<String>()
    };
    assert!(shared("phases/critique.md", "phases/refine.md").contains("INPUT-1"));
    assert!(shared("arena/critique.md", "arena/revise.md").contains("INPUT-1"));
    for file in ["rebut", "close", "question", "answer", "poll", "verdict"] {
        assert!(shared("motion/open.md", &format!("motion/{file}.md")).contains("ENTRY-2"), "{file}");
    }
}
