"""Asks a server without a pause, on a new connection each time, and tells at / what came of it: client.py PORT URL MODEL
ASKERS [AUTHORITY]"""
import json
import ssl
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, URL, MODEL, ASKERS = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
TRUSTED = ssl.create_default_context(cadata=sys.argv[5]) if len(sys.argv) > 5 else None
QUESTION = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Who answers?"}]}).encode()
asked, failed, lock = 0, [], threading.Lock()


def ask():
    request = urllib.request.Request(f"{URL}/v1/chat/completions", QUESTION, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60, context=TRUSTED) as answer:
        json.load(answer)["choices"][0]["message"]["content"]


def ask_again_and_again():
    global asked
    while True:
        begun = time.time()
        try:
            ask()
            wrong = None
        except Exception as error:
            wrong = f"{error!r} after {time.time() - begun:.1f} s"
        with lock:
            asked += 1
            if wrong:
                failed.append(wrong)
        time.sleep(0.2)


class Told(BaseHTTPRequestHandler):
    def do_GET(self):
        with lock:
            body = json.dumps({"asked": asked, "failed": failed}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


for _ in range(ASKERS):
    threading.Thread(target=ask_again_and_again, daemon=True).start()
ThreadingHTTPServer(("", PORT), Told).serve_forever()
