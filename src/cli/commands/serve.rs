//! `dialectic serve`: serves debates to browsers.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use clap::Args;
use maud::{DOCTYPE, html};
use tempfile::TempPath;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use crate::cli::args::{ConfigFileArgs, dollars};
use crate::cli::interrupt::Interrupts;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::serve::{DebateInputs, RunRegistry, Server, Watched};
use dialectic_base::money::Usd;
use dialectic_config::{ConfigFiles, ConfigPath, Overrides, capture_environment};
use dialectic_engine::access::{Environment, is_program};
use dialectic_engine::runner::Run;
use dialectic_record::ids::DebateId;
use dialectic_record::live::Signals;
use dialectic_record::settings::Settings;
use dialectic_record::store::Directory;

#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    /// The port; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// The address to listen on; access from other machines requires `DIALECTIC_TOKEN`, `--max-cost` and
    /// `--max-cost-per-day`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,

    /// Open the page in a browser
    #[arg(long)]
    open: bool,

    /// The debates directory [default: from your configuration, else ./debates]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    files: ConfigFileArgs,

    /// The maximum cost of a debate started on the server, in dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    /// The maximum cost of all debates per day (UTC), in dollars; new debates are refused once this limit is reached
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost_per_day: Option<Usd>,

    /// The maximum number of model calls in a debate started on the server, including retries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: Option<u32>,

    /// The maximum number of debates that run at the same time; others wait
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u16).range(1..=100))]
    max_debates: u16,
}

/// The maximum number of concurrent debates, the same as the default of `--max-debates`.
const MAX_RUNNING: usize = 3;

pub(in crate::cli) fn run(args: &ServeArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let environment = capture_environment(args.files.env_file.as_deref())?;
    let config = args.files.config.clone().map_or(ConfigPath::Default, ConfigPath::Named);
    // Report a faulty configuration now, not at the first debate.
    let limits = Overrides { max_calls: args.max_calls, ..Overrides::default() };
    let loaded = ConfigFiles::new(config.clone(), &environment).load(&limits)?;
    check_calls("serve", &loaded.settings)?;
    terminal.warnings(loaded.warnings);
    let has_token = environment.token().is_some();
    let inputs = DebateInputs {
        directory: args.dir.as_ref().map_or_else(debates, |dir| Ok(Directory::at(dir)))?,
        config,
        environment,
        max_cost: args.max_cost,
        max_cost_per_day: args.max_cost_per_day,
        max_calls: args.max_calls,
    };
    let (notices, mut said) = unbounded_channel();
    let server = Server::bind(&args.host, args.port, args.max_debates.into(), inputs, notices)?;
    while let Ok(warning) = said.try_recv() {
        terminal.warning(&warning);
    }
    terminal.notice("Open this address. It signs in one browser. Ctrl-C stops the server and pauses running debates.");
    terminal.text(&server.address_of("/"))?;
    if !has_token {
        terminal.notice(&format!("Programs must send the header `Authorization: Bearer {}`.", server.token));
    }
    // The page is a temporary file, which the browser may still read: keep it until the server stops.
    let _page = args.open.then(|| open(&server.address_of("/"), terminal));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let paused = runtime.block_on(async {
        let (mut interrupts, mut again) = (Interrupts::listen(), Interrupts::listen());
        let until = async {
            tokio::select! {
                () = interrupts.next() => {}
                () = tell(&mut said, terminal) => {}
            }
        };
        // Resolves at the second interrupt, because `again` receives the first one too.
        let hurry = async {
            again.next().await;
            again.next().await;
        };
        server.run(until, hurry).await
    });
    while let Ok(warning) = said.try_recv() {
        terminal.warning(&warning);
    }
    // Do not wait for files that are still being read for disconnected clients.
    runtime.shutdown_background();
    for id in paused? {
        terminal.notice(&format!("Paused {id}. Continue with `dialectic resume {id}`."));
    }
    Err(Error::stopped("stopped; running debates are saved"))
}

/// The server of `debate --serve`.
pub(in crate::cli) fn for_one_debate(
    config: &ConfigPath,
    environment: &Environment,
    max_cost: Option<Usd>,
) -> Result<Server, Error> {
    let inputs = DebateInputs {
        directory: debates()?,
        config: config.clone(),
        environment: environment.clone(),
        max_cost,
        max_cost_per_day: None,
        max_calls: None,
    };
    let (notices, _) = unbounded_channel();
    Ok(Server::bind("127.0.0.1", 0, MAX_RUNNING, inputs, notices)?)
}

/// A server that runs on its own thread while a debate runs.
pub(in crate::cli) struct Served {
    runs: Arc<RunRegistry>,
    stop: oneshot::Sender<()>,
    hurry: oneshot::Sender<()>,
    ended: thread::JoinHandle<()>,
}

impl Served {
    pub(in crate::cli) fn start(server: Server, id: &DebateId, terminal: &mut Terminal) -> Result<Self, Error> {
        terminal.notice(&format!("Watch the debate at {}", server.address_of(&format!("/debates/{id}"))));
        let (runs, (stop, stopped)) = (server.runs(), oneshot::channel::<()>());
        let (hurry, hurried) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let ended = thread::Builder::new().name("serve".to_owned()).spawn(move || {
            let until = async {
                let _ = stopped.await;
            };
            let hurry = async {
                if hurried.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            // Ignore failures: the address is already bound, and the user notices other failures in the browser.
            drop(runtime.block_on(server.run(until, hurry)));
            runtime.shutdown_background();
        });
        Ok(Self { runs, stop, hurry, ended: ended.map_err(Error::Runtime)? })
    }

    /// Browsers can watch and control the run until the result is dropped.
    pub(in crate::cli) fn show(&self, run: &Run, signals: Signals) -> Watched {
        self.runs.show(run, signals)
    }

    /// Serves until the user interrupts, then pauses the debates that were started in the meantime. `heard` must have
    /// listened since the debate began, so that no interrupt at the end of the debate is lost.
    pub(in crate::cli) fn stay(self, heard: Option<Interrupts>, terminal: &mut Terminal) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        // Listen before printing the notice, since the user may react to it immediately.
        let mut interrupts = heard.unwrap_or_else(|| {
            let _context = runtime.enter();
            Interrupts::listen()
        });
        terminal.notice("The page stays open until you press Ctrl-C.");
        let Self { stop, hurry, ended, .. } = self;
        runtime.block_on(async {
            interrupts.next().await;
            // Fails if the server has already ended.
            let _ = stop.send(());
            let mut ended = tokio::task::spawn_blocking(move || drop(ended.join()));
            tokio::select! {
                _ = &mut ended => return,
                () = interrupts.next() => {}
            }
            let _ = hurry.send(());
            drop(ended.await);
        });
        Err(Error::stopped("stopped; running debates are saved"))
    }
}

async fn tell(said: &mut UnboundedReceiver<String>, terminal: &mut Terminal) {
    while let Some(warning) = said.recv().await {
        terminal.warning(&warning);
    }
}

/// Opens an address in the browser through a private page. The address contains a token, and other users can see
/// process arguments. Dropping the result removes the page.
fn open(address: &str, terminal: &mut Terminal) -> Option<TempPath> {
    let opened = page_to(address).and_then(|page| {
        opener::open_browser(&page).map_err(io::Error::other)?;
        Ok(page)
    });
    match opened {
        Ok(page) => Some(page),
        Err(error) => {
            terminal.warning(&format!("cannot open a browser: {error}"));
            None
        }
    }
}

/// Writes a page that redirects to `address`. Only the user can read the page, because the address contains a token.
fn page_to(address: &str) -> io::Result<TempPath> {
    let page = html! {
        (DOCTYPE)
        meta charset="utf-8";
        meta name="referrer" content="no-referrer";
        meta http-equiv="refresh" content={ "0; url=" (address) };
        title { "dialectic" }
    };
    let mut file = tempfile::Builder::new().prefix("dialectic-").suffix(".html").tempfile()?;
    file.write_all(page.into_string().as_bytes())?;
    file.flush()?;
    Ok(file.into_temp_path())
}

/// The error for a missing limit, without which other people could spend the user's money.
pub(super) fn missing(command: &str, option: &str, reason: &str) -> UserError {
    UserError::input(format!("{command} needs {option}: {reason}"))
        .with_hint(format!("set {option}; `docs/models.md` explains the limits"))
}

/// A command-line program that an agent or the judge uses, if there is one.
pub(super) fn called(settings: &Settings) -> Option<&str> {
    settings.everybody().map(|agent| agent.provider.as_str()).find(|name| is_program(name, &settings.providers))
}

/// Requires a limit on calls if a command-line program may be called. A cost limit does not apply to programs, because
/// a subscription has no price.
pub(super) fn check_calls(command: &'static str, settings: &Settings) -> Result<(), UserError> {
    let configured =
        || settings.providers.keys().map(String::as_str).find(|name| is_program(name, &settings.providers));
    let program = called(settings).or_else(configured).filter(|_| settings.debate.budget.max_calls.is_none());
    program.map_or(Ok(()), |program| {
        let reason = format!("the configuration calls models through a command-line program, `{program}`");
        Err(missing(command, "--max-calls", &reason))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_can_read_the_page_that_leads_to_the_server() {
        let page = page_to("http://127.0.0.1:1/?token=a&b=\"c").unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("0; url=http://127.0.0.1:1/?token=a&amp;b=&quot;c\""), "{text}");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&page.metadata().unwrap().permissions()) & 0o777, 0o600);
        let path = page.to_path_buf();
        drop(page);
        assert!(!path.exists());
    }
}
