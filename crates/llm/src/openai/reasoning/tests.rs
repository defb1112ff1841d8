use proptest::prelude::*;

use super::*;
use crate::fixture::Heard;

/// What is passed on as `text` arrives in pieces of `size` characters.
fn said(text: &str, size: usize, begins_within: bool) -> String {
    let heard = Heard::default();
    let mut sink = TextSink::new(&heard, begins_within);
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size) {
        sink.say(&piece.iter().collect::<String>());
    }
    sink.finish();
    heard.texts().concat()
}

fn answer(text: &str) -> String {
    let mut text = text.to_owned();
    drop_reasoning(&mut text);
    text
}

const DRAFT: &str = "Perhaps {\"score\": 1}? No.\n\nLet me see.";

#[test]
fn reasoning_at_the_beginning_is_no_part_of_the_answer_in_any_spelling() {
    for (open, close) in [
        ("<think>", "</think>"),
        ("<think>\n", "\n</think>\n\n"),
        ("\n\n<Think>", "</THINK>"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<reflection>", "</reflection>"),
        ("<scratchpad>", "</scratchpad>"),
        ("<seed:think>", "</seed:think>"),
        ("<mm:think>", "</mm:think>"),
        ("<longcat_think>", "</longcat_think>"),
        ("◁think▷", "◁/think▷"),
        ("[THINK]", "[/THINK]"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
        (
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        ),
        ("analysisWe need to see.", "assistantfinal"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("Here's my thought process:", "Here's my response:"),
        ("<think>Hm.</think>\n<think>", "</think>"),
        ("\u{feff}<think>", "</think> <think>And</think>"),
    ] {
        let text = format!("{open}{DRAFT}{close}{{\"score\": 2}}");
        assert_eq!(answer(&text), "{\"score\": 2}", "{open}");
        for size in [1, 2, 3, 5, 7, 1000] {
            assert_eq!(said(&text, size, false), "{\"score\": 2}", "{open} {size}");
        }
    }
}

#[test]
fn what_is_put_around_an_answer_behind_reasoning_goes_with_it() {
    for (before, behind) in [
        ("<think>Hm.</think>\n<answer>\n", "\n</answer>"),
        ("<think>Hm.</think><response>", "</response>\n"),
        ("<think>Hm.</think><answer>", ""),
        ("<|begin_of_thought|>Hm.<|end_of_thought|>\n\n<|begin_of_solution|>", "<|end_of_solution|>"),
        ("<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>", "<|close|>response<|sep|>"),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>", "<|return|>"),
    ] {
        assert_eq!(answer(&format!("{before}Yes.{behind}")), "Yes.", "{before}");
    }
    assert_eq!(answer("<answer>Yes.</answer>"), "<answer>Yes.</answer>", "without reasoning it is the answer's own");
}

#[test]
fn an_end_without_a_beginning_is_one_too() {
    for end in ["</think>", "</thinking>", "[/THINK]", "◁/think▷", "</seed:think>"] {
        for (before, behind) in [("\n", "\n\n"), (" ", " "), ("", ""), ("\n", ""), ("", "\n")] {
            let text = format!("{DRAFT}{before}{end}{behind}The answer.");
            let mut told = text.clone();
            assert!(drop_reasoning(&mut told), "{text}");
            assert_eq!(told, "The answer.", "{text}");
            for size in [1, 3, 1000] {
                assert_eq!(said(&text, size, true), "The answer.", "{text} {size}");
            }
        }
    }
    assert_eq!(answer("{\"score\": 1}</think>{\"score\": 2}"), "{\"score\": 2}");
    assert_eq!(said(&format!("{DRAFT}\n</think>{}The answer.", "\n".repeat(100)), 4, true), "The answer.");
}

#[test]
fn an_answer_that_speaks_about_tags_stays_whole() {
    for text in [
        "Use `<think>` and `</think>` around it.",
        "Models end with `</think>`.\n\nThen comes the answer.",
        "The closing </think> tag may stand alone.",
        "Write \"</think>\" there. More follows.",
        "Like this:\n\n```html\n<p>\n</think>\n</p>\n```\n\nDone.",
        "Like this:\n\n~~~\nreasoning\n</think>\nanswer\n~~~\n",
        "<p>First</p>\n<think>\nthen\n</think>\nlast",
        "# Tags\n\n<thinking> and\n</thinking>\nare two.",
        "{\"text\": \"a.\\n</think>\\n\\nB\"}",
        "<thinker>A name</thinker>",
        "<thin",
        "[1, 2]",
        "Here is my plan.",
        "Here is my thought process: simple.",
        "analysisWe did it.",
        "  indented\n",
        "",
    ] {
        assert_eq!(answer(text), text);
        for size in [1, 4, 1000] {
            assert_eq!(said(text, size, false), text, "{size}");
        }
    }
    // A stray tag after an answer does not affect it.
    assert_eq!(answer("The answer.\n</think>\n"), "The answer.");
}

#[test]
fn reasoning_alone_is_no_answer() {
    for text in
        ["<think>Hm", "<think>Hm.</think>", "<think>Hm.</think>\n\n", "[THINK]Hm.", "<|channel|>analysis<|message|>Hm"]
    {
        assert_eq!((answer(text), said(text, 3, false)), (String::new(), String::new()), "{text}");
    }
}

#[test]
fn a_model_that_begins_in_the_midst_of_reasoning_is_heard_where_it_does_not() {
    assert_eq!(said("Plainly.", 3, true), "Plainly.");
    assert_eq!(said("<think>Hm.</think>Plainly.", 3, true), "Plainly.");
    let heard = Heard::default();
    let mut sink = TextSink::new(&heard, true);
    sink.reason();
    sink.say("At once");
    assert_eq!(heard.texts().concat(), "At once", "what a server tells apart itself is not held back");
}

proptest! {
    #[test]
    fn what_is_heard_is_what_is_kept(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<think>", "</think>", "<", "think", ">", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "\n", "a", "Ä",
                "<|channel|>analysis<|message|>", "<|end|>", " b.",
            ]),
            0..12,
        ),
        size in 1_usize..9,
    ) {
        let text = parts.concat();
        // Words cannot be taken back once an end tag without a beginning arrives.
        prop_assume!(lone_ending(&text, 0).is_none());
        let heard = said(&text, size, false);
        // Trailing marks are only removed from a complete answer.
        prop_assume!(!heard.contains("<|end|>"));
        prop_assert_eq!(heard, answer(&text));
    }
}
