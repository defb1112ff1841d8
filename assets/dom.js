// Building blocks: everything that is shown is put in as text, never as markup.

/** An element: attributes, `on…` handlers, properties such as `value`, and children. */
export function h(name, attributes, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [key, value] of Object.entries(attributes ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key === "value" || key === "checked") element[key] = value;
        else element.setAttribute(key, value === true ? "" : value);
    }
    add(element, children);
    return element;
}

/** The same of an image. */
export function svg(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes ?? {})) {
        if (value !== undefined && value !== null) element.setAttribute(key, value);
    }
    add(element, children);
    return element;
}

function add(element, children) {
    for (const child of children.flat(Infinity)) {
        if (child !== undefined && child !== null && child !== false) element.append(child);
    }
}

/** Puts other children into an element. What was open in it stays open, and what had the focus has it still. */
export function redraw(element, ...children) {
    const before = element.querySelectorAll(STOPS);
    const focused = [...before].indexOf(document.activeElement);
    const text = focused < 0 ? null : before[focused].textContent;
    const known = new Map([...element.querySelectorAll("details[data-key]")].map((one) => [one.dataset.key, one.open]));
    element.replaceChildren();
    add(element, children);
    for (const one of element.querySelectorAll("details[data-key]")) one.open = known.get(one.dataset.key) ?? one.open;
    if (focused < 0) return;
    const stops = [...element.querySelectorAll(STOPS)];
    (stops.find((one) => one.textContent === text) ?? stops[focused])?.focus({ preventScroll: true });
}

const STOPS = "a, button, summary, [tabindex]";

/** Says something to whoever does not see the page. */
export function say(text) {
    document.querySelector("#said").textContent = text;
}

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export function money(usd) {
    if (usd === null || usd === undefined) return "unknown";
    return usd === 0 ? "$0" : `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** A duration that is over, as in every other view: `1.2 s`, `3 min 4 s`, `2 h 5 min`. */
export function duration(ms) {
    const tenths = Math.round(Math.max(0, ms) / 100);
    if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
    const seconds = Math.round(ms / 1000);
    const minutes = Math.floor(seconds / 60);
    return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A running clock: `0:42`, `1:02:03`. */
export function runningClock(ms) {
    const seconds = Math.floor(Math.max(0, ms) / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor(seconds / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

export function when(text) {
    if (!text) return "";
    const at = new Date(text);
    const today = at.toDateString() === new Date().toDateString();
    const form = today ? { hour: "2-digit", minute: "2-digit" } : { dateStyle: "medium", timeStyle: "short" };
    return at.toLocaleString([], form);
}

export const number = (value) => value.toLocaleString("en");

/** A request to the API. What is refused is thrown as its problem. */
export async function api(path, { method = "GET", body } = {}) {
    const headers = { "X-Dialectic": "1" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
        response = await fetch(`/api/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
        throw { type: "network", title: "The server cannot be reached", detail: "It may have been stopped. Try again later.", retryable: true };
    }
    const text = await response.text();
    let value;
    try {
        value = text ? JSON.parse(text) : null;
    } catch {
        value = { title: response.statusText, detail: text };
    }
    if (response.status === 401) location.reload();
    if (!response.ok) throw value;
    return value;
}

/** Shows errors on the page. */
export function problemBox(problem) {
    return h("div.problem", { role: "alert" },
        h("strong", {}, problem.title ?? "Something went wrong"),
        h("p", {}, problem.detail ?? String(problem)),
        problem.hint && h("p.hint", {}, problem.hint),
        problem.retryable && h("p.hint", {}, "Try again later."));
}

export const STATUS = {
    waiting: "waiting for a place",
    running: "running",
    asking: "waiting for answers",
    paused: "paused",
    interrupted: "interrupted",
    unfinished: "unfinished",
    completed: "completed",
    failed: "failed",
    unreadable: "unreadable",
};

/** Whether the run is complete, once it has ended; else where it stands. Green only where the answer has no fault either. */
export function badge(status, debate) {
    const run = status === "completed" ? debate?.run : null;
    const look = run ? (debate.clean ? "completed" : debate.outcome === "full" ? "plain" : "paused") : status === "completed" ? "plain" : status;
    return h(`span.badge.is-${look}`, {}, run ?? STATUS[status] ?? status);
}

/** What the answer is worth: the second of the two statements about a debate that has ended. */
export const answerLine = (debate) => debate.answerInWords
    ? h(`p.answer-state${debate.clean ? ".is-clean" : Object.values(debate.answer).some((one) => one.length) ? ".is-faulty" : ""}`, {}, h("strong", {}, "Answer: "), debate.answerInWords)
    : "";
