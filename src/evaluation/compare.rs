//! Whether the evaluations of two debates differ significantly.

use super::Evaluated;
use super::statistics::{rounded, two_decimals};

/// For each pair of debates, the criteria whose means differ by less than the larger standard deviation, a text each:
/// their order may be chance. Empty without repetitions.
pub fn indistinct(evaluated: &[Evaluated]) -> Vec<String> {
    let pairs =
        evaluated.iter().enumerate().flat_map(|(at, one)| evaluated.iter().skip(at + 1).map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| text(one, other)).collect()
}

fn text(one: &Evaluated, other: &Evaluated) -> Option<String> {
    let others = other.figures();
    let blurred = one.figures().into_iter().filter_map(|(criterion, figure)| {
        let other = others.get(&criterion)?;
        let spread = [figure.deviation, other.deviation].into_iter().flatten().fold(0.0, f64::max);
        let difference = rounded(figure.mean) - rounded(other.mean);
        // Rounded first, so that recomputing from shown values gives the same result.
        let (difference, spread) = (rounded(difference.abs()), rounded(spread));
        (spread > difference).then(|| {
            let (difference, spread) = (two_decimals(difference), two_decimals(spread));
            format!("\n  {}: difference {difference}, spread {spread}", criterion.title())
        })
    });
    let blurred: String = blurred.collect();
    (!blurred.is_empty()).then(|| {
        let (one, other) = (&one.subject.name, &other.subject.name);
        format!("{one} and {other} differ by less than the standard deviations:{blurred}")
    })
}
