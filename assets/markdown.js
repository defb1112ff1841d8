// Markdown of models as elements. It knows what they write: headings, lists, code, quotes, tables, emphasis. What it does
// not know stays text; nothing becomes a link or an image.

import { h } from "./dom.js";

export function markdown(text) {
    const lines = text.replace(/\r\n?/g, "\n").split("\n");
    const out = [];
    let at = 0;
    while (at < lines.length) {
        const line = lines[at];
        let match;
        if (!line.trim()) {
            at++;
        } else if ((match = /^\s{0,3}(`{3,}|~{3,})/.exec(line))) {
            const end = lines.findIndex((other, place) => place > at && other.trim().startsWith(match[1]));
            const last = end < 0 ? lines.length : end;
            out.push(h("pre", { tabindex: "0" }, h("code", {}, lines.slice(at + 1, last).join("\n"))));
            at = last + 1;
        } else if ((match = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line))) {
            out.push(h("p.heading", { role: "heading", "aria-level": Math.min(6, match[1].length + 3) }, inline(match[2])));
            at++;
        } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
            out.push(h("hr"));
            at++;
        } else if (/^\s*>/.test(line)) {
            const quoted = [];
            while (at < lines.length && /^\s*>/.test(lines[at])) quoted.push(lines[at++].replace(/^\s*> ?/, ""));
            out.push(h("blockquote", {}, markdown(quoted.join("\n"))));
        } else if (line.includes("|") && /^\s*\|?[\s:|-]*-[\s:|-]*$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("|")) {
            const cells = (row) => row.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
            const head = cells(line);
            at += 2;
            const rows = [];
            while (at < lines.length && lines[at].includes("|")) rows.push(cells(lines[at++]));
            out.push(h("div.scroll", { tabindex: "0" }, h("table", {},
                h("thead", {}, h("tr", {}, head.map((cell) => h("th", {}, inline(cell))))),
                h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell)))))))));
        } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
            const [list, next] = listFrom(lines, at);
            out.push(list);
            at = next;
        } else {
            const paragraph = [];
            while (at < lines.length && lines[at].trim() && !/^(#{1,6}\s|\s*([-*+]|\d+[.)])\s+|\s*>|\s{0,3}(```|~~~))/.test(lines[at])) {
                paragraph.push(lines[at++]);
            }
            if (!paragraph.length) paragraph.push(lines[at++]);
            out.push(h("p", {}, inline(paragraph.join(" "))));
        }
    }
    return out;
}

function listFrom(lines, at) {
    const mark = /^(\s*)([-*+]|\d+[.)])\s+/;
    const [, indent, first] = mark.exec(lines[at]);
    const ordered = /\d/.test(first);
    const items = [];
    while (at < lines.length) {
        const match = mark.exec(lines[at]);
        if (!match || match[1].length < indent.length || /\d/.test(match[2]) !== ordered) break;
        const own = [lines[at].slice(match[0].length)];
        at++;
        while (at < lines.length) {
            const blank = !lines[at].trim();
            const inner = /^\s/.test(lines[at]) && lines[at].search(/\S/) > indent.length;
            if (blank ? !/^\s+\S/.test(lines[at + 1] ?? "") || (lines[at + 1].search(/\S/) <= indent.length) : !inner) break;
            own.push(lines[at++].replace(new RegExp(`^\\s{0,${match[0].length}}`), ""));
        }
        const content = markdown(own.join("\n"));
        items.push(h("li", {}, content.length === 1 && content[0].tagName === "P" ? [...content[0].childNodes] : content));
        while (at < lines.length && !lines[at].trim() && mark.test(lines[at + 1] ?? "")) at++;
    }
    const start = ordered && parseInt(first, 10) !== 1 ? parseInt(first, 10) : undefined;
    return [h(ordered ? "ol" : "ul", { start }, items), at];
}

function inline(text) {
    const out = [];
    const pattern = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|__(.+?)__|\*([^\s*][^*]*?)\*|\\([\\`*_{}[\]()#+\-.!|<>])/g;
    let last = 0;
    for (const match of text.matchAll(pattern)) {
        out.push(text.slice(last, match.index));
        if (match[2] !== undefined) out.push(h("code", {}, match[2].trim()));
        else if (match[3] ?? match[4]) out.push(h("strong", {}, inline(match[3] ?? match[4])));
        else if (match[5] !== undefined) out.push(h("em", {}, inline(match[5])));
        else out.push(match[6]);
        last = match.index + match[0].length;
    }
    out.push(text.slice(last));
    return out;
}

/** The first sentence that says something, as plain text. */
export function firstSentence(text, most = 140) {
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line && !/^(#|```|---|\|)/.test(line));
    const plain = (lines[0] ?? "").replace(/^([-*+>]|\d+[.)])\s+/, "").replace(/[*_`]/g, "").replace(/^\[\w+\]\s*/, "");
    const end = plain.search(/[.!?](\s|$)/);
    const sentence = end > 20 ? plain.slice(0, end + 1) : plain;
    return sentence.length > most ? `${sentence.slice(0, most - 1)}…` : sentence;
}
