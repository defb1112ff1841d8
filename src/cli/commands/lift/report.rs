//! The results of a comparison, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::lift::statistics::{FEWEST, clopper_pearson, holm, sign_test, smallest_difference};
use crate::lift::{Arm, Compared, Comparison, Decision, Problem, Ruling, Side};
use dialectic_base::figures::{counted, percent};
use dialectic_base::money::Usd;

use super::Lift;
use super::group::Groups;

/// The minimum share of the debate's money that an arm must spend to count as equal.
const EQUAL: f64 = 0.9;

/// A rival of the debates.
#[derive(Clone, Copy)]
pub(super) enum Rival<'a> {
    /// Another way to spend the debate's money.
    Arm(Arm),
    /// The debates of the second variant.
    Variant {
        /// The name.
        name: &'a str,
        /// Whether it is limited to the cost of the first one.
        is_held: bool,
    },
}

impl Rival<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Arm(arm) => arm.protocol().name,
            Self::Variant { name, .. } => name,
        }
    }

    /// Whether it may spend exactly as much as the debate cost.
    fn is_equal(&self) -> bool {
        match self {
            Self::Arm(arm) => arm.is_equal(),
            Self::Variant { is_held, .. } => *is_held,
        }
    }

    /// Whether it should spend its whole limit.
    fn spends_all(&self) -> bool {
        match self {
            Self::Arm(arm) => arm.is_equal(),
            // Its limit reserves the cost of the longest answers.
            Self::Variant { .. } => false,
        }
    }

    /// The note if it is not equal.
    fn note(&self) -> &'static str {
        match self {
            Self::Variant { is_held: true, .. } => " (limited to its money)",
            Self::Variant { is_held: false, .. } => " (not limited to its cost)",
            Self::Arm(arm) if arm.is_equal() => "",
            Self::Arm(_) => " (not equal: it costs less)",
        }
    }
}

/// The result for one problem.
pub(super) struct Outcome {
    pub(super) problem: String,
    /// The debate's cost, with cached input at full price.
    pub(super) debate: Option<Usd>,
    /// In the order of the rivals.
    pub(super) rivals: Vec<RivalResult>,
}

/// The result for one problem and one rival.
#[derive(Default)]
pub(super) struct RivalResult {
    /// Absent if an answer or a ruling is missing.
    pub(super) compared: Option<Compared>,
    /// The rival's cost, with cached input at full price.
    pub(super) cost: Option<Usd>,
    /// The arm's cost relative to the debate's.
    pub(super) share: Option<f64>,
    /// Whether the arm ended because nothing was left to fix.
    pub(super) is_content: bool,
}

impl Outcome {
    pub(super) fn of(problem: &Problem, rivals: usize) -> Self {
        let rivals = (0..rivals).map(|_| RivalResult::default()).collect();
        Self { problem: problem.id.clone(), debate: None, rivals }
    }
}

/// Everything known about the comparison with one rival.
struct Summary<'a> {
    rival: Rival<'a>,
    results: Vec<&'a RivalResult>,
    comparison: Comparison,
    /// The costs of the compared debates and of their rival.
    costs: [Option<Usd>; 2],
}

impl<'a> Summary<'a> {
    fn of(index: usize, rival: Rival<'a>, outcomes: &'a [Outcome]) -> Self {
        let there = || outcomes.iter().filter(move |one| one.rivals[index].compared.is_some());
        let results = there().map(|one| &one.rivals[index]).collect();
        let problems = there().filter_map(|one| one.rivals[index].compared.clone()).collect();
        let costs = [there().map(|one| one.debate).sum(), there().map(|one| one.rivals[index].cost).sum()];
        Self { rival, results, comparison: Comparison { problems }, costs }
    }

    fn wins(&self) -> u32 {
        self.comparison.count(Decision::Win)
    }

    fn losses(&self) -> u32 {
        self.comparison.count(Decision::Loss)
    }

    fn p(&self) -> f64 {
        sign_test(self.wins(), self.losses())
    }

    /// The debates' cost per won problem, and their rival's.
    fn costs_of_win(&self) -> [Option<Usd>; 2] {
        let of = |cost: Option<Usd>, won: u32| {
            cost.filter(|cost| *cost > Usd::ZERO && won > 0).map(|cost| cost.times(1.0 / f64::from(won)))
        };
        [of(self.costs[0], self.wins()), of(self.costs[1], self.losses())]
    }

    /// The shares of the money in ascending order.
    fn shares(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.results.iter().filter_map(|result| result.share).collect();
        shares.sort_by(f64::total_cmp);
        shares
    }

    fn count(&self, which: impl Fn(&RivalResult) -> bool) -> u64 {
        self.results.iter().filter(|result| which(result)).count() as u64
    }

    /// The number of arms that spent less than an equal share, and of those with nothing left to fix.
    fn below(&self) -> (u64, u64) {
        let is_below = |result: &RivalResult| result.share.is_some_and(|share| share < EQUAL);
        (self.count(is_below), self.count(|result| is_below(result) && result.is_content))
    }
}

impl Lift<'_> {
    fn summaries<'a>(&'a self, outcomes: &'a [Outcome]) -> (Vec<Summary<'a>>, Vec<f64>) {
        let rivals = self.rivals().into_iter().enumerate();
        let summaries: Vec<Summary> = rivals.map(|(index, rival)| Summary::of(index, rival, outcomes)).collect();
        let adjusted = holm(&summaries.iter().map(Summary::p).collect::<Vec<_>>());
        (summaries, adjusted)
    }

    pub(super) fn as_text(&self, outcomes: &[Outcome], spent: Option<Usd>) -> String {
        let groups = &self.groups;
        let models: Vec<&str> = self.judges.iter().map(|judge| judge.settings.model.as_str()).collect();
        let how = match models.as_slice() {
            [] => "answers checked by the program".to_owned(),
            models => {
                let times = counted(u64::from(self.args.repeat.get()), "time");
                format!("compared by {}, {times} in both orders", models.join(", "))
            }
        };
        let problems = counted(outcomes.len() as u64, "problem");
        let mut text = match &self.other {
            None => format!(
                "{problems}: debates with the protocol {}, arms with {}, {how}\n",
                groups.protocol.name, groups.arm.model
            ),
            Some(other) => {
                let side = |groups: &Groups| format!("{} by the protocol {}", groups.name, groups.protocol.name);
                format!("{problems}: {}, {}, {how}\n", side(groups), side(other))
            }
        };
        let debate = if self.other.is_some() { groups.name.as_str() } else { "the debate" };
        let (summaries, adjusted) = self.summaries(outcomes);
        for (summary, adjusted) in summaries.iter().zip(adjusted) {
            text.push('\n');
            tell(&mut text, debate, summary, adjusted, summaries.len());
        }
        if let Some(spent) = spent.filter(|spent| *spent > Usd::ZERO) {
            let _ = writeln!(text, "\nTotal cost: {spent}.");
        }
        text
    }

    pub(super) fn as_json(&self, outcomes: &[Outcome], spent: Option<Usd>) -> Value {
        let (summaries, adjusted) = self.summaries(outcomes);
        let arms: Vec<Value> = summaries.iter().zip(adjusted).map(|(summary, p)| arm_json(summary, p)).collect();
        let problem = |outcome: &Outcome| {
            let rivals = self.rivals();
            let arms = rivals.iter().zip(&outcome.rivals);
            let arms = arms.map(|(rival, result)| (rival.name().to_owned(), result_json(result)));
            json!({
                "id": outcome.problem,
                "debateCostUsd": outcome.debate,
                "arms": arms.collect::<serde_json::Map<_, _>>(),
            })
        };
        let variant = |side: &Groups| json!({ "name": side.name, "protocol": side.protocol.name });
        let judge = |judge: &crate::lift::Judge| json!({ "id": judge.settings.id, "model": judge.settings.model, "provider": judge.settings.provider });
        json!({
            "rehearsal": self.is_rehearsal(),
            "protocol": self.groups.protocol.name,
            "armModel": self.other.is_none().then_some(&self.groups.arm.model),
            "variants": self.other.is_some().then(|| self.sides().map(variant).collect::<Vec<_>>()),
            "judges": self.judges.iter().map(judge).collect::<Vec<_>>(),
            "repeat": self.args.repeat,
            "costUsd": spent,
            "arms": arms,
            "problems": outcomes.iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

fn arm_json(summary: &Summary, adjusted: f64) -> Value {
    let comparison = &summary.comparison;
    let says = !comparison.is_too_small();
    let interval = clopper_pearson(summary.wins(), summary.losses());
    let (turned, rulings) = comparison.turned();
    let longer = comparison.longer();
    let shares = summary.shares();
    let (below, content) = summary.below();
    let corrected = comparison
        .corrected()
        .map(|(to_right, to_wrong)| json!({ "wrongToRight": to_right, "rightToWrong": to_wrong }));
    json!({
        "arm": summary.rival.name(),
        "equal": summary.rival.is_equal(),
        "compared": comparison.problems.len(),
        "wins": summary.wins(),
        "losses": summary.losses(),
        "ties": comparison.count(Decision::Tie),
        "tooFew": !says,
        "p": says.then(|| summary.p()),
        "pHolm": says.then_some(adjusted),
        "winShare95": says.then(|| json!([interval.low, interval.high])),
        "smallestWinShareShown": smallest_difference(comparison.decided()),
        "rulings": rulings,
        "turned": turned,
        "longerWon": longer.won,
        "shorterWon": longer.lost,
        "longerWins": longer.is_suspicious(),
        "answers": corrected,
        "debatesCostUsd": summary.costs[0],
        "costUsd": summary.costs[1],
        "costPerWinUsd": summary.costs_of_win()[0],
        "costPerLossUsd": summary.costs_of_win()[1],
        "shareOfMoney": shares.first().zip(shares.last()).map(|(least, most)| json!([least, most])),
        "belowEqual": below,
        "aboveEqual": shares.iter().filter(|share| **share > 1.0).count(),
        "nothingLeftToMend": content,
    })
}

fn result_json(result: &RivalResult) -> Value {
    let decision = result.compared.as_ref().map(|one| match one.decision {
        Decision::Win => "win",
        Decision::Loss => "loss",
        Decision::Tie => "tie",
    });
    let ruling = |ruling: &Ruling| match ruling {
        Ruling::Better(Side::Debate) => "debate",
        Ruling::Better(Side::Arm) => "arm",
        Ruling::Equal => "neither",
        Ruling::Turned => "turned",
    };
    let rulings = result.compared.as_ref().map(|one| one.rulings.iter().map(ruling).collect::<Vec<_>>());
    json!({
        "decision": decision,
        "rulings": rulings,
        "right": result.compared.as_ref().and_then(|one| one.right).map(|[debate, arm]| json!({ "debate": debate, "arm": arm })),
        "lengths": result.compared.as_ref().map(|one| one.lengths),
        "costUsd": result.cost,
        "shareOfMoney": result.share,
        "nothingLeftToMend": result.is_content,
    })
}

/// Reports the results against one rival of `debate`. Writing to a String cannot fail.
fn tell(text: &mut String, debate: &str, summary: &Summary, adjusted: f64, arms: usize) {
    let comparison = &summary.comparison;
    let (wins, losses, ties) = (summary.wins(), summary.losses(), comparison.count(Decision::Tie));
    let (name, note) = (summary.rival.name(), summary.rival.note());
    let _ = match summary.rival {
        Rival::Arm(_) => writeln!(text, "Against {name}{note}: {wins} won, {losses} lost, {ties} not decided"),
        Rival::Variant { .. } => {
            writeln!(text, "{debate} against {name}{note}: {wins} won, {losses} lost, {ties} not decided")
        }
    };
    let decided = comparison.decided();
    if comparison.is_too_small() {
        let _ = writeln!(text, "  Too few for a conclusion: {decided} decided, and at least {FEWEST} are needed.");
    } else {
        let interval = clopper_pearson(wins, losses);
        let holm = if arms > 1 { format!(", {adjusted:.3} for {arms} arms (Holm)") } else { String::new() };
        let _ = writeln!(
            text,
            "  {} wins {} of the decided problems; 95 %: {} to {}. p = {:.3}{holm}.",
            capitalized(debate),
            share(f64::from(wins) / f64::from(decided)),
            share(interval.low),
            share(interval.high),
            summary.p(),
        );
        if let Some(least) = smallest_difference(decided) {
            let shown = share(least);
            let _ = writeln!(text, "  {decided} decided problems show, with 80 % power, a share of {shown} or more.");
        }
    }
    if let Some((to_right, to_wrong)) = comparison.corrected() {
        let debate = capitalized(debate);
        let _ = writeln!(text, "  {debate} is right and {name} is wrong: {to_right}; the reverse: {to_wrong}.");
    }
    let (turned, rulings) = comparison.turned();
    if rulings > 0 {
        let of_all = share(f64::from(turned) / f64::from(rulings));
        let _ = writeln!(
            text,
            "  The order of the texts changed {turned} of {} ({of_all}).",
            counted(rulings.into(), "ruling")
        );
    }
    let longer = comparison.longer();
    if longer.is_suspicious() {
        let (won, all) = (longer.won, longer.won + longer.lost);
        let _ = writeln!(
            text,
            "  Warning: the longer text won {won} of {all}. The judges may have judged only \
            length."
        );
    }
    let shares = summary.shares();
    if let Some((least, most)) = shares.first().zip(shares.last()) {
        let (least, most) = (share(*least), share(*most));
        let _ = match summary.rival {
            Rival::Arm(_) => write!(text, "  It spent {least} to {most} of the debate's money"),
            Rival::Variant { .. } => write!(text, "  {name} cost {least} to {most} of the cost of {debate}"),
        };
        let (below, content) = summary.below();
        if below > 0 && summary.rival.spends_all() {
            let _ = write!(text, "; below 90 %: {below}, {content} of them with nothing left to fix");
        }
        let above = shares.iter().filter(|share| **share > 1.0).count();
        if above > 0 && summary.rival.is_equal() {
            let _ = write!(text, "; above 100 %: {above}");
        }
        text.push_str(".\n");
    }
    let [of_debate, of_rival] = summary.costs_of_win();
    match summary.rival {
        Rival::Arm(_) => {
            if let Some(cost) = of_debate {
                let _ = writeln!(text, "  A won problem cost {cost}.");
            }
        }
        Rival::Variant { .. } => {
            for (side, cost, of_win) in [(debate, summary.costs[0], of_debate), (name, summary.costs[1], of_rival)] {
                let cost = cost.map_or_else(|| "an unknown amount".to_owned(), |cost| cost.to_string());
                let of_win = of_win.map(|cost| format!(", {cost} for each problem that it won")).unwrap_or_default();
                let _ = writeln!(text, "  {} cost {cost}{of_win}.", capitalized(side));
            }
        }
    }
}

/// `The debate`, at the beginning of a sentence. A variant's name stays as it is.
fn capitalized(debate: &str) -> &str {
    if debate == "the debate" { "The debate" } else { debate }
}

/// A fraction as a whole percentage.
fn share(of_one: f64) -> String {
    percent((of_one * 100.0).round())
}
