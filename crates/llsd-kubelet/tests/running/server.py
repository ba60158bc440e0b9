import http.server, json, os, signal, socket, sys, urllib.request

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return type(error).__name__

def seen():
    return {
        "env": dict(os.environ),
        "arguments": sys.argv[1:],
        "config": read("/etc/llama-stack/config.yaml"),
        "left out": read("/etc/llama-stack/other.yaml"),
        "from init": read("/shared/note"),
        "starts": len(read("/.llama/starts")),
        "ids": [os.getuid(), os.getgid(), os.getgroups(), os.getpid()],
        "hostname": socket.gethostname(),
        "home of the host": os.path.exists("/root/.bashrc") or os.listdir("/home") != [],
        "writable config": os.access("/etc/llama-stack", os.W_OK),
    }

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/stub":
            body = urllib.request.urlopen("http://vllm:8000/v1/models").read()
        else:
            body = json.dumps(seen()).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"got " + body)

with open("/.llama/starts", "a") as file:
    file.write("x")
http.server.ThreadingHTTPServer(("", 8321), Answer).serve_forever()
