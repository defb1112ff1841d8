//! Decisions of a text: the list under its last heading `Decisions`.

use super::blocks::{BlockKind, BlockLine, Page};
use super::entries::without_bullet;
use super::is_named;

/// The maximum number of decisions per text; prompts ask for far fewer.
const MOST: usize = 20;
/// The headings of such a section.
const HEADINGS: [&str; 6] =
    ["decisions", "key decisions", "decisions made", "my decisions", "decision", "final decisions"];

/// The decisions listed in a text, without list markers.
pub fn read_decisions(text: &str) -> Vec<String> {
    let page = Page::new(text);
    let is_heading = |line: &BlockLine| HEADINGS.iter().any(|name| is_named(&page, line, name));
    let Some(heading) = page.lines.iter().rposition(is_heading) else { return Vec::new() };
    let section = page.lines[heading + 1..].iter().take_while(|line| !matches!(line.kind, BlockKind::Heading(_)));
    let mut decisions: Vec<String> = Vec::new();
    let mut is_within = false;
    for line in section {
        let words = &page.text[line.start..line.end];
        match line.kind {
            BlockKind::Item if line.depth <= 1 => {
                decisions.push(without_bullet(words).to_owned());
                is_within = true;
            }
            // A decision may span several lines; nested items explain it.
            BlockKind::Text if is_within && line.depth == 1 && !line.first => {
                if let Some(last) = decisions.last_mut() {
                    last.push(' ');
                    last.push_str(words.trim());
                }
            }
            BlockKind::Text if line.depth == 0 => is_within = false,
            BlockKind::Item
            | BlockKind::Text
            | BlockKind::Heading(_)
            | BlockKind::Row
            | BlockKind::Rule
            | BlockKind::Quoted => {}
        }
    }
    decisions.retain(|decision| decision.chars().any(char::is_alphanumeric));
    decisions.truncate(MOST);
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_under_the_heading_is_read_however_it_is_written() {
        for text in [
            "Text.\n\n## Decisions\n- Use Postgres\n- Cache reads for\n  5 s\n\n## Response to critiques\n- 1.1 accepted: yes",
            "## Decisions\n\n1. Use Postgres\n2. Cache reads for\n   5 s\n",
            "# A\n\n### 4. Key decisions:\n\n* Use Postgres\n  - since it is there\n* Cache reads for 5 s\n",
            "A\n\n**Decisions:**\n\n+ Use Postgres\n+ Cache reads for 5 s",
            "## Decisions\n- an old list\n\n## More\n\n## Decisions\n- Use Postgres\n- Cache reads for 5 s\n\nThat is all.",
        ] {
            assert_eq!(read_decisions(text), ["Use Postgres", "Cache reads for 5 s"], "{text}");
        }
    }

    #[test]
    fn a_text_without_a_list_decides_nothing() {
        for text in [
            "",
            "We decided on Postgres.",
            "## Decisions\n\nNone.",
            "## Decisions to be made later\n- x",
            "## Decisions",
        ] {
            assert_eq!(read_decisions(text), Vec::<String>::new(), "{text}");
        }
        let many = format!("## Decisions\n{}", "- x\n".repeat(500));
        assert_eq!(read_decisions(&many).len(), MOST);
    }
}
