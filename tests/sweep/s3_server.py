"""An S3 server for tests: moto, with three buckets. `sets` is as S3 is; `forgetful` ignores `If-None-Match`, as servers do
that do not know it; `lossy` answers each request that has it with an error, whatever became of it.

moto looks whether a name is taken and creates the object afterwards, with other requests in between: of several that
create one name with `If-None-Match: *` at once, more than one succeeds, which no S3 server does. So requests that write
take turns here.

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


def in_turns(app):
    turn = threading.Lock()

    def answer(environ, start_response):
        bucket = environ["PATH_INFO"].split("/")[1]
        creates = "HTTP_IF_NONE_MATCH" in environ
        if creates and bucket == "forgetful":
            del environ["HTTP_IF_NONE_MATCH"]
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return app(environ, start_response)
        with turn:
            if creates and bucket == "lossy":
                list(app(environ, lambda *_: None))
                start_response("500 Internal Server Error", [("Content-Length", "0")])
                return [b""]
            return list(app(environ, start_response))

    return answer


def main():
    app = in_turns(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for bucket in ("sets", "forgetful", "lossy"):
        created = urllib.request.Request(f"http://127.0.0.1:{server.port}/{bucket}", method="PUT")
        urllib.request.urlopen(created).read()
    print(server.port, flush=True)
    sys.stdin.read()


main()
