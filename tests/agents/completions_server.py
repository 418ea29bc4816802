"""A small server of the OpenAI protocol, in this process: records requests, plays a script."""

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def event(text="", **choice):
    """One event of a completions stream."""
    return data({"choices": [{"text": text, "index": 0, **choice}]})


def data(value):
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def answer(*texts, finish="stop", **choice):
    """A whole stream: one event for each text, the end, and the mark after it."""
    return [*(event(text, **choice) for text in texts), event(finish_reason=finish), DONE]


DONE = b"data: [DONE]\n\n"


class Served:
    """What a test sees of the server.

    Attributes:
        scripts: one for each request to come, the last one for all further ones: a list of byte
            strings to send as a stream, a (status, headers, body), or a function of the handler.
        requests: (path, headers, body) of each request.
        gone: set when a client has hung up before its answer ended.
    """

    def __init__(self):
        self.scripts, self.requests, self.gone = [], [], threading.Event()
        self.url = ""

    def bodies(self):
        return [json.loads(body) for _, _, body in self.requests]

    def next(self):
        return self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]


@contextmanager
def serving():
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            served.requests.append((self.path, dict(self.headers), body))
            script = served.next()
            if callable(script):
                script(self, served)
            elif isinstance(script, tuple):
                reply(self, *script)
            else:
                with suppress(OSError):  # the client may have heard enough
                    stream(self, script)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(handler, status, headers, body):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def stream(handler, parts):
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.end_headers()
    for part in parts:
        handler.wfile.write(part)
        handler.wfile.flush()


def first_and_silence(handler, served):
    """One event, and then nothing until the client hangs up."""
    stream(handler, [event("Well")])
    silence(handler, served)


def silence(handler, served):
    if not handler.connection.recv(1):
        served.gone.set()


def endless(handler, served):
    try:
        stream(handler, [event("a")])
        while True:
            handler.wfile.write(event("a"))
    except OSError:
        served.gone.set()
