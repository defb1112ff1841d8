//! What a terminal shows after all that was written to it.

/// A terminal of endless height: as much of one as the program makes use of.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    saved: (usize, usize),
    columns: usize,
    cursor_is_hidden: bool,
    wrap_is_off: bool,
}

impl Screen {
    /// Of that width, after `output`. Panics at a sequence that it does not know.
    pub(crate) fn showing(output: &str, columns: usize) -> Self {
        let mut screen = Self { columns, ..Self::default() };
        let mut rest = output.chars();
        while let Some(c) = rest.next() {
            match c {
                '\x1b' => screen.sequence(&mut rest),
                '\r' => screen.column = 0,
                '\n' => screen.row += 1,
                '\x08' => screen.column = screen.column.saturating_sub(1),
                '\x07' => {}
                c if c.is_control() => panic!("a control character {c:?} in {output:?}"),
                // Marks that change the character before them take no room.
                '\u{fe0f}' => {}
                c => screen.put(c),
            }
        }
        screen
    }

    /// The lines, without blanks at their ends and without empty lines at the end.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.iter().collect::<String>()).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Whether the cursor shows, lines wrap, and the cursor stands at the beginning of a line.
    pub(crate) fn is_left_as_found(&self) -> bool {
        !self.cursor_is_hidden && !self.wrap_is_off && self.column == 0
    }

    fn line(&mut self) -> &mut Vec<char> {
        while self.lines.len() <= self.row {
            self.lines.push(Vec::new());
        }
        &mut self.lines[self.row]
    }

    fn put(&mut self, c: char) {
        if self.column >= self.columns {
            if self.wrap_is_off {
                self.column = self.columns - 1;
            } else {
                self.row += 1;
                self.column = 0;
            }
        }
        let column = self.column;
        let line = self.line();
        while line.len() <= column {
            line.push(' ');
        }
        line[column] = c;
        self.column += 1;
    }

    fn sequence(&mut self, rest: &mut std::str::Chars<'_>) {
        match rest.next() {
            Some('7') => self.saved = (self.row, self.column),
            Some('8') => (self.row, self.column) = self.saved,
            Some('[') => {
                let mut parameters = String::new();
                let last = loop {
                    match rest.next() {
                        Some(c) if c.is_ascii_digit() || ";?".contains(c) => parameters.push(c),
                        Some(c) => break c,
                        None => panic!("a sequence is not complete"),
                    }
                };
                self.control(&parameters, last);
            }
            other => panic!("an unknown sequence: ESC {other:?}"),
        }
    }

    fn control(&mut self, parameters: &str, last: char) {
        let count: usize = parameters.parse().unwrap_or(1);
        let column = self.column;
        match (last, parameters) {
            ('A', _) => self.row = self.row.saturating_sub(count),
            ('B', _) => self.row += count,
            ('C', _) => self.column += count,
            ('D', _) => self.column = self.column.saturating_sub(count),
            ('G', _) => self.column = count - 1,
            ('K', "" | "0") => self.line().truncate(column),
            ('K', "2") => self.line().clear(),
            ('J', "" | "0") => {
                self.line().truncate(column);
                self.lines.truncate(self.row + 1);
            }
            ('h', "?7") => self.wrap_is_off = false,
            ('l', "?7") => self.wrap_is_off = true,
            ('h', "?25") => self.cursor_is_hidden = false,
            ('l', "?25") => self.cursor_is_hidden = true,
            // Shown at once or not, and in whatever colour, it ends up the same.
            ('h' | 'l', "?2026") | ('m', _) => {}
            _ => panic!("an unknown sequence: ESC [{parameters}{last}"),
        }
    }
}
