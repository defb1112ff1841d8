// One stream of events for all tabs: a browser has but six connections to a server. It runs as a shared worker, or in the
// page where there is none.
//
// What was received of a debate is kept while a tab shows it, so that a second tab is told all of it, and the server but
// once. A stream that breaks is opened again behind the last event that came.

const RETRY = [500, 1000, 2000, 4000];

const ports = new Map();
const debates = new Map();
let stream = null;
let attempt = 0;
let timer = null;

/** Serves a tab. */
export function connect(port) {
    ports.set(port, { debate: null, list: false });
    port.onmessage = ({ data }) => {
        if (data.type === "bye") {
            ports.delete(port);
        } else {
            ports.set(port, { debate: data.debate, list: data.list });
            catchUp(port, data.debate);
        }
        arrange();
    };
    port.start?.();
}

function catchUp(port, id) {
    const known = id && debates.get(id);
    if (!known) return;
    for (const event of known.events) port.postMessage({ type: "signal", signal: event });
    for (const call of known.calls.values()) {
        port.postMessage({ type: "signal", signal: call.started });
        port.postMessage({ type: "signal", signal: { ...call.started, signal: "words", text: call.words } });
    }
}

/** Opens the stream anew if it is not the one that is wanted. */
function arrange() {
    const wanted = new Set([...ports.values()].map((port) => port.debate).filter(Boolean));
    for (const id of debates.keys()) if (!wanted.has(id)) debates.delete(id);
    for (const id of wanted) if (!debates.has(id)) debates.set(id, { events: [], last: 0, calls: new Map() });
    const list = [...ports.values()].some((port) => port.list);
    const name = `${[...wanted].sort().join(",")}|${list}`;
    if (stream?.name === name) return;
    stream?.abort.abort();
    clearTimeout(timer);
    stream = null;
    if (wanted.size || list) open(name, wanted, list);
}

async function open(name, wanted, list) {
    const own = { name, abort: new AbortController() };
    stream = own;
    const positions = [...wanted].map((id) => `${id}:${debates.get(id)?.last ?? 0}`).join(",");
    let status = 0;
    try {
        const response = await fetch(`/api/v1/events?debates=${encodeURIComponent(positions)}&list=${list}`, {
            signal: own.abort.signal, headers: { Accept: "text/event-stream" },
        });
        status = response.status;
        if (response.ok) {
            attempt = 0;
            // Calls that were in flight are told again.
            for (const debate of debates.values()) debate.calls.clear();
            tell({ type: "open" });
            await read(response.body, () => stream === own);
        }
    } catch {
        // It broke: as below.
    }
    if (stream !== own) return;
    tell({ type: "lost", status });
    timer = setTimeout(() => {
        stream = null;
        arrange();
    }, RETRY[Math.min(attempt++, RETRY.length - 1)]);
}

async function read(body, isOwn) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { value, done } = await reader.read();
        if (done || !isOwn()) return;
        text += value;
        const frames = text.split("\n\n");
        text = frames.pop();
        for (const frame of frames) take(frame);
    }
}

function take(frame) {
    const fields = Object.fromEntries(frame.split("\n").map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
    }));
    if (!fields.data) return;
    const data = JSON.parse(fields.data);
    if (fields.event === "list") {
        for (const [port, wants] of ports) if (wants.list) port.postMessage({ type: "list", ...data });
        return;
    }
    if (fields.event === "gone") {
        for (const [port, wants] of ports) if (wants.debate === data.debate) port.postMessage({ type: "gone" });
        return;
    }
    const debate = debates.get(data.debate);
    if (!debate) return;
    if (data.signal === "recorded") {
        if (data.seq <= debate.last) return;
        debate.last = data.seq;
        debate.events.push(data);
    } else {
        inFlight(debate, data);
    }
    for (const [port, wants] of ports) if (wants.debate === data.debate) port.postMessage({ type: "signal", signal: data });
}

function inFlight(debate, data) {
    const key = JSON.stringify(data.key);
    if (data.signal === "call-started") debate.calls.set(key, { started: data, words: "" });
    if (data.signal === "call-ended") debate.calls.delete(key);
    const call = debate.calls.get(key);
    if (call && data.signal === "words") call.words = (call.words + data.text).slice(-4000);
    if (call && data.signal === "call-retrying") call.words = "";
}

function tell(message) {
    for (const port of ports.keys()) port.postMessage(message);
}

if ("SharedWorkerGlobalScope" in self) self.onconnect = ({ ports: [port] }) => connect(port);
