//! Cases that the corpus does not cover: the exact parts of a point, and the time that parsing takes.

use std::time::{Duration, Instant};

use crate::points::Severity;

use super::*;

const NUMBERS: [&str; 5] = ["2.1", "2.2", "2.7", "2.10", "D3"];

fn points(text: &str) -> Vec<(Severity, Option<String>, String, Option<String>)> {
    let points = read_critique(text, &[]).points.unwrap_or_default();
    let parts = |one: RaisedPoint| {
        (one.severity, one.about, one.text.to_string(), one.resolution.map(|remedy| remedy.to_string()))
    };
    points.into_iter().map(parts).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where a reading has an option")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The number, verdict, section and reason of each answer.
fn answers(text: &str) -> Vec<(&'static str, Response, Option<String>, Option<String>)> {
    let text = format!("Body.\n\n## Response to critiques\n\n{text}");
    let read = read_answers(&text, ANSWERS_HEADING, &NUMBERS).answers.into_iter();
    read.map(|one| (NUMBERS[one.point], one.verdict, one.section, one.reason.as_deref().map(str::to_owned))).collect()
}

#[test]
fn a_point_is_told_apart_into_its_parts_word_for_word() {
    for text in [
        "1. [blocking] Keys: one `key` for **all**, see §4. Resolved by: one each.",
        "1. **[blocking]** **Keys:** one `key` for **all**, see §4. **Resolved by:** one each.",
        "1. **[blocking] Keys:** one `key` for **all**, see §4. *Resolved by:* one each.",
        "1) [Blocking] Keys: one `key` for **all**, see §4.\n\n   Resolved by: one each.",
        "### 1. [blocking] Keys: one `key` for **all**, see §4.\n\nResolved by: one each.",
        "- [blocking] Keys: one `key` for **all**, see §4.\n  - Resolved by: one each.",
        "**1. [blocking]** Keys: one `key` for **all**, see §4. Resolved by: one each.",
        "`[blocking]` Keys: one `key` for **all**, see §4. Resolved by: one each.",
    ] {
        let read = points(text);
        let expected =
            (Severity::Blocking, some("Keys"), "one `key` for **all**, see §4.".to_owned(), some("one each."));
        assert_eq!(read, [expected], "{text}");
    }
    let read = points("1. `DROP TABLE` locks: [x] and §3 fail at -5 °C.\n2. -5 °C is too cold.\n3. Second: at 10:30.");
    let texts: Vec<_> = read.iter().map(|(severity, about, text, _)| (*severity, about.as_deref(), &**text)).collect();
    assert_eq!(
        texts,
        [
            (Severity::Major, Some("`DROP TABLE` locks"), "[x] and §3 fail at -5 °C."),
            (Severity::Major, None, "-5 °C is too cold."),
            (Severity::Major, Some("Second"), "at 10:30."),
        ]
    );
    let read = points(
        "1. [major] A: b.\n\n   ```sql\n   SELECT 1;\n   ```\n\n   More of it.\n2. [minor] C: d.\n\nThat is all.",
    );
    assert_eq!(read[0].2, "b.\n\n```sql\nSELECT 1;\n```\n\nMore of it.");
    assert_eq!(read[1].2, "d.");
}

#[test]
fn what_a_point_is_about_may_hold_a_clock_time_or_be_a_quotation() {
    for (text, about, rest) in [
        ("07:00–19:00 UTC: no lock is allowed.", Some("07:00–19:00 UTC"), "no lock is allowed."),
        ("**Window 07:00–19:00 UTC:** no lock.", Some("Window 07:00–19:00 UTC"), "no lock."),
        ("The lock is held from 07:00. So the answer is late: it times out.", None, ""),
        ("The plan locks (step 4.) It then does this: it waits.", None, ""),
        ("`a: b` in the file: it is no YAML.", Some("`a: b` in the file"), "it is no YAML."),
        ("See https://example.org for it", None, ""),
        (
            "\"The index is built in 5 s. It takes no lock!\": it takes 40 min (sure).",
            Some("\"The index is built in 5 s. It takes no lock!\""),
            "it takes 40 min (sure).",
        ),
        (
            "“Step 4: lock the table” (Cut-over): it is step 5.",
            Some("“Step 4: lock the table” (Cut-over)"),
            "it is step 5.",
        ),
        ("**\"A: b\":** c.", Some("\"A: b\""), "c."),
        ("\"Storage\" section: it is empty.", Some("\"Storage\" section"), "it is empty."),
    ] {
        let read = points(&format!("1. [major] {text}"));
        let expected = (about.map(str::to_owned), if about.is_some() { rest } else { text }.to_owned());
        assert_eq!((read[0].1.clone(), read[0].2.clone()), expected, "{text}");
    }
}

#[test]
fn a_comparison_is_part_of_a_remedy_and_an_arrow_is_not() {
    let remedy = |written: &str| points(&format!("1. [major] Clocks: too late.{written}")).remove(0).3;
    assert_eq!(remedy(" Resolved by: > 5 minutes ahead is held."), some("> 5 minutes ahead is held."));
    assert_eq!(remedy(" Resolved by: < 5 minutes."), some("< 5 minutes."));
    assert_eq!(remedy(" Resolved by: >= 3 copies."), some(">= 3 copies."));
    assert_eq!(remedy(" Resolved by -> hold it."), some("hold it."));
    assert_eq!(remedy(" Resolved by: => hold it."), some("hold it."));
}

#[test]
fn a_review_names_the_approaches_to_give_up_word_for_word() {
    let review = |section: &str| format!("## Text 1\n\n1. [major] A: b.\n\n{section}");
    let two = [
        (Some(1), "Text 1: one `lock` for all.\nInstead: leases.".to_owned()),
        (Some(3), "Text 3 (mine): it waits. Instead: Text 2.".to_owned()),
    ];
    for section in [
        "## Approach to give up\n\n- Text 1: one `lock` for all.\n  Instead: leases.\n- Text 3 (mine): it waits. Instead: Text 2.",
        "### Approaches to give up:\n\nText 1: one `lock` for all.\nInstead: leases.\n\nText 3 (mine): it waits. Instead: Text 2.",
    ] {
        assert_eq!(read_given_up(&review(section)), two, "{section}");
        assert_eq!(read_review(&review(section), &[1])[0].points.as_ref().map(Vec::len), Some(1), "{section}");
    }
    let free = review("**Approach to give up**\n\nMy own: it waits for a lock that nobody gives back.");
    let said = "My own: it waits for a lock that nobody gives back.".to_owned();
    assert_eq!(read_given_up(&free), [(None, said)]);
    for section in ["", "## Approach to give up\n\nNone.", "## Approach to give up"] {
        assert_eq!(read_given_up(&review(section)), [], "{section}");
    }
}

#[test]
fn only_items_at_the_top_are_points() {
    let read = points("1. [major] A: b.\n   1. first\n   2. second\n2. C: d.\n\n## Strengths\n\n1. It is short.");
    assert_eq!(read.len(), 2, "{read:?}");
    assert_eq!(points("> 1. [major] quoted\n\n```\n1. [major] code\n```\n<!-- 1. hidden -->"), []);
    assert_eq!(points("Major cities have no coverage.\n\n- Blocking is not used."), []);
    let many = (1..=40).map(|number| format!("{number}. [minor] A: b.")).collect::<Vec<_>>().join("\n");
    let read = read_critique(&many, &[]);
    assert_eq!((read.points.unwrap().len(), read.unread), (30, 10));
}

#[test]
fn a_severity_may_stand_elsewhere_and_a_number_be_named() {
    for text in [
        "Point 1: Keys\nSeverity: High\nObjection: one for all.",
        "**Point 1: Keys** one for all. (blocking)",
        "## Critical issues\n\n4) Keys: one for all.",
        "## Critical\n\n- Keys: one for all.\n- Resolved by: one each.",
        "1. **Keys** one for all.\n   - **Severity:** critical",
    ] {
        let read = points(text);
        assert_eq!(read.len(), 1, "{text}: {read:?}");
        assert_eq!(read[0].0, Severity::Blocking, "{text}: {read:?}");
    }
    // Other words in brackets and other numbers do not set the severity.
    assert_eq!(points("1. Keys: the risk (high) is known.")[0].0, Severity::Major);
    for text in ["Point 2.7 (Keys) was a good one.", "Point of order: none.", "Points 1 and 2 stand."] {
        assert_eq!(points(text), [], "{text}");
    }
}

#[test]
fn in_a_list_of_points_a_tag_may_be_missing() {
    let read = points("- [minor] Keys: one for all.\n- Clocks: they drift.\n  - by a second\n- [blocking] Disk: full.");
    let read: Vec<_> = read.iter().map(|one| (one.0, one.1.as_deref())).collect();
    let expected = [(Severity::Minor, "Keys"), (Severity::Major, "Clocks"), (Severity::Blocking, "Disk")];
    assert_eq!(read, expected.map(|(severity, about)| (severity, Some(about))));
    for text in [
        "- [minor] Keys: one for all.\n- Resolved by: one each.",
        "1. [minor] Keys: one for all.\n- a detail\n- another",
        "- [minor] Keys: one for all.\n\nIt is short, and I like\n\n- the names\n- the order",
        "- It is short.\n- It is plain.\n\n- [minor] Keys: one for all.",
    ] {
        assert_eq!(points(text).len(), 1, "{text}");
    }
}

#[test]
fn a_recheck_may_be_a_sentence() {
    let text = "1. 2.7 (Storage) is withdrawn; it is there.\n2. 2.1 (Keys) is not withdrawn: one for all.\n\
        3. 2.2 (Clocks) I maintain, as they drift.\n4. 2.10 is verified in Costs: it is there.";
    let read = read_critique(text, &NUMBERS);
    let said: Vec<_> = read.said.iter().map(|one| (NUMBERS[one.point], one.verdict)).collect();
    let expected = [
        ("2.7", RecheckStanding::Withdrawn),
        ("2.1", RecheckStanding::Maintained),
        ("2.2", RecheckStanding::Maintained),
        ("2.10", RecheckStanding::Verified),
    ];
    assert_eq!((said.as_slice(), read.points), (expected.as_slice(), Some(Vec::new())));
}

#[test]
fn what_is_said_of_earlier_points_without_their_numbers_is_no_new_point() {
    let text = "## Earlier points\n1. The queue: bounded now.\n2. The cache: still unbounded.\n\n";
    let new = "## New points\n1. The lock: it never ends.\n2. [minor] The name: it is long.";
    let read = |text: &str| points(text).into_iter().map(|(_, about, ..)| about.unwrap()).collect::<Vec<_>>();
    assert_eq!(read(&format!("{text}{new}")), ["The lock", "The name"]);
    assert_eq!(
        read(&format!("{text}3. [major] The lock: it never ends.\n4. The name: it is long.")),
        ["The lock", "The name"]
    );
    assert_eq!(read_critique(text, &["1.1"]).points, None);
}

#[test]
fn tags_of_another_form_make_a_text_unread() {
    let text = |tag: &str| format!("1. [major] The lock: it never ends.\n2. {tag} The name: it is long.");
    assert_eq!(read_critique(&text("[block]"), &[]).points, None);
    assert_eq!(points(&text("[Names](https://example.org)")).len(), 2);
}

#[test]
fn the_last_word_on_a_point_counts_and_none_does_where_it_cannot_be_read() {
    let read = |last: &str| answers(&format!("- 2.1 accepted (Plan): it is there\n- {last}"));
    assert_eq!(read("2.1 rejected: it is not").len(), 1);
    assert_eq!(read("2.1 again: on second thoughts only partly"), []);
}

#[test]
fn no_objections_counts_only_where_it_is_all_that_is_said() {
    for text in ["No objections.", "**No objections.**", "## Points\n\nNo objections.", "no objections"] {
        assert_eq!(read_critique(text, &[]).points, Some(Vec::new()), "{text}");
    }
    for text in [
        "",
        "Nice weather.",
        "No objections to the storage, but the queue grows.",
        "No objections. The queue grows, though.",
        "Keine Einwände.",
        "1.",
        "1. [blo",
        "<think>No objections.",
        "1. **[blockierend] Ausfall:** das Terminal steht.\n2. [gering] Namen: lang.",
        "1. The budget adds up.\n2. Writes survive.\n\nI raise no objections in this round.",
    ] {
        assert_eq!(read_critique(text, &[]).points, None, "{text}");
    }
    let text = "No objections to the storage.\n\n1. [major] Queue: it grows.";
    assert_eq!(points(text).len(), 1, "a tag says that it is a point");
    assert_eq!(read_critique("- 2.7 withdrawn: yes.", &NUMBERS).points, Some(Vec::new()));
    let text = "## Earlier points\n- 2.7 withdrawn: yes.\n\n## New points\n\nThe queue grows.";
    assert_eq!(read_critique(text, &NUMBERS).points, None, "a point without its form");
}

#[test]
fn rechecks_name_the_section_and_are_no_points() {
    let text = "## Earlier points\n\n- 2.7 verified (Storage, step 3): the `token` is checked.\n- **2.1** maintained: no\n  \
        write carries it.\n- `2.2`: **withdrawn** — true.\n- 9.9 verified (x): unknown.\n- 2.10 verified in Costs: now there.\n\n\
        ## New points\n\n1. [major] Clocks: they drift.";
    let ReadCritique { points, said: rechecks, unread: 0 } = read_critique(text, &NUMBERS) else { panic!() };
    let said = |one: &Statement<RecheckStanding, usize>| {
        (NUMBERS[one.point], one.verdict, one.section.clone(), one.reason.as_deref().map(str::to_owned))
    };
    assert_eq!(
        rechecks.iter().map(said).collect::<Vec<_>>(),
        [
            ("2.7", RecheckStanding::Verified, some("Storage, step 3"), some("the `token` is checked.")),
            ("2.1", RecheckStanding::Maintained, None, some("no\nwrite carries it.")),
            ("2.2", RecheckStanding::Withdrawn, None, some("true.")),
            ("2.10", RecheckStanding::Verified, some("Costs"), some("now there.")),
        ]
    );
    assert_eq!(points.unwrap().len(), 1);
}

#[test]
fn a_check_finds_accepted_points_and_raises_its_own() {
    let text = "## Accepted points\n\n- 2.7 verified (Storage): it is there.\n- 2.1 not found: no word of it.\n\
        - 2.2 moot: there is no queue any more.\n\n1. [blocking] Failover: nobody says who decides. Resolved by: a quorum.";
    let read = read_check(text, &NUMBERS);
    let found: Vec<_> = read.said.iter().map(|one| (NUMBERS[one.point], one.verdict)).collect();
    assert_eq!(found, [("2.7", Found::Verified), ("2.1", Found::NotFound), ("2.2", Found::Moot)]);
    assert_eq!(read.points.unwrap().len(), 1);
    assert_eq!(read_check("No objections.", &[]).points, Some(Vec::new()));
    assert_eq!(read_check("- 2.7 verified (x): y.", &NUMBERS).points, Some(Vec::new()));
}

#[test]
fn a_review_says_something_of_each_text_under_its_heading() {
    let text = "Intro.\n\n## Text 1\n\n1. [major] A: b.\n2. [minor] C: d.\n\n## Text 12: the queue\n\nNo objections.\n\n\
        **Text 3**\n\nI like it.\n\n## Approach to give up\n\n1. Text 2: it cannot work.";
    let read = read_review(text, &[12, 1, 3, 4]);
    let counts: Vec<_> = read.iter().map(|one| one.points.as_ref().map(Vec::len)).collect();
    assert_eq!(counts, [Some(0), Some(2), None, None]);
}

#[test]
fn answers_are_read_word_for_word() {
    let yes = Response::Accepted;
    for text in [
        "2.7 accepted (Storage): `n` partitions, see §4.",
        "- 2.7 accepted (Storage): `n` partitions, see §4.",
        "- **2.7 accepted (Storage):** `n` partitions, see §4.",
        "- **2.7** — **accepted** (Storage) — `n` partitions, see §4.",
        "* `2.7` accepted (Storage): `n` partitions, see §4.",
        "### 2.7 accepted (Storage)\n\n`n` partitions, see §4.",
        "1. 2.7: Accepted (Storage). `n` partitions, see §4.",
        "| 2.7 | accepted (Storage) | `n` partitions, see §4. |",
    ] {
        assert_eq!(answers(text), [("2.7", yes, some("Storage"), some("`n` partitions, see §4."))], "{text}");
    }
    assert_eq!(answers("2.7 accepted (Limits): -5 °C"), [("2.7", yes, some("Limits"), some("-5 °C"))]);
    assert_eq!(answers("D3 partly: half"), [("D3", Response::Partly, None, some("half"))]);
    assert_eq!(answers("2.1 accepted"), [("2.1", yes, None, None)]);
    assert_eq!(answers("2.1 accepted: 30 s"), [("2.1", yes, None, some("30 s"))]);
    assert_eq!(answers("2.1 accepted in section 4: 30 s"), [("2.1", yes, some("section 4"), some("30 s"))]);
    let read = answers("2.1 and 2.2 rejected: the budget.\n2.7 accepted\n2.7 rejected: second thoughts.");
    let verdicts: Vec<_> = read.iter().map(|(number, verdict, ..)| (*number, *verdict)).collect();
    assert_eq!(verdicts, ["2.1", "2.2", "2.7"].map(|number| (number, Response::Rejected)));
    for text in
        ["2.7 accepted risks are listed", "12.7 accepted", "2.71 accepted", "2.7 not accepted: no", "accepted: 2.7"]
    {
        assert_eq!(answers(text), [], "{text}");
    }
    assert_eq!(answers("> 2.7 accepted: x\n\n```\n2.1 accepted: x\n```\n<!-- 2.2 accepted: x -->\n"), []);
}

#[test]
fn the_section_is_where_the_answers_are() {
    let text = "# A\n\n2.7 accepted: a state.\n\n## Response to critiques\n- 2.7 rejected: no.\n\n## Costs\n\nNone.";
    let read = read_answers(text, ANSWERS_HEADING, &NUMBERS);
    assert_eq!(read.answers[0].verdict, Response::Rejected);
    assert_eq!(&text[read.section.unwrap()], "## Response to critiques\n- 2.7 rejected: no.\n\n");
    assert_eq!(read_answers("2.7 accepted: it is stored.", ANSWERS_HEADING, &NUMBERS), ReadAnswers::default());
    assert_eq!(read_answers(text, CHECK_ANSWERS_HEADING, &NUMBERS), ReadAnswers::default());
}

#[test]
fn only_the_section_that_was_asked_for_is_one() {
    let section =
        |text: &str| read_answers(text, ANSWERS_HEADING, &NUMBERS).section.map(|range| text[range].to_owned());
    for heading in [
        "## Response to critiques",
        "# RESPONSE TO CRITIQUES",
        "###### Response to Critiques:",
        "## **Response to critiques**",
        "## 3. Response to critiques",
        "**Response to critiques:**",
        "**Response to critiques**:",
    ] {
        for answer in
            ["- 2.7 rejected: no.", "9.7 accepted: of another text.", "| 2.1 | partly | half |", "**P9** rejected"]
        {
            let own = format!("{heading}\n\n{answer}\n\n");
            let level = heading.find(|c| c != '#').unwrap().max(1);
            let next = format!("{} Costs\n\nNone.", "#".repeat(level));
            assert_eq!(section(&format!("# A\n\nText.\n\n{own}{next}")), Some(own), "{heading}");
        }
        assert_eq!(section(&format!("# A\n\n{heading}\n\nThere was none.\n")), None, "{heading}: no answer");
    }
    for heading in [
        "## Response headers",
        "## Replies",
        "## Response to critiques of the old design",
        "Response to critiques",
        "- Response to critiques",
        "```\n## Response to critiques\n```",
    ] {
        assert_eq!(section(&format!("# A\n\n{heading}\n\n- 2.7 rejected: no.\n")), None, "{heading}");
    }
    // A bold title's section ends at the next bold title.
    let text = "A.\n\n**Response to critiques**\n\n- 2.7 rejected: no.\n\n**Costs**\n\nNone.";
    assert_eq!(section(text).as_deref(), Some("**Response to critiques**\n\n- 2.7 rejected: no.\n\n"));
}

#[test]
fn hostile_texts_cost_no_more_than_long_ones() {
    let stairs: Vec<String> = (0..300).map(|depth| format!("{}- a\n", " ".repeat(2 * depth))).collect();
    let blanks = "\n".repeat(30_000);
    let mut texts = vec![stairs.concat() + &blanks, format!("{}a{blanks}", "- ".repeat(5_000))];
    for piece in [
        ">",
        "- ",
        "[",
        "*a **a ",
        "1. [",
        "2.7 x ",
        "2.7 accepted ",
        "- 2.7 accepted (",
        "<!-- ",
        "</think>",
        "```\n",
        "# a\n",
        "一、",
        "\r",
        "\0",
    ] {
        texts.push(piece.repeat(30_000 / piece.len()));
    }
    for text in texts {
        let start = Instant::now();
        let _ = (read_critique(&text, &NUMBERS), read_answers(&text, ANSWERS_HEADING, &NUMBERS));
        let _ = (read_check(&text, &NUMBERS), read_review(&text, &[1, 2]), read_given_up(&text));
        // Quadratic parsing would take minutes.
        assert!(start.elapsed() < Duration::from_secs(20), "{text:.20}");
    }
}

#[test]
fn the_list_under_the_heading_is_read_however_it_is_written() {
    for text in [
        "Text.\n\n## Decisions\n- Use Postgres\n- Cache reads for\n  5 s\n\n## Response to critiques\n- 1.1 accepted: yes",
        "## Decisions\n\n1. Use Postgres\n2. Cache reads for\n   5 s\n",
        "# A\n\n### 4. Key decisions:\n\n* Use Postgres\n  - since it is there\n* Cache reads for 5 s\n",
        "A\n\n**Decisions:**\n\n+ Use Postgres\n+ Cache reads for 5 s",
        "## Decisions\n- an old list\n\n## More\n\n## Decisions\n- Use Postgres\n- Cache reads for 5 s\n\nThat is all.",
    ] {
        assert_eq!(read_decisions(text), ["Use Postgres", "Cache reads for 5 s"], "{text}");
    }
}

#[test]
fn a_text_without_a_list_decides_nothing() {
    for text in
        ["", "We decided on Postgres.", "## Decisions\n\nNone.", "## Decisions to be made later\n- x", "## Decisions"]
    {
        assert_eq!(read_decisions(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(read_decisions(&format!("## Decisions\n{}", "- x\n".repeat(500))).len(), MOST_DECISIONS);
}
