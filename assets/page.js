// The page: which view is shown, and the stream of events that all views share.

import { say } from "./dom.js";

const main = document.querySelector("#main");
const offline = document.querySelector("#offline");
const worker = new URL("worker.js", import.meta.url).href;
let listener = () => {};
let wanted = { debate: null, list: false };
const port = await open();

async function open() {
    let own;
    if ("SharedWorker" in window) {
        own = new SharedWorker(worker, { type: "module", name: "dialectic" }).port;
    } else {
        const channel = new MessageChannel();
        (await import(worker)).connect(channel.port2);
        own = channel.port1;
    }
    own.onmessage = ({ data }) => {
        if (data.type === "lost") {
            offline.hidden = false;
            if (data.status === 401 || data.status === 403) location.reload();
        } else {
            offline.hidden = true;
        }
        listener(data);
    };
    own.start();
    return own;
}

const send = (message) => port.postMessage(message);
addEventListener("pagehide", () => send({ type: "bye" }));
addEventListener("pageshow", (event) => event.persisted && show());

const context = {
    /** Has a view told of what happens in a debate, or in the list, until another view is shown. */
    subscribe(what, tell) {
        listener = tell;
        wanted = { debate: what.debate ?? null, list: !!what.list };
        send({ type: "want", ...wanted });
    },
    async go(path) {
        history.pushState(null, "", path);
        await show();
        // Whoever goes by the keyboard or listens is at the beginning of the new view, if that puts nobody elsewhere.
        if (!main.contains(document.activeElement)) main.focus();
        say(document.title);
    },
    title(text) {
        document.title = `${text} · dialectic`;
    },
};

let leave = null;

async function show() {
    leave?.();
    leave = null;
    listener = () => {};
    send({ type: "want", debate: null, list: false });
    const path = location.pathname;
    const known = /^\/debates\/([^/]+)$/.exec(path);
    for (const link of document.querySelectorAll("[data-nav]")) {
        const here = link.getAttribute("href") === path;
        if (here) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
    main.replaceChildren();
    // Only what is shown is loaded.
    if (known) leave = await (await import("./debate.js")).debate(main, context, decodeURIComponent(known[1]));
    else if (path === "/new") await (await import("./form.js")).form(main, context);
    else await (await import("./list.js")).list(main, context);
}

document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='/']");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.hasAttribute("download") || link.target) return;
    if (link.getAttribute("href").startsWith("/api/")) return;
    event.preventDefault();
    context.go(link.getAttribute("href"));
});
addEventListener("popstate", show);
await show();
