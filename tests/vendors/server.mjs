// A server that speaks as the vendors' do, keeps every request, and answers "Use a queue.".
//
//   node server.mjs <file for requests>        prints its port
//
// A model with "fail" in its name is answered with 500, one with "length" with an answer that is cut, one with "tool"
// with a call of a tool. Whoever asks again after that call waits as long as models take at the least: a program that goes on
// has to be ended before it is answered.
import { createServer } from "node:http";
import { appendFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const kept = process.argv[2];
const TO_THINK = 1000;
let calledTool = false;
const events = (all) => all.map(([name, data]) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`).join("");

function anthropic(model) {
  const cut = model.includes("length"), tool = model.includes("tool");
  const block = tool
    ? [{ type: "tool_use", id: "tu_1", name: "Read", input: {} }, { type: "input_json_delta", partial_json: '{"file_path":"/etc/passwd"}' }]
    : [{ type: "text", text: "" }, { type: "text_delta", text: "Use a queue." }];
  return events([
    ["message_start", { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 200, cache_creation_input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 1 } } }],
    ["content_block_start", { type: "content_block_start", index: 0, content_block: block[0] }],
    ["content_block_delta", { type: "content_block_delta", index: 0, delta: block[1] }],
    ["content_block_stop", { type: "content_block_stop", index: 0 }],
    ["message_delta", { type: "message_delta", delta: { stop_reason: tool ? "tool_use" : cut ? "max_tokens" : "end_turn", stop_sequence: null }, usage: { output_tokens: 70 } }],
    ["message_stop", { type: "message_stop" }],
  ]);
}

function responses(model) {
  const usage = { input_tokens: 1200, input_tokens_details: { cached_tokens: 1000 }, output_tokens: 70, output_tokens_details: { reasoning_tokens: 50 }, total_tokens: 1270 };
  const item = model.includes("tool")
    ? { type: "function_call", id: "fc_1", call_id: "call_1", name: "shell", arguments: '{"command":["cat","/etc/passwd"]}' }
    : { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Use a queue.", annotations: [] }] };
  return events([
    ["response.created", { type: "response.created", response: { id: "resp_1", object: "response", status: "in_progress", output: [] } }],
    ["response.output_item.done", { type: "response.output_item.done", output_index: 0, item }],
    ["response.completed", { type: "response.completed", response: { id: "resp_1", object: "response", status: "completed", output: [item], usage } }],
  ]);
}

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    let bytes = Buffer.concat(parts);
    const coding = request.headers["content-encoding"];
    if (coding === "gzip") bytes = gunzipSync(bytes);
    let body;
    try { body = JSON.parse(bytes.toString() || "null"); } catch { body = bytes.toString(); }
    appendFileSync(kept, JSON.stringify({ method: request.method, url: request.url, body }) + "\n");
    const model = body?.model ?? "";
    const wait = calledTool ? TO_THINK : 0;
    calledTool ||= model.includes("tool") && request.method === "POST";
    const send = (status, type, text) => setTimeout(() => { response.writeHead(status, { "content-type": type }); response.end(text); }, wait);
    if (request.method !== "POST") return send(404, "application/json", "{}");
    if (model.includes("fail")) return send(500, "application/json", JSON.stringify({ type: "error", error: { type: "api_error", message: "out of order", code: 500, status: "INTERNAL" } }));
    const path = request.url.split("?")[0];
    if (path.endsWith("/messages")) return send(200, "text/event-stream", anthropic(model));
    if (path.endsWith("/responses")) return send(200, "text/event-stream", responses(model));
    send(404, "application/json", "{}");
  });
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
