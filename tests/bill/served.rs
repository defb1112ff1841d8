//! Some debates of one server (or two on one directory), with a limit for each and one for the day; the server is
//! killed, a record is removed, and what is not over is carried on.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt as _;
use serde_json::{Value, json};

use crate::Verdict;
use crate::chance::chance;
use crate::plan::{Config, Plan};
use crate::provider::{Entry, Provider, sum};
use crate::sandbox::{Running, Sandbox, amounts, lines, sandbox};

const TOKEN: &str = "a-token-for-the-bill-0123456789";
/// How long a server may take for its address, and for an answer.
const SOON: Duration = Duration::from_mins(1);
/// How long all debates of a server may take.
const LONGEST: Duration = Duration::from_mins(3);
/// How often a debate is carried on that paused.
const PATIENCE: u32 = 5;
/// How many debates are begun.
pub(crate) const DEBATES: usize = 4;
const SECONDS_A_DAY: u64 = 86_400;

/// A server that runs.
struct Serving {
    running: Running,
    authority: String,
}

/// A debate that was begun.
struct Begun {
    id: String,
    case: String,
    limit: f64,
    resumed: u32,
    is_removed: bool,
    /// Its last state.
    state: Value,
}

/// What may be spent.
#[derive(Debug, Clone, Copy)]
struct Limits {
    each: f64,
    day: f64,
}

pub(crate) fn run(plan: &Plan) -> io::Result<Vec<Verdict>> {
    let mut random = chance(plan.seed, "served");
    let provider = Provider::start(plan.terms.clone())?;
    let mut environment = plan.environment(&provider);
    environment.push(("DIALECTIC_TOKEN", TOKEN.to_owned()));
    let sandbox = sandbox(&environment);
    let name = if plan.config == Config::Named { "mine.json" } else { "debate-config.json" };
    sandbox.write(name, plan.file(&provider.base_url()).to_string());
    let least = least(plan, &sandbox, &provider);
    let each = least * plan.generosity;
    let limits = Limits { each, day: each * random.random_range(1.2..3.5) };
    if let Some(own) = plan.own(&provider.base_url(), each) {
        sandbox.write(".config/dialectic/config.json", own.to_string());
    }
    let day = today();
    let mut servers = vec![Serving::start(&sandbox, plan, limits)?];
    if random.random_bool(0.3) {
        servers.push(Serving::start(&sandbox, plan, limits)?);
    }
    let mut begun: Vec<Begun> = Vec::new();
    let mut refusals = Vec::new();
    let kill_after = random.random_bool(0.5).then(|| random.random_range(1..40));
    let removes = random.random_bool(0.5);
    let (mut kills, mut next) = (0, 0);
    let until = Instant::now() + LONGEST;
    // Two or so at once.
    loop {
        let going = begun.iter().filter(|one| !one.is_over()).count();
        if next < DEBATES && going < 2 {
            next += 1;
            let case = next.to_string();
            let own = random.random_bool(0.5).then(|| (each * random.random_range(0.6..1.0)).max(least).min(each));
            let mut body = json!({"problem": format!("[case {case}] Design a queue.\n- It must not lose an order.")});
            if let Some(own) = own {
                body["maxCost"] = json!(own);
            }
            let place = next % servers.len();
            let (status, answer) = servers[place].ask("POST", "/debates", Some(&body))?;
            match answer["id"].as_str().filter(|_| status == 201) {
                Some(id) => {
                    let (id, limit) = (id.to_owned(), own.unwrap_or(each));
                    begun.push(Begun { id, case, limit, resumed: 0, is_removed: false, state: Value::Null });
                }
                None => refusals.push(format!("{status}: {answer}")),
            }
            continue;
        }
        if going == 0 && next == DEBATES {
            break;
        }
        if Instant::now() > until {
            let stderr: String = servers.iter().map(|serving| serving.running.stderr()).collect();
            let waiting: Vec<String> = begun.iter().map(|one| format!("{}: {}", one.id, one.state["status"])).collect();
            return Err(io::Error::other(format!("the server hangs: {waiting:?}\n{stderr}")));
        }
        if kills == 0 && kill_after.is_some_and(|after| provider.requests() >= after) {
            kills += 1;
            drop(servers.swap_remove(0));
            servers.insert(0, Serving::start(&sandbox, plan, limits)?);
        }
        for one in &mut begun {
            one.look(&sandbox, &servers[0])?;
            if removes && one.is_over() && !one.is_removed && one.case == "1" {
                one.is_removed = sandbox.run(["rm", &one.id, "--yes"]).code == Some(0);
            }
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    drop(servers);
    std::thread::sleep(Duration::from_millis(20));
    // At midnight a new day begins, and which one a call is of is not said.
    let is_one_day = day == today();
    Ok(verdicts(plan, sandbox, &provider.bill(), limits, &begun, &refusals, is_one_day))
}

fn verdicts(
    plan: &Plan,
    sandbox: Sandbox,
    bill: &[Entry],
    limits: Limits,
    begun: &[Begun],
    refusals: &[String],
    is_one_day: bool,
) -> Vec<Verdict> {
    let all = sum(bill);
    let is_over_day = is_one_day && all > limits.day + 1e-9;
    let mut verdicts: Vec<Verdict> = begun
        .iter()
        .map(|one| {
            let billed = sum(bill.iter().filter(|entry| entry.case == one.case));
            let rounds = one.state["rounds"].as_array().map(Vec::as_slice).unwrap_or_default();
            let answer = one.state["finalSolution"]["description"].as_str().unwrap_or_default();
            Verdict {
                is_over: billed > one.limit + 1e-9,
                is_short: !one.is_removed && billed > sandbox.booked(&one.id) + 1e-9,
                is_calm: plan.is_calm,
                is_whole: !answer.trim().is_empty() && rounds.iter().any(|round| plan.is_whole(round)),
                share: billed / one.limit,
                kind: one.state["outcome"]["kind"].as_str().unwrap_or("none").to_owned(),
                ..Verdict::default()
            }
        })
        .collect();
    // What the day has no room for is refused, and that is right; but the first has.
    let refused = Verdict { is_refused: begun.is_empty(), is_of_the_day: true, ..Verdict::default() };
    verdicts.extend(refusals.iter().map(|_| Verdict { is_refused: refused.is_refused, ..Verdict::of_the_day() }));
    if is_over_day {
        verdicts.push(Verdict { is_over: true, share: all / limits.day, ..Verdict::of_the_day() });
    }
    if let Some(first) = verdicts.iter().position(Verdict::is_to_be_told) {
        let debates = lines(begun.iter().map(|one| {
            let billed = sum(bill.iter().filter(|entry| entry.case == one.case));
            let (id, case, limit, resumed, removed) = (&one.id, &one.case, one.limit, one.resumed, one.is_removed);
            let (booked, books) = (sandbox.booked(id), sandbox.books(id));
            let (status, outcome, usage) = (&one.state["status"], &one.state["outcome"], &one.state["usage"]);
            let failures = &one.state["failures"];
            format!(
                "case {case}, {id}: ${billed:.6} billed of ${limit:.6}, ${booked:.6} in its books, carried on {resumed} \
                 times, removed: {removed}; {status}, {outcome}\nfailures: {failures}\nusage by the program: \
                 {usage}\nits books:\n{books}"
            )
        }));
        let listed = lines(bill.iter().map(|entry| format!("  {}", entry.line)));
        let kept = sandbox.keep();
        let (seed, day, line, kept) = (plan.seed, limits.day, plan.line(), kept.display());
        verdicts[first].story = format!(
            "server, seed {seed}: ${all:.6} billed of ${day:.6} for the day\n{line}\nin {kept}\nrefused: {refusals:#?}\n\
             {debates}the bill:\n{listed}\n"
        );
    }
    verdicts
}

/// The least limit of a debate, as a run says that is refused.
fn least(plan: &Plan, sandbox: &Sandbox, provider: &Provider) -> f64 {
    let mut limit = 0.0001;
    loop {
        if let Some(own) = plan.own(&provider.base_url(), limit) {
            sandbox.write(".config/dialectic/config.json", own.to_string());
        }
        let mut arguments = vec!["debate".to_owned(), "--dry-run".to_owned(), "--max-cost".to_owned()];
        arguments.extend([format!("{limit:.6}"), "[case 1] Design a queue.\n- It must not lose an order.".to_owned()]);
        arguments.extend(plan.naming_its_file());
        let said = sandbox.run(&arguments);
        let more = amounts(&said.stderr).into_iter().filter(|amount| *amount > limit + 1e-9);
        match more.min_by(f64::total_cmp) {
            Some(least) if said.code == Some(2) => limit = least,
            _ => return limit,
        }
    }
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / SECONDS_A_DAY)
}

impl Begun {
    fn is_over(&self) -> bool {
        self.is_removed
            || self.resumed >= PATIENCE
            || ["completed", "failed"].iter().any(|it| self.state["status"] == *it)
    }

    /// Looks where it stands, and carries it on where it stands still.
    fn look(&mut self, sandbox: &Sandbox, serving: &Serving) -> io::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let (status, seen) = serving.ask("GET", &format!("/debates/{}", self.id), None)?;
        if status != 200 {
            return Ok(());
        }
        let (stands, here) = (seen["summary"]["status"].as_str().unwrap_or_default(), &seen["summary"]["here"]);
        match stands {
            "completed" | "failed" if *here != true => {
                self.state = sandbox.saved(&self.id);
                if !self.is_over() {
                    // The server was killed between the journal and the state file, which `resume` renews.
                    sandbox.run(["resume", &self.id]);
                }
            }
            // A debate that no process holds stands still, whatever it was doing.
            _ if *here != true => {
                let (status, _) = serving.ask("POST", &format!("/debates/{}/resume", self.id), Some(&json!({})))?;
                // It may be that the other server has it.
                self.resumed += u32::from(status != 409);
                if status != 202 {
                    std::thread::sleep(Duration::from_millis(50));
                }
                if self.resumed >= PATIENCE {
                    self.state = sandbox.saved(&self.id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Serving {
    fn start(sandbox: &Sandbox, plan: &Plan, limits: Limits) -> io::Result<Self> {
        let mut arguments = vec!["serve".to_owned(), "--max-cost".to_owned(), format!("{:.6}", limits.each)];
        arguments.extend(["--max-cost-per-day".to_owned(), format!("{:.6}", limits.day)]);
        arguments.extend(plan.naming_its_file());
        let mut running = sandbox.spawn(&arguments);
        let until = Instant::now() + SOON;
        loop {
            let said = running.stdout();
            let address = said.lines().next().filter(|_| said.ends_with('\n'));
            if let Some((_, rest)) = address.and_then(|address| address.split_once("://")) {
                let authority = rest.split('/').next().unwrap_or_default().to_owned();
                return Ok(Self { running, authority });
            }
            if Instant::now() > until || running.has_ended() {
                return Err(io::Error::other(format!("the server does not start: {}", running.stderr())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Status and body.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(SOON))?;
        let (authority, body) = (&self.authority, body.map(Value::to_string).unwrap_or_default());
        let length = body.len();
        write!(
            stream,
            "{method} /api/v1{path} HTTP/1.0\r\nHost: {authority}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }
}
