//! A running debate as its watchers see it: signals and their queues, progress, forecasts and time lines.

mod forecast;
mod progress;
mod queue;
mod signal;
mod timeline;

pub use forecast::{Forecast, PlannedCall, Purchase, Span, ToolUse};
pub use progress::{CallInFlight, PanelInfo, Progress, Retry, StageProgress, WordsSoFar};
pub use queue::{EventLog, Follower, Signals, Subscription, Words, now};
pub use signal::{CallDescription, Gap, RoundInProgress, Signal};
pub use timeline::timeline;
