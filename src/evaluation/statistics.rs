//! Means, deviations, and the rounding of shown figures.

/// The mean and deviation of several values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The arithmetic mean, unrounded.
    pub mean: f64,
    /// The sample standard deviation, unrounded; `None` for a single value.
    pub deviation: Option<f64>,
}

impl Figure {
    /// The figure of these values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = (values.len() > 1).then(|| (squares / count(values.len() - 1)).sqrt());
        Some(Self { mean, deviation })
    }
}

/// The arithmetic mean; `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// Rounds to two decimals, halves away from zero: 7.125 becomes 7.13.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The rounded value as text with two decimals.
pub(super) fn two_decimals(value: f64) -> String {
    format!("{:.2}", rounded(value))
}

#[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 evaluations")]
fn count(values: usize) -> f64 {
    values as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let figure = Figure::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(two_decimals(figure.mean), "5.00");
        assert_eq!(two_decimals(figure.deviation.unwrap()), "2.14");
        assert_eq!(Figure::of(&[7.0]), Some(Figure { mean: 7.0, deviation: None }));
        assert_eq!(Figure::of(&[]), None);
    }

    #[test]
    fn figures_have_two_decimals() {
        assert_eq!([7.5, 7.125, 22.0 / 3.0].map(two_decimals), ["7.50", "7.13", "7.33"]);
    }
}
