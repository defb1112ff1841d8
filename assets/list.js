// The saved debates.

import { STATUS, answerLine, api, badge, h, money, plural, problemBox, say, when } from "./dom.js";

const PAGE = 50;

export async function list(main, { subscribe, title }) {
    title("Debates");
    const asked = new URLSearchParams(location.search);
    const search = h("input", { type: "search", id: "search", value: asked.get("search") ?? "", placeholder: "Words of the title, or an id", oninput: later });
    const status = h("select", { id: "status", onchange: load }, h("option", { value: "" }, "Any"),
        Object.entries(STATUS).map(([name, text]) => h("option", { value: name }, text)));
    const protocol = h("select", { id: "protocol", onchange: load }, h("option", { value: "" }, "Any"));
    const rows = h("tbody");
    const table = h("table.debates", {},
        h("caption.visually-hidden", {}, "Saved debates, newest first"),
        h("thead", {}, h("tr", {}, ["Problem", "Status", "Protocol", "Rounds", "Confidence", "Cost", "Begun"].map((name) => h("th", { scope: "col" }, name)))),
        rows);
    const note = h("p.note");
    const more = h("button", { type: "button", hidden: true, onclick: () => show(shown.length) }, "Show more");
    main.replaceChildren(
        h("h1", {}, "Debates"),
        h("form.filters", { role: "search", onsubmit: (event) => { event.preventDefault(); load(); } },
            h("div.field.wide", {}, h("label", { for: "search" }, "Search"), search),
            h("div.field", {}, h("label", { for: "status" }, "Status"), status),
            h("div.field", {}, h("label", { for: "protocol" }, "Protocol"), protocol)),
        note, table, more);
    status.value = asked.get("status") ?? "";
    api("/setup").then((setup) => {
        for (const { name } of setup.protocols) protocol.append(h("option", { value: name }, name));
        protocol.value = asked.get("protocol") ?? "";
    }, () => {});

    let shown = [];
    let timer;
    let latest = 0;
    function later() {
        clearTimeout(timer);
        timer = setTimeout(load, 200);
    }

    async function load() {
        await show(0);
    }

    async function show(skip) {
        const mine = ++latest;
        const query = new URLSearchParams();
        for (const [name, field] of Object.entries({ search, status, protocol })) if (field.value) query.set(name, field.value);
        history.replaceState(null, "", query.size ? `/?${query}` : "/");
        query.set("limit", PAGE);
        query.set("skip", skip);
        try {
            const { debates, total } = await api(`/debates?${query}`);
            if (mine !== latest) return;
            shown = skip ? [...shown, ...debates] : debates;
            draw(total, query);
        } catch (problem) {
            rows.replaceChildren();
            note.replaceChildren(problemBox(problem));
        }
    }

    function draw(total) {
        rows.replaceChildren(...shown.map(row));
        const filtered = search.value || status.value || protocol.value;
        if (total) note.textContent = `${plural(total, "debate")}${filtered ? " found" : ""}`;
        else if (filtered) note.textContent = "No debate fits.";
        else note.replaceChildren("No debates yet. ", h("a", { href: "/new" }, "Start the first one"), ".");
        table.hidden = !total;
        more.hidden = shown.length >= total;
    }

    function row(debate) {
        const cell = (name, ...content) => h("td", { "data-name": name }, ...content);
        return h("tr", { "data-id": debate.id },
            h("th", { scope: "row" }, h("a", { href: `/debates/${debate.id}` }, debate.title || debate.id),
                h("span.id", {}, debate.id),
                debate.forkedFrom ? h("span.note.fork", {}, `a fork of ${debate.forkedFrom}`) : null),
            cell("Status", badge(debate.status, debate), answerLine(debate), debate.before ? h("span.note", {}, ` ${debate.before} before it`) : null),
            cell("Protocol", debate.protocol ?? "–", debate.offline && h("span.note", {}, " offline")),
            cell("Rounds", String(debate.rounds)),
            cell("Confidence", debate.confidence === null || debate.offline ? "–" : `${Math.round(debate.confidence)} %`),
            cell("Cost", debate.costUsd === null || debate.offline ? "–" : money(debate.costUsd)),
            cell("Begun", when(debate.createdAt)));
    }

    subscribe({ list: true }, (message) => {
        if (message.type === "open") {
            load();
            return;
        }
        if (message.type !== "list") return;
        const known = new Map(shown.map((debate) => [debate.id, debate]));
        const isNew = message.rows.some((debate) => !known.has(debate.id)) || message.gone.length;
        for (const debate of message.rows) {
            const before = known.get(debate.id);
            if (before && before.status !== debate.status) say(`${debate.title}: ${STATUS[debate.status]}`);
            if (before) {
                Object.assign(before, debate);
                rows.querySelector(`[data-id="${CSS.escape(debate.id)}"]`)?.replaceWith(row(debate));
            }
        }
        // Filters and order are the server's.
        if (isNew) load();
    });
    await load();
}
