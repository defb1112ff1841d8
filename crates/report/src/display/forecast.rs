//! The forecast of a debate for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use dialectic_base::figures::{counted, list, short_cost, thousands};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{Forecast, Made, PlannedCall, Purchase, Span, StageInfo};

use super::table::{ColumnFit, table};
use super::told::rows;

/// The maximum width of an id or a model.
const NAME_WIDTH: usize = 48;
/// The minimum width of the agent and target.
const WHO_WIDTH: usize = 22;
/// The maximum width of a stage.
const STAGE_WIDTH: usize = 24;

/// A forecast as text: each call with tokens and cost, the sums by model, and the assumptions. `stages` are the
/// protocol's. `width` is the screen's, if there is one; models and tokens are omitted first.
pub fn forecast(forecast: &Forecast, stages: &[StageInfo], width: Option<usize>) -> String {
    let broken = |first: &str, text: &str| lines(width, first, text);
    let mut text = broken("", "The calls of this debate. No model was called.");
    let mut part = None;
    let mut cells = Vec::new();
    let flush = |text: &mut String, cells: &mut Vec<[String; 6]>| {
        let columns = [
            (ColumnFit::Left(STAGE_WIDTH), 0),
            (ColumnFit::Broken(WHO_WIDTH), 0),
            (ColumnFit::Left(NAME_WIDTH), 3),
            (ColumnFit::Right, 2),
            (ColumnFit::Right, 1),
            (ColumnFit::Right, 0),
        ];
        text.push_str(&table(width, 2, columns, cells));
        cells.clear();
    };
    // Writing to a string cannot fail.
    for call in &forecast.calls {
        let its = ForecastPart::of(call, stages);
        if part != Some(its) {
            flush(&mut text, &mut cells);
            let _ = writeln!(text, "\n{}", its.title());
            part = Some(its);
        }
        cells.push(row(call));
    }
    flush(&mut text, &mut cells);
    text.push_str("\nIn all\n");
    text.push_str(&totals(forecast, width));
    text.push('\n');
    text.push_str(&broken(
        "",
        "Within a round a call starts as soon as its input texts are complete; otherwise it waits for the \
             previous stage.",
    ));
    text.push_str("\nAssumed\n");
    for assumption in &forecast.assumptions {
        text.push_str(&broken("  - ", assumption));
    }
    text
}

/// A paragraph after `first`, wrapped to the width of the screen, if any.
fn lines(width: Option<usize>, first: &str, text: &str) -> String {
    let lines = width.map_or_else(|| vec![format!("{first}{text}")], |width| rows(first, text, width));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The calls and cost of a debate on one line: `38 calls, likely $0.08, at most $0.28`. `limit` is the cost limit, if
/// any; `tools` is whether agents may call tools, which no figure includes.
pub fn price_tag(forecast: &Forecast, limit: Option<Usd>, tools: bool) -> String {
    let Span { low, high } = forecast.count();
    let calls = counted(high as u64, "call");
    let calls = if low == high { calls } else { format!("{low} to {calls}") };
    // Limits also count repeated requests.
    let of_cost = forecast.purchase.as_ref().filter(|purchase| purchase.limit.usd.is_some());
    let of_limit = of_cost.map(|purchase| (purchase.likely_all, purchase.all_rounds.usd));
    let Some((likely, most)) = of_limit.or_else(|| forecast.likely().zip(forecast.most())) else {
        let models = forecast.unpriced();
        let first = models.first().copied().map(one_line).unwrap_or_default();
        let more = if models.len() > 1 { format!(" and {} more", models.len() - 1) } else { String::new() };
        return format!("{calls}, of unknown cost (no price is known for {first}{more})");
    };
    if most == Usd::ZERO {
        return format!("{calls}, at no cost");
    }
    let shown = |amount: Usd| short_cost(amount.rounded_up());
    let (most, reason) = match limit {
        Some(limit) if limit < most => (limit, " (the limit)"),
        _ if tools => (most, " without tools"),
        Some(_) | None => (most, ""),
    };
    format!("{calls}, likely {}, at most {}{reason}", shown(likely.min(most)), shown(most))
}

/// What a limit of cost or calls covers, as text.
pub fn purchase(purchase: &Purchase) -> String {
    let Purchase { limit, all_rounds, bought, rounds, left_out, answer_limit, .. } = purchase;
    let held = answer_limit.map(|tokens| format!(", with answers of at most {} tokens", thousands(tokens.into())));
    let held = held.unwrap_or_default();
    let without = if left_out.is_empty() { String::new() } else { format!(", without {}", list(left_out)) };
    let buys = match (bought, rounds) {
        (bought, rounds) if bought < rounds => format!("{bought} of {rounds} rounds"),
        (_, 1) => "the round".to_owned(),
        (_, rounds) => format!("all {rounds} rounds"),
    };
    let (of_cost, calls) = (limit.usd.is_some(), counted(all_rounds.requests.into(), "call"));
    let all_rounds = match limit.calls {
        Some(_) if of_cost => format!("{} and {calls}", all_rounds.usd),
        Some(_) => calls,
        None => all_rounds.usd.to_string(),
    };
    let all = match (bought < rounds, left_out.is_empty()) {
        (false, true) => String::new(),
        (true, true) => format!("; all rounds can use {all_rounds}"),
        (true | false, false) => format!("; the whole debate can use {all_rounds}"),
    };
    format!("The {limit} buys {buys}{held}{without}{all}.")
}

/// The part of the debate to which a call belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForecastPart {
    Opening,
    Round(u32),
    Closing,
}

impl ForecastPart {
    fn of(call: &PlannedCall, stages: &[StageInfo]) -> Self {
        let place = stages.iter().position(|stage| stage.id == call.key.stage);
        match place.and_then(|place| stages.get(place..)) {
            Some([its, ..]) if its.in_round => Self::Round(call.key.round),
            Some([_, behind @ ..]) if behind.iter().any(|stage| stage.in_round) => Self::Opening,
            _ => Self::Closing,
        }
    }

    fn title(self) -> String {
        match self {
            Self::Opening => "Before the first round".to_owned(),
            Self::Round(number) => format!("Round {number}"),
            Self::Closing => "Closing".to_owned(),
        }
    }
}

fn row(call: &PlannedCall) -> [String; 6] {
    let agent = one_line(call.key.agent_id.as_str());
    let who = match &call.key.target_agent_id {
        Some(target) => format!("{agent} of {}", one_line(target.as_str())),
        None => agent,
    };
    let stage = one_line(call.key.stage.as_str());
    [
        if call.made == Made::Always { stage } else { format!("{stage}?") },
        who,
        one_line(&call.model),
        format!("{} in", span(call.input)),
        format!("{} out", span(call.output)),
        cost(call.cost),
    ]
}

fn totals(forecast: &Forecast, width: Option<usize>) -> String {
    let Forecast { calls, deciders, .. } = forecast;
    let mut models: BTreeMap<&str, Vec<&PlannedCall>> = BTreeMap::new();
    for call in calls {
        models.entry(&call.model).or_default().push(call);
    }
    let several = models.len() > 1;
    let mut rows: Vec<[String; 5]> = models.into_iter().map(|(model, calls)| sum(one_line(model), &calls)).collect();
    if several {
        rows.push(sum("together".to_owned(), &calls.iter().collect::<Vec<_>>()));
    }
    let columns = [
        (ColumnFit::Left(NAME_WIDTH), 0),
        (ColumnFit::Left(24), 0),
        (ColumnFit::Right, 2),
        (ColumnFit::Right, 1),
        (ColumnFit::Right, 0),
    ];
    let mut text = table(width, 2, columns, &rows);
    let reasons = [
        (Made::ByLength, "when texts have grown long".to_owned()),
        (Made::ByChoice, format!("when {} ask for it", one_line(&list(deciders)))),
    ];
    let given = reasons.into_iter().filter(|(made, _)| calls.iter().any(|call| call.made == *made));
    let given: Vec<String> = given.map(|(_, reason)| reason).collect();
    if !given.is_empty() {
        text.push_str(&lines(
            width,
            "  ",
            &format!("(a call with a question mark is made only {})", given.join(", or ")),
        ));
    }
    text
}

fn sum(name: String, calls: &[&PlannedCall]) -> [String; 5] {
    let all = calls.len() as u64;
    let certain = calls.iter().filter(|call| call.made == Made::Always).count() as u64;
    let count = if certain == all { counted(all, "call") } else { format!("{certain} to {}", counted(all, "call")) };
    let input: Span<u64> = calls.iter().map(|call| call.input).sum();
    let output: Span<u64> = calls.iter().map(|call| call.output).sum();
    // One unknown cost makes the sum unknown.
    let spent: Option<Span<Usd>> = calls.iter().map(|call| call.cost).sum();
    [name, count, format!("{} in", span(input)), format!("{} out", span(output)), cost(spent)]
}

fn span(of: Span<u64>) -> String {
    if of.low == of.high { thousands(of.low) } else { format!("{} to {}", thousands(of.low), thousands(of.high)) }
}

fn cost(of: Option<Span<Usd>>) -> String {
    match of {
        None => "cost unknown".to_owned(),
        Some(Span { low, high }) if low == high => low.to_string(),
        Some(Span { low, high }) => format!("{low} to {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture::{
        CLARIFICATION, CRITIQUE, JUDGE_SUMMARY, PROPOSAL, SYNTHESIS, key, panel, pitching,
    };
    use dialectic_record::debate::{CallKey, StageId};

    fn parts(keys: impl IntoIterator<Item = CallKey>, stages: &[StageInfo]) -> String {
        let call = |key| PlannedCall {
            key,
            model: "gpt-4".to_owned(),
            provider: "openai".to_owned(),
            made: Made::Always,
            input: Span { low: 1, high: 2 },
            output: Span::default(),
            cost: None,
        };
        let calls = keys.into_iter().map(call).collect();
        let text =
            forecast(&Forecast { calls, deciders: Vec::new(), assumptions: Vec::new(), purchase: None }, stages, None);
        text.split("\nIn all").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn calls_stand_before_the_rounds_in_them_or_behind_them() {
        let keys =
            [(CLARIFICATION, 0), (PROPOSAL, 1), (CRITIQUE, 1), (PROPOSAL, 2), (JUDGE_SUMMARY, 2), (SYNTHESIS, 2)];
        let keys = keys.map(|(stage, round)| CallKey { round, ..key(stage, "agent-kiss", None) });
        insta::assert_snapshot!(parts(keys, &panel().stages), @r"
        The calls of this debate. No model was called.

        Before the first round
          clarification  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown

        Round 1
          proposal  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown
          critique  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown

        Round 2
          proposal  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown

        Closing
          judge-summary  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown
          synthesis      agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown
        ");
    }

    #[test]
    fn a_narrow_screen_shows_whole_lines_of_what_matters() {
        let key = CallKey { round: 1, ..key(CRITIQUE, "agent-performance", Some("agent-architect")) };
        let call = PlannedCall {
            key,
            model: "gpt-4".to_owned(),
            provider: "openai".to_owned(),
            made: Made::Always,
            input: Span { low: 1000, high: 20_000 },
            output: Span { low: 300, high: 4096 },
            cost: None,
        };
        let assumptions = vec!["all rounds run, and no call is repeated after an error".to_owned()];
        let planned = Forecast { calls: vec![call], deciders: Vec::new(), assumptions, purchase: None };
        for width in [50, 80] {
            let text = forecast(&planned, &panel().stages, Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.contains("agent-performance") && text.contains("agent-architect"), "{text}");
            assert!(text.contains("cost unknown"), "{text}");
        }
    }

    #[test]
    fn the_words_of_any_protocol_are_its_own() {
        let stages = [pitching::PITCH, pitching::SHOW_OF_HANDS, StageId::new("encore")];
        let keys = stages.map(|stage| key(stage, "agent-kiss", None));
        insta::assert_snapshot!(parts(keys, &pitching::stages()), @r"
        The calls of this debate. No model was called.

        Round 1
          pitch  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown

        Closing
          show-of-hands  agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown
          encore         agent-kiss  gpt-4  1 to 2 in  0 out  cost unknown
        ");
    }
}
