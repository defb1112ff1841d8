// A debate to be started: what it is about, who takes part, and what it would take.

import { api, h, money, number, plural, problemBox, say } from "./dom.js";
import { editor } from "./panel.js";

/** Of a file: a request may not be larger. */
const MOST_BYTES = 1024 * 1024;

export async function form(main, { go, title }) {
    title("New debate");
    let setup;
    try {
        setup = await api("/setup");
    } catch (problem) {
        main.replaceChildren(h("h1", {}, "New debate"), problemBox(problem));
        return;
    }
    const field = (label, control, note) => {
        const id = control.id;
        return h("div.field", {}, h("label", { for: id }, label), control, note && h("p.note", { id: `${id}-note` }, note));
    };
    const problem = h("textarea", { id: "problem", rows: 8, required: true, placeholder: "What should be decided or designed? The answer is checked against every “must”." });
    const files = h("input", { type: "file", id: "files", multiple: true, "aria-describedby": "files-note", onchange: readFiles });
    const fileList = h("ul.files");
    const protocol = h("select", { id: "protocol", onchange: protocolChosen }, setup.protocols.map(({ name }) => h("option", { value: name, }, name)));
    protocol.value = setup.protocol;
    const about = h("p.note", { id: "protocol-note" });
    const rounds = h("input", { type: "number", id: "rounds", min: 1, max: 100, value: setup.rounds });
    const until = h("select", { id: "until" },
        [["", "as configured"], ["fixed", "after the last round"], ["convergence", "when the agents agree"], ["quality", "when the answer is good enough"], ["resolved", "when no grave objection is open"]]
            .map(([value, text]) => h("option", { value }, text)));
    const clarify = h("input", { type: "checkbox", id: "clarify" });
    const quick = h("input", { type: "checkbox", id: "quick", onchange: quickChosen });
    const offline = h("input", { type: "checkbox", id: "offline-answers", onchange: () => panel.element.classList.toggle("is-offline", offline.checked) });
    const cost = h("input", { type: "number", id: "cost", min: 0, step: "any", inputmode: "decimal", placeholder: setup.maxCost ? String(setup.maxCost) : "no limit" });
    const panelSummary = h("span");
    const panel = editor({ ...setup, changed });
    const forecast = h("div.forecast", { role: "status", "aria-live": "polite" });
    const start = h("button.primary", { type: "submit", disabled: true }, "Start the debate");
    const wrong = h("div");

    let attached = [];
    let unfit = [];
    let timer;
    let checked = null;
    let latest = 0;
    let ownRounds = false;

    function protocolChosen() {
        const chosen = setup.protocols.find(({ name }) => name === protocol.value);
        about.textContent = `${chosen.about[0].toUpperCase()}${chosen.about.slice(1)}. For ${chosen.suits}.`;
        if (!ownRounds) rounds.value = protocol.value === setup.protocol ? setup.rounds : chosen.rounds;
    }

    function quickChosen() {
        protocol.disabled = rounds.disabled = quick.checked;
        if (!quick.checked) return;
        [protocol.value, rounds.value] = ["council", 1];
        protocolChosen();
    }

    /** The agents that take part. */
    function agents() {
        return quick.checked ? panel.agents().slice(0, 2) : panel.agents();
    }

    async function readFiles() {
        const chosen = [...files.files];
        // Byte for byte: the server takes its hash.
        const decoder = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
        const read = await Promise.all(chosen.map(async ({ name, size }, place) => {
            try {
                if (size > MOST_BYTES) return { name, error: "it is too large" };
                return { name, text: decoder().decode(await chosen[place].arrayBuffer()) };
            } catch {
                return { name, error: "it is not UTF-8 text" };
            }
        }));
        attached = read.filter(({ error }) => !error);
        unfit = read.filter(({ error }) => error).map(({ name, error }) => `${name} cannot be attached: ${error}.`);
        fileList.replaceChildren(...read.map((file) => h("li", {}, file.error ? h("strong", {}, `${file.name}: ${file.error}`) : `${file.name} · ${plural([...file.text].length, "character")}`)));
        changed();
    }

    function request() {
        const body = { problem: problem.value, protocol: protocol.value };
        if (attached.length) body.files = attached;
        if (rounds.value) body.rounds = Number(rounds.value);
        const debate = {};
        if (until.value) debate.terminationCondition = { type: until.value };
        if (quick.checked) debate.check = 1;
        if (clarify.checked) debate.interactiveClarifications = true;
        if (Object.keys(debate).length) body.debate = debate;
        [body.agents, body.judge] = [agents(), panel.judge()];
        if (cost.value) body.maxCost = Number(cost.value);
        if (offline.checked) {
            body.offline = true;
            for (const member of [...body.agents, body.judge]) {
                delete member.provider;
                delete member.model;
            }
        }
        return body;
    }

    function changed() {
        panel.settle();
        const models = new Set([...agents(), panel.judge()].map(({ model }) => model));
        panelSummary.textContent = offline.checked ? `Panel: ${plural(agents().length, "agent")} and a judge` : `Panel: ${plural(agents().length, "agent")} and a judge, with ${[...models].join(", ")}`;
        // A field that is left fires another event for what was typed.
        if (checked && !unfit.length && JSON.stringify(checked) === JSON.stringify(request())) return;
        checked = null;
        // A forecast that is still under way is of what the form said before.
        latest++;
        start.disabled = true;
        clearTimeout(timer);
        timer = setTimeout(foresee, 350);
    }

    async function foresee() {
        const mine = ++latest;
        wrong.replaceChildren();
        if (!problem.value.trim()) {
            forecast.replaceChildren(h("p.note", {}, "Describe the problem to see calls and cost."));
            return;
        }
        if (unfit.length) {
            forecast.replaceChildren(...unfit.map((detail) => problemBox({ title: "A file cannot be used", detail, hint: "Choose the files again without it." })));
            return;
        }
        forecast.replaceChildren(h("p.note", {}, "Estimating calls and cost…"));
        const body = request();
        try {
            const plan = await api("/forecast", { method: "POST", body });
            if (mine !== latest) return;
            checked = body;
            start.disabled = false;
            drawPlan(plan);
        } catch (refused) {
            if (mine !== latest) return;
            forecast.replaceChildren(problemBox(refused));
        }
    }

    function drawPlan(plan) {
        const range = ([low, high], form) => (low === high ? form(low) : `${form(low)} to ${form(high)}`);
        const most = plan.costUsd && Math.min(plan.costUsd[1], plan.limitUsd ?? Infinity);
        const price = plan.costUsd ? `likely ${money(Math.min(plan.likelyUsd, most))}, at most ${money(most)}` : "cost unknown: no price is known of a model";
        forecast.replaceChildren(
            h("p.price", {}, h("strong", {}, offline.checked ? "Costs nothing" : price[0].toUpperCase() + price.slice(1)), `, ${range([plan.calls, plan.callsMost], number)} call${plan.callsMost === 1 ? "" : "s"}.`),
            plan.limitUsd !== undefined && plan.roundsBought !== undefined ? h("p", {}, `The limit of ${money(plan.limitUsd)} buys ${plan.roundsBought} of ${plan.rounds} rounds.`) : "",
            plan.leftOut.length ? h("p", {}, `Not bought: ${plan.leftOut.join(", ")}.`) : "",
            plan.warnings.length ? h("ul.warnings", {}, plan.warnings.map((warning) => h("li", {}, warning))) : "");
    }

    async function submit(event) {
        event.preventDefault();
        if (!checked) return;
        start.disabled = true;
        try {
            const started = await api("/debates", { method: "POST", body: checked });
            say("The debate is started");
            go(`/debates/${started.id}`);
        } catch (refused) {
            wrong.replaceChildren(problemBox(refused));
            start.disabled = false;
        }
    }

    rounds.addEventListener("input", () => { ownRounds = true; });
    const check = (control, label) => h("label.check", {}, control, label);
    main.replaceChildren(
        h("h1", {}, "New debate"),
        setup.warnings.length ? h("ul.warnings", {}, setup.warnings.map((warning) => h("li", {}, warning))) : "",
        h("form.new", { oninput: changed, onchange: changed, onsubmit: submit },
            field("Problem", problem),
            h("div.field", {}, h("label", { for: "files" }, "Files"), files, h("p.note", { id: "files-note" }, "Text files that all agents and the judge read. The record keeps them."), fileList),
            h("div.columns", {},
                h("div.field", {}, h("label", { for: "protocol" }, "Protocol"), protocol),
                field("Rounds", rounds), field("Ends", until),
                field("Cost limit, in dollars", cost, setup.maxCostPerDay ? `${money(setup.leftToday)} is left of ${money(setup.maxCostPerDay)} for today.` : null)),
            about,
            check(quick, "Quick: a council of two agents and one checker. The best first debate; what it costs is below."),
            h("details.fold", {}, h("summary", {}, panelSummary), panel.element),
            check(clarify, "Let the agents ask me questions before they begin"),
            check(offline, "Rehearse: call no model, and list what the problem leaves open, at no cost"),
            h("section.plan", { "aria-labelledby": "plan-title" }, h("h2", { id: "plan-title" }, "What it would take"), forecast),
            wrong, start));
    protocolChosen();
    changed();
    problem.focus();
}
