//! Built-in programs.

/// A program known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramPreset {
    /// The name in configurations, and of the program.
    pub name: &'static str,
    /// How it is called and read.
    pub kind: ProgramKind,
    /// The tested versions: `tests/vendors/run` lists the results.
    pub versions: &'static [&'static str],
    /// The default model.
    pub default_model: &'static str,
    /// The variables with keys that it needs; programs with a login of their own receive none.
    pub keys: &'static [&'static str],
    /// The provider whose list contains its models; `None` if its models are named `provider/model`.
    pub vendor: Option<&'static str>,
    /// The maximum number of billed requests per call, including the program's own retries; `None` if unknown.
    pub requests: Option<u32>,
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
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

/// All known programs.
pub const PROGRAMS: &[ProgramPreset] = &[
    ProgramPreset {
        name: "claude",
        kind: ProgramKind::Claude,
        versions: &["2.1.197", "2.1.331"],
        default_model: "sonnet",
        keys: &[],
        vendor: Some("anthropic"),
        requests: Some(1),
        overhead: 4_000,
    },
    ProgramPreset {
        name: "codex",
        kind: ProgramKind::Codex,
        versions: &["0.169.0"],
        default_model: "gpt-5.6-luna",
        keys: &[],
        vendor: Some("openai"),
        requests: Some(6),
        overhead: 8_000,
    },
    ProgramPreset {
        name: "opencode",
        kind: ProgramKind::Opencode,
        versions: &["1.18.33"],
        default_model: "opencode/big-pickle",
        keys: &[],
        vendor: None,
        requests: None,
        overhead: 8_000,
    },
    ProgramPreset {
        name: "gemini",
        kind: ProgramKind::Gemini,
        versions: &["0.61.0"],
        default_model: "gemini-3.8-flash",
        keys: &["GEMINI_API_KEY"],
        vendor: Some("google"),
        requests: Some(1),
        overhead: 8_000,
    },
];

/// The known program of that name.
pub fn program_preset(name: &str) -> Option<&'static ProgramPreset> {
    PROGRAMS.iter().find(|preset| preset.name == name)
}

impl ProgramPreset {
    /// The provider and model under which one of its models is listed.
    pub(crate) fn listed<'a>(&self, model: &'a str) -> Option<(&'a str, &'a str)>
    where
        'static: 'a,
    {
        match self.vendor {
            Some(vendor) => Some((vendor, model)),
            None => model.split_once('/'),
        }
    }
}
