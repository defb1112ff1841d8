//! Handles the API's requests by calling the runner or reading records.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use dialectic_base::figures;
use dialectic_base::problem::NO_ANSWER;
use dialectic_engine::runner::{Controls, SpendingLock};
use dialectic_record::debate::{Debate, DebateFile, Status};
use dialectic_record::event::Event;
use dialectic_record::ids::{AgentId, DebateId};
use dialectic_record::protocol::motion::side;
use dialectic_record::store::AccessMode;
use dialectic_report::report::{ReportFormat, View, redact};

use crate::status::Standing;

use super::app::{App, admit, found};
use super::catalogue::{
    DebateBody, DebateListPage, DebateRow, Filter, FollowUpAnswer, QuestionView, Started, entry_of, row_of,
};
use super::problem::{Json, Kind, ProblemDetails, ok};
use super::registry::Whereabouts;
use super::request::{
    AfterQuery, AnswersBody, Feedback, FollowUpQuestion, Fork, FormatName, NewDebate, QueryParams, QuestionAnswer,
    ReportQuery, RequestBody, Several, SignIn,
};
use super::settings::{ForecastBody, Setup};
use super::stream::{StreamFormat, of_debate, of_several};

/// The default number of rows in a list.
const PAGE: u32 = 50;
const MOST_ROWS: u32 = 1000;
/// The maximum number of debates per stream.
const MOST_FOLLOWED: usize = 20;
/// The content security policy of reports. Reports contain model-written text, so no scripts may run.
const REPORT_POLICY: &str = "sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox; default-src 'none'; \
                             style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

pub(super) async fn session(
    State(app): State<Arc<App>>,
    RequestBody(SignIn { token }): RequestBody<SignIn>,
) -> Result<Response, ProblemDetails> {
    if !app.access.is_token(&token) {
        return Err(ProblemDetails::new(StatusCode::FORBIDDEN, Kind::Access, "the token is incorrect"));
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, app.access.set_cookie.as_str())]).into_response())
}

pub(super) async fn setup(State(app): State<Arc<App>>) -> Result<Response, ProblemDetails> {
    let setup: Setup = app.blocking(|app| app.inputs.setup(app.left_today()?)).await??;
    Ok(ok(setup))
}

pub(super) async fn forecast(
    State(app): State<Arc<App>>,
    RequestBody(request): RequestBody<NewDebate>,
) -> Result<Response, ProblemDetails> {
    let foreseen: ForecastBody = app.blocking(move |app| app.inputs.forecast(&request, app.left_today()?)).await??;
    Ok(ok(foreseen))
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    QueryParams(filter): QueryParams<Filter>,
) -> Result<Response, ProblemDetails> {
    let limit = filter.limit.unwrap_or(PAGE);
    if !(1..=MOST_ROWS).contains(&limit) {
        return Err(ProblemDetails::key("limit", format!("limit must be from 1 to {MOST_ROWS}")));
    }
    let rows = app.blocking(|app| app.catalogue.rows(&app.runs)).await??;
    let wanted = filter.search.as_deref().unwrap_or_default().to_lowercase();
    let fits = |row: &DebateRow| {
        let text = format!("{} {}", row.title, row.id).to_lowercase();
        wanted.split_whitespace().all(|word| text.contains(word))
            && filter.status.is_none_or(|status| row.status == status)
            && filter.protocol.as_ref().is_none_or(|protocol| row.protocol.as_ref() == Some(protocol))
    };
    let mut debates: Vec<DebateRow> = rows.into_iter().filter(fits).collect();
    let total = debates.len();
    debates = debates.into_iter().skip(filter.skip.unwrap_or(0) as usize).take(limit as usize).collect();
    Ok(ok(DebateListPage { debates, total }))
}

pub(super) async fn start(
    State(app): State<Arc<App>>,
    RequestBody(request): RequestBody<NewDebate>,
) -> Result<Response, ProblemDetails> {
    let started = admit(&app, move |app, _| app.inputs.begin(&request, app.left_today()?)).await?;
    Ok(created(started))
}

pub(super) async fn fork(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RequestBody(request): RequestBody<Fork>,
) -> Result<Response, ProblemDetails> {
    let started = admit(&app, move |app, _| {
        let entry = entry_of(&app.inputs.directory, &id)?;
        app.inputs.fork(&entry, &request, app.left_today()?)
    });
    Ok(created(started.await?))
}

fn created(started: Started) -> Response {
    let place = HeaderValue::from_str(&format!("/api/v1/debates/{}", started.id));
    let mut response = Json(StatusCode::CREATED, started).into_response();
    if let Ok(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

pub(super) async fn show(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ProblemDetails> {
    let shown = app.blocking(move |app| {
        let entry = found(app, &id)?;
        let saved = entry.load(AccessMode::State)?;
        let open = saved.debate.questions().into_iter().filter(|one| one.answer.is_empty());
        let questions = open.filter_map(|one| {
            let (group, item) = one.items.first()?;
            let names: Vec<String> = one.items.iter().map(|(group, _)| group.agent_name.clone()).collect();
            Some(QuestionView {
                agent_id: group.agent_id.to_string(),
                agent_name: figures::list(&names),
                question_id: item.id.clone(),
                question: one.text.to_owned(),
                pass: one.pass,
            })
        });
        let view = View::new(&saved.debate, None).with_sides(side);
        let sides = view.agents.iter().filter(|_| view.has_sides());
        let sides = sides.filter_map(|agent| Some((agent.id.to_string(), view.side_of(&agent.id)?.name())));
        let numbers = view.agents.iter().filter_map(|agent| Some((agent.id.to_string(), view.number_of(&agent.id)?)));
        let state = serde_json::to_value(DebateFile::of(&saved.debate));
        Ok::<_, ProblemDetails>(DebateBody {
            summary: row_of(&saved.debate, &entry, &app.runs),
            questions: questions.collect(),
            sides: sides.collect(),
            numbers: numbers.collect(),
            problem: ProblemDetails::of_debate(&saved.debate),
            warnings: saved.warnings,
            state: state.map_err(|error| ProblemDetails::internal(error.to_string()))?,
        })
    });
    Ok(ok(shown.await??))
}

pub(super) async fn events(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    QueryParams(AfterQuery { after }): QueryParams<AfterQuery>,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    let known = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.trim().parse().ok());
    let told = known.unwrap_or(after);
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let form = if accepted.contains("application/x-ndjson") { StreamFormat::Lines } else { StreamFormat::Sse };
    let entry = app.blocking(move |app| found(app, &id)).await??;
    entry.journal_path()?;
    let place = app.client()?;
    Ok(of_debate(app, entry, told, form, place))
}

pub(super) async fn all_events(
    State(app): State<Arc<App>>,
    QueryParams(query): QueryParams<Several>,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    let known = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(positions).unwrap_or_default();
    let wanted = positions(&query.debates);
    if wanted.is_empty() && !query.list {
        return Err(ProblemDetails::key("debates", "nothing to stream: set `debates`, `list` or both"));
    }
    if wanted.len() > MOST_FOLLOWED {
        return Err(ProblemDetails::key("debates", format!("a stream can follow at most {MOST_FOLLOWED} debates")));
    }
    let looked_up = app.blocking(move |app| {
        let (mut debates, mut missing) = (Vec::new(), Vec::new());
        for (id, after) in wanted {
            let told = known.iter().find(|(known, _)| *known == id).map_or(after, |(_, seq)| *seq);
            // If a debate was removed, stream the remaining ones.
            match found(app, &id) {
                Ok(entry) => debates.push((entry, told)),
                Err(_) => missing.push(id),
            }
        }
        (debates, missing)
    });
    let (debates, missing) = looked_up.await?;
    let place = app.client()?;
    Ok(of_several(app, debates, missing, query.list, place))
}

/// Parses `id:seq,id:seq,…`, where `seq` is the number of the last event that the client knows; 0 if it is missing.
fn positions(text: &str) -> Vec<(String, u64)> {
    let all = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    all.map(|one| match one.rsplit_once(':') {
        Some((id, seq)) => (id.to_owned(), seq.parse().unwrap_or(0)),
        None => (one.to_owned(), 0),
    })
    .collect()
}

pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RequestBody(AnswersBody { answers, end }): RequestBody<AnswersBody>,
) -> Result<Response, ProblemDetails> {
    app.blocking(move |app| {
        let entry = found(app, &id)?;
        let debate = entry.load(AccessMode::State)?.debate;
        for (place, one) in answers.iter().enumerate() {
            let is_open = debate
                .open_questions()
                .any(|(group, item)| group.agent_id.as_str() == one.agent_id && item.id == one.question_id);
            if !is_open {
                let key = format!("answers[{place}].questionId");
                let detail = format!("{} has no open question `{}`", one.agent_id, one.question_id);
                return Err(ProblemDetails::key(key, detail));
            }
        }
        app.runs.tell(&debate.id, |run| {
            for one in &answers {
                let answer = if one.answer.trim().is_empty() { NO_ANSWER } else { &one.answer };
                for (agent_id, question_id) in alike(&debate, &answers, one) {
                    run.answer(None, agent_id, question_id, answer.to_owned());
                }
            }
            if end {
                run.end_questions(None);
            }
        })
    })
    .await??;
    Ok(accepted())
}

/// The questions that `one` answers. Similar questions of different agents are shown as one question, so `one` answers
/// all of them except those with an answer of their own in `answers`.
fn alike(debate: &Debate, answers: &[QuestionAnswer], one: &QuestionAnswer) -> Vec<(AgentId, String)> {
    let is_answered_by = |answer: &QuestionAnswer, agent: &AgentId, id: &str| {
        answer.agent_id == agent.as_str() && answer.question_id == id
    };
    let questions = debate.questions();
    let items = questions.iter().map(|question| &question.items);
    let mut shown =
        items.filter(|items| items.iter().any(|(group, item)| is_answered_by(one, &group.agent_id, &item.id)));
    let items = shown.next().into_iter().flatten();
    let meant = items.filter(|(group, item)| {
        let id = (&group.agent_id, item.id.as_str());
        is_answered_by(one, id.0, id.1) || !answers.iter().any(|other| is_answered_by(other, id.0, id.1))
    });
    meant.map(|(group, item)| (group.agent_id.clone(), item.id.clone())).collect()
}

fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

pub(super) async fn pause(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ProblemDetails> {
    let id = known_id(&app, id).await?;
    if app.runs.withdraw(&id) {
        let paused =
            |debate: &Debate| matches!(debate.status, Status::Pending | Status::Running).then_some(Event::Paused);
        app.blocking(move |app| Ok::<_, ProblemDetails>(found(app, id.as_str())?.note(paused)?)).await??;
    } else {
        app.runs.tell(&id, Controls::pause)?;
    }
    Ok(accepted())
}

pub(super) async fn stop(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ProblemDetails> {
    let id = known_id(&app, id).await?;
    match app.runs.whereabouts(&id) {
        Whereabouts::Running => app.runs.tell(&id, Controls::stop)?,
        Whereabouts::Waiting(_) if app.runs.close_waiting(&id) => {}
        Whereabouts::Waiting(_) | Whereabouts::Elsewhere => {
            app.runs.withdraw(&id);
            let of = id.clone();
            if !app.blocking(move |app| end_without_proposal(app, &of)).await?? {
                resumed(&app, id, true).await?;
            }
        }
    }
    Ok(accepted())
}

/// Ends a debate that is not running and has no text to base an answer on, and returns true. If the debate has such a
/// text, changes nothing and returns false. Fails if the debate has already ended without a text.
fn end_without_proposal(app: &App, id: &DebateId) -> Result<bool, ProblemDetails> {
    let entry = entry_of(&app.inputs.directory, id.as_str())?;
    let (mut has_nothing, mut has_ended) = (false, false);
    entry.note(|debate| {
        has_nothing = debate.final_round().is_none();
        has_ended = matches!(debate.status, Status::Completed | Status::Failed);
        (has_nothing && !has_ended).then(Event::stopped_without_proposal)
    })?;
    if has_nothing && has_ended {
        return Err(ProblemDetails::conflict("the debate ended without any text to base an answer on"));
    }
    Ok(has_nothing)
}

pub(super) async fn resume(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ProblemDetails> {
    let id = known_id(&app, id).await?;
    match app.runs.whereabouts(&id) {
        // Cancels a pending pause.
        Whereabouts::Running => app.runs.tell(&id, Controls::go_on)?,
        Whereabouts::Waiting(_) => {}
        Whereabouts::Elsewhere => drop(resumed(&app, id, false).await?),
    }
    Ok(accepted())
}

async fn resumed(app: &Arc<App>, id: DebateId, closes: bool) -> Result<Started, ProblemDetails> {
    admit(app, move |app, lock| {
        let entry = entry_of(&app.inputs.directory, id.as_str())?;
        app.inputs.resume(&entry, closes, app.left_today()?, lock)
    })
    .await
}

pub(super) async fn ask(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RequestBody(FollowUpQuestion { question }): RequestBody<FollowUpQuestion>,
) -> Result<Response, ProblemDetails> {
    let question: Arc<str> = question.trim().into();
    if question.is_empty() {
        return Err(ProblemDetails::key("question", "question is empty"));
    }
    let door = app.admission_lock.lock().await;
    let asking = app.blocking(move |app| {
        let lock = SpendingLock::take(&app.inputs.directory)?;
        app.inputs.ask(&found(app, &id)?, question, app.left_today()?, &lock)
    });
    let asking = asking.await??;
    drop(door);
    // Use a separate task, so that a paid answer is recorded even if the client disconnects.
    let answered = tokio::spawn(asking.run(app.closing.child_token())).await;
    let (_, answer) = answered.map_err(|error| ProblemDetails::internal(error.to_string()))??;
    Ok(ok(FollowUpAnswer { answer: answer.to_string() }))
}

pub(super) async fn acknowledge(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, ProblemDetails> {
    let acknowledged = move |app: &App| {
        let entry = found(app, &id)?;
        let id = DebateId::new(entry.id());
        match app.runs.whereabouts(&id) {
            Whereabouts::Running => app.runs.tell(&id, Controls::acknowledge),
            Whereabouts::Waiting(_) => Err(ProblemDetails::conflict(
                "the debate is waiting for a slot; acknowledge the warning once the debate is running",
            )),
            Whereabouts::Elsewhere => {
                let mut is_open = false;
                entry.note(|debate| {
                    is_open = debate.status != Status::Completed
                        && debate.cost_warning.is_some_and(|warning| !warning.acknowledged);
                    is_open.then_some(Event::CostAcknowledged)
                })?;
                if !is_open {
                    return Err(ProblemDetails::conflict("the debate has no cost warning to acknowledge"));
                }
                Ok(())
            }
        }
    };
    app.blocking(acknowledged).await??;
    Ok(accepted())
}

pub(super) async fn rate(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    RequestBody(Feedback { rating, note }): RequestBody<Feedback>,
) -> Result<Response, ProblemDetails> {
    if !matches!(rating, 1 | -1) {
        return Err(ProblemDetails::key("rating", "rating must be 1 or -1"));
    }
    let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
    let rated = move |app: &App| {
        let has_ended = |debate: &Debate| matches!(debate.status, Status::Completed | Status::Failed);
        let rate = |debate: &Debate| has_ended(debate).then_some(Event::Rated { rating, note });
        let is_rated = has_ended(&found(app, &id)?.note(rate)?);
        if is_rated { Ok(()) } else { Err(ProblemDetails::conflict("the debate has not ended yet")) }
    };
    app.blocking(rated).await??;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn known_id(app: &Arc<App>, id: String) -> Result<DebateId, ProblemDetails> {
    app.blocking(move |app| found(app, &id).map(|entry| DebateId::new(entry.id()))).await?
}

pub(super) async fn report(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    QueryParams(ReportQuery { format: FormatName(format), download }): QueryParams<ReportQuery>,
) -> Result<Response, ProblemDetails> {
    let (id, bytes) = app.blocking(move |app| written(app, &id, format)).await??;
    let mut response = ([(header::CONTENT_TYPE, format.media_type)], bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    if download && let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{id}.{}\"", format.ending)) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn written(app: &App, id: &str, format: &ReportFormat) -> Result<(String, Vec<u8>), ProblemDetails> {
    let entry = found(app, id)?;
    let mut saved = entry.load(AccessMode::State)?;
    if let Some(why) = format.lacks(&saved.debate) {
        return Err(ProblemDetails::key("format", format!("`{}` {why}", format.name)));
    }
    redact(&mut saved.debate);
    let view = View::new(&saved.debate, None).with_sides(side);
    let view = view.with_standing(Standing::listed(&entry, &saved.debate));
    let mut out = Vec::new();
    format.write(&view, &mut out).map_err(|error| ProblemDetails::internal(error.to_string()))?;
    Ok((entry.id(), out))
}
