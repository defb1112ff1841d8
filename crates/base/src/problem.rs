//! Checks a problem's text and finds its requirements, without a model.

use std::fmt;

/// Recorded as the answer if the user has none.
pub const NO_ANSWER: &str = "NA";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemFault {
    Empty,
    /// Servers and programs reject text with a NUL character, or truncate the text before it.
    Nul {
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
    },
}

impl fmt::Display for ProblemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::Nul { line, column } => write!(f, "contains a NUL character at line {line}, column {column}"),
        }
    }
}

impl ProblemFault {
    pub fn hint(self) -> &'static str {
        match self {
            Self::Empty => "write at least one word",
            Self::Nul { .. } => {
                "remove the character; a file with many NULs is binary, or UTF-16 without a byte order mark"
            }
        }
    }
}

/// Checks that a text can be debated.
///
/// # Errors
///
/// Returns an error if the text is empty or contains a NUL.
pub fn check_problem_text(text: &str) -> Result<(), ProblemFault> {
    if let Some((before, _)) = text.split_once('\0') {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let (lines, characters) = (before.matches('\n').count(), line.chars().count());
        return Err(ProblemFault::Nul { line: lines + 1, column: characters + 1 });
    }
    if text.trim().is_empty() { Err(ProblemFault::Empty) } else { Ok(()) }
}

/// In characters. Lines of this length or less are probably headings or fragments, so they are not requirements.
const SHORTEST: usize = 10;
const MAJOR: [&str; 6] = ["must", "shall", "required", "needs to", "critical", "essential"];
const MINOR: [&str; 3] = ["should", "ideally", "if possible"];

pub fn major_requirements(problem: &str) -> Vec<String> {
    requirements(problem).filter(|line| says(line, &MAJOR)).map(str::to_owned).collect()
}

pub fn minor_requirements(problem: &str) -> Vec<String> {
    let is_minor = |line: &&str| !says(line, &MAJOR) && says(line, &MINOR) && !line.ends_with('?');
    requirements(problem).filter(is_minor).map(str::to_owned).collect()
}

fn requirements(problem: &str) -> impl Iterator<Item = &str> {
    problem.lines().map(|line| without_bullet(line.trim())).filter(|line| line.chars().count() > SHORTEST)
}

fn says(line: &str, phrases: &[&str]) -> bool {
    let words: Vec<String> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let line = format!(" {} ", words.join(" "));
    phrases.iter().any(|phrase| line.contains(&format!(" {phrase} ")))
}

pub fn states_requirement(text: &str) -> bool {
    says(text, &MAJOR) || says(text, &MINOR)
}

/// Removes a leading `-`, `*`, `+`, `•`, `1.` or `1)` that is followed by whitespace.
pub fn without_bullet(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+', '•'])
    };
    mark.filter(|rest| rest.starts_with(char::is_whitespace)).map_or(line, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_nul_counts_lines_and_characters() {
        let nul = |line, column| Err(ProblemFault::Nul { line, column });
        for (text, fault) in [
            ("\0", nul(1, 1)),
            ("grün\0", nul(1, 5)),
            ("a\r\nb\n\nc \0 d\0", nul(4, 3)),
            (" \n", Err(ProblemFault::Empty)),
            ("\u{1}a", Ok(())),
        ] {
            assert_eq!(check_problem_text(text), fault, "{text:?}");
        }
    }

    #[test]
    fn lines_with_a_word_of_duty_are_major_requirements() {
        let problem = "Design it.\n- It must be fast enough\n* Data SHALL stay in the EU\n 3. Access is required\n\
                       10) It needs to last\n• Uptime is critical!\n**Must** be cheap\n- must do it\nA mustard store\n\
                       It needs  to grow\nIt should be nice and tidy\nShould we do it at all?\nEssential: backups";
        let found = major_requirements(problem);
        assert_eq!(
            found,
            [
                "It must be fast enough",
                "Data SHALL stay in the EU",
                "Access is required",
                "It needs to last",
                "Uptime is critical!",
                "**Must** be cheap",
                "It needs  to grow",
                "Essential: backups",
            ]
        );
        assert_eq!(minor_requirements(problem), ["It should be nice and tidy"]);
        // Ten characters are too few.
        assert_eq!(major_requirements("- must do 12"), [""; 0]);
        assert_eq!(major_requirements("- must do 123"), ["must do 123"]);
    }
}
