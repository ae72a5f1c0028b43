"""A recording proxy between an agent and the model's server: what every system costs is counted here, in the same way.

Owns the counting. Answers pass unchanged, but for one thing: a streamed answer is asked to tell its usage, and the chunk with it is kept
from an agent that did not ask for it. Requests to anywhere else (agents are told to use this as their HTTP proxy) are refused and named: that is
how calling home shows.
"""

import http.client
import json
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

READ_PER_SECOND, WRITTEN_PER_SECOND = 120, 25
# What a server may need for one answer, in seconds; every try has a shorter limit of its own.
PATIENCE = 900


@dataclass
class Usage:
    """What one try asked for. Tokens as the server counted them; `read` includes `cached`."""
    requests: int = 0
    answers: int = 0
    # The server said no, for example to a prompt above its window; it could not be reached; an answer that did not come whole.
    refused: int = 0
    failed: int = 0
    cut: int = 0
    # Answers of which the server told no tokens.
    unmeasured: int = 0
    read: int = 0
    cached: int = 0
    # Of `cached`, no more than this try itself had sent and got before: what an earlier try left in the server's cache is not in it.
    cached_own: int = 0
    written: int = 0
    seconds: float = 0.0
    called_home: list = field(default_factory=list)
    longest: int = 0
    # When the first request came, on the monotonic clock.
    first: float | None = None

    def add(self, usage, seconds):
        """An answer that came whole."""
        self.answers += 1
        self.seconds += seconds
        counted = counts(usage)
        if counted is None:
            self.unmeasured += 1
            return
        read, cached, written = counted
        self.read, self.cached, self.written = self.read + read, self.cached + cached, self.written + written
        self.cached_own += min(cached, self.longest)
        self.longest = max(self.longest, read + written)

    def told(self):
        """As a part of a result line."""
        return {
            "requests": self.requests, "answers": self.answers, "refused": self.refused, "failed": self.failed, "cut": self.cut,
            "unmeasured": self.unmeasured, "tokens_read": self.read, "tokens_cached": self.cached, "tokens_written": self.written,
            "tokens_cached_own": self.cached_own, "model_seconds": round(self.seconds, 2), "called_home": self.called_home,
            "model_seconds_by_formula": formula(self.read, self.cached, self.written),
            "model_seconds_without_foreign_cache": formula(self.read, self.cached_own, self.written),
        }


def formula(read, cached, written):
    """Model-seconds that are the same on every machine."""
    return round(max(read - cached, 0) / READ_PER_SECOND + written / WRITTEN_PER_SECOND, 2)


def counts(usage):
    """(read, cached, written) of an answer's `usage`; None where it tells nothing."""
    if not isinstance(usage, dict) or not isinstance(usage.get("prompt_tokens"), int):
        return None
    details = usage.get("prompt_tokens_details") or {}
    return usage["prompt_tokens"], details.get("cached_tokens") or 0, usage.get("completion_tokens") or 0


class Lines:
    """Takes a stream of server-sent events apart: gives what may pass on, keeps what it says about usage."""

    def __init__(self, hide_usage):
        self.hide_usage, self.usage, self.done, self.rest = hide_usage, None, False, b""

    def feed(self, data):
        out = b""
        self.rest += data
        while (at := self.rest.find(b"\n")) >= 0:
            line, self.rest = self.rest[:at + 1], self.rest[at + 1:]
            if not self.is_usage_alone(line):
                out += line
        return out

    def is_usage_alone(self, line):
        if not line.startswith(b"data:"):
            return False
        text = line[5:].strip()
        if text == b"[DONE]":
            self.done = True
            return False
        try:
            event = json.loads(text)
        except ValueError:
            return False
        if not isinstance(event, dict) or not event.get("usage"):
            return False
        self.usage = event["usage"]
        return self.hide_usage and not event.get("choices")


class Proxy:
    """Listens on loopback. One try at a time: `begin` starts counting anew, `end` cuts what is still open and gives the count."""

    def __init__(self, upstream):
        parts = urlsplit(upstream)
        self.host, self.port = parts.hostname, parts.port or 80
        self.prefix = parts.path.rstrip("/").removesuffix("/v1")
        if parts.scheme != "http" or not self.host:
            raise SystemExit(f"{upstream}: the server has to be an http:// address")
        self.usage, self.lock, self.open = Usage(), threading.Lock(), set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"proxy": self}))
        self.server.daemon_threads = True
        self.at = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self):
        self.end()
        with self.lock:
            self.usage = Usage()

    def end(self):
        """The server stops writing an answer that nobody waits for, so that the next try does not wait for it."""
        with self.lock:
            for connection in list(self.open):
                shut(connection)
            return self.usage

    def close(self):
        self.end()
        self.server.shutdown()


def shut(connection):
    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy = None

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.refuse(self.path)

    def do_GET(self):
        self.take()

    def do_POST(self):
        self.take()

    def refuse(self, where):
        with self.proxy.lock:
            if where not in self.proxy.usage.called_home:
                self.proxy.usage.called_home.append(where)
        self.answer(403, b"{\"error\":{\"message\":\"there is no way out of here\"}}")

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def take(self):
        if not self.path.startswith("/"):
            return self.refuse(urlsplit(self.path).netloc)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        counted = self.command == "POST" and self.path.rstrip("/").endswith("completions")
        body, hide = ask_for_usage(body) if counted else (body, False)
        # Kept until the end: an answer is the try's that asked for it.
        with self.proxy.lock:
            usage = self.proxy.usage
            usage.requests += counted
            if counted and usage.first is None:
                usage.first = time.monotonic()
        connection = http.client.HTTPConnection(self.proxy.host, self.proxy.port, timeout=PATIENCE)
        try:
            self.pass_on(connection, body, hide, usage if counted else Usage())
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            with self.proxy.lock:
                self.proxy.open.discard(connection)
            connection.close()

    def pass_on(self, connection, body, hide, usage):
        began = time.monotonic()
        headers = {name: self.headers[name] for name in ("Content-Type", "Accept", "Authorization") if self.headers[name]}
        try:
            connection.connect()
            with self.proxy.lock:
                self.proxy.open.add(connection)
            connection.request(self.command, self.proxy.prefix + self.path, body=body, headers=headers)
            self.wait(connection)
            response = connection.getresponse()
        except Gone:
            usage.cut += 1
            raise
        except (OSError, http.client.HTTPException) as why:
            usage.failed += 1
            return self.answer(502, json.dumps({"error": {"message": f"the server gives no answer: {why}"}}).encode())
        kind = response.headers.get("Content-Type", "application/json")
        if kind.startswith("text/event-stream"):
            return self.stream(response, kind, hide, usage, began)
        try:
            data = response.read()
        except (OSError, http.client.HTTPException):
            usage.cut += 1
            raise
        if response.status >= 400:
            usage.refused += 1
        else:
            usage.add(usage_of(data), time.monotonic() - began)
        self.answer(response.status, data, kind)

    def wait(self, connection):
        """Until the answer begins, or until the agent is gone: then nobody shall write it."""
        while True:
            ready, _, _ = select.select([connection.sock, self.connection], [], [], PATIENCE)
            if connection.sock in ready or not ready:
                return
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise Gone("the agent is gone")
            time.sleep(0.05)

    def stream(self, response, kind, hide, usage, began):
        self.send_response(response.status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        lines = Lines(hide)
        try:
            while data := response.read1(65536):
                if out := lines.feed(data):
                    self.chunk(out)
            if lines.rest:
                self.chunk(lines.rest)
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            usage.cut += 1
            raise
        if lines.done or lines.usage:
            usage.add(lines.usage, time.monotonic() - began)
        else:
            usage.cut += 1

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class Gone(OSError):
    """The agent hung up."""


def ask_for_usage(body):
    """The request, with its streamed answer asked to tell usage; and whether the agent had not asked for that itself."""
    try:
        asked = json.loads(body)
    except ValueError:
        return body, False
    options = asked.get("stream_options") or {} if isinstance(asked, dict) else {}
    if not isinstance(asked, dict) or not asked.get("stream") or options.get("include_usage"):
        return body, False
    asked["stream_options"] = {**options, "include_usage": True}
    return json.dumps(asked).encode(), True


def usage_of(data):
    try:
        return json.loads(data).get("usage")
    except (ValueError, AttributeError):
        return None
