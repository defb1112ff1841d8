//! `dialectic list`: lists saved debates, newest first, or their costs.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;

use anstyle::{AnsiColor, Style};
use chrono::{Datelike, Days, Local, NaiveDate};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::archive::PastDebates;
use crate::cli::conclusion::first_word;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, in_full};
use crate::status::Standing;
use dialectic_base::call::is_default;
use dialectic_base::figures::{UNKNOWN, percent, short_cost, sum_of_tokens, thousands};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{AnswerState, Debate, ModelUsage};
use dialectic_record::ids::{DebateId, Timestamp};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::store::{AccessMode, Entry, ShortNames, StateFileError, StoreError};
use dialectic_report::display::{StyledText, Table, TableColumn};

#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// List only debates with one of these statuses or outcomes (comma-separated)
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = PossibleValuesParser::new(statuses()))]
    status: Vec<String>,

    /// List only debates whose problem or solution contains this text (ignoring case), or whose entry in the memory
    /// contains all of its words
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// List only debates with this protocol
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,

    /// List only debates from this day on: `2026-01-31`, `today`, `yesterday`, or `7d` for seven days ago
    #[arg(long, value_name = "DAY", value_parser = day)]
    since: Option<NaiveDate>,

    /// List only debates up to and including this day
    #[arg(long, value_name = "DAY", value_parser = day)]
    until: Option<NaiveDate>,

    /// List only the newest N debates
    #[arg(short = 'n', long = "limit", value_name = "N")]
    limit: Option<NonZeroUsize>,

    /// Print costs by month and model instead of debates
    #[arg(long)]
    cost: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The statuses and outcomes that `--status` accepts.
fn statuses() -> impl Iterator<Item = &'static str> {
    let outcomes = ["complete", "incomplete", "stopped", "full", "degraded", "unreadable", "newer format"];
    ["pending"].into_iter().chain(Standing::ALL.map(Standing::name)).chain(outcomes)
}

fn day(text: &str) -> Result<NaiveDate, String> {
    let today = Local::now().date_naive();
    let ago = |days: u64| today.checked_sub_days(Days::new(days));
    let found = match text {
        "today" => Some(today),
        "yesterday" => ago(1),
        _ => match text.strip_suffix('d').and_then(|days| days.parse().ok()) {
            Some(days) => ago(days),
            None => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok(),
        },
    };
    found
        .ok_or_else(|| "expected a day such as 2026-01-31, `today`, `yesterday`, or `7d` for seven days ago".to_owned())
}

const LEAST_PROBLEM: usize = 12;
const LEAST_ANSWER: usize = 17;
const NOTHING: &str = "-";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListRow {
    /// The name of the state file, by which commands find the debate.
    id: String,
    created_at: Option<Timestamp>,
    /// The status in the record.
    status: &'static str,
    /// Unlike `status`, it also says if the debate asks something, or if its process has died.
    standing: &'static str,
    outcome: Option<&'static str>,
    /// How complete the run was, in one word. Shown on a terminal instead of `outcome`.
    #[serde(skip)]
    run: Option<String>,
    answer: Option<AnswerState>,
    rounds: usize,
    confidence: Option<f64>,
    cost_usd: Option<Usd>,
    /// Whether the host answered some of the calls, which `costUsd` does not include.
    #[serde(skip_serializing_if = "is_default")]
    hosted: bool,
    offline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    notional_usd: Option<Usd>,
    problem: String,
    title: String,
    protocol: Option<String>,
    winner: Option<String>,
    /// Whether the same text also won when the judge read the texts in reverse order. `None` if there was only one
    /// reading, or if a vote decided.
    winner_stable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    #[serde(skip)]
    usage: BTreeMap<String, ModelUsage>,
}

pub(in crate::cli) fn run(args: &ListArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let entries = directory.entries()?;
    let remembered = match args.text.as_deref().map(|text| PastDebates::of(&directory).files_with(text)) {
        None => HashSet::new(),
        Some(Ok(files)) => files,
        Some(Err(error)) => {
            terminal.warning(&format!("keyword search for --text is not available: {}", in_full(&error)));
            HashSet::new()
        }
    };
    let mut rows: Vec<ListRow> = entries.iter().filter_map(|entry| row(entry, args, &remembered)).collect();
    // The entries are sorted by file name, which need not follow the time of creation.
    rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
    rows.truncate(args.limit.map_or(usize::MAX, Into::into));
    if args.json && !args.cost {
        return terminal.json(&rows);
    }
    if rows.is_empty() && !args.json {
        let place = directory.path().display();
        terminal.notice(&if entries.is_empty() {
            format!("No debates in {place} yet.")
        } else {
            format!("No matching debates in {place}.")
        });
        return Ok(());
    }
    if args.cost {
        return print(&rows, args.json, terminal);
    }
    let layout = terminal.screen();
    terminal.result(&match layout.width {
        Some(_) => for_people(&rows, &ShortNames::of(&entries)).drawn(layout),
        None => for_pipes(&rows).drawn(layout),
    })
}

/// The row of a debate, even of an unreadable one; `None` if the debate does not match the options. `remembered` holds
/// the names of the state files that the memory search found.
fn row(entry: &Entry, args: &ListArgs, remembered: &HashSet<String>) -> Option<ListRow> {
    // The journal of an unfinished debate is newer than its state file.
    let read = entry.load(AccessMode::State);
    let is_newer = matches!(read, Err(StoreError::State(StateFileError::Newer { .. })));
    let read = read.ok().map(|saved| saved.debate);
    let unread = if is_newer { "newer format" } else { "unreadable" };
    let row = match &read {
        Some(debate) => of_debate(entry, debate, Standing::listed(entry, debate)),
        None => ListRow { status: unread, ..of_debate(entry, &Debate::default(), unread) },
    };
    let is_remembered =
        entry.state.file_name().is_some_and(|name| name.to_str().is_some_and(|name| remembered.contains(name)));
    is_wanted(&row, read.as_ref(), is_remembered, args).then_some(row)
}

fn of_debate(entry: &Entry, debate: &Debate, standing: &'static str) -> ListRow {
    let spent = debate.total_usage();
    ListRow {
        id: entry.id(),
        created_at: debate.created_at,
        status: debate.status.name(),
        standing,
        outcome: debate.outcome.as_ref().map(|outcome| outcome.kind.name()),
        run: debate.outcome.as_ref().map(|_| first_word(&debate.run_in_words()).to_owned()),
        answer: debate.answer_state(),
        rounds: debate.rounds.len(),
        confidence: debate.final_solution.as_ref().and_then(|solution| solution.confidence),
        cost_usd: debate.known_cost(),
        hosted: spent.hosted,
        offline: debate.is_offline(),
        notional_usd: spent.notional_usd,
        problem: one_line(debate.first_line()),
        title: one_line(&debate.title()),
        protocol: debate.settings.as_ref().map(|settings| one_line(&settings.debate.protocol)),
        winner_stable: debate.winner().and_then(|winner| winner.is_stable),
        winner: debate.winner().map(|winner| one_line(winner.agent_id.as_str())),
        forked_from: debate.forked_from.as_ref().map(|fork| fork.id.to_string()),
        usage: debate.usage.clone(),
    }
}

impl ListRow {
    fn title_of_fork(&self, names: &ShortNames) -> String {
        let parent = self.forked_from.as_deref().map(DebateId::new);
        let fork = parent.map(|parent| format!("(fork of {}) ", one_line(names.name(&parent))));
        format!("{}{}", fork.unwrap_or_default(), self.title)
    }

    fn cost(&self, shown: impl Fn(Usd) -> String) -> Option<String> {
        let Self { cost_usd, notional_usd, hosted, .. } = *self;
        let spent = ModelUsage { cost_usd, notional_usd, hosted, ..ModelUsage::NONE };
        cost_usd.map(|cost| spent.cost_in_words(shown(cost)))
    }

    fn winner_in_words(&self) -> Option<String> {
        let winner = self.winner.as_ref()?;
        Some(if self.winner_stable == Some(false) { format!("{winner} (unstable)") } else { winner.clone() })
    }
}

/// `debate` is `None` if the debate is unreadable, in which case only its status is known.
fn is_wanted(row: &ListRow, debate: Option<&Debate>, is_remembered: bool, args: &ListArgs) -> bool {
    let has_text = |text: &String| {
        let text = text.to_lowercase();
        debate.is_some_and(|debate| {
            let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str());
            [Some(&*debate.problem), debate.context.as_deref(), solution]
                .into_iter()
                .flatten()
                .any(|one| one.to_lowercase().contains(&text))
        })
    };
    let is_status = |wanted: &String| {
        [Some(row.status), Some(row.standing), row.outcome, row.run.as_deref()].contains(&Some(wanted.as_str()))
    };
    let is_day = |fits: &dyn Fn(NaiveDate) -> bool| row.created_at.is_some_and(|at| fits(local(at).date_naive()));
    (args.status.is_empty() || args.status.iter().any(is_status))
        && args.text.as_ref().is_none_or(|text| is_remembered || has_text(text))
        && args.protocol.as_ref().is_none_or(|wanted| row.protocol.as_ref() == Some(wanted))
        && args.since.is_none_or(|since| is_day(&|day| day >= since))
        && args.until.is_none_or(|until| is_day(&|day| day <= until))
}

fn local(at: Timestamp) -> chrono::DateTime<Local> {
    at.utc().with_timezone(&Local)
}

/// Whether any debate uses a protocol other than the default. If none does, tables omit protocols and winners.
fn has_other_protocols(rows: &[ListRow]) -> bool {
    rows.iter().any(|row| row.protocol.as_deref().is_some_and(|name| name != DIALECTIC.name))
}

fn for_people(rows: &[ListRow], names: &ShortNames) -> Table {
    let has_others = has_other_protocols(rows);
    let mut columns = vec![
        TableColumn::text("ID"),
        TableColumn::text("RUN"),
        TableColumn::text("ANSWER").flexible(LEAST_ANSWER),
        TableColumn::text("PROBLEM").flexible(LEAST_PROBLEM),
        TableColumn::text("WHEN").rank(1),
        TableColumn::figure("COST").rank(2),
    ];
    columns.push(TableColumn::figure("ROUNDS").rank(5));
    columns.push(TableColumn::figure("CONFIDENCE").rank(6));
    if has_others {
        columns.extend([TableColumn::text("PROTOCOL").rank(4), TableColumn::text("WINNER").rank(7)]);
    }
    let mut table = Table::new(columns).of_lines();
    for row in rows {
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        let id = DebateId::new(row.id.as_str());
        let run = row.run.as_deref().unwrap_or(row.standing);
        let answer = row.answer.as_ref();
        let is_clean = answer.is_none_or(AnswerState::is_clean);
        let style = if is_clean { Style::new() } else { AnsiColor::Yellow.on_default() };
        let cost = row.cost(short_cost).filter(|_| !row.offline);
        let mut cells = vec![
            StyledText::new(one_line(names.name(&id)), Style::new().bold()),
            StyledText::new(run, style_of(run, answer)),
            StyledText::new(answer_in_brief(answer), style),
            StyledText::plain(row.title_of_fork(names)),
            StyledText::new(or_nothing(row.created_at.map(when)), Style::new().dimmed()),
            StyledText::plain(or_nothing(cost)),
        ];
        cells.push(StyledText::plain(row.rounds.to_string()));
        cells.push(StyledText::plain(or_nothing(row.confidence.map(percent))));
        if has_others {
            cells.extend(
                [row.protocol.clone(), row.winner_in_words()].map(|other| StyledText::plain(or_nothing(other))),
            );
        }
        table.row(cells);
    }
    table
}

fn for_pipes(rows: &[ListRow]) -> Table {
    let dash = || NOTHING.to_owned();
    let has_others = has_other_protocols(rows);
    let others = |others: [String; 2]| others.into_iter().filter(|_| has_others).collect::<Vec<_>>();
    let titles = ["ID", "WHEN", "STATUS", "OUTCOME", "ANSWER", "ROUNDS", "CONFIDENCE", "COST"].map(str::to_owned);
    let titles = titles.into_iter().chain(others(["PROTOCOL", "WINNER"].map(str::to_owned)));
    let mut table = Table::new(titles.chain(["PROBLEM".to_owned()]).map(TableColumn::text));
    for row in rows {
        let when = |at: Timestamp| local(at).format("%Y-%m-%d %H:%M").to_string();
        let fixed = [
            one_line(&row.id),
            row.created_at.map_or_else(dash, when),
            row.standing.to_owned(),
            row.outcome.map_or_else(dash, str::to_owned),
            answer_in_brief(row.answer.as_ref()),
            row.rounds.to_string(),
            row.confidence.map_or_else(dash, |confidence| confidence.to_string()),
            row.cost(|cost| cost.to_string()).unwrap_or_else(dash),
        ];
        let others = others([row.protocol.clone(), row.winner_in_words()].map(|other| other.unwrap_or_else(dash)));
        table.row(fixed.into_iter().chain(others).chain([row.problem.clone()]).map(StyledText::plain));
    }
    table
}

/// For example, `clean`, `rehearsal` or `1 unmet, 2 open`.
fn answer_in_brief(answer: Option<&AnswerState>) -> String {
    answer.map_or_else(|| NOTHING.to_owned(), AnswerState::in_brief)
}

fn style_of(run: &str, answer: Option<&AnswerState>) -> Style {
    match run {
        "complete" if answer.is_some_and(AnswerState::is_clean) => AnsiColor::Green.on_default(),
        "complete" | "finished" | "completed" => Style::new(),
        "incomplete" | "stopped" | "interrupted" | "unfinished" => AnsiColor::Yellow.on_default(),
        "running" | "asking" | "paused" | "pending" => AnsiColor::Cyan.on_default(),
        _ => AnsiColor::Red.on_default(),
    }
}

/// Formats a time today as `14:03`, an earlier day of this year as `Jan 31`, and any other day as `2025-01-31`.
fn when(at: Timestamp) -> String {
    let (at, now) = (local(at), Local::now());
    let form = match () {
        () if at.date_naive() == now.date_naive() => "%H:%M",
        () if at.year() == now.year() => "%b %-d",
        () => "%Y-%m-%d",
    };
    at.format(form).to_string()
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelSpending {
    /// The month in which the debates started, such as `2026-01`; `None` if unknown.
    month: Option<String>,
    model: String,
    debates: u64,
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(skip)]
    silent_calls: u64,
    #[serde(skip_serializing_if = "is_default")]
    hosted: bool,
    cost_usd: Usd,
    unpriced_debates: u64,
}

impl ModelSpending {
    fn add(&mut self, usage: &ModelUsage) {
        self.debates += 1;
        // Saturate, because a state file may contain any number.
        self.requests = self.requests.saturating_add(usage.requests);
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.silent_calls = self.silent_calls.saturating_add(usage.silent_calls);
        self.hosted |= usage.hosted;
        match usage.cost_usd {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced_debates += 1,
        }
    }

    /// For example, `$1.20`, or `$1.20 + unknown` if the cost of some debates is unknown.
    fn cost(&self) -> String {
        match (self.unpriced_debates, self.debates) {
            (0, _) if self.cost_usd == Usd::ZERO => {
                ModelUsage { hosted: self.hosted, ..ModelUsage::NONE }.cost_in_words(self.cost_usd.to_string())
            }
            (0, _) => self.cost_usd.to_string(),
            (unpriced, all) if unpriced == all && self.cost_usd == Usd::ZERO => UNKNOWN.to_owned(),
            _ => format!("{} + unknown", self.cost_usd),
        }
    }
}

fn print(rows: &[ListRow], json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let mut by_month: BTreeMap<(Option<String>, &str), ModelSpending> = BTreeMap::new();
    let mut all = ModelSpending::default();
    for row in rows {
        let month = row.created_at.map(|at| local(at).format("%Y-%m").to_string());
        for (model, usage) in &row.usage {
            let key = (month.clone(), model.as_str());
            let new = || ModelSpending { month: month.clone(), model: model.clone(), ..ModelSpending::default() };
            by_month.entry(key).or_insert_with(new).add(usage);
            all.add(usage);
        }
    }
    let debates = |counts: fn(&ListRow) -> bool| rows.iter().filter(|row| counts(row)).count() as u64;
    all.debates = debates(|row| !row.usage.is_empty());
    all.unpriced_debates = debates(|row| row.usage.values().any(|usage| usage.cost_usd.is_none()));
    let mut spent: Vec<ModelSpending> = by_month.into_values().collect();
    // A stable sort keeps the order of a month's models.
    spent.sort_by(|one, other| other.month.cmp(&one.month));
    if json {
        return terminal.json(&spent);
    }
    if spent.is_empty() {
        terminal.notice("No costs recorded.");
        return Ok(());
    }
    let mut table = Table::new([
        TableColumn::text("MONTH"),
        TableColumn::text("MODEL").flexible(12),
        TableColumn::figure("DEBATES").rank(2),
        TableColumn::figure("CALLS").rank(3),
        TableColumn::figure("INPUT").rank(1),
        TableColumn::figure("OUTPUT").rank(1),
        TableColumn::figure("COST"),
    ])
    .of_lines();
    let line = |of: &ModelSpending, month: &str, model: String, style: Style| {
        let figures = [of.debates, of.requests, of.input_tokens, of.output_tokens].map(thousands);
        let texts = [month.to_owned(), model].into_iter().chain(figures).chain([of.cost()]);
        texts.map(move |text| StyledText::new(text, style)).collect::<Vec<_>>()
    };
    for of in &spent {
        table.row(line(of, of.month.as_deref().unwrap_or(NOTHING), one_line(&of.model), Style::new()));
    }
    if spent.len() > 1 {
        table.row(line(&all, "all", String::new(), Style::new().bold()));
    }
    terminal.result(&table.drawn(terminal.screen()))?;
    if all.silent_calls > 0 {
        let tokens = all.input_tokens.saturating_add(all.output_tokens);
        terminal.notice(&format!("Total: {}.", sum_of_tokens(tokens, all.silent_calls)));
    }
    Ok(())
}
