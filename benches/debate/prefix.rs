//! What prompts cost where a repeated beginning is cheap.

/// A beginning is only cached from this length on, in characters: 1,024 tokens of about four.
const LEAST_PREFIX: usize = 4096;

/// Characters sent, and how many of them an earlier call had sent as its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PromptCost {
    pub(crate) sent: usize,
    pub(crate) repeated: usize,
}

impl PromptCost {
    /// Of prompts in the order in which they were sent.
    pub(crate) fn of(prompts: &[String]) -> Self {
        let mut cost = Self::default();
        for (position, prompt) in prompts.iter().enumerate() {
            let shared = prompts[..position].iter().map(|earlier| shared_beginning(earlier, prompt)).max().unwrap_or(0);
            cost.sent += prompt.chars().count();
            cost.repeated += if shared >= LEAST_PREFIX { shared } else { 0 };
        }
        cost
    }

    /// Characters, the repeated ones at a quarter.
    #[expect(clippy::cast_precision_loss, reason = "prompts are far below 2^53 characters")]
    pub(crate) fn charged(self) -> f64 {
        self.sent as f64 - 0.75 * self.repeated as f64
    }

    /// The repeated part, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "prompts are far below 2^53 characters")]
    pub(crate) fn share(self) -> f64 {
        self.repeated as f64 / self.sent.max(1) as f64
    }
}

fn shared_beginning(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}
