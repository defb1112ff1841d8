// A debate to be started: what it is about, who takes part, and what it would take.

import { api, h, money, number, plural, problemBox, say } from "./dom.js";

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
    const problem = h("textarea", { id: "problem", rows: 8, required: true, placeholder: "What is to be decided or designed? Requirements with “must” are held against the answer." });
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
    const offline = h("input", { type: "checkbox", id: "offline-answers", onchange: () => panel.classList.toggle("is-offline", offline.checked) });
    const cost = h("input", { type: "number", id: "cost", min: 0, step: "any", inputmode: "decimal", placeholder: setup.maxCost ? String(setup.maxCost) : "no limit" });
    const members = h("tbody");
    const judge = models("judge-model", setup.judge);
    const addOne = h("button", { type: "button", onclick: () => { add(); changed(); } }, "Add an agent");
    const panel = h("fieldset.panel", {}, h("legend", {}, "Panel"),
        h("table.members", {}, h("caption.visually-hidden", {}, "Agents"), h("thead", {}, h("tr", {}, ["Role", "Name", "Model", "Side", ""].map((name) => h("th", { scope: "col" }, name || h("span.visually-hidden", {}, "Remove"))))), members),
        h("div.row", {}, addOne, field("Judge’s model", judge)));
    const forecast = h("div.forecast", { role: "status", "aria-live": "polite" });
    const start = h("button.primary", { type: "submit", disabled: true }, "Start the debate");
    const wrong = h("div");

    let attached = [];
    let timer;
    let checked = null;
    let latest = 0;
    let ownRounds = false;

    function models(id, chosen) {
        const select = h("select", { id, "data-field": "model" },
            setup.models.map(({ provider, model }) => h("option", { value: JSON.stringify([provider, model]) }, provider === "offline" ? "rehearsal (no model)" : `${model} (${provider})`)));
        select.value = JSON.stringify([chosen.provider, chosen.model]);
        return select;
    }

    function add(member) {
        const place = members.children.length;
        if (place >= setup.mostAgents) return;
        const used = [...members.querySelectorAll("[data-field=role]")].map((one) => one.value);
        const free = setup.roles.find((role) => !used.includes(role)) ?? setup.roles[0];
        const role = h("select", { "data-field": "role", "aria-label": "Role" }, setup.roles.map((name) => h("option", { value: name }, name)));
        role.value = member?.role ?? free;
        const name = h("input", { type: "text", "data-field": "name", "aria-label": "Name", value: member?.name ?? "", placeholder: "by its role" });
        const model = models(undefined, member ?? setup.agents[0] ?? setup.judge);
        model.setAttribute("aria-label", "Model");
        const side = h("select", { "data-field": "position", "aria-label": "Side" },
            [["", "by order"], ["for", "for"], ["against", "against"], ["neutral", "neutral"]].map(([value, text]) => h("option", { value }, text)));
        const remove = h("button.quiet", { type: "button", "aria-label": "Remove this agent", onclick: () => { row.remove(); changed(); } }, "✕");
        const row = h("tr", { "data-id": member?.id }, [["Role", role], ["Name", name], ["Model", model], ["Side", side], ["", remove]].map(([label, control]) => h("td", { "data-name": label }, control)));
        members.append(row);
    }

    function protocolChosen() {
        const chosen = setup.protocols.find(({ name }) => name === protocol.value);
        about.textContent = `${chosen.about[0].toUpperCase()}${chosen.about.slice(1)}. For ${chosen.suits}. Calls: ${chosen.calls}.`;
        if (!ownRounds) rounds.value = protocol.value === setup.protocol ? setup.rounds : chosen.rounds;
    }

    async function readFiles() {
        const chosen = [...files.files];
        attached = await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() })));
        fileList.replaceChildren(...attached.map((file) => h("li", {}, `${file.name} · ${number(file.text.length)} characters`)));
        changed();
    }

    function request() {
        const body = { problem: problem.value, protocol: protocol.value };
        if (attached.length) body.files = attached;
        if (rounds.value) body.rounds = Number(rounds.value);
        const debate = {};
        if (until.value) debate.terminationCondition = { type: until.value };
        if (clarify.checked) debate.interactiveClarifications = true;
        if (Object.keys(debate).length) body.debate = debate;
        body.agents = [...members.children].map((row) => {
            const value = (name) => row.querySelector(`[data-field=${name}]`).value;
            const [provider, model] = JSON.parse(value("model") || "[null,null]");
            const member = { role: value("role"), provider, model };
            if (row.dataset.id) member.id = row.dataset.id;
            if (value("name")) member.name = value("name");
            if (value("position")) member.position = value("position");
            return member;
        });
        const [provider, model] = JSON.parse(judge.value || "[null,null]");
        body.judge = { provider, model };
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
        addOne.disabled = members.children.length >= setup.mostAgents;
        checked = null;
        start.disabled = true;
        clearTimeout(timer);
        timer = setTimeout(foresee, 350);
    }

    async function foresee() {
        const mine = ++latest;
        wrong.replaceChildren();
        if (!problem.value.trim()) {
            forecast.replaceChildren(h("p.note", {}, "Say what the debate is about: then its calls and its cost are worked out here."));
            return;
        }
        forecast.replaceChildren(h("p.note", {}, "Working out what it would take…"));
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
        forecast.replaceChildren(
            h("dl.facts", {},
                fact("Calls", range([plan.calls, plan.callsMost], number)),
                fact("Tokens", range(plan.tokens, number)),
                fact("Cost", plan.costUsd ? range(plan.costUsd, money) : "unknown: no price is known of a model"),
                plan.limitUsd !== undefined && fact("Limit", money(plan.limitUsd)),
                plan.roundsBought !== undefined && fact("Rounds that it buys", `${plan.roundsBought} of ${plan.rounds}`)),
            plan.warnings.length ? h("ul.warnings", {}, plan.warnings.map((warning) => h("li", {}, warning))) : "",
            h("details", {}, h("summary", {}, "What these figures assume"), h("ul", {}, plan.assumptions.map((text) => h("li", {}, text)))));
    }

    const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

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
    for (const agent of setup.agents.slice(0, setup.mostAgents)) add(agent);
    const check = (control, label) => h("label.check", {}, control, label);
    main.replaceChildren(
        h("h1", {}, "New debate"),
        setup.warnings.length ? h("ul.warnings", {}, setup.warnings.map((warning) => h("li", {}, warning))) : "",
        h("form.new", { oninput: changed, onchange: changed, onsubmit: submit },
            field("Problem", problem),
            h("div.field", {}, h("label", { for: "files" }, "Files"), files, h("p.note", { id: "files-note" }, "Texts that belong to the problem: each agent reads them."), fileList),
            h("div.columns", {},
                h("div.field", {}, h("label", { for: "protocol" }, "Protocol"), protocol),
                field("Rounds", rounds), field("Ends", until),
                field("Cost limit, in dollars", cost, setup.maxCostPerDay ? `${money(setup.leftToday)} is left of ${money(setup.maxCostPerDay)} for today.` : null)),
            about,
            panel,
            check(clarify, "Let the agents ask me what is unclear before they begin"),
            check(offline, "Call no model: a rehearsal by rules, without cost"),
            h("section.plan", { "aria-labelledby": "plan-title" }, h("h2", { id: "plan-title" }, "What it would take"), forecast),
            wrong, start));
    protocolChosen();
    changed();
    problem.focus();
}
