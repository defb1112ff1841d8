//! The features of this build, and the error for a missing one.

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_record::debate::Settings;

/// An optional part of the program, named after its cargo feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingFeature {
    /// Ratings and the memory of decisions.
    #[error("this build has no `archive`")]
    Archive,
    /// Debates for coding agents.
    #[error("this build has no `mcp`")]
    Mcp,
    /// Sets of debates in a store that speaks S3.
    #[error("this build has no `s3`")]
    S3,
    /// The server for browsers.
    #[error("this build has no `serve`")]
    Serve,
    /// Traces.
    #[error("this build has no `trace`")]
    Trace,
}

impl Diagnostic for MissingFeature {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Configuration
    }

    fn hint(&self) -> Option<String> {
        let (feature, setting) = match self {
            Self::Archive => ("archive", Some("`debate.memory` and `debate.arena.team` need it")),
            Self::Mcp => ("mcp", None),
            Self::S3 => ("s3", None),
            Self::Serve => ("serve", None),
            Self::Trace => ("trace", Some("`debate.trace` needs it")),
        };
        let needed = setting.map(|setting| format!("; {setting}")).unwrap_or_default();
        Some(format!("install with `--features {feature}`{needed}"))
    }
}

impl MissingFeature {
    /// Whether the debate can run without it: no.
    #[cfg(not(feature = "trace"))]
    pub(crate) fn is_of_no_harm(self) -> bool {
        match self {
            Self::Archive | Self::Mcp | Self::S3 | Self::Serve | Self::Trace => false,
        }
    }
}

/// Checks that this build supports a debate's settings.
///
/// # Errors
/// The missing feature.
pub fn check(settings: &Settings) -> Result<(), MissingFeature> {
    let debate = &settings.debate;
    if cfg!(not(feature = "archive")) && (debate.memory || debate.arena.team.size.is_some()) {
        return Err(MissingFeature::Archive);
    }
    if cfg!(not(feature = "trace")) && debate.trace.is_some() {
        return Err(MissingFeature::Trace);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use dialectic_record::debate::{TraceTarget, default_settings};

    #[test]
    fn what_a_build_lacks_is_an_error_of_the_configuration_that_names_it() {
        let error = Error::from(MissingFeature::Serve);
        assert_eq!(error.to_string(), "this build has no `serve`");
        assert_eq!((error.exit_code(), error.hint().unwrap().as_str()), (4, "install with `--features serve`"));
    }

    #[test]
    fn settings_are_refused_exactly_where_their_feature_is_missing() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = default_settings();
            change(&mut settings);
            check(&settings)
        };
        let unless = |has: bool, missing| if has { Ok(()) } else { Err(missing) };
        let (archive, trace) = (cfg!(feature = "archive"), cfg!(feature = "trace"));
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|it| it.debate.memory = true), unless(archive, MissingFeature::Archive));
        assert_eq!(with(|it| it.debate.arena.team.size = Some(2)), unless(archive, MissingFeature::Archive));
        assert_eq!(with(|it| it.debate.trace = Some(TraceTarget::Otlp)), unless(trace, MissingFeature::Trace));
    }
}
