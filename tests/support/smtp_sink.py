"""A mail server for the tests, on aiosmtpd: prints its port, then one JSON line per mail taken.

smtp_sink.py CERT KEY OPTIONS, the options as JSON:
  security   starttls (required), tls (from the first byte) or none
  login      true: user svc, password secret, or nothing is taken
  refuse     addresses that get 550 for ever
  defer      addresses that get 451 once
  mute       true: greets nobody
Lines on its standard input tell it more: "hold" keeps the answer to every mail back from now on, "go"
gives it, "mark" prints {"mark": true} after everything taken until then.
It ends when its standard input does, so it never outlives the test.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

cert, key, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
security = options.get("security", "starttls")
deferred = set()
gate = asyncio.Event()
gate.set()


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address in options.get("refuse", []):
            return "550 5.1.1 nobody of this name here"
        if address in options.get("defer", []) and address not in deferred:
            deferred.add(address)
            return "451 4.7.1 greylisted, come back"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        login = getattr(session, "auth_data", None)
        say(
            {
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "tls": session.ssl is not None or security == "tls",
                "user": login.login.decode() if login else None,
                "raw": envelope.content.decode("utf8", "replace"),
            }
        )
        await gate.wait()
        return "250 2.0.0 queued as 4711"


def check(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (b"svc", b"secret")
    return AuthResult(success=good, handled=False, auth_data=data)


def say(value):
    print(json.dumps(value), flush=True)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    login = options.get("login", True)

    def serve():
        if options.get("mute"):
            return asyncio.Protocol()
        return SMTP(
            Handler(),
            hostname="sink.test",
            tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls",
            auth_required=login,
            auth_require_tls=security == "starttls",
            authenticator=check if login else None,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(serve, "127.0.0.1", 0, ssl=context if security == "tls" else None)
    say({"port": server.sockets[0].getsockname()[1]})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match line.strip():
            case "hold":
                gate.clear()
            case "go":
                gate.set()
            case "mark":
                say({"mark": True})
    server.close()


asyncio.run(main())
