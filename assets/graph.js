// Who criticised whom: agents on a circle, and an arrow for each critique.

import { svg } from "./dom.js";

const SIZE = 320;
const RADIUS = 108;
const NODE = 26;

export function graph(agents, critiques, calls, choose) {
    const places = new Map(agents.map((agent, place) => {
        const angle = (place / agents.length) * 2 * Math.PI - Math.PI / 2;
        return [agent.id, { x: SIZE / 2 + RADIUS * Math.cos(angle), y: SIZE / 2 + RADIUS * Math.sin(angle), agent }];
    }));
    const pairs = new Map();
    const count = (key, field, seq) => {
        const name = `${key.agentId} ${key.targetAgentId}`;
        const pair = pairs.get(name) ?? { from: places.get(key.agentId), to: places.get(key.targetAgentId), done: 0, running: 0 };
        pair[field]++;
        pair.seq = seq ?? pair.seq;
        pairs.set(name, pair);
    };
    for (const one of critiques) count(one.key, "done", one.seq);
    for (const call of calls) count(call.key, "running");
    const arrows = [...pairs.values()].filter((pair) => pair.from && pair.to).map((pair) => {
        const { x1, y1, x2, y2, cx, cy } = curve(pair.from, pair.to);
        const title = `${pair.from.agent.name} on ${pair.to.agent.name}: ${pair.done}${pair.running ? ", writing" : ""}`;
        const path = svg("path", {
            d: `M${x1} ${y1} Q${cx} ${cy} ${x2} ${y2}`,
            class: `edge c${pair.from.agent.colour}${pair.running ? " is-running" : ""}`,
            "stroke-width": Math.min(2 + pair.done * 0.6, 6),
            "marker-end": `url(#arrow-${pair.from.agent.colour})`,
        }, svg("title", {}, title));
        if (pair.seq) path.addEventListener("click", () => choose(pair.seq));
        return path;
    });
    const nodes = [...places.values()].map(({ x, y, agent }) => svg("g", { class: `node c${agent.colour}` },
        svg("circle", { cx: x, cy: y, r: NODE }),
        svg("text", { x, y: y + 5, "text-anchor": "middle" }, agent.badge),
        svg("title", {}, agent.name)));
    const markers = agents.map(({ colour }) => svg("marker", {
        id: `arrow-${colour}`, viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse",
        markerUnits: "userSpaceOnUse",
    }, svg("path", { d: "M0 0L10 5L0 10z", class: `arrow c${colour}` })));
    const label = `${critiques.length} critiques among ${agents.map((agent) => agent.name).join(", ")}; each is in the list below.`;
    const ys = [...places.values()].map(({ y }) => y);
    const top = Math.min(...ys) - NODE - 24;
    const height = Math.max(...ys) + NODE + 24 - top;
    return svg("svg", { viewBox: `0 ${top} ${SIZE} ${height}`, class: "graph", role: "img", "aria-label": label },
        svg("defs", {}, markers), arrows, nodes);
}

function curve(from, to) {
    const dx = to.x - from.x;
    const dy = to.y - from.y;
    const length = Math.hypot(dx, dy) || 1;
    // Bent to the right, so that two that criticise each other have two arrows.
    const cx = (from.x + to.x) / 2 - (dy / length) * 22;
    const cy = (from.y + to.y) / 2 + (dx / length) * 22;
    const towards = (a, b, distance) => {
        const l = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        return { x: a.x + ((b.x - a.x) / l) * distance, y: a.y + ((b.y - a.y) / l) * distance };
    };
    const start = towards(from, { x: cx, y: cy }, NODE + 2);
    const end = towards(to, { x: cx, y: cy }, NODE + 4);
    const r = (value) => Math.round(value * 10) / 10;
    return { x1: r(start.x), y1: r(start.y), x2: r(end.x), y2: r(end.y), cx: r(cx), cy: r(cy) };
}
