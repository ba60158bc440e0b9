"""Stands in for a model server with OpenAI's interface, and for what Ollama says of itself: model_stub.py PORT MODEL…"""
import json
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODELS = sys.argv[2:]
# A stream has so many parts. "wait N" as the question has each of them take N seconds.
PARTS = 4


class Stub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "stub"} for name in MODELS]
        tags = [{"name": name, "model": name, "size": 1, "digest": "0"} for name in MODELS]
        answers = {"/v1/models": {"object": "list", "data": models}, "/api/tags": {"models": tags}, "/api/ps": {"models": []}}
        self.answer(answers.get(self.path, {}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked.get("stream"):
            return self.stream(asked["model"], asked["messages"][-1]["content"])
        said = f"A stub, in the place of {asked['model']}. You asked: {asked['messages'][-1]['content']}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        completion = {"id": f"stub-{uuid.uuid4()}", "object": "chat.completion", "created": 0, "model": asked["model"]}
        self.answer({**completion, "choices": [choice], "usage": usage})

    def stream(self, model, question):
        pause = int(question.removeprefix("wait ")) if question.startswith("wait ") else 0
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        chunk = {"id": f"stub-{uuid.uuid4()}", "object": "chat.completion.chunk", "created": 0, "model": model}
        for part in range(1, PARTS + 1):
            delta = {"role": "assistant", "content": f"Part {part}. "}
            self.event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            time.sleep(pause)
        self.event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, content):
        self.wfile.write(f"data: {json.dumps(content)}\n\n".encode())
        self.wfile.flush()

    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", int(sys.argv[1])), Stub).serve_forever()
