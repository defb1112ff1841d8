"""A model's server for tests of sets: the same question has the same answer, and every question is noted.

Each answer names its question by a hash, `call-0123456789ab`, so a record shows which questions it has answers of. With
`--kills`, the server stops the process that asked, which names itself in the header `X-Worker`, in five ways: before its
answer, just after it, a little later, with SIGTERM before its answer, and, once, with SIGSTOP during its call: then the
file LOG.stopped names the process.

    model.py LOG [--kills] [--delay SECONDS]

LOG gets a line of JSON for each question: when it came, and its hash. Answers after the delay. Prints its port, and ends
when its standard input does.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Every so many new questions, their worker is stopped.
EVERY = 18

log = open(sys.argv[1], "a", buffering=1)
kills = "--kills" in sys.argv
delay = float(sys.argv[sys.argv.index("--delay") + 1]) if "--delay" in sys.argv else 0.05
lock = threading.Lock()
seen = set()


def sample(schema, name):
    """The smallest value of a JSON Schema, with the question's hash in its texts."""
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], name)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {key: sample(value, name) for key, value in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample(schema["items"], name)] * max(1, schema.get("minItems", 0))
    if kind in ("number", "integer"):
        return 70
    return False if kind == "boolean" else name


def note(name, worker):
    """Notes a question. Returns how its worker is stopped, if it is."""
    with lock:
        log.write(json.dumps({"at": time.time(), "call": name}) + "\n")
        is_new = name not in seen
        seen.add(name)
        if kills and worker and is_new and len(seen) % EVERY == 0:
            kill = len(seen) // EVERY
            return "stop" if kill == 3 else ["before", "after", "later", "term"][kill % 4]
    return None


def send(worker, number):
    try:
        os.kill(worker, number)
    except ProcessLookupError:
        pass


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = json.dumps([body["model"], body["messages"]])
        name = "call-" + hashlib.sha256(asked.encode()).hexdigest()[:12]
        worker = int(self.headers.get("X-Worker") or 0)
        how = note(name, worker)
        if how == "before":
            send(worker, signal.SIGKILL)
        if how == "term":
            send(worker, signal.SIGTERM)
        time.sleep(delay)
        if how == "stop":
            # Calls that it made at the same time are under way by now.
            send(worker, signal.SIGSTOP)
            with open(sys.argv[1] + ".stopped", "w") as stopped:
                stopped.write(f"{worker}\n")
        text = f"1. [minor] Load: it was not measured, says {name}. Resolved by: a test.\n"
        form = body.get("response_format", {})
        if form.get("type") == "json_schema":
            text = json.dumps(sample(form["json_schema"]["schema"], name))
        answer = json.dumps({
            "id": name,
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": len(asked) // 4, "completion_tokens": 20, "total_tokens": len(asked) // 4 + 20},
        }).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        if how == "later":
            time.sleep(0.03)
        if how in ("after", "later"):
            send(worker, signal.SIGKILL)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
