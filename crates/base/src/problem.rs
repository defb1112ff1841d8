//! Facts about a problem that need no model.

/// The recorded answer when the user gives none.
pub const NO_ANSWER: &str = "NA";

/// Shorter lines are headings and fragments.
const SHORTEST: usize = 10;

/// The lines of a problem that state a major requirement, without their bullets.
pub fn major_requirements(problem: &str) -> Vec<String> {
    problem.lines().filter_map(major_requirement).collect()
}

/// The line without its bullet, when it states a major requirement.
fn major_requirement(line: &str) -> Option<String> {
    let line = without_bullet(line.trim());
    (states_major_requirement(line) && line.chars().count() > SHORTEST).then(|| line.to_owned())
}

/// Whether a line or sentence contains a word of obligation.
pub fn states_major_requirement(text: &str) -> bool {
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    ["must", "shall", "required", "critical", "essential"].into_iter().any(has)
        || words.windows(2).any(|pair| pair == ["needs", "to"])
}

/// Removes a leading `-`, `*`, `+`, `•`, `1.` or `1)` that is followed by white space.
fn without_bullet(line: &str) -> &str {
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
    fn lines_with_a_word_of_duty_are_major_requirements() {
        let problem = "Design it.\n- It must be fast enough\n* Data SHALL stay in the EU\n 3. Access is required\n\
                       10) It needs to last\n• Uptime is critical!\n**Must** be cheap\n- must do it\nA mustard store\n\
                       It needs  to grow\nIt should be nice and tidy\nEssential: backups";
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
        // A line of exactly ten characters is not too long.
        assert_eq!(major_requirement("- must do 12"), None);
        assert_eq!(major_requirement("- must do 123"), Some("must do 123".to_owned()));
    }
}
