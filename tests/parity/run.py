#!/usr/bin/env python3
"""Holds `quorate probe` against curl, openssl s_client, dig and ping: one server for each fault, all on loopback,
and the verdicts side by side. Exits 1 if one differs, 77 if a tool is missing.

    tests/parity/run.py target/debug/quorate
"""

import datetime
import json
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

TIMEOUT = 2
HERE = "127.0.0.1"


def serve(handle):
    """A server that gives each connection to `handle`; its port."""
    listener = socket.socket()
    listener.bind((HERE, 0))
    listener.listen(16)

    def one(connection):
        try:
            handle(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def forever():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    threading.Thread(target=forever, daemon=True).start()
    return listener.getsockname()[1]


def head_of(connection):
    """Reads a request up to the end of its head."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(4096)
        if not piece:
            break
        head += piece
    return head


def saying(answer):
    def handle(connection):
        head_of(connection)
        connection.sendall(answer)

    return handle


def silent(connection):
    while connection.recv(4096):
        pass


def saying_then_silent(answer):
    def handle(connection):
        head_of(connection)
        connection.sendall(answer)
        silent(connection)

    return handle


def resetting(connection):
    head_of(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closed_port():
    """A port on which nobody listens."""
    free = socket.socket()
    free.bind((HERE, 0))
    port = free.getsockname()[1]
    free.close()
    return port


def ok(body=b"fine"):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Authority:
    """Certificates made by openssl: a root, one intermediate, leaves with the faults that are asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.serial = 1
        self.root = self.ca("root", None)
        self.between = self.ca("between", self.root)

    def run(self, *args, text=None):
        subprocess.run(["openssl", *args], input=text, check=True, capture_output=True, cwd=self.folder)

    def key(self, name):
        self.run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")

    def ca(self, name, issuer):
        return self.made(name, issuer, "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n")

    def leaf(self, name, host, issuer, days=(-1, 90)):
        return self.made(name, issuer, f"basicConstraints=CA:false\nsubjectAltName=DNS:{host}\n", days)

    def made(self, name, issuer, extensions, days=(-1, 365)):
        self.key(name)
        now = datetime.datetime.now(datetime.timezone.utc)
        start, end = ((now + datetime.timedelta(days=day)).strftime("%Y%m%d%H%M%SZ") for day in days)
        self.run("req", "-new", "-key", f"{name}.key", "-subj", f"/CN=parity {name}", "-out", f"{name}.csr")
        signer = issuer or name
        with open(os.path.join(self.folder, f"{name}.cnf"), "w", encoding="ascii") as file:
            file.write(
                "[ca]\ndefault_ca=here\n[here]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\n"
                "policy=any\nunique_subject=no\n[any]\ncommonName=supplied\n[ext]\n" + extensions
            )
        open(os.path.join(self.folder, "index"), "w", encoding="ascii").close()
        with open(os.path.join(self.folder, "serial"), "w", encoding="ascii") as file:
            file.write(f"{self.serial:04X}\n")
        self.serial += 1
        own = ["-selfsign"] if issuer is None else ["-cert", f"{signer}.pem"]
        self.run(
            "ca", "-batch", "-notext", "-config", f"{name}.cnf", "-extensions", "ext", "-startdate", start,
            "-enddate", end, "-keyfile", f"{signer}.key", *own, "-in", f"{name}.csr", "-out", f"{name}.pem",
        )  # fmt: skip
        return name

    def path(self, name):
        return os.path.join(self.folder, name)

    def server(self, leaf, *chain):
        """A server that shows the leaf and the chain and answers any request."""
        bundle = self.path(f"{leaf}.bundle")
        with open(bundle, "w", encoding="ascii") as file:
            for name in (leaf, *chain):
                file.write(open(self.path(f"{name}.pem"), encoding="ascii").read())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(bundle, self.path(f"{leaf}.key"))

        def handle(connection):
            with context.wrap_socket(connection, server_side=True) as secure:
                saying(ok())(secure)

        return serve(handle)


def dns_server():
    """Answers by name: `a.test` has an address, `gone.test` does not exist, `broken.test` is refused by a fault of
    the server, `mute.test` is not answered."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((HERE, 0))

    def forever():
        while True:
            query, client = sock.recvfrom(4096)
            end = query.index(b"\0", 12) + 5
            question = query[12:end]
            name = question[: question.index(b"\0")]
            kind = struct.unpack("!H", question[-4:-2])[0]
            if name.startswith(b"\x04mute"):
                continue
            code = 3 if name.startswith(b"\x04gone") else 2 if name.startswith(b"\x06broken") else 0
            answer = b""
            if code == 0 and kind == 1:
                answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 7])
            if code == 0 and kind == 16:
                answer = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 60, 6) + b"\x05hello"
            head = query[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, 1 if answer else 0, 0, 0)
            sock.sendto(head + question + answer, client)

    threading.Thread(target=forever, daemon=True).start()
    return sock.getsockname()[1]


def curl(url, ca, *more):
    """What curl makes of it, in the words of this script."""
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--location", "--max-redirs", "5", "--noproxy", "*",
         "--max-time", str(TIMEOUT), "--cacert", ca, "--output", os.devnull, *more, url],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stderr.lower()
    if done.returncode == 60:
        for word, verdict in [
            ("expired", "tls expired"), ("not yet valid", "tls not yet valid"), ("self", "tls untrusted"),
            ("name", "tls name"), ("local issuer", "tls chain"),
        ]:  # fmt: skip
            if word in said:
                return verdict
    return {
        0: "pass", 1: "not HTTP", 6: "no such name", 7: "refused", 8: "not HTTP", 18: "cut short", 22: "status",
        23: "encoding", 28: "time out", 35: "handshake", 47: "redirects", 52: "no answer", 56: "reset",
        61: "encoding",
    }.get(done.returncode, f"curl {done.returncode}: {done.stderr.strip()}")  # fmt: skip


def s_client(port, ca, host="localhost"):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"{HERE}:{port}", "-servername", host, "-verify_hostname", host,
         "-CAfile", ca],
        input="", capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    code = re.search(r"Verify return code: (\d+)", done.stdout)
    return {
        0: "pass", 9: "tls not yet valid", 10: "tls expired", 18: "tls untrusted", 19: "tls untrusted",
        20: "tls chain", 21: "tls chain", 62: "tls name",
    }.get(int(code.group(1)) if code else -1, f"openssl: {done.stderr.strip()[-200:]}")  # fmt: skip


def dig(port, name, kind):
    done = subprocess.run(
        ["dig", f"@{HERE}", "-p", str(port), name, kind, "+tries=1", f"+time={TIMEOUT}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    status = re.search(r"status: (\w+)", done.stdout)
    return {"NOERROR": "pass", "NXDOMAIN": "no such name", "SERVFAIL": "server failure"}.get(
        status.group(1) if status else "", "time out" if done.returncode == 9 else done.stdout.strip()[-200:]
    )


def ping(host):
    done = subprocess.run(["ping", "-c", "1", "-W", str(TIMEOUT), host], capture_output=True, check=False)
    return {0: "pass", 1: "no reply"}.get(done.returncode, done.stderr.decode().strip()[-200:])


OURS = {
    "connect_refused": "refused", "connect_reset": "reset", "status": "status", "redirect_limit": "redirects",
    "body_truncated": "cut short", "body_encoding": "encoding", "http_protocol": "not HTTP",
    "tls_expired": "tls expired", "tls_not_yet_valid": "tls not yet valid", "tls_name_mismatch": "tls name",
    "tls_untrusted": "tls untrusted", "tls_incomplete_chain": "tls chain", "tls_handshake": "handshake",
    "dns_nxdomain": "no such name", "dns_servfail": "server failure", "icmp_no_reply": "no reply",
    "connect_timeout": "time out", "tls_timeout": "time out", "http_timeout_first_byte": "time out",
    "http_timeout_body": "time out", "dns_timeout": "time out",
}  # fmt: skip


def quorate(binary, url, ca, check=None):
    args = [binary, "probe", "--json", "--timeout", str(TIMEOUT), "--allow-net", "127.0.0.0/8", url]
    text = None
    if check:
        args += ["--check", "-"]
        text = json.dumps(check)
    done = subprocess.run(
        args, input=text, capture_output=True, text=True, check=False, env={**os.environ, "SSL_CERT_FILE": ca}
    )
    if not done.stdout.startswith("{"):
        return f"quorate {done.returncode}: {done.stderr.strip()}", ""
    seen = json.loads(done.stdout)
    verdict = "pass" if seen["outcome"] == "pass" else OURS.get(seen["class"], seen["class"])
    return verdict, seen["message"]


def scenarios(folder):
    """Name, what the other tool says, and what is probed: a URL and, if need be, a check."""
    made = Authority(folder)
    ca = made.path("root.pem")
    good = made.server(made.leaf("good", "localhost", made.between), made.between)
    expired = made.server(made.leaf("expired", "localhost", made.between, (-40, -2)), made.between)
    early = made.server(made.leaf("early", "localhost", made.between, (2, 40)), made.between)
    other = made.server(made.leaf("other", "elsewhere.test", made.between), made.between)
    alone = made.server("good")
    own = made.server(made.leaf("own", "localhost", None))
    mute = serve(silent)
    plain = serve(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
    names = dns_server()
    gzip = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nno gzip!"
    web = [
        ("HTTP 200", saying(ok())),
        ("HTTP 204 without a body", saying(b"HTTP/1.1 204 No Content\r\n\r\n")),
        ("HTTP 404", saying(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")),
        ("HTTP 503", saying(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
        ("chunked", saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n")),
        ("a body cut short", saying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntwenty bytes, or so.")),
        ("silence after the request", silent),
        ("silence within the body", saying_then_silent(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")),
        ("a reset after the request", resetting),
        ("another protocol", saying(b"220 mail.example ESMTP\r\n")),
        ("redirects in a circle", saying(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")),
        ("a body that is not gzip", saying(gzip)),
    ]
    for name, handle in web:
        url = f"http://{HERE}:{serve(handle)}/"
        more = ["--compressed"] if "gzip" in name else []
        yield name, "curl", curl(url, ca, *more), url, None, ca
    for name, url in [
        ("a port on which nobody listens", f"http://{HERE}:{closed_port()}/"),
        ("a name that does not exist", "http://no-such-name.invalid/"),
        ("HTTPS", f"https://localhost:{good}/"),
        ("HTTPS on a plain port", f"https://localhost:{plain}/"),
        ("HTTPS on a silent port", f"https://localhost:{mute}/"),
        ("HTTPS, certificate expired", f"https://localhost:{expired}/"),
        ("HTTPS, certificate for another name", f"https://localhost:{other}/"),
    ]:
        yield name, "curl", curl(url, ca), url, None, ca
    for name, port in [
        ("TLS, a good chain", good),
        ("TLS, expired", expired),
        ("TLS, not valid yet", early),
        ("TLS, another name", other),
        ("TLS, intermediate not sent", alone),
        ("TLS, self-signed", own),
    ]:
        yield name, "openssl", s_client(port, ca), f"tls://localhost:{port}", None, ca
    for name, host, kind in [
        ("DNS, an address", "a.test", "A"),
        ("DNS, a text", "a.test", "TXT"),
        ("DNS, no such name", "gone.test", "A"),
        ("DNS, a failing server", "broken.test", "A"),
        ("DNS, a mute server", "mute.test", "A"),
    ]:
        yield name, "dig", dig(names, host, kind), f"dns://{HERE}:{names}/{host}?type={kind}", None, ca
    yield "ping, this machine", "ping", ping(HERE), f"icmp://{HERE}", None, ca


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else "target/debug/quorate"
    missing = [tool for tool in ("curl", "openssl", "dig", "ping") if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not on this machine")
        return 77
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        rows = list(scenarios(folder))
        for name, tool, theirs, url, check, ca in rows:
            ours, message = quorate(binary, url, ca, check)
            same = ours == theirs
            differ += not same
            print(f"{'ok ' if same else 'OFF'} {name:38} {tool:8} {theirs:18} quorate {ours:18} {'' if same else message}")
    print(f"{len(rows)} scenarios, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
