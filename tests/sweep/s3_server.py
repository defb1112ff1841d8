"""An S3 server for tests: moto, with one bucket, `sets`.

moto looks whether a name is taken and creates the object afterwards, with other requests in between: of several that
create one name with `If-None-Match: *` at once, more than one succeeds, which no S3 server does. So requests that write
take turns here. `--racy` leaves moto as it is, `--forgetful` ignores the condition, as servers do that do not know it, and
`--loses-answers` answers each such request with an error, whatever became of it.

Prints its port, and ends when its standard input does.
"""

import sys
import threading
import urllib.request

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


def in_turns(app, flags):
    turn = threading.Lock()

    def answer(environ, start_response):
        creates = "HTTP_IF_NONE_MATCH" in environ
        if creates and "--forgetful" in flags:
            del environ["HTTP_IF_NONE_MATCH"]
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return app(environ, start_response)
        with turn:
            if creates and "--loses-answers" in flags:
                list(app(environ, lambda *_: None))
                start_response("500 Internal Server Error", [("Content-Length", "0")])
                return [b""]
            return list(app(environ, start_response))

    return answer


def main():
    app = DomainDispatcherApplication(create_backend_app)
    if "--racy" not in sys.argv:
        app = in_turns(app, sys.argv)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bucket = urllib.request.Request(f"http://127.0.0.1:{server.port}/sets", method="PUT")
    urllib.request.urlopen(bucket).read()
    print(server.port, flush=True)
    sys.stdin.read()


main()
