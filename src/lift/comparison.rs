//! Evaluates rulings: whether the debate or the arm is better on each problem, and how many problems each won.

use super::statistics::{FEWEST, SIGNIFICANCE, sign_test};

/// The share of decided problems won by the longer text that causes a warning.
const MOSTLY: f64 = 0.8;

/// The author of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The debate's.
    Debate,
    /// The arm's.
    Arm,
}

/// A judge's verdict on two answers that it read in both orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// This one is better, in both orders.
    Better(Side),
    /// Neither is, in both orders.
    Equal,
    /// The verdict changed with the order, so it says nothing about the answers.
    Turned,
}

impl Ruling {
    /// The ruling from the preference in each order; `None` is neither side.
    pub fn of(one: Option<Side>, other: Option<Side>) -> Self {
        match (one, other) {
            (one, other) if one != other => Self::Turned,
            (Some(side), _) => Self::Better(side),
            (None, _) => Self::Equal,
        }
    }
}

/// The result for one problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The debate's answer is better.
    Win,
    /// The arm's is.
    Loss,
    /// Not decided.
    Tie,
}

/// The majority of the rulings that did not change with the order.
pub fn decide(rulings: &[Ruling]) -> Decision {
    let count = |wanted: Ruling| rulings.iter().filter(|ruling| **ruling == wanted).count();
    let (debate, arm) = (count(Ruling::Better(Side::Debate)), count(Ruling::Better(Side::Arm)));
    let half = (debate + arm + count(Ruling::Equal)) / 2;
    match (debate > half, arm > half) {
        (true, _) => Decision::Win,
        (_, true) => Decision::Loss,
        (false, false) => Decision::Tie,
    }
}

/// One problem, compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The id.
    pub problem: String,
    /// The result.
    pub decision: Decision,
    /// The judges' rulings; empty if a program checked the answers.
    pub rulings: Vec<Ruling>,
    /// Whether each answer is right, the debate's first; only if a program checked them.
    pub right: Option<[bool; 2]>,
    /// The lengths of the answers in characters, the debate's first.
    pub lengths: [usize; 2],
}

impl Compared {
    /// A problem that judges compared.
    pub fn judged(problem: &str, rulings: Vec<Ruling>, lengths: [usize; 2]) -> Self {
        Self { problem: problem.to_owned(), decision: decide(&rulings), rulings, right: None, lengths }
    }

    /// A problem whose answers a program checked.
    pub fn checked(problem: &str, right: [bool; 2], lengths: [usize; 2]) -> Self {
        let decision = match right {
            [true, false] => Decision::Win,
            [false, true] => Decision::Loss,
            [true, true] | [false, false] => Decision::Tie,
        };
        Self { problem: problem.to_owned(), decision, rulings: Vec::new(), right: Some(right), lengths }
    }
}

/// How often the longer answer won.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Longer {
    /// Judged and decided problems whose longer answer won.
    pub won: u32,
    /// Judged and decided problems whose shorter answer won.
    pub lost: u32,
}

impl Longer {
    /// Whether the judges may have judged only the length.
    pub fn is_suspicious(self) -> bool {
        let all = self.won + self.lost;
        all > 0 && f64::from(self.won) >= MOSTLY * f64::from(all) && sign_test(self.won, self.lost) < SIGNIFICANCE
    }
}

/// The debate against one arm, over all problems.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// The problems, in the order of the set.
    pub problems: Vec<Compared>,
}

impl Comparison {
    /// Problems with this decision.
    pub fn count(&self, wanted: Decision) -> u32 {
        number(self.problems.iter().filter(|one| one.decision == wanted))
    }

    /// Problems that are decided.
    pub fn decided(&self) -> u32 {
        self.count(Decision::Win) + self.count(Decision::Loss)
    }

    /// Whether there are too few decided problems for a conclusion.
    pub fn is_too_small(&self) -> bool {
        self.decided() < FEWEST
    }

    /// The number of rulings that changed with the order, and of all rulings.
    pub fn turned(&self) -> (u32, u32) {
        let all = || self.problems.iter().flat_map(|one| &one.rulings);
        (number(all().filter(|ruling| **ruling == Ruling::Turned)), number(all()))
    }

    /// For problems whose answers a program checked, the number where the arm is wrong and the debate right, and the
    /// reverse. `None` if no answer was checked.
    pub fn corrected(&self) -> Option<(u32, u32)> {
        let checked = || self.problems.iter().filter(|one| one.right.is_some());
        checked().next()?;
        let count = |wanted| number(checked().filter(|one| one.decision == wanted));
        Some((count(Decision::Win), count(Decision::Loss)))
    }

    /// How often the longer answer won, among the problems that judges decided.
    pub fn longer(&self) -> Longer {
        let mut longer = Longer { won: 0, lost: 0 };
        for one in self.problems.iter().filter(|one| one.right.is_none()) {
            let [debate, arm] = one.lengths;
            let is_won = match one.decision {
                Decision::Win => debate > arm,
                Decision::Loss => arm > debate,
                Decision::Tie => continue,
            };
            if debate != arm {
                longer.won += u32::from(is_won);
                longer.lost += u32::from(!is_won);
            }
        }
        longer
    }
}

fn number<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::statistics::{Interval, clopper_pearson};
    use super::*;

    /// Has a judge compare texts in both orders, `repeat` times. It is given the texts in the order in which it reads
    /// them, and prefers the first (0), the second (1) or neither.
    fn judged(lengths: [usize; 2], repeat: usize, mut judge: impl FnMut([usize; 2]) -> Option<usize>) -> Vec<Ruling> {
        let sides = [Side::Debate, Side::Arm];
        let rule = |_| {
            let one = judge(lengths).map(|place| sides[place]);
            let other = judge([lengths[1], lengths[0]]).map(|place| sides[1 - place]);
            Ruling::of(one, other)
        };
        (0..repeat).map(rule).collect()
    }

    fn comparison(problems: impl IntoIterator<Item = ([usize; 2], Vec<Ruling>)>) -> Comparison {
        let compared = |(lengths, rulings)| Compared::judged("p", rulings, lengths);
        Comparison { problems: problems.into_iter().map(compared).collect() }
    }

    #[test]
    fn a_majority_of_what_the_order_did_not_turn_decides() {
        use Ruling::{Better, Equal, Turned};
        use Side::{Arm, Debate};
        assert_eq!(decide(&[Better(Debate), Turned, Turned]), Decision::Win);
        assert_eq!(decide(&[Better(Arm), Better(Arm), Better(Debate)]), Decision::Loss);
        assert_eq!(decide(&[Better(Arm), Better(Debate)]), Decision::Tie);
        assert_eq!(decide(&[Better(Arm), Equal]), Decision::Tie, "one of two is no majority");
        assert_eq!(decide(&[Better(Arm), Better(Arm), Equal]), Decision::Loss);
        assert_eq!(decide(&[Turned, Turned]), Decision::Tie);
        assert_eq!(decide(&[]), Decision::Tie);
        assert_eq!(Ruling::of(Some(Debate), None), Turned);
        assert_eq!(Ruling::of(None, None), Equal);
    }

    #[test]
    fn a_judge_that_always_takes_the_first_decides_nothing() {
        let all = comparison((0..40).map(|n| ([n, 40 - n], judged([n, 40 - n], 3, |_| Some(0)))));
        assert_eq!(all.decided(), 0);
        assert_eq!(all.turned(), (120, 120));
        assert!(all.is_too_small());
    }

    #[test]
    fn a_judge_that_always_takes_the_longer_is_flagged() {
        let longer = |texts: [usize; 2]| Some(usize::from(texts[1] > texts[0]));
        let lengths = (0..12).map(|n| [500 + n * 10, 555]);
        let all = comparison(lengths.map(|lengths| (lengths, judged(lengths, 1, longer))));
        assert_eq!(all.decided(), 12);
        assert_eq!(all.turned(), (0, 12));
        assert!(all.longer().is_suspicious());
        assert!((6..=7).contains(&all.count(Decision::Win)), "half of the debates are longer");
    }

    #[test]
    fn a_judge_that_is_right_in_60_percent_is_covered_by_the_interval() {
        // All 4,096 results of twelve problems, each with its probability.
        let mut covered = 0.0;
        for outcome in 0_u32..1 << 12 {
            let is_right = |n: u32| outcome & (1 << n) != 0;
            let all = comparison((0..12).map(|n| {
                // The debate's answer is better; which answer is longer alternates.
                let lengths = [500, 480 + n as usize * 4];
                let is_debate = |texts: [usize; 2]| usize::from(texts[0] != lengths[0]);
                let preferred = |texts| if is_right(n) { is_debate(texts) } else { 1 - is_debate(texts) };
                (
                    lengths,
                    if lengths[0] == lengths[1] {
                        vec![Ruling::Better(if is_right(n) { Side::Debate } else { Side::Arm })]
                    } else {
                        judged(lengths, 1, |texts| Some(preferred(texts)))
                    },
                )
            }));
            let (wins, losses) = (all.count(Decision::Win), all.count(Decision::Loss));
            assert_eq!((wins, losses), (outcome.count_ones(), 12 - outcome.count_ones()));
            let Interval { low, high } = clopper_pearson(wins, losses);
            if (low..=high).contains(&0.6) {
                covered += 0.6_f64.powi(wins.cast_signed()) * 0.4_f64.powi(losses.cast_signed());
            }
        }
        assert!((0.95..=1.0).contains(&covered), "{covered}");
    }

    #[test]
    fn the_same_against_itself_is_seldom_significant() {
        let mut chance = ChaCha8Rng::seed_from_u64(28);
        let significant = (0..1000).filter(|_| {
            let all = comparison((0..30).map(|_| {
                // The texts are equally good and differ only in length.
                let lengths = [chance.random_range(300..900), chance.random_range(300..900)];
                (lengths, judged(lengths, 3, |_| Some(usize::from(chance.random_bool(0.5)))))
            }));
            sign_test(all.count(Decision::Win), all.count(Decision::Loss)) < SIGNIFICANCE
        });
        let significant = significant.count();
        assert!((1..=65).contains(&significant), "{significant} of 1000");
    }

    #[test]
    fn what_a_program_checked_needs_no_judge() {
        let right = [[true, false], [true, true], [false, false], [false, true], [true, false]];
        let all = Comparison { problems: right.map(|right| Compared::checked("p", right, [9, 5])).into() };
        assert_eq!([Decision::Win, Decision::Tie, Decision::Loss].map(|one| all.count(one)), [2, 2, 1]);
        assert_eq!(all.corrected(), Some((2, 1)));
        assert_eq!(all.turned(), (0, 0));
        assert_eq!(all.longer(), Longer { won: 0, lost: 0 }, "a program does not look at lengths");
        assert_eq!(comparison([]).corrected(), None);
    }
}
