// A debate as it runs, and what came of it.

import { agreement, observer, polls, sides, team, verdict, votes } from "./contest.js";
import { answerLine, api, badge, duration, h, money, number, plural, problemBox, redraw, runningClock, say, when } from "./dom.js";
import { graph } from "./graph.js";
import { firstSentence, markdown } from "./markdown.js";
import { Debate } from "./model.js";
import { editor } from "./panel.js";

export async function debate(main, { subscribe, go, title }, id) {
    const model = new Debate(id);
    // What the tests hold against the journal.
    window.debate = model;
    let summary;
    try {
        ({ summary, sides: model.sides, numbers: model.numbers } = await api(`/debates/${id}`));
    } catch (problem) {
        title("Not found");
        main.replaceChildren(h("h1", {}, "Debate"), problemBox(problem), h("p", {}, h("a", { href: "/" }, "To the debates")));
        return null;
    }
    title(summary.title || id);
    const parts = {};
    const part = (name, element = h("div")) => (parts[name] = element);
    const result = h("section.tab-panel", { id: "panel-result", role: "tabpanel", "aria-labelledby": "tab-result", tabindex: "0" });
    const course = h("section.tab-panel", { id: "panel-course", role: "tabpanel", "aria-labelledby": "tab-course", tabindex: "0" },
        part("strip"), part("agents"), part("team"), part("motion"), part("votes"), part("agreement"), part("graph"), part("rounds"));
    const question = h("textarea", { id: "question", rows: 2 });
    const asked = h("div");
    const asking = h("details", {}, h("summary", {}, "Ask the judge…"),
        h("form", { onsubmit: ask }, h("div.field", {}, h("label", { for: "question" }, "Your question about this debate"), question), asked, h("button", { type: "submit" }, "Ask")));
    const tabs = tabList([["course", "Debate", course], ["result", "Result", result]]);
    main.replaceChildren(
        h("div.head", {},
            h("p.crumb", {}, h("a", { href: "/" }, "Debates"), " / ", h("span.id", {}, id)),
            h("h1", {}, summary.title || id),
            part("state", h("div.state")),
            part("actions", h("div.actions")),
            part("said"),
            part("facts", h("dl.facts"))),
        part("questions"), part("warnings"), tabs.element, course, result);

    let dirty = new Set(["all"]);
    let scheduled = false;
    let shownStatus = null;
    let frame = null;
    // The section of the report to show when it is there.
    let wanted = null;
    const seenWarnings = new Set();
    const opened = new Set();
    // Rounds that somebody folded or unfolded.
    const chosen = new Map();
    const drafts = new Map();
    // The open questions as the server merges similar ones, and the items that they were merged from.
    let merged = { shape: "", questions: null };

    const run = (path, body) => act(() => api(`/debates/${id}/${path}`, { method: "POST", body: body ?? {} }));

    async function act(what) {
        parts.said.replaceChildren();
        for (const button of parts.actions.querySelectorAll("button")) button.disabled = true;
        try {
            await what();
        } catch (problem) {
            parts.said.replaceChildren(problemBox(problem));
        }
        await refresh();
    }

    // Answers may overtake each other: only the last request counts.
    let refreshes = 0;
    async function refresh() {
        const own = ++refreshes;
        try {
            const answer = await api(`/debates/${id}`);
            if (own === refreshes) ({ summary } = answer);
        } catch (problem) {
            parts.said.replaceChildren(problemBox(problem));
        }
        mark("state");
    }

    function mark(what) {
        dirty.add(what);
        if (scheduled) return;
        scheduled = true;
        setTimeout(() => {
            scheduled = false;
            draw();
        }, 80);
    }

    function draw() {
        const what = dirty;
        dirty = new Set();
        if (what.has("words") && what.size === 1) {
            drawWords();
            return;
        }
        drawState();
        drawFacts();
        if (!model.created) return;
        drawQuestions();
        drawWarnings();
        drawStrip();
        drawAgents();
        drawContest();
        drawGraph();
        drawRounds();
        drawResult();
    }

    // The state as it is known best: the events are newer than the summary.
    function standing() {
        if (model.status === "completed" || model.status === "failed") return model.status;
        if (summary.status === "waiting") return "waiting";
        if (model.status === "suspended") return summary.here ? "asking" : "paused";
        if (model.status === "paused") return "paused";
        return summary.status === "running" || summary.here ? "running" : summary.status;
    }

    function drawState() {
        const status = standing();
        const settings = model.created?.settings;
        parts.state.replaceChildren(badge(status, summary),
            h("span", {}, summary.protocol ?? ""),
            summary.offline ? h("span.badge.is-offline", { title: "A rehearsal: no model is called." }, "offline") : "",
            status === "running" && !summary.here ? h("span.note", {}, "Another program runs this debate. Watch it here; steer it there.") : "",
            summary.before ? h("span.note", {}, `${plural(summary.before, "debate")} before it`) : "",
            summary.requests?.length ? h("span.note", {}, "Waiting for replies: ", h("code", {}, `dialectic requests ${id}`)) : "",
            model.created?.forkedFrom ? h("span.note", {}, "Forked from ", h("a", { href: `/debates/${model.created.forkedFrom.id}` }, model.created.forkedFrom.id), ` at ${model.created.forkedFrom.at ?? "start"}`) : "",
            status === "completed" ? answerLine(summary) : "",
            model.stopping && !model.isOver ? h("span.note", {}, model.stopping === "budget" ? "Ending early: reached the cost or call limit." : "Ending early, as requested.") : "");
        const shape = `${status} ${summary.here} ${!!settings} ${model.rating ?? 0} ${summary.requests?.length ?? 0}`;
        if (parts.actions.dataset.shape === shape && parts.actions.childElementCount && ![...parts.actions.querySelectorAll("button")].some((one) => one.disabled)) return;
        if (shownStatus && shownStatus !== status) {
            say(`The debate is ${badge(status, summary).textContent}`);
            if (status === "completed") tabs.choose("result");
            if (model.isOver || status === "paused") setTimeout(refresh, 300);
        } else if (!shownStatus && status === "completed") {
            tabs.choose("result");
        }
        shownStatus = status;
        parts.actions.dataset.shape = shape;
        const can = (states, ...here) => states.includes(status) && (here.length === 0 || here[0] === summary.here);
        const button = (text, onclick, kind = "button") => h(kind, { type: "button", onclick }, text);
        const download = (format, text) => h("li", {}, h("a", { href: `/api/v1/debates/${id}/report?format=${format}&download=true`, download: true }, text));
        parts.actions.replaceChildren(...[
            can(["running", "asking"], true) && button("Pause", () => run("pause")),
            can(["waiting"]) && button("Take back", () => run("pause")),
            can(["paused", "interrupted", "failed"]) && !summary.requests?.length && button("Resume", () => run("resume"), "button.primary"),
            (can(["running", "asking"], true) || can(["waiting", "paused", "interrupted"])) && button("Stop and close", () => run("stop")),
            settings && summary.status !== "unreadable" && button("Fork…", forkDialog),
            can(["completed"]) && button("Copy the solution", copy),
            (can(["completed", "failed", "paused", "interrupted", "unfinished"])) && h("details.menu", {}, h("summary", {}, "Download"),
                h("ul", {}, download("markdown", "Report (Markdown)"), download("adr", "Decision record (Markdown)"), download("html", "Report (page)"), download("json", "State (JSON)"))),
            can(["completed"]) && rateButtons(),
        ].filter(Boolean));
    }

    async function copy() {
        const text = model.solution?.description ?? "";
        try {
            await navigator.clipboard.writeText(text);
            say("The solution is copied");
            parts.said.replaceChildren(h("p.note", {}, "The solution is in the clipboard, as Markdown."));
        } catch {
            parts.said.replaceChildren(h("p.note", {}, "The browser does not allow copying. Download it instead."));
        }
    }

    function rateButtons() {
        const rate = (rating) => async () => {
            const note = parts.actions.querySelector("[data-note]").value.trim();
            await run("feedback", { rating, ...(note ? { note } : {}) });
        };
        const pressed = (rating) => String(model.rating === rating);
        return h("details.menu", {}, h("summary", {}, model.rating ? `Rated ${model.rating > 0 ? "+1" : "−1"}` : "Rate"),
            h("div.rate", {}, h("label", {}, "Why (if you like)", h("input", { type: "text", "data-note": true, value: model.note ?? "" })),
                h("button", { type: "button", "aria-pressed": pressed(1), onclick: rate(1) }, "+1 good"),
                h("button", { type: "button", "aria-pressed": pressed(-1), onclick: rate(-1) }, "−1 bad")));
    }

    function drawFacts() {
        const settings = model.created?.settings.debate;
        const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
        const cost = model.unknown ? (model.spent ? `${money(model.spent)} and more` : "unknown") : money(model.spent);
        const scores = [...model.rounds.values()].filter((round) => round.score);
        const last = scores.at(-1)?.score;
        const running = [...model.calls.values()].length;
        parts.facts.replaceChildren(...[
            fact("Time", h("span", { "data-time": true }, model.isOver ? duration(summary.tookMs ?? model.elapsed) : runningClock(model.elapsed))),
            // Nothing is paid where no model is called.
            !summary.offline && fact("Cost", model.limit ? h("span", {}, `${cost} of ${money(model.limit)} `, h("meter", { min: 0, max: model.limit, value: Math.min(model.spent, model.limit), "aria-label": "Cost against the limit" })) : cost),
            settings && fact("Round", `${model.round || "–"} of ${Math.max(settings.rounds, model.round)}`),
            fact("Calls", `${model.made}${running ? `, ${running} on the way` : ""}`),
            !summary.offline && fact("Tokens", number(model.tokens)),
            last && fact("Score", `${last.score ?? "unreadable"} (ends at ${last.threshold})`),
            model.solution && !summary.offline && model.solution.confidence !== undefined && model.solution.confidence !== null && fact(`Meets every ${summary.answer?.unmet.length || summary.answer?.partly.length ? "other " : ""}major requirement`, `${Math.round(model.solution.confidence)} % chance, the judge estimates`),
            fact("Begun", when(model.begun ?? summary.createdAt)),
        ].filter(Boolean));
    }

    function drawQuestions() {
        const open = model.open;
        if (model.status !== "suspended" || !open.length) {
            parts.questions.replaceChildren();
            return;
        }
        if (!summary.here) {
            parts.questions.replaceChildren(h("section.questions", {}, h("h2", {}, "Questions"), h("p", {}, `The agents have ${plural(open.length, "question")}. Resume the debate to answer.`)));
            return;
        }
        const shape = open.map((one) => `${one.agent} ${one.id}`).join(",");
        if (parts.questions.dataset.shape === shape && parts.questions.childElementCount) return;
        if (merged.shape !== shape) {
            merged = { shape, questions: null };
            api(`/debates/${id}`).then(({ questions }) => {
                if (merged.shape === shape) merged.questions = questions;
                mark("questions");
            }, (problem) => parts.said.replaceChildren(problemBox(problem)));
        }
        if (!merged.questions) return;
        parts.questions.dataset.shape = shape;
        const pass = Math.max(...merged.questions.map((one) => one.pass ?? 1));
        const heading = pass > 1 ? `Follow-up questions on your answers: pass ${pass} of at most ${model.created.settings.debate.clarificationsMaxIterations}` : "The agents ask";
        const fields = merged.questions.map((one, place) => {
            const name = `${one.agentId} ${one.questionId}`;
            const input = h("textarea", { id: `question-${place}`, rows: 2, value: drafts.get(name) ?? "", oninput: (event) => drafts.set(name, event.target.value) });
            return { one, input, element: h("div.field", {}, h("label", { for: `question-${place}` }, h("span.who", {}, `${one.agentName}: `), one.question), input) };
        });
        const send = (end) => run("answers", {
            answers: fields.filter(({ input }) => !end || input.value.trim()).map(({ one, input }) => ({ agentId: one.agentId, questionId: one.questionId, answer: input.value })),
            end,
        });
        parts.questions.replaceChildren(h("section.questions", { "aria-labelledby": "questions-title" },
            h("h2", { id: "questions-title" }, heading),
            h("p.note", {}, "The debate continues once all questions are answered. An empty answer skips a question."),
            h("form", { onsubmit: (event) => { event.preventDefault(); send(false); } },
                fields.map(({ element }) => element),
                h("div.row", {}, h("button.primary", { type: "submit" }, "Send the answers"),
                    h("button", { type: "button", onclick: () => send(true) }, "Skip the rest")))));
        say(`The agents have ${plural(fields.length, "question")}`);
    }

    function drawWarnings() {
        const fresh = model.warnings.filter((warning) => !seenWarnings.has(warning));
        const error = model.status === "failed" && model.error;
        const cost = model.costWarning;
        const isOpen = cost && !cost.acknowledged && model.status !== "completed";
        const isHere = summary.here || summary.status !== "running";
        redraw(parts.warnings,
            error ? problemBox({ title: "The debate failed", detail: error, hint: "All texts are saved. Fix the cause, then resume the debate." }) : "",
            isOpen ? h("div.warning", { role: "status" }, h("p", {}, `This debate has cost ${money(cost.usd)} and reached your warning limit of ${money(cost.limit)}.`),
                isHere ? h("button", { type: "button", onclick: () => run("acknowledge") }, "Acknowledge") : "") : "",
            ...[...new Set(fresh)].map((warning) => h("div.warning", { role: "status" }, h("p", {}, warning),
                h("button.quiet", { type: "button", onclick: () => { seenWarnings.add(warning); mark("warnings"); } }, "Dismiss"))));
    }

    function drawStrip() {
        const stages = model.stagesAsTheyCame.filter((stage) => stage.yields && (stage.isPlace || hasTexts(stage.id)));
        const running = new Set([...model.calls.values()].map((call) => call.key.phase));
        const current = stages.findIndex((stage) => stage.id === model.current);
        // Of these there is one, and no text.
        const single = { solution: model.solution, verdict: model.verdict, team: model.selection, material: model.gathered, agreement: model.rounds.get(model.round)?.convergence };
        const items = stages.map((stage, place) => {
            const round = stage.inRound ? model.round : [...model.progress.keys()].map((key) => key.split("/")).filter(([, of]) => of === stage.id).map(([of]) => Number(of)).at(-1) ?? model.round;
            const progress = model.progress.get(`${round}/${stage.id}`);
            const rounds = model.isOver ? [...model.rounds.values()] : [model.roundOf(round || 0)];
            const texts = rounds.flatMap((one) => one.texts).filter((text) => text.key.phase === stage.id).length;
            const isRunning = running.has(stage.id) || (model.current === stage.id && standing() === "running");
            const name = stage.yields in single ? stage.words.noun : stage.words.plural;
            // What earlier rounds have brought, and the present one is past or has no need of.
            const isPast = place < current && hasTexts(stage.id);
            const isDone = !isRunning && (progress?.over || texts > 0 || isPast || model.polls.has(stage.id) || single[stage.yields]);
            const state = isRunning ? "running" : isDone ? "done" : "ahead";
            const figures = progress && !progress.over && progress.total ? `${progress.done + progress.failed}/${progress.total}` : texts && stage.inRound ? String(texts) : "";
            // What does not happen in this debate is not ahead of anybody.
            const asks = model.created.settings.debate.interactiveClarifications;
            if (state === "ahead" && (model.isOver || place < current || (stage.yields === "questions" && !asks))) return null;
            return h(`li.stage.is-${state}`, { "aria-current": isRunning ? "step" : undefined },
                h("span", {}, name), figures && h("span.figures", {}, figures), h("span.visually-hidden", {}, ` (${state})`));
        });
        parts.strip.replaceChildren(h("h2", {}, model.isOver ? "Stages" : model.round ? `Round ${model.round}` : "Before the first round"), h("ol.strip", { "aria-label": "Stages" }, items.filter(Boolean)));
    }

    const hasTexts = (stage) => [...model.rounds.values()].some((round) => round.texts.some((text) => text.key.phase === stage));

    function drawAgents() {
        const everybody = [...model.agents, model.judge];
        const sat = new Set(model.selection?.candidates.filter((one) => !one.chosen).map((one) => one.agentId));
        redraw(parts.agents, h("h2", {}, "Who takes part"), h("ul.agents", {}, everybody.filter((agent) => !sat.has(agent.id)).map((agent) => {
            const calls = [...model.calls.values()].filter((call) => call.key.agentId === agent.id);
            return h(`li.agent.c${agent.colour}`, { "data-agent": agent.id },
                h("div.agent-head", {}, h("span.dot", { "aria-hidden": "true" }, agent.badge),
                    h("div", {}, h("strong", {}, agent.name), h("span.note", {}, [agent === model.judge ? "judge" : agent.role, agent.provider === "offline" ? null : agent.model, (model.sideOf(agent) ?? "neutral") !== "neutral" ? model.sideOf(agent) : null].filter(Boolean).join(" · ")))),
                calls.map((call) => h("div.call", { "data-call": JSON.stringify(call.key) },
                    h("p.doing", {}, h("span", { "data-doing": true }, doing(call)), " · ", h("span.note", { "data-since": String(call.since) }, runningClock(Date.now() - call.since))),
                    call.retry ? h("p.note", {}, `Attempt ${call.retry.attempt} failed: ${call.retry.error}`) : "",
                    h("p.words", { "data-words": true, tabindex: "0", role: "group", "aria-label": `What ${agent.name} is writing` }, model.named(call.words.slice(-700))))));
        })));
        scrollWords();
    }

    function doing(call) {
        const words = model.words(call.key.phase);
        const target = call.key.targetAgentId ? ` ${model.agent(call.key.targetAgentId).name}` : "";
        return `${words.progressive}${target}${call.words || call.retry ? "" : " · thinking"}`;
    }

    function drawWords() {
        for (const element of parts.agents.querySelectorAll("[data-call]")) {
            const key = JSON.parse(element.dataset.call);
            const call = [...model.calls.values()].find((one) => JSON.stringify(one.key) === JSON.stringify(key));
            if (!call) continue;
            element.querySelector("[data-doing]").textContent = doing(call);
            element.querySelector("[data-words]").textContent = model.named(call.words.slice(-700));
        }
        scrollWords();
    }

    function scrollWords() {
        for (const element of parts.agents.querySelectorAll("[data-words]")) element.scrollTop = element.scrollHeight;
    }

    function drawContest() {
        redraw(parts.team, team(model));
        redraw(parts.motion, sides(model), polls(model), verdict(model));
        redraw(parts.votes, votes(model));
        redraw(parts.agreement, agreement(model), observer(model));
    }

    function drawGraph() {
        const critiques = model.texts("critique");
        const stages = new Set(model.stages.filter((stage) => stage.yields === "critique").map((stage) => stage.id));
        const calls = [...model.calls.values()].filter((call) => stages.has(call.key.phase) && call.key.targetAgentId);
        if (!critiques.some((one) => one.key.targetAgentId) && !calls.length) {
            parts.graph.replaceChildren();
            return;
        }
        const involved = new Set([...critiques, ...calls].flatMap(({ key }) => [key.agentId, key.targetAgentId]));
        parts.graph.replaceChildren(h("h2", {}, "Who criticised whom"), graph(model.agents.filter((agent) => involved.has(agent.id)), critiques, calls, reveal));
    }

    function reveal(seq) {
        const element = parts.rounds.querySelector(`[data-seq="${seq}"]`);
        if (!element) return;
        element.closest("details.round").open = true;
        element.open = true;
        element.scrollIntoView({ block: "start", behavior: "smooth" });
        element.querySelector("summary").focus();
    }

    function drawRounds() {
        const rounds = [...model.rounds.values()].filter((round) => round.texts.length || round.failures.length).sort((a, b) => a.number - b.number);
        if (!rounds.length) {
            parts.rounds.replaceChildren();
            return;
        }
        // Texts that were opened stay open.
        for (const element of parts.rounds.querySelectorAll("details.entry")) {
            if (element.open) opened.add(element.dataset.key);
            else opened.delete(element.dataset.key);
        }
        const focused = document.activeElement?.closest?.("details[data-key]")?.dataset.key;
        const last = rounds.at(-1).number;
        const elements = rounds.map((round) => {
            const key = `round-${round.number}`;
            // The last round, whichever were the last ones while the record came in; one that is read stays.
            const isRead = round.texts.some((one) => opened.has(`text-${one.seq}`));
            const isOpen = chosen.get(key) ?? (isRead || round.number === last);
            const score = round.score ? ` · score ${round.score.score ?? "unreadable"}` : "";
            return h("details.round", { "data-key": key, open: isOpen },
                h("summary", { onclick: (event) => chosen.set(key, !event.currentTarget.parentElement.open) }, h("span.round-name", {}, round.number ? `Round ${round.number}` : "Before the first round"), h("span.note", {}, `${plural(round.texts.length, "text")}${round.failures.length ? `, ${plural(round.failures.length, "failure")}` : ""}${score}${round.timedOut ? " · reached its time limit" : ""}`)),
                round.texts.map(entry),
                round.failures.map((failure) => h("div.failure", {}, h("strong", {}, `${model.agent(failure.agentId).name}: ${model.words(failure.phase).noun} failed`), h("p", {}, failure.error))));
        });
        parts.rounds.replaceChildren(h("h2", {}, "What was said"), ...elements);
        if (focused) parts.rounds.querySelector(`details[data-key="${focused}"] > summary`)?.focus({ preventScroll: true });
    }

    function entry(one) {
        const agent = model.agent(one.key.agentId);
        const key = `text-${one.seq}`;
        const target = one.target ?? one.key.targetAgentId;
        const took = [one.metadata.latencyMs !== undefined && duration(one.metadata.latencyMs), one.call?.costUsd ? money(one.call.costUsd) : null, one.metadata.carriedOver && "carried over", one.metadata.truncated && "cut", one.metadata.isDraft && "draft"].filter(Boolean).join(" · ");
        const body = h("div.text");
        const element = h(`details.entry.c${agent.colour}`, { "data-key": key, "data-seq": String(one.seq), open: opened.has(key), ontoggle: fill },
            h("summary", {}, h("span.dot", { "aria-hidden": "true" }, agent.badge),
                h("span.line", {}, h("strong", {}, `${agent.name} · ${model.words(one.key.phase).noun}${target ? ` → ${model.agent(target).name}` : ""}`),
                    h("span.first", {}, firstSentence(model.named(one.text)))),
                h("span.note", {}, took)),
            body);
        function fill() {
            // Only what somebody looks at is laid out.
            if (element.open && !body.childElementCount) body.replaceChildren(...markdown(model.named(one.text)));
        }
        fill();
        return element;
    }

    function drawResult() {
        if (!model.solution && !model.isOver) {
            result.replaceChildren(h("p.note", {}, "No answer yet. It appears here when the debate ends."));
            return;
        }
        if (!model.isOver) {
            result.replaceChildren(h("div.text", {}, markdown(model.named(model.solution.description))));
            return;
        }
        const address = `/api/v1/debates/${id}/report?format=html`;
        if (frame?.isConnected && frame.dataset.seq === String(model.seq)) return;
        frame = h("div.report", { "data-seq": String(model.seq) });
        result.replaceChildren(h("p.note", {}, h("a", { href: address, target: "_blank", rel: "noopener" }, "The report as a page of its own")),
            model.created && model.status === "completed" ? asking : "", frame);
        fillIn(frame, address);
    }

    async function ask(event) {
        event.preventDefault();
        if (!question.value.trim() || question.disabled) return question.focus();
        question.disabled = true;
        asked.replaceChildren(h("p.note", { role: "status" }, "The judge reads the record …"));
        try {
            await api(`/debates/${id}/follow-ups`, { method: "POST", body: { question: question.value } });
            question.value = "";
            asked.replaceChildren();
            say("The judge has answered");
            wanted = "follow-ups";
            if (frame) frame.dataset.seq = "";
            drawResult();
        } catch (problem) {
            asked.replaceChildren(problemBox(problem));
        }
        question.disabled = false;
        refresh();
    }

    /** The report as content of this page: its style holds within it alone, and nothing in it runs. */
    async function fillIn(place, address) {
        let text;
        try {
            const response = await fetch(address);
            if (!response.ok) throw new Error(`the server answered ${response.status}`);
            text = await response.text();
        } catch (problem) {
            place.replaceChildren(problemBox({ title: "The report cannot be shown", detail: problem.message }));
            return;
        }
        // Only this page's own style sheets may be used as markup: that of the report is taken as text.
        let css = "";
        text = text.replace(/<style>([^]*?)<\/style>/, (_, own) => { css = own; return ""; });
        const report = new DOMParser().parseFromString(text, "text/html");
        const root = place.attachShadow({ mode: "open" });
        const style = new CSSStyleSheet();
        style.replaceSync(`${css.replaceAll(":root", ":host").replaceAll("main >", ".sections >").replace(/(?<![\w.-])body(?= ?\{)/, ".body")} .body { background: none; } .sections { margin-top: 2rem; }`);
        root.adoptedStyleSheets = [style];
        // The page has its title, its figures and its sections' names already.
        for (const one of report.querySelectorAll("header h1, header .eyebrow, header .verdict, header .facts")) one.remove();
        root.append(h("div.body", {}, h("div", {}, ...report.querySelector("header").childNodes), h("div.sections", {}, ...report.querySelector("main").childNodes)));
        root.addEventListener("click", (event) => {
            const link = event.target.closest("a[href^='#']");
            if (!link) return;
            event.preventDefault();
            const target = root.getElementById(decodeURIComponent(link.hash.slice(1)));
            for (let one = target; one; one = one.parentElement) if (one.localName === "details") one.open = true;
            target?.scrollIntoView();
            target?.focus({ preventScroll: true });
        });
        const shown = wanted && root.getElementById(wanted);
        if (shown) {
            wanted = null;
            shown.scrollIntoView();
        }
    }

    async function forkDialog() {
        const points = [h("option", { value: "start" }, "the start: nothing is taken over")];
        for (const round of [...model.rounds.keys()].filter((number) => number > 0).sort((a, b) => b - a)) {
            for (const stage of model.stages.filter((one) => one.yields && one.inRound && one.isPlace)) {
                points.push(h("option", { value: `${round}.${stage.id}` }, `round ${round}, ahead of the ${stage.words.plural}`));
            }
        }
        // A text after a check is written only where that found something.
        const closing = model.stages.filter((one) => one.yields === "solution" && one.isPlace && model.entered.has(one.id));
        if (model.round) for (const stage of closing) points.splice(1, 0, h("option", { value: `${model.round}.${stage.id}` }, `round ${model.round}, ahead of the ${stage.words.noun}`));
        const at = h("select", { id: "fork-at" }, points);
        if (model.round && closing[0]) at.value = `${model.round}.${closing[0].id}`;
        else if (points[1]) at.value = points[1].value;
        const rounds = h("input", { id: "fork-rounds", type: "number", min: 1, max: 100, value: model.created.settings.debate.rounds });
        const cost = h("input", { id: "fork-cost", type: "number", min: 0, step: "any", value: model.limit ?? "" });
        const offline = h("input", { type: "checkbox", checked: summary.offline, onchange: () => panel.element.classList.toggle("is-offline", offline.checked) });
        const wrong = h("div");
        let setup;
        try {
            setup = await api("/setup");
        } catch (problem) {
            parts.said.replaceChildren(problemBox(problem));
            return;
        }
        const panel = editor({ agents: model.agents, judge: model.judge, roles: setup.roles, models: setup.models, mostAgents: setup.mostAgents, changed: () => {} });
        panel.element.classList.toggle("is-offline", offline.checked);
        const before = JSON.stringify([panel.agents(), panel.judge()]);
        const dialog = h("dialog", { "aria-labelledby": "fork-title", onclose: () => dialog.remove() },
            h("form", { onsubmit: start },
                h("h2", { id: "fork-title" }, "Fork this debate"),
                h("p.note", {}, "Makes a new debate from this one. This one stays as it is."),
                h("div.field", {}, h("label", { for: "fork-at" }, "Keep everything before"), at),
                h("div.columns", {},
                    h("div.field", {}, h("label", { for: "fork-rounds" }, "Rounds"), rounds),
                    h("div.field", {}, h("label", { for: "fork-cost" }, "Cost limit, in dollars"), cost)),
                h("details", {}, h("summary", {}, "Agents, models and judge"),
                    h("p.note", {}, "Agents whose texts are kept must stay. You can change, add and remove others."), panel.element),
                h("label.check", {}, offline, "Rehearse: call no model, at no cost"),
                wrong,
                h("div.row", {}, h("button.primary", { type: "submit" }, "Fork"), h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
        async function start(event) {
            event.preventDefault();
            const body = { at: at.value };
            if (Number(rounds.value) !== model.created.settings.debate.rounds) body.rounds = Number(rounds.value);
            if (cost.value && Number(cost.value) !== model.limit) body.maxCost = Number(cost.value);
            if (JSON.stringify([panel.agents(), panel.judge()]) !== before) [body.agents, body.judge] = [panel.agents(), panel.judge()];
            if (offline.checked) {
                body.offline = true;
                for (const member of [...(body.agents ?? []), body.judge ?? {}]) {
                    delete member.provider;
                    delete member.model;
                }
            }
            try {
                const started = await api(`/debates/${id}/fork`, { method: "POST", body });
                dialog.close();
                go(`/debates/${started.id}`);
            } catch (problem) {
                wrong.replaceChildren(problemBox(problem));
            }
        }
        main.append(dialog);
        dialog.showModal();
    }

    subscribe({ debate: id, list: true }, (message) => {
        if (message.type === "signal") {
            const before = model.current;
            const signal = message.signal;
            if (model.see(signal)) mark("events");
            else if (signal.signal === "words") mark("words");
            if (signal.type === "contributed") model.rounds.get(signal.key.round).texts.at(-1).target = signal.contribution.targetAgentId;
            if (model.current !== before && model.stage(model.current)?.yields) say(`${model.words(model.current).plural}${model.round ? `, round ${model.round}` : ""}`);
            if (signal.type === "resumed" || signal.type === "suspended") refresh();
        } else if (message.type === "list") {
            const own = message.rows.find((row) => row.id === id);
            if (own) {
                refreshes += 1;
                summary = own;
                mark("state");
            }
        } else if (message.type === "open" || message.type === "gone") {
            refresh();
        }
    });
    const clock = setInterval(() => {
        const time = parts.facts.querySelector("[data-time]");
        if (time && !model.isOver) time.textContent = runningClock(model.elapsed);
        for (const element of parts.agents.querySelectorAll("[data-since]")) element.textContent = runningClock(Date.now() - Number(element.dataset.since));
    }, 1000);
    draw();
    if (summary.status === "unreadable" || (!model.created && summary.status === "completed")) setTimeout(() => !model.created && onlyReport(), 1500);

    // Debates of older versions have no journal: what there is of them is the report.
    function onlyReport() {
        model.status = summary.status;
        model.isOver && drawResult();
        drawState();
        tabs.choose("result");
    }

    return () => clearInterval(clock);
}

function tabList(all) {
    const buttons = all.map(([name, text]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => choose(name) }, text));
    const element = h("div.tabs", { role: "tablist", "aria-label": "Views", onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const now = buttons.findIndex((button) => button.getAttribute("aria-selected") === "true");
        const next = (now + step + all.length) % all.length;
        choose(all[next][0]);
        buttons[next].focus();
    } }, buttons);
    function choose(chosen) {
        all.forEach(([name, , panel], place) => {
            const isChosen = name === chosen;
            buttons[place].setAttribute("aria-selected", String(isChosen));
            buttons[place].tabIndex = isChosen ? 0 : -1;
            panel.hidden = !isChosen;
        });
    }
    choose(all[0][0]);
    return { element, choose };
}
