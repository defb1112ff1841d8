//! The forecast of a debate for people.

use dialectic_base::figures::{cost, counted, list, short_cost, thousands};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{Forecast, PlannedCall, Purchase, StageId};

use super::blocks::Layout;
use super::table::{Cell, Table, TableColumn};

/// A row for each stage and model: its calls, the tokens that they use at most, and their likely and maximum cost.
pub fn forecast(forecast: &Forecast, layout: Layout) -> String {
    let mut groups: Vec<((StageId, &str), Vec<&PlannedCall>)> = Vec::new();
    for call in &forecast.calls {
        let its = (call.key.stage, call.model.as_str());
        match groups.iter_mut().find(|(group, _)| *group == its) {
            Some((_, calls)) => calls.push(call),
            None => groups.push((its, vec![call])),
        }
    }
    let mut table = Table::new([
        TableColumn::text("Stage"),
        TableColumn::text("Model").rank(2),
        TableColumn::figure("Calls"),
        TableColumn::figure("Tokens at most").rank(1),
        TableColumn::figure("Likely"),
        TableColumn::figure("At most"),
    ]);
    for ((stage, model), calls) in groups {
        let certain = calls.iter().filter(|call| call.is_certain);
        let (low, high) = (certain.clone().count(), calls.len());
        let tokens: u64 = calls.iter().map(|call| call.input.high.saturating_add(call.output.high)).sum();
        let likely: Option<Usd> = certain.map(|call| call.likely()).sum();
        let most: Option<Usd> = calls.iter().map(|call| call.cost.map(|cost| cost.high)).sum();
        let cells = [
            one_line(stage.as_str()),
            one_line(model),
            if low == high { high.to_string() } else { format!("{low} to {high}") },
            thousands(tokens),
            cost(likely),
            cost(most),
        ];
        table.row(cells.map(Cell::plain));
    }
    table.drawn(layout)
}

/// The calls and cost of a debate on one line: `38 calls, likely $0.08, at most $0.28`. `limit` is the cost limit, if
/// any; `tools` is whether agents may call tools, which no figure includes.
pub fn price_tag(forecast: &Forecast, limit: Option<Usd>, tools: bool) -> String {
    let calls = forecast.count().counted("call");
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

/// What the limit of cost or calls covers, as text.
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

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::Span;
    use dialectic_record::debate::fixture::{CRITIQUE, PROPOSAL, key};

    #[test]
    fn a_row_adds_up_the_calls_of_a_stage_with_a_model() {
        let call = |stage, model: &str, cents: Option<(f64, f64)>, is_certain| PlannedCall {
            key: key(stage, "agent-kiss", None),
            model: model.to_owned(),
            provider: "openai".to_owned(),
            is_certain,
            input: Span { low: 10, high: 2000 },
            output: Span { low: 1, high: 500 },
            cost: cents
                .map(|(low, high)| Span { low: Usd::from_dollars(low / 100.0), high: Usd::from_dollars(high / 100.0) }),
        };
        let calls = vec![
            call(PROPOSAL, "small", Some((1.0, 4.0)), true),
            call(PROPOSAL, "great", None, true),
            call(PROPOSAL, "small", Some((1.0, 4.0)), true),
            call(CRITIQUE, "small", Some((1.0, 9.0)), true),
            call(CRITIQUE, "small", Some((1.0, 9.0)), false),
        ];
        let planned = Forecast { calls, purchase: None };
        let drawn = |width| forecast(&planned, Layout { width, color: false });
        insta::assert_snapshot!(drawn(None), @r"
        Stage     Model   Calls  Tokens at most   Likely  At most
        proposal  small       2           5,000  $0.0400  $0.0800
        proposal  great       1           2,500  unknown  unknown
        critique  small  1 to 2           5,000  $0.0300  $0.1800
        ");
        for width in [40, 60, 80] {
            let drawn = drawn(Some(width));
            assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
            assert!(drawn.contains("critique") && drawn.contains("$0.1800"), "{drawn}");
        }
    }
}
