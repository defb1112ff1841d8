//! Built-in programs.

/// A program known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramPreset {
    /// The name in configurations, and of the program.
    pub name: &'static str,
    /// How it is called and read.
    pub kind: ProgramKind,
    /// The versions that passed `tests/vendors/run`; a call of another one is a warning.
    pub tested: &'static [&'static str],
    /// The versions that must not be called, each with the reason.
    pub unsafe_versions: &'static [(&'static str, &'static str)],
    /// The default model.
    pub default_model: &'static str,
    /// The provider whose list contains its models.
    pub vendor: &'static str,
    /// The maximum number of billed requests per call, including the program's own retries.
    pub requests: u32,
    /// The maximum bytes that it adds to our text.
    pub overhead: usize,
}

/// The command line and output format of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// All known programs.
pub const PROGRAMS: &[ProgramPreset] = &[
    ProgramPreset {
        name: "claude",
        kind: ProgramKind::Claude,
        tested: &["2.1.197", "2.1.331", "2.1.332"],
        unsafe_versions: &[],
        default_model: "sonnet",
        vendor: "anthropic",
        requests: 1,
        overhead: 4_000,
    },
    ProgramPreset {
        name: "codex",
        kind: ProgramKind::Codex,
        tested: &["0.169.0", "0.171.0"],
        unsafe_versions: &[],
        default_model: "gpt-5.6-luna",
        vendor: "openai",
        requests: 6,
        overhead: 8_000,
    },
];

/// The known program of that name.
pub fn program_preset(name: &str) -> Option<&'static ProgramPreset> {
    PROGRAMS.iter().find(|preset| preset.name == name)
}
