// A debate as its events say it. Which stages there are, in what order and with which words stands in the first event; what
// a call becomes is said by what its stage yields. No stage is known by name.

export class Debate {
    constructor(id) {
        this.id = id;
        this.created = null;
        this.agents = [];
        this.judge = null;
        this.stages = [];
        this.rounds = new Map();
        this.round = 0;
        this.current = null;
        this.entered = new Set();
        this.calls = new Map();
        this.progress = new Map();
        this.questions = [];
        this.polls = new Map();
        this.judgements = [];
        this.sides = {};
        // The numbers of the agents' texts, and of the points against them.
        this.numbers = {};
        this.extensions = [];
        this.costWarning = null;
        this.warnings = [];
        this.failures = [];
        this.followUps = [];
        this.spent = 0;
        this.unknown = 0;
        this.tokens = 0;
        this.made = 0;
        this.status = "pending";
        this.begun = null;
        this.last = null;
        this.restsSince = null;
        this.seq = 0;
        this.seen = [];
    }

    /** Takes in a signal. Says whether it changed more than words. */
    see(signal) {
        switch (signal.signal) {
            case "recorded":
                if (signal.seq <= this.seq) return false;
                this.seq = signal.seq;
                this.seen.push(`${signal.seq} ${signal.at} ${signal.type}`);
                this.event(signal);
                return true;
            case "phase-started": {
                const key = `${signal.round}/${signal.phase}`;
                const before = this.progress.get(key);
                const done = before && !before.over ? before.done : 0;
                this.progress.set(key, { total: signal.total, done, failed: before && !before.over ? before.failed : 0, over: false });
                return true;
            }
            case "phase-ended": {
                const progress = this.progress.get(`${signal.round}/${signal.phase}`);
                if (progress) progress.over = true;
                return true;
            }
            case "call-started":
                this.calls.set(keyOf(signal.key), { key: signal.key, model: signal.model, since: Date.now(), words: "" });
                return true;
            case "words": {
                const key = keyOf(signal.key);
                if (!this.calls.has(key)) this.calls.set(key, { key: signal.key, since: Date.now(), words: "" });
                const call = this.calls.get(key);
                call.words = (call.words + signal.text).slice(-4000);
                call.retry = null;
                return false;
            }
            case "call-retrying": {
                const call = this.calls.get(keyOf(signal.key)) ?? { key: signal.key, since: Date.now() };
                this.calls.set(keyOf(signal.key), { ...call, words: "", retry: { attempt: signal.attempt, error: signal.error } });
                return true;
            }
            case "call-ended":
                this.calls.delete(keyOf(signal.key));
                return true;
            case "server-gone":
                this.warnings.push(`server unreachable, ${signal.calls} waiting: ${signal.error}`);
                return true;
            case "warning":
                this.warnings.push(signal.message);
                return true;
            default:
                return false;
        }
    }

    event(event) {
        this.last = event.at;
        this.pay(event.call);
        const key = event.key ?? event.failure;
        switch (event.type) {
            case "created":
                this.created = event;
                this.begun = event.at;
                this.agents = event.settings.agents.map((agent, place) => this.numbered(agent, this.numbers[agent.id] ?? place + 1)).sort((a, b) => a.number - b.number);
                this.judge = { ...event.settings.judge, colour: 0, badge: "J" };
                this.stages = event.stages;
                break;
            case "node-entered":
                this.current = event.node;
                this.entered.add(event.node);
                this.goOn();
                break;
            case "round-begun":
                this.round = event.round;
                this.roundOf(event.round);
                break;
            case "questions-asked":
                for (const item of event.questions.items) {
                    this.questions.push({ agent: event.questions.agentId, name: event.questions.agentName, id: item.id, question: item.question, answer: item.answer || null });
                }
                this.settle(key, "done");
                break;
            case "question-answered": {
                const asked = this.questions.find((one) => one.agent === event.agentId && one.id === event.itemId);
                if (asked) asked.answer = event.answer;
                break;
            }
            case "questions-ended":
                for (const asked of this.questions) asked.answer ??= "NA";
                break;
            case "summarized":
                this.say(key, event.summary.summary, event);
                break;
            case "contributed":
                this.say(key, event.contribution.content, event, event.contribution.metadata ?? {});
                break;
            case "context-gathered":
                this.gathered = event;
                break;
            case "team-selected":
                this.selection = event;
                break;
            case "related":
                this.settle(key, "done");
                break;
            case "measured":
                this.roundOf(event.round).convergence = event.convergence;
                break;
            case "challenged":
                this.roundOf(key.round).challenge = event.challenge;
                this.settle(key, "done");
                break;
            case "observed": {
                const round = this.roundOf(key.round);
                round.observations = [...(round.observations ?? []), ...event.observations];
                this.settle(key, "done");
                break;
            }
            case "extended":
                this.extensions.push(event);
                break;
            case "cost-warned":
                this.costWarning = { usd: event.usd, limit: event.limit, acknowledged: false };
                break;
            case "cost-acknowledged":
                if (this.costWarning) this.costWarning.acknowledged = true;
                break;
            case "call-failed":
                this.failures.push({ ...event.failure, seq: event.seq });
                this.roundOf(event.failure.round).failures.push(event.failure);
                this.settle(event.failure, "failed");
                break;
            case "round-timed-out":
                this.roundOf(event.round).timedOut = true;
                break;
            case "evaluated":
                this.roundOf(event.key.round).score = event.evaluation;
                this.settle(key, event.evaluation.score === null ? "failed" : "done");
                break;
            case "voted":
                this.voting = event.voting;
                break;
            case "polled": {
                const poll = this.polls.get(event.key.phase) ?? new Map();
                poll.set(event.key.agentId, { vote: event.vote, reason: event.reason });
                this.polls.set(event.key.phase, poll);
                this.settle(key, "done");
                break;
            }
            case "judged":
                this.judgements.push(event.judgement);
                this.settle(key, "done");
                break;
            case "decided":
                this.verdict = event.verdict;
                break;
            case "drafted":
                if (key) this.say(key, event.text.content, event, { ...event.text.metadata, isDraft: true });
                break;
            case "synthesized":
                this.solution = event.solution;
                if (key) this.say(key, event.text?.content ?? event.solution.description, event, event.text?.metadata);
                break;
            case "stopping":
                this.stopping = event.reason;
                break;
            case "suspended":
                this.rest("suspended", event.at);
                break;
            case "paused":
                this.rest("paused", event.at);
                break;
            case "resumed":
                this.error = null;
                this.goOn();
                break;
            case "failed":
                this.error = event.error;
                this.rest("failed", event.at);
                break;
            case "completed":
                this.rest("completed", event.at);
                break;
            case "rated":
                this.rating = event.rating;
                this.note = event.note;
                break;
            case "follow-up-asked":
                this.followUps.push({ question: event.question });
                break;
            case "follow-up-answered":
                if (this.followUps.length) this.followUps.at(-1).answer = event.answer;
                break;
        }
    }

    goOn() {
        this.restsSince = null;
        this.status = "running";
    }

    rest(status, at) {
        this.status = status;
        this.restsSince ??= at;
        this.calls.clear();
    }

    pay(call) {
        if (!call || call.copied) return;
        this.made++;
        if (call.tokens) this.tokens += call.tokens.inputTokens + call.tokens.outputTokens;
        if (call.costUsd === undefined || call.costUsd === null) this.unknown++;
        else this.spent += call.costUsd;
    }

    say(key, text, event, metadata = {}) {
        const round = this.roundOf(key.round);
        round.texts.push({ key, text, seq: event.seq, at: event.at, metadata, call: event.call, yields: this.stage(key.phase)?.yields });
        this.settle(key, "done");
    }

    settle(key, how) {
        this.calls.delete(keyOf(key));
        const progress = this.progress.get(`${key.round}/${key.phase}`);
        if (!progress || progress.over) return;
        if (how === "failed") progress.failed++;
        else progress.done++;
    }

    roundOf(number) {
        if (!this.rounds.has(number)) this.rounds.set(number, { number, texts: [], failures: [] });
        return this.rounds.get(number);
    }

    /** The stages in the order in which they come: those whose calls are made in turn within one place, by who spoke first. */
    get stagesAsTheyCame() {
        const spoken = [...this.rounds.values()].flatMap((round) => round.texts.map((text) => text.key.phase));
        const first = (stage) => (stage.inTurn && spoken.includes(stage.id) ? spoken.indexOf(stage.id) : -1);
        // The calls of a kind are made within the next stage that is a place.
        const place = (stage) => this.stages.slice(this.stages.indexOf(stage)).find((one) => one.isPlace);
        return [...this.stages].sort((a, b) => this.stages.indexOf(place(a)) - this.stages.indexOf(place(b)) || first(a) - first(b));
    }

    stage(id) {
        return this.stages.find((stage) => stage.id === id);
    }

    words(id) {
        return this.stage(id)?.words ?? { noun: id, plural: id, progressive: id };
    }

    agent(id) {
        return this.agents.find((agent) => agent.id === id) ?? (this.judge?.id === id ? this.judge : { id, name: id, colour: 0, badge: "?" });
    }

    /** An agent with the number that it has everywhere. */
    numbered(agent, number) {
        return { ...agent, number, colour: (number - 1) % 8 + 1, badge: String(number) };
    }

    /** A text for people: after the number of a text stands the name of its author. */
    named(text) {
        return text.replace(/(?<![\p{L}\p{N}])(?:Text|Reader)[ \u00a0](\d+)(?![\p{L}\p{N}]|\.\d| \()/gu, (label, number) => {
            const author = this.agents.find((agent) => agent.number === Number(number));
            return author ? `${label} (${author.name})` : label;
        });
    }

    get open() {
        return this.questions.filter((asked) => asked.answer === null);
    }

    get isOver() {
        return this.status === "completed" || this.status === "failed";
    }

    get elapsed() {
        if (!this.begun) return 0;
        const end = this.restsSince ? new Date(this.restsSince) : new Date();
        return end - new Date(this.begun);
    }

    get limit() {
        return this.created?.settings.debate.budget?.maxCostUsd ?? null;
    }

    /** On which side everybody is, where there are sides. */
    sideOf(agent) {
        return this.sides[agent.id] ?? agent.position ?? null;
    }

    /** The texts of a kind, of one round or of all. */
    texts(yields, round) {
        const rounds = round === undefined ? [...this.rounds.values()] : [this.roundOf(round)];
        return rounds.flatMap((one) => one.texts).filter((text) => text.yields === yields);
    }
}

export function keyOf(key) {
    return [key.round, key.phase, key.agentId, key.targetAgentId ?? "", key.pass ?? 1].join("/");
}
