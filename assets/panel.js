// The form for agents and judge, of a new debate and of a fork.

import { h } from "./dom.js";

const nameOf = ({ provider, model }) => (provider === "offline" ? "offline (no model)" : `${model} (${provider})`);

/** `agents` and `judge` are there at first; `roles` and `models` can be chosen; `changed` is told of each change. */
export function editor({ agents, judge, roles, models, mostAgents, changed }) {
    const members = h("tbody");
    const addOne = h("button", { type: "button", onclick: () => { add().querySelector("select").focus(); changed(); } }, "Add an agent");
    const judgeModel = choice({ id: "judge-model" }, judge);
    const element = h("fieldset.panel", {}, h("legend", {}, "Panel"),
        h("table.members", {}, h("caption.visually-hidden", {}, "Agents"),
            h("thead", {}, h("tr", {}, ["Role", "Name", "Model", "Side", ""].map((name) => h("th", { scope: "col" }, name || h("span.visually-hidden", {}, "Remove"))))), members),
        h("p.note", {}, "Sides matter in debates on a motion."),
        h("div.row", {}, addOne, h("div.field", {}, h("label", { for: "judge-model" }, "Judge’s model"), judgeModel)));

    function choice(about, chosen) {
        const all = [...models];
        if (chosen && !all.some(({ provider, model }) => provider === chosen.provider && model === chosen.model)) all.push(chosen);
        const select = h("select", { ...about, "data-field": "model" },
            all.map((one) => h("option", { value: JSON.stringify([one.provider, one.model]) }, nameOf(one))));
        if (chosen) select.value = JSON.stringify([chosen.provider, chosen.model]);
        return select;
    }

    function add(member) {
        const used = [...members.querySelectorAll("[data-field=role]")].map((one) => one.value);
        const free = roles.find((role) => !used.includes(role)) ?? roles[0];
        const known = member && !roles.includes(member.role) ? [member.role, ...roles] : roles;
        const role = h("select", { "data-field": "role", "aria-label": "Role" }, known.map((name) => h("option", { value: name }, name)));
        role.value = member?.role ?? free;
        const name = h("input", { type: "text", "data-field": "name", "aria-label": "Name", value: member?.name ?? "", placeholder: "by its role" });
        const model = choice({ "aria-label": "Model" }, member ?? agents[0] ?? judge);
        const side = h("select", { "data-field": "position", "aria-label": "Side" },
            [["", "by order"], ["for", "for"], ["against", "against"], ["neutral", "neutral"]].map(([value, text]) => h("option", { value }, text)));
        side.value = member?.position ?? "";
        const remove = h("button.quiet", { type: "button", "aria-label": "Remove this agent", onclick: () => {
            const next = row.nextElementSibling ?? row.previousElementSibling;
            row.remove();
            (next?.querySelector("button") ?? addOne).focus();
            changed();
        } }, "✕");
        const row = h("tr", { "data-id": member?.id }, [["Role", role], ["Name", name], ["Model", model], ["Side", side], ["", remove]].map(([label, control]) => h("td", { "data-name": label }, control)));
        members.append(row);
        settle();
        return row;
    }

    function settle() {
        addOne.disabled = members.children.length >= mostAgents;
    }

    for (const agent of agents.slice(0, mostAgents)) add(agent);
    return {
        element,
        settle,
        /** The agents as a request says them. Who was there at first goes by its id: all that is not edited stays. */
        agents: () => [...members.children].map((row) => {
            const value = (name) => row.querySelector(`[data-field=${name}]`).value;
            const [provider, model] = JSON.parse(value("model"));
            const member = { role: value("role"), provider, model };
            const before = agents.find(({ id }) => id === row.dataset.id);
            // With another role it is somebody else, with another name by default.
            if (before?.role === member.role) member.id = before.id;
            const name = value("name").trim();
            if (name && (member.id || name !== before?.name)) member.name = name;
            if (value("position")) member.position = value("position");
            return member;
        }),
        judge: () => {
            const [provider, model] = JSON.parse(judgeModel.value);
            return { provider, model };
        },
    };
}
