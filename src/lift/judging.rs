//! An independent judge: its questions and its answers.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_config::{EVALUATOR_TEMPERATURE, EvaluatorSettings};
use dialectic_engine::agent::{AnswerError, Ask, read_json};
use dialectic_engine::engine::planned_json_calls;
use dialectic_llm::{AnswerSchema, Caller, Request, request_bytes, strict_object};
use dialectic_record::debate::{CallKey, PlannedCall, Span};
use dialectic_record::prompt::{lift_checklist, lift_ruling, lift_system};
use dialectic_record::protocol::follow_up_info;

use super::{Side, identity};

/// The maximum number of items in a checklist.
const MOST_ITEMS: usize = 15;
/// The maximum number of characters in an item.
const MOST_CHARACTERS: usize = 400;

/// A judge that compares answers.
#[derive(Clone)]
pub struct Judge {
    /// The configured settings.
    pub settings: EvaluatorSettings,
    /// The caller of its model.
    pub caller: Caller,
}

/// A question to a judge. Its id is the same for the same question to the same model.
pub struct Question {
    /// A hash of the judge, the model, the prompts and the number of the ruling.
    pub id: String,
    /// The judge.
    pub judge: Judge,
    request: Request,
    kind: QuestionKind,
}

#[derive(Clone, Copy)]
enum QuestionKind {
    Checklist,
    Ruling,
}

/// The result of a question.
pub struct Replied {
    /// The answer, or why there is none.
    pub answer: Result<Value, String>,
    /// The cost; absent if unknown.
    pub cost: Option<Usd>,
    /// The list price of what a subscription covered.
    pub notional: Option<Usd>,
}

/// A checklist, as a judge makes one.
#[derive(Debug, Serialize, Deserialize)]
struct Checklist {
    items: Vec<String>,
}

/// A judge's preference between two texts, numbered in the order shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Preference {
    /// The items that the first text fulfils.
    #[serde(default)]
    pub first: Vec<bool>,
    /// The items that the second text fulfils.
    #[serde(default)]
    pub second: Vec<bool>,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    better: Better,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    First,
    Second,
    Neither,
}

impl Preference {
    /// The preferred side of two texts shown in this order.
    pub fn of(&self, [first, second]: [Side; 2]) -> Option<Side> {
        match self.better {
            Better::First => Some(first),
            Better::Second => Some(second),
            Better::Neither => None,
        }
    }

    /// Reads a saved ruling.
    pub fn read(answer: &Value) -> Option<Self> {
        serde_json::from_value(answer.clone()).ok()
    }
}

static CHECKLIST: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let item = json!({ "type": "string", "maxLength": MOST_CHARACTERS });
    let items = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": MOST_ITEMS });
    Arc::new(AnswerSchema { name: "checklist", schema: strict_object([("items", items)]) })
});

static RULING: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let ticks = json!({ "type": "array", "items": { "type": "boolean" }, "maxItems": 20 });
    let schema = strict_object([
        ("first", ticks.clone()),
        ("second", ticks),
        ("reason", json!({ "type": "string", "maxLength": 1500 })),
        ("better", json!({ "type": "string", "enum": ["first", "second", "neither"] })),
    ]);
    Arc::new(AnswerSchema { name: "comparison", schema })
});

/// Asks a judge for a checklist of a problem.
pub fn checklist_question(judge: &Judge, problem: &str) -> Question {
    Question::new(judge, lift_checklist(problem), QuestionKind::Checklist, 1)
}

/// Asks a judge which of two texts is better. `number` distinguishes independent rulings.
pub fn ruling_question(judge: &Judge, problem: &str, checklist: &[String], texts: [&str; 2], number: u32) -> Question {
    Question::new(judge, lift_ruling(problem, checklist, texts), QuestionKind::Ruling, number)
}

/// A checklist of the usual length: at most 15 items, mostly short sentences. Stands in for a missing one in a
/// forecast.
pub fn foreseen_checklist() -> Span<Vec<String>> {
    Span { low: vec!["x".repeat(100); 8], high: vec!["x".repeat(MOST_CHARACTERS); MOST_ITEMS] }
}

/// The items of a checklist that a judge made.
pub fn checklist_items(answer: &Value) -> Vec<String> {
    serde_json::from_value(answer.clone()).map(|Checklist { items }| items).unwrap_or_default()
}

impl Question {
    fn new(judge: &Judge, prompt: String, kind: QuestionKind, number: u32) -> Self {
        let EvaluatorSettings { id, model, provider, max_tokens, .. } = &judge.settings;
        let answer = match kind {
            QuestionKind::Checklist => &*CHECKLIST,
            QuestionKind::Ruling => &*RULING,
        };
        let request = Request {
            model: model.as_str().into(),
            temperature: EVALUATOR_TEMPERATURE,
            max_tokens: *max_tokens,
            system: lift_system().into(),
            prompt: prompt.into(),
            turns: Vec::new(),
            answer: Some(Arc::clone(answer)),
            tools: Arc::new([]),
        };
        // Two judges of one model rule independently.
        let parts = [id.as_str(), provider.as_str(), model, &request.system, &request.prompt, &number.to_string()];
        let id = identity(parts, 16);
        Self { id, judge: judge.clone(), request, kind }
    }

    /// Whether it asks which text is better.
    pub fn is_ruling(&self) -> bool {
        match self.kind {
            QuestionKind::Ruling => true,
            QuestionKind::Checklist => false,
        }
    }

    /// The calls, with tokens and cost. The second is made if the first answer cannot be read.
    pub fn planned(&self) -> [PlannedCall; 2] {
        let EvaluatorSettings { id, provider, model, max_tokens, .. } = &self.judge.settings;
        // Belongs to no stage, like a follow-up.
        let key = CallKey::new(0, follow_up_info().id, id);
        let price = self.judge.caller.price;
        planned_json_calls(key, (provider, model), *max_tokens, price, request_bytes(&self.request))
    }

    /// The likely and maximum cost; `None` if the price is unknown.
    pub fn cost(&self) -> Option<Span<Usd>> {
        let [first, second] = self.planned().map(|call| call.cost);
        let (first, second) = first.zip(second)?;
        Some(Span { low: first.low, high: first.high + second.high })
    }

    /// Asks the question.
    pub async fn ask(self) -> Replied {
        let before = Arc::new(Mutex::new((Some(Usd::ZERO), None)));
        let noted = Arc::clone(&before);
        let ask = Ask {
            caller: self.judge.caller.clone(),
            request: self.request,
            past: Vec::new(),
            on_reply: Arc::new(move |_, record| {
                let mut before = noted.lock().unwrap_or_else(PoisonError::into_inner);
                *before = sum(*before, (record.cost_usd, record.notional_usd));
            }),
            tools: None,
        };
        // The offline provider makes no checklist.
        let (kind, is_offline) = (self.kind, self.judge.settings.provider == OFFLINE);
        let read = move |text: &str| -> Result<Value, AnswerError> {
            let unfit = |error: serde_json::Error| AnswerError::Unfit { message: error.to_string() };
            match kind {
                QuestionKind::Checklist => {
                    let list: Checklist = read_json(text)?;
                    if !is_offline && list.items.iter().all(|item| item.trim().is_empty()) {
                        return Err(AnswerError::Unfit { message: "`items` is empty".to_owned() });
                    }
                    serde_json::to_value(list).map_err(unfit)
                }
                QuestionKind::Ruling => serde_json::to_value(read_json::<Preference>(text)?).map_err(unfit),
            }
        };
        let ended = ask.json(read).await;
        let before = *before.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, last) = match ended {
            Ok((answer, record)) => {
                (answer.map_err(|unreadable| unreadable.error.to_string()), (record.cost_usd, record.notional_usd))
            }
            Err(failed) => {
                // An attempt that broke off may be billed; a refused one is not.
                let spent = failed.spent.as_deref();
                let last = spent.map_or((Some(Usd::ZERO), None), |spent| (spent.cost_usd, spent.notional_usd));
                (Err(failed.to_string()), last)
            }
        };
        let (cost, notional) = sum(before, last);
        Replied { answer, cost, notional }
    }
}

/// The sums of costs, and of what a subscription covered.
fn sum(one: (Option<Usd>, Option<Usd>), other: (Option<Usd>, Option<Usd>)) -> (Option<Usd>, Option<Usd>) {
    let cost = one.0.zip(other.0).map(|(one, other)| one + other);
    (cost, [one.1, other.1].into_iter().flatten().reduce(std::ops::Add::add))
}
