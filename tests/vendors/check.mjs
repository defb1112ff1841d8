// Holds what reached the server, and what was left behind, against what was asked.
//
//   node check.mjs <place> plain|tool|length|debate <program>
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const [place, kind, program] = process.argv.slice(2);
const faults = [];
const expect = (holds, fault) => holds || faults.push(fault);
const prompt = readFileSync(join(place, "prompt"), "utf8");
const said = readFileSync(join(place, "said"), "utf8");
const lines = readFileSync(join(place, "requests.jsonl"), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const asked = lines.filter((line) => line.method === "POST");
const all = JSON.stringify(asked);

// The texts of a request, wherever its API has them.
const texts = (value) =>
  Array.isArray(value) ? value.flatMap(texts)
  : value && typeof value === "object" ? Object.values(value).flatMap(texts)
  : typeof value === "string" ? [value] : [];

const [least, most] = kind === "debate" ? [10, 60] : kind === "tool" ? [1, 2] : [1, 1];
expect(asked.length >= least && asked.length <= most, `${asked.length} requests`);
expect(!all.includes("SECRET-OF-HOME") && !all.includes("root:x:0"), "a file's content was sent");
// Codex adds the user's own AGENTS.md of its home, which is not planted here.
expect(!all.includes("PLANTED"), "what was planted was sent");
if (kind === "debate") {
  expect(asked.every(({ body }) => texts(body).some((text) => text.startsWith("Answer what follows.") && text.includes(prompt))), "our text is not in every request");
  for (const path of ["/messages", "/responses"]) expect(asked.some(({ url }) => url.split("?")[0].endsWith(path)), `nothing was asked at ${path}`);
  expect(said.includes("Use a queue.") && said.includes("Saved debate to") && !said.includes("failed: exit code"), "the debate has no answer");
} else {
  const ours = `Answer what follows.\n\n${prompt}`;
  expect(texts(asked[0]?.body).some((text) => text.trim() === ours.trim()), "our text is not in the request as it is");
  expect(texts(asked[0]?.body).some((text) => text.includes("SYSTEM-OF-OURS {file:~/secret} {env:HOME}")), "our system text is not in the request");
}
const tools = asked.flatMap(({ body }) => body?.tools ?? []);
expect(tools.length === 0, `${tools.length} tools are offered`);
if (kind === "plain") expect(said.includes("text Use a queue.") && said.includes("input_tokens: 1200, cached_input_tokens: 1000") && said.includes("output_tokens: 70"), "the answer or its figures are not there");
if (kind === "tool") expect(said.includes("failed tool-used"), "a tool was used and nobody says so");
if (kind === "length") expect(said.includes("finish Length"), "the answer is not marked as cut");

// Nothing of it is kept: no session, no history, no directory.
const files = (directory) => !existsSync(directory) ? [] : readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
  const path = join(directory, entry.name);
  return entry.isDirectory() ? files(path) : entry.isFile() ? [path] : [];
});
const keeps = (path) => statSync(path).size < 64e6 && readFileSync(path, "latin1").includes("Answer what follows.");
for (const path of [...files(join(place, "home")), ...files(join(place, "temporary"))].filter(keeps)) faults.push(`${path} keeps what was asked`);
for (const name of readdirSync(join(place, "temporary"))) expect(!name.startsWith("dialectic-"), `${name} was left behind`);

if (faults.length) {
  console.error(faults.join("; "));
  process.exit(1);
}
