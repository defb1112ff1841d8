// How competing answers fare: who was chosen and why, how far the texts agree, what stands against that, which kinds of
// argument there were, scores and votes. All of it is facts of the record; where a debate has none of a kind, nothing is
// shown.

import { h } from "./dom.js";
import { markdown } from "./markdown.js";

/** Somebody by colour, number and name. */
export function chip(model, id) {
    const agent = model.agent(id);
    return h(`span.chip.c${agent.colour}`, {}, h("span.dot", { "aria-hidden": "true" }, agent.badge), agent.name);
}

/** A table that scrolls by itself where it is too wide. The first cell of a row is its head. */
export function table(caption, columns, rows, about = {}) {
    const cell = (value, place) => (place ? h("td", {}, value) : h("th", { scope: "row" }, value));
    return h("div.table", {}, h("p.caption", { "aria-hidden": "true" }, caption), h("div.scroll", { tabindex: "0", role: "group", "aria-label": caption }, h("table", about, h("caption.visually-hidden", {}, caption),
        h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))))));
}

const percent = (value) => (value === null || value === undefined ? "unknown" : `${Math.round(value)} %`);
const points = (value) => (value === null || value === undefined ? "none" : String(Math.round(value * 10) / 10));
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A percentage with a bar. */
function share(value) {
    if (value === null || value === undefined) return "unknown";
    return [`${percent(value)} `, h("meter", { min: 0, max: 100, value, "aria-hidden": "true" })];
}

/** Who was chosen to take part, and why. */
export function team(model) {
    const selection = model.selection;
    if (!selection) return null;
    const chosen = selection.candidates.filter((one) => one.chosen).length;
    const all = selection.candidates.length;
    const lead = selection.size ? `${chosen} of ${all} agents take part, the best by these scores.` : `All ${all} agents take part.`;
    const rows = selection.candidates.map((one) => [
        chip(model, one.agentId),
        one.chosen ? "yes" : one.passedOver ? "no; its model family already made up half of the team" : "no",
        one.score.toFixed(3), signed(one.byRating), signed(one.byCalibration), signed(one.byExploration),
        one.rating === undefined ? "unknown" : String(Math.round(one.rating)),
        one.brier === undefined ? "unknown" : one.brier.toFixed(3),
        String(one.debates), one.family ?? "unknown",
    ]);
    const scores = table("What each was chosen by", ["Agent", "Takes part", "Score", "By rating", "By calibration", "By rarity", "Rating", "Brier score", "Debates", "Family"], rows);
    return h("section", {}, h("h2", {}, "Team"),
        h("p.note", {}, `${lead} Earlier debates counted: ${selection.debates}.`),
        chosen < all ? scores : h("details", { "data-key": "team" }, h("summary", {}, "Their scores"), scores));
}

/** How far the texts agree, round by round, and what stands against it. */
export function agreement(model) {
    const rounds = [...model.rounds.values()].filter((round) => round.convergence).sort((a, b) => a.number - b.number);
    const last = rounds.at(-1)?.convergence;
    if (!last) return null;
    const mean = (stability) => {
        const all = Object.values(stability ?? {});
        return all.length ? all.reduce((sum, one) => sum + one, 0) / all.length : null;
    };
    const isReached = last.agreement !== null && last.agreement >= last.threshold;
    const figures = rounds.map(({ number, convergence: of }) => [
        `Round ${number}`, share(of.agreement), share(mean(of.stability)), share(of.similarity ?? null),
        `${(of.matters ?? []).filter((matter) => matter.agreed).length} of ${(of.matters ?? []).length}`,
    ]);
    const authors = model.agents.filter((agent) => rounds.some((round) => round.convergence.stability?.[agent.id] !== undefined));
    const own = authors.map((agent) => [chip(model, agent.id), ...rounds.map((round) => percent(round.convergence.stability?.[agent.id]))]);
    return h("section", {}, h("h2", {}, "Agreement"),
        h("p.note", {}, `Agreement is the percentage of matters on which all texts decide the same. The texts converge when it reaches ${points(last.threshold)} %. ${last.agreement === null ? "It is unknown whether they did." : isReached ? "They did." : "They did not."}`),
        table("Agreement and stability over the rounds", ["Round", "Agreement", "Stability", "Similarity", "Matters agreed"], figures),
        own.length ? table("Each text against its author’s one before", ["Text of", ...rounds.map((round) => `Round ${round.number}`)], own) : "",
        rounds.map((round) => matters(model, round)),
        model.extensions.map((one) => h("div.notice", {}, h("p", {}, h("strong", {}, `The debate went on after round ${one.round}. `), "The text of ", chip(model, one.winner), " had won and missed:"),
            h("ul", {}, one.missing.map((missing) => h("li", {}, missing))))));
}

function matters(model, { number, convergence, challenge }) {
    const state = (matter) => (matter.opposed ? "opposed" : matter.agreed ? "agreed" : "open");
    const all = convergence.matters ?? [];
    const { claims = [], points: neglected = [] } = challenge ?? {};
    return [
        all.length || convergence.unknown ? h("details", { "data-key": `matters-${number}` }, h("summary", {}, `Matters of round ${number}`),
            convergence.unknown ? h("p", {}, `The agreement is unknown: ${convergence.unknown}.`) : "",
            convergence.opposedOn ? h("p", {}, `It counts as 0, because decisions on this requirement are opposite: ${convergence.opposedOn}`) : "",
            h("ul.matters", {}, all.map((matter) => h("li", {}, h(`span.badge.is-${state(matter)}`, {}, state(matter)), " ",
                matter.decisions.map(({ decision, agents }, place) => [place ? " / " : "", `${decision} `, agents.map((agent) => chip(model, agent))]))))) : "",
        claims.length || neglected.length ? h("div.notice", {}, h("p", {}, h("strong", {}, `The agreement of round ${number} was challenged.`)),
            h("ul", {}, claims.map((claim) => h("li", {}, `Claimed by all, supported by none: ${claim}`)),
                neglected.map((point) => h("li", {}, "Unanswered, on the text of ", chip(model, point.targetAgentId), `: ${point.text}`)))) : "",
    ];
}

/** Which kinds of argument an observer found. */
export function observer(model) {
    const rounds = [...model.rounds.values()].filter((round) => round.observations?.length).sort((a, b) => a.number - b.number);
    if (!rounds.length) return null;
    const kinds = ["evidence", "concession", "rebuttal", "qualification", "authority", "question", "synthesis"];
    const rows = rounds.flatMap(({ number, observations }) => {
        const authors = model.agents.filter((agent) => observations.some((one) => one.agentId === agent.id));
        return authors.map((agent) => {
            const own = observations.filter((one) => one.agentId === agent.id);
            return [chip(model, agent.id), String(number), ...kinds.map((kind) => String(own.filter((one) => one.kinds.includes(kind)).length))];
        });
    });
    return h("section", {}, h("h2", {}, "Kinds of argument"),
        table("In how many contributions an observer found each kind", ["Agent", "Round", ...kinds.map(capital)], rows));
}

/** What the judge makes of what it read: each time it was asked while it is open, then what that comes to. */
export function verdict(model) {
    const stage = model.stages.find((one) => one.yields === "verdict");
    const decided = model.verdict;
    if (!decided && !model.judgements.length) return null;
    const isSpoken = model.stages.some((one) => one.yields === "speech");
    const [author, several] = isSpoken ? ["Debater", "debaters"] : ["Agent", "texts"];
    const one = ({ winner, scores, criteria, byCriterion = {}, missing = {} }, caption) => {
        const names = Object.keys(Object.values(byCriterion)[0] ?? {});
        const misses = Object.keys(missing).length > 0;
        const judged = Object.keys(scores).sort((a, b) => scores[b] - scores[a]);
        const rows = judged.map((id) => [chip(model, id), points(scores[id]), ...names.map((name) => points(byCriterion[id]?.[name])), ...(misses ? [(missing[id] ?? []).join("; ") || "nothing"] : [])]);
        return [
            h("p.winner", {}, winner ? [chip(model, winner), " wins."] : "Nobody wins."),
            rows.length ? table(caption, [author, "Score", ...names.map(capital), ...(misses ? ["Misses"] : [])], rows) : "",
            Object.keys(criteria ?? {}).length ? h("dl.criteria", {}, Object.entries(criteria).map(([name, said]) => [h("dt", {}, capital(name)), h("dd", {}, said)])) : "",
        ];
    };
    const title = capital(stage?.words.noun ?? "verdict");
    if (!decided) {
        return h("section", {}, h("h2", {}, title), model.judgements.map((judgement) =>
            h("div.card", {}, h("h3", {}, `As the judge saw it the ${["first", "second", "third"][judgement.pass - 1] ?? `${judgement.pass}th`} time`), one(judgement, "Scores"))));
    }
    return h("section", {}, h("h2", {}, title), h("div.card", {}, one(decided, "Scores, 0 to 100"),
        decided.stable === undefined ? "" : h("p.note", {}, decided.stable ? `It was the same in both orders in which the ${several} were shown.` : `The order in which the ${several} were shown changed the winner.`),
        h("details", { "data-key": "verdict", open: true }, h("summary", {}, "Why"), h("div.text", {}, markdown(decided.reasoning)))));
}

/** On which side everybody is. */
export function sides(model) {
    const by = (position) => model.agents.filter((agent) => model.sideOf(agent) === position);
    if (!by("for").length && !by("against").length) return null;
    const side = (position, name) => {
        const members = by(position);
        return members.length ? h("div.side", {}, h("h3", {}, name), h("ul", {}, members.map((agent) => h("li", {}, chip(model, agent.id))))) : "";
    };
    return h("section", {}, h("h2", {}, "Sides"), h("div.sides", {}, side("for", "For"), side("against", "Against"), side("neutral", "Neutral")));
}

/** How an audience voted, and how it was swayed. */
export function polls(model) {
    const held = [...model.polls];
    if (!held.length) return null;
    const noun = (stage) => capital(model.words(stage).noun);
    // As in the report: only those count who voted each time.
    const voters = [...new Set(held.flatMap(([, votes]) => [...votes.keys()]))];
    const counted = voters.filter((voter) => held.every(([, votes]) => votes.has(voter)));
    const choices = [...new Set(held.flatMap(([, votes]) => [...votes.values()].map(({ vote }) => vote)))].sort();
    const count = (votes, choice) => counted.filter((voter) => votes.get(voter).vote === choice).length;
    const isCompared = held.length > 1;
    const change = (choice) => count(held.at(-1)[1], choice) - count(held[0][1], choice);
    const swing = (choice) => (change(choice) > 0 ? `+${change(choice)}` : change(choice) < 0 ? `−${-change(choice)}` : "0");
    const most = Math.max(...choices.map(change));
    const gained = choices.filter((choice) => change(choice) === most);
    return h("section", {}, h("h2", {}, "Polls"),
        isCompared ? h("p", {}, most > 0 && gained.length === 1 ? ["Swing: ", h("strong", {}, `${gained[0]} ${swing(gained[0])}`), ", the choice that gained most."] : "No choice gained more than the others.") : "",
        table("Votes for each choice", ["Choice", ...held.map(([stage]) => noun(stage)), ...(isCompared ? ["Swing"] : [])],
            choices.map((choice) => [choice, ...held.map(([, votes]) => String(count(votes, choice))), ...(isCompared ? [swing(choice)] : [])])),
        table("Each agent's votes", ["Voter", ...held.map(([stage]) => noun(stage))],
            voters.map((voter) => [[chip(model, voter), counted.includes(voter) ? "" : " not counted"], ...held.map(([, votes]) => votes.get(voter)?.vote ?? "no vote")])));
}

/** Ballots, and what they come to. */
export function votes(model) {
    const ballots = model.texts("ballot");
    const voting = model.voting;
    if (!ballots.length && !voting) return null;
    const rows = ballots.map((one) => [
        chip(model, one.key.agentId),
        one.metadata.choice ?? (one.target ? chip(model, one.target) : "–"),
        one.metadata.confidence === undefined ? "–" : String(Math.round(one.metadata.confidence)),
        one.text,
    ]);
    const tally = voting && Object.entries(voting.tally).sort(([, a], [, b]) => b - a);
    const of = voting?.count;
    return h("section", {}, h("h2", {}, "Votes"),
        ballots.length ? table("Ballots", ["Who", "For", "Confidence", "Why"], rows, { class: "ballots" }) : "",
        tally ? h("p.winner", {}, voting.winner ? [chip(model, voting.winner), " wins. "] : model.verdict?.winner || model.solution?.base ? "The vote decided nothing. " : "Nobody wins. ",
            tally.map(([agent, count], place) => [place ? ", " : "", `${model.agent(agent).name} ${count}`]),
            voting.decidedBy === "judge" ? "; the judge broke the tie" : "", ".") : "",
        of ? h("p.note", {}, `Rule: ${of.rule}; ${of.cast} of ${of.voters} voted (quorum: ${of.quorum}).`) : "",
        of?.dissent?.length ? h("details", { "data-key": "dissent" }, h("summary", {}, "Dissent"), of.dissent.map((one) =>
            h("div.card", {}, h("p", {}, chip(model, one.agentId), " for ", chip(model, one.preferred)), h("div.text", {}, markdown(one.reason))))) : "");
}
