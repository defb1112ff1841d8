//! The report as a page: what is on it, that it is sound HTML, and that nothing in it runs.

mod browser;
mod hostile;
mod readers;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::chromium::is_installed;
use crate::support::{Plan, Sandbox, Tag, assert_nested, config, spread, tags};
use dialectic_record::debate::Debate;
use dialectic_record::event::{Recorded, fold};
use dialectic_record::points::Ledger;
use dialectic_record::store::read_state;
use dialectic_report::report::{View, html};

use self::browser::{Listener, Measure, count_visible, document, measure, unescaped};
use self::hostile::Hostile;

fn page(debate: &Debate) -> String {
    html(&View::new(debate, None))
}

/// An offline debate over two rounds.
fn offline(debate: &Value, arguments: &[&str], environment: &[(&str, &str)]) -> Debate {
    let mut settings = json!({"rounds": 2});
    settings.as_object_mut().unwrap().extend(debate.as_object().unwrap().clone());
    let sandbox = Sandbox::new().config(&config(&["architect", "security", "kiss"], &settings));
    let sandbox = environment.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value));
    let problem = "# A rate limiter\n\nIt must be fast.\n- It must not lose requests.";
    sandbox.run(["debate", "--offline", problem].into_iter().chain(arguments.iter().copied())).expect_code(0);
    sandbox.debate(&sandbox.only_debate())
}

/// A made-up debate in which calls fail, some prices are unknown, and which was interrupted.
fn made_up() -> Vec<Recorded> {
    let plan = Plan {
        agents: 4,
        rounds: 3,
        clarified: true,
        summarized: true,
        failing: 9,
        unpriced: 5,
        interrupted: true,
        seed: 11,
    };
    plan.events(2)
}

/// A debate of the fixtures.
fn fixture(name: &str) -> Debate {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    read_state(&directory.join(format!("{name}.json"))).unwrap()
}

/// Debates of every kind.
static DEBATES: LazyLock<Vec<(&'static str, Debate)>> = LazyLock::new(|| {
    let convergence = json!({
        "terminationCondition": {"type": "convergence", "threshold": 99},
        "summarization": {"enabled": true, "threshold": 1000, "maxLength": 500},
    });
    let of_protocol = |name: &str| offline(&json!({"protocol": name}), &[], &[]);
    let events = made_up();
    vec![
        ("judged", offline(&convergence, &[], &[])),
        ("voted", offline(&json!({"protocol": "arena"}), &["--clarify"], &[])),
        ("with failures", offline(&json!({}), &[], &[("OFFLINE_FAIL_EVERY", "5")])),
        ("motion", of_protocol("oxford")),
        ("council", offline(&json!({"protocol": "council", "rounds": 1}), &[], &[])),
        ("unfinished", fold(&events[..events.len() / 2]).unwrap()),
        ("made up", fold(&events).unwrap()),
        ("argued", fixture("shown/argued")),
        ("old", fixture("simple")),
        ("old with clarifications", fixture("clarified")),
    ]
});

fn named(name: &str) -> &'static Debate {
    &DEBATES.iter().find(|(known, _)| *known == name).expect("there is such a debate").1
}

/// The ids of the sections of a page.
fn sections(page: &str) -> Vec<String> {
    let labelled = |tag: &Tag| tag.name == "section" && tag.attribute("aria-labelledby").is_some();
    let sections = tags(page).into_iter().filter(labelled);
    sections.filter_map(|tag| tag.attribute("id").map(str::to_owned)).collect()
}

#[test]
fn every_page_is_sound_and_holds_all_that_it_needs() {
    for (name, debate) in &*DEBATES {
        let page = page(debate);
        assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{name}");
        assert_nested(&page);
        assert_harmless(name, &page);
        let tags = tags(&page);
        let answer = debate.final_solution.as_ref().map_or("", |solution| &solution.description);
        let mut level = 0;
        for heading in tags.iter().filter(|tag| !tag.is_end && tag.name.len() == 2 && tag.name.starts_with('h')) {
            if let Some(next) = heading.name[1..].parse::<u32>().ok().filter(|next| (1..=6).contains(next)) {
                assert!(next <= level + 1, "{name}: <h{next}> follows <h{level}>");
                assert!(next > 1 || level == 0, "{name}: a second <h1>");
                level = next;
            }
        }
        let ids: Vec<&str> = tags.iter().filter_map(|tag| tag.attribute("id")).collect();
        let known: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(known.len(), ids.len(), "{name}: an id is used twice");
        for tag in &tags {
            let names = ["aria-labelledby", "aria-describedby"].into_iter().filter_map(|name| tag.attribute(name));
            let anchors = tag.attribute("href").and_then(|href| href.strip_prefix('#'));
            for id in names.flat_map(str::split_whitespace).chain(anchors) {
                assert!(known.contains(id), "{name}: nothing has the id {id}");
            }
            let described = tag.attribute("role") == Some("img") && tag.attribute("aria-labelledby").is_some();
            let hidden = tag.attribute("aria-hidden") == Some("true");
            assert!(tag.is_end || tag.name != "svg" || described || hidden, "{name}: a drawing without words");
        }
        // Nothing is hidden until a script shows it, or written by one.
        assert!(!tags.iter().any(|tag| tag.attribute("hidden").is_some()), "{name}: something is hidden");
        let begins = answer.split(|c: char| !c.is_alphanumeric()).find(|word| word.len() > 6);
        assert!(page.contains(begins.unwrap_or_default()), "{name}: the solution is not there");
        let headings = page.split("<h").skip(1).filter_map(|tag| tag.split_once('>')?.1.split("</h").next());
        let title = debate.problem.lines().next().unwrap().trim_start_matches('#').trim();
        assert!(headings.filter(|heading| *heading == title).count() <= 1, "{name}: the title is said again");
        assert!(page.matches(">Verdict</h").count() <= 1, "{name}");
        let count = |wanted: &str| tags.iter().filter(|tag| !tag.is_end && tag.name == wanted).count();
        // Those of a text have none.
        let written = answer.lines().filter(|line| line.starts_with("| ---")).count();
        assert_eq!(count("table"), count("caption") + written, "{name}: a table without a caption");
        let scopeless = tags.iter().any(|tag| !tag.is_end && tag.name == "th" && tag.attribute("scope").is_none());
        assert!(written > 0 || !scopeless, "{name}: a heading of a table without a scope");
    }
}

/// Bytes of a page that its frame may take: its style, its tables of points and settings.
const FRAME: usize = 60_000;

/// What people and models wrote in a debate, in bytes.
fn texts(debate: &Debate) -> usize {
    let said = debate.rounds.iter().flat_map(|round| &round.contributions).chain(&debate.checks);
    let summaries =
        debate.rounds.iter().flat_map(|round| round.summaries.iter().flatten()).map(|(_, one)| one.summary.len());
    let solution = debate.final_solution.as_ref().map_or(0, |solution| {
        let reasons = solution.rulings.iter().map(|ruling| ruling.reason.len() + ruling.remains.len());
        solution.description.len() + reasons.sum::<usize>()
    });
    let said: usize = said.map(|one| one.content.len()).sum();
    debate.problem.len() + said + summaries.sum::<usize>() + solution
}

/// A page is read on the way, and kept for years: it is not much larger than what it says. Prepared texts are a few
/// lines each, so that their frame is most of a page; the texts of the demo have the usual length.
#[test]
fn a_page_is_at_most_twice_its_texts_and_its_frame() {
    let sandbox = Sandbox::new();
    sandbox.run(["demo", "--quiet"]).expect_code(0);
    let recorded = sandbox.directory().join(".cache/dialectic/demo.json");
    sandbox.run([OsStr::new("report"), recorded.as_os_str(), OsStr::new("-o"), OsStr::new("demo.html")]).expect_code(0);
    let (texts_of_demo, page_of_demo) = (texts(&read_state(&recorded).unwrap()), sandbox.read("demo.html").len());
    assert!(page_of_demo <= 2 * texts_of_demo + FRAME, "{page_of_demo} bytes for {texts_of_demo}");
    for (name, debate) in &*DEBATES {
        let (page, texts) = (page(debate).len(), texts(debate));
        // Plans of events without words, and objections alone.
        if ["made up", "unfinished", "argued"].contains(name) {
            continue;
        }
        assert!(page <= 2 * texts + FRAME, "{name}: {page} bytes for {texts}");
    }
}

#[test]
fn a_page_has_the_sections_that_its_debate_has_something_for() {
    let expected = |name: &str| match name {
        "judged" => "solution problem participants story proposals critiques scores summaries usage settings",
        "voted" => {
            "solution problem participants story team clarifications proposals critiques agreement judgement usage settings"
        }
        "with failures" | "council" => "solution problem participants story proposals critiques usage settings",
        "motion" => "solution problem participants story speeches polls judgement usage settings",
        // Its title is the first sentence of two.
        "old" => "solution problem participants story proposals critiques usage",
        "old with clarifications" => "solution problem participants story clarifications proposals critiques usage",
        _ => "",
    };
    let mut compared = 0;
    for (name, debate) in &*DEBATES {
        let page = page(debate);
        let mut shown = sections(&page);
        let places = shown.len();
        shown.retain(|section| section != "objections");
        assert_eq!(places > shown.len(), !Ledger::shown(debate).is_empty(), "{name}");
        let places = shown.len();
        shown.retain(|section| section != "answer-check");
        assert_eq!(places > shown.len(), !debate.checks.is_empty(), "{name}");
        if !expected(name).is_empty() {
            compared += 1;
            assert_eq!(shown.join(" "), expected(name), "{name}");
        }
        for section in sections(&page) {
            assert!(
                page.contains(&format!("<li><a href=\"#{section}\">")),
                "{name}: {section} is not in the navigation"
            );
        }
        assert_eq!(page, self::page(debate), "{name}: the same debate gives another page");
    }
    assert_eq!(compared, 7);
}

#[test]
fn the_solution_is_first_and_says_what_it_lacks() {
    let mut debate = named("with failures").clone();
    let solution = debate.final_solution.as_mut().unwrap();
    (solution.open_questions, solution.tradeoffs) = (vec!["How many?".to_owned()], vec!["Speed for size.".to_owned()]);
    let page = page(&debate);
    assert!(page.contains("<title>A rate limiter</title>"), "the mark of a heading is no part of the title");
    assert!(!page.contains("Judge Assessment"), "the assessment is shown from its fields");
    let outcome = debate.outcome.as_ref().unwrap();
    assert_eq!(outcome.kind.name(), "degraded");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not on the page"));
    let reason = outcome.reasons[0].clone();
    let order = [
        place("<span class=\"pill warn\">incomplete: "),
        place(&reason),
        place("<h2 id=\"solution-title\">"),
        place("<h3>Open questions</h3>"),
        place("<h3>Trade-offs</h3>"),
        place("<h2 id=\"problem-title\">"),
        place("<h2 id=\"story-title\">"),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn objections_are_filtered_without_a_script() {
    let page = page(&fixture("shown/argued"));
    assert_eq!(page.matches("<li class=\"blocking open\">").count(), 1);
    if !is_installed() {
        return;
    }
    let checked = |input: &str| format!("<input class=\"{input}\" type=\"checkbox\" checked>");
    let unchecked = |page: &str, severity: &str| {
        let input = checked(severity);
        assert_eq!(page.matches(&input).count(), 1, "{severity}");
        page.replace(&input, &input.replace(" checked", ""))
    };
    let only_open = "<input class=\"only-open\" type=\"radio\" name=\"objections-shown\">";
    assert_eq!(page.matches(only_open).count(), 1);
    let open = page.replace(only_open, &only_open.replace('>', " checked>"));
    let none = ["blocking", "major", "minor"].iter().fold(page.clone(), |page, severity| unchecked(&page, severity));
    let pages = [&*page, &open, &unchecked(&page, "minor"), &unchecked(&open, "major"), &none];
    assert_eq!(count_visible(&pages, ".objections .points > li", ""), [8, 5, 5, 3, 0]);
    // A reader who follows a link to a point sees it, whatever is filtered away: this one is major and settled.
    assert_eq!(count_visible(&pages, ".objections .points > li", "#objection-1.2"), [8, 6, 5, 4, 1]);
    assert_eq!(count_visible(&pages, "[id='objection-1.2']", "#objection-1.2"), [1; 5], "it is unfolded");
}

#[test]
fn what_no_model_said_is_marked_and_nobody_is_sure_of_it() {
    let voted = page(named("voted"));
    assert_eq!(voted.matches("<span class=\"pill offline\">rehearsal</span>").count(), 1);
    assert!(!voted.contains("<dt>Confidence</dt>") && !voted.contains(" % sure"), "{voted}");
    let debate = named("judged");
    assert_eq!(debate.final_solution.as_ref().unwrap().confidence, None);
    assert!(!page(debate).contains("<dt>Confidence</dt>"));
    // The same debate as models would have led it.
    let mut asked = debate.clone();
    let settings = asked.settings.as_mut().unwrap();
    settings.judge.provider = "openai".to_owned();
    asked.final_solution.as_mut().unwrap().confidence = Some(82.0);
    let asked = page(&asked);
    assert!(asked.contains("<dt>Confidence</dt>") && !asked.contains("offline</span>"));
}

#[test]
fn what_is_unknown_is_called_so() {
    let debate = named("made up");
    assert_eq!(debate.total_cost(), None);
    let page = page(debate);
    assert!(page.contains(" · cost unknown · "));
    let (total, silent) = (debate.total_tokens(), debate.total_usage().silent_calls);
    assert!(silent > 0, "a call came back without token counts");
    assert_eq!(page.matches(&dialectic_base::figures::sum_of_tokens(total, silent)).count(), 2);

    let old = self::page(named("old"));
    assert!(old.contains("No finished calls on record."), "{old}");
    assert!(!old.contains("$0"), "nothing is known to have cost nothing");
}

#[test]
fn a_fork_shows_its_parent_and_its_own_calls_alone() {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-r", "1", "Design a queue"]).expect_code(0);
    let parent = sandbox.only_debate();
    let page = || sandbox.read("fork.html");
    sandbox.run(["fork", &parent, "--at", "1.refinement", "--offline", "--report", "fork.html"]).expect_code(0);
    let fork = sandbox.debates().into_iter().find(|id| *id != parent).unwrap();
    assert!(page().contains(&format!("forked from <bdi>{parent}</bdi> at 1.refinement")), "{}", page());
    let own = sandbox.debate(&fork).total_usage().requests;
    assert!(own < sandbox.debate(&parent).total_usage().requests);
    assert!(page().contains(&format!(" · {own} calls · ")), "{}", page());
    sandbox.run(["report", "-d", &fork]).expect_code(0).prints([&format!("- Forked from: {parent} at 1.refinement; ")]);
}

/// Panics when there is something on a page that could run, load or send anything.
fn assert_harmless(name: &str, page: &str) {
    const FORBIDDEN: [&str; 19] = [
        "script",
        "iframe",
        "object",
        "embed",
        "img",
        "image",
        "link",
        "base",
        "form",
        "frame",
        "video",
        "audio",
        "button",
        "textarea",
        "foreignobject",
        "animate",
        "set",
        "use",
        "template",
    ];
    let tags = tags(page);
    assert!(tags.len() > 50, "{name}: that is no page");
    for tag in tags {
        assert!(!FORBIDDEN.contains(&tag.name.as_str()), "{name}: {tag:?}");
        assert!(tag.name != "meta" || tag.attribute("http-equiv") != Some("refresh"), "{name}: {tag:?}");
        for (attribute, value) in &tag.attributes {
            let forbidden =
                ["style", "src", "srcset", "srcdoc", "action", "formaction", "background", "xlink:href", "ping"];
            assert!(!attribute.starts_with("on") && !forbidden.contains(&attribute.as_str()), "{name}: {tag:?}");
            if attribute == "href" {
                let known = ["#", "http://", "https://", "mailto:"].iter().any(|start| value.starts_with(start));
                assert!(known && tag.name == "a", "{name}: {tag:?}");
            }
        }
    }
}

#[test]
fn nothing_runs_whatever_the_texts_of_a_debate_are() {
    if !is_installed() {
        return;
    }
    let listener = Listener::start();
    let hostile = Hostile::calling(&listener.address());
    for (name, debate) in hostile.debates() {
        let page = page(&debate);
        assert_nested(&page);
        assert_harmless(name, &page);
        let seen = document(&page);
        assert!(seen.contains("</footer>") && seen.len() > page.len() / 2, "{name}: the page was not read to its end");
        assert_harmless(name, &seen);
        assert!(!tags(&seen).iter().any(|tag| tag.attribute("data-ran").is_some()), "{name}: a script ran");
        assert_eq!(title(&seen), title(&page), "{name}: the title was changed");
        assert_eq!(listener.requests(), Vec::<String>::new(), "{name}: the page sent something");
    }
}

/// The title of a page, as text.
fn title(page: &str) -> String {
    let (_, after) = page.split_once("<title>").expect("a page has a title");
    let (title, _) = after.split_once("</title>").expect("a title ends");
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    entities.iter().fold(title.to_owned(), |title, (entity, c)| title.replace(entity, c))
}

/// Shows that the test above can fail: the same texts in a page that does not escape them.
#[test]
fn the_same_texts_do_run_where_they_are_not_escaped() {
    if !is_installed() {
        return;
    }
    let listener = Listener::start();
    let hostile = Hostile::calling(&listener.address());
    let seen = document(&unescaped(&hostile.text(0)));
    assert!(seen.contains("<title>it ran</title>"), "{seen}");
    assert!(tags(&seen).iter().any(|tag| tag.name == "html" && tag.attribute("data-ran").is_some()), "{seen}");
    let requests = listener.requests();
    for kind in ["/script", "/image"] {
        assert!(requests.iter().any(|path| path.starts_with(kind)), "{kind}: {requests:?}");
    }
}

#[test]
fn pages_fit_into_narrow_windows_and_their_stylesheet_is_allowed() {
    if !is_installed() {
        return;
    }
    // Of the hostile ones, which are large, a few, and only in the narrowest.
    let all = Hostile::calling("127.0.0.1:9").debates();
    let hostile: Vec<_> = spread(all.len(), 2, 0).map(|place| all[place].clone()).collect();
    for (debates, widths) in [(&hostile, &[320][..]), (&*DEBATES, &[320, 1280])] {
        let unfolded =
            |(name, debate): &(&'static str, Debate)| (*name, page(debate).replace("<details", "<details open"));
        let pages: Vec<(&str, String)> = debates.iter().map(unfolded).collect();
        let texts: Vec<&str> = pages.iter().map(|(_, page)| page.as_str()).collect();
        for width in widths {
            for ((name, _), Measure { scroll_width, is_styled }) in pages.iter().zip(measure(&texts, *width)) {
                assert!(is_styled, "{name}: the browser refused the stylesheet");
                assert!(scroll_width <= u64::from(*width), "{name}: {scroll_width} in a window of {width}");
            }
        }
    }
}
