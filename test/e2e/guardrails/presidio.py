"""A Presidio analyzer behind the REST shape of its own server, until it is killed: its address is the first line it writes.

As `presidio-analyzer/app.py` answers: `POST /analyze`, `GET /health`, `GET /supportedentities`. No model can be had where
tests run, so the pipeline is a blank one, and names are found by a list of them.
"""

import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer.analyzer_request import AnalyzerRequest
from presidio_analyzer.nlp_engine import SpacyNlpEngine

logging.disable(logging.CRITICAL)
# The list of suffixes that is in the package, so that nothing is fetched.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


class BlankEngine(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}


nlp = BlankEngine()
registry = RecognizerRegistry(supported_languages=["en"])
registry.load_predefined_recognizers(languages=["en"], nlp_engine=nlp)
registry.add_recognizer(PatternRecognizer(supported_entity="PERSON", deny_list=["Jürgen", "Ada"]))
engine = AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value, sort_keys=True, default=lambda one: one.to_dict()).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/supportedentities"):
            self.answer(200, engine.get_supported_entities("en"))
        else:
            self.answer(200, "Presidio Analyzer service is up")

    def do_POST(self):
        given = self.rfile.read(int(self.headers["content-length"]))
        try:
            asked = AnalyzerRequest(json.loads(given))
            if not asked.text:
                raise Exception("No text provided")
            if not asked.language:
                raise Exception("No language provided")
            found = engine.analyze(
                text=asked.text,
                language=asked.language,
                entities=asked.entities,
                score_threshold=asked.score_threshold,
                return_decision_process=asked.return_decision_process,
            )
            self.answer(200, [explained(one) for one in found])
        except Exception as error:
            self.answer(500, {"error": str(error)})


def explained(result):
    """Without `recognition_metadata`, as its server has left it out since 2.2.359."""
    value = result.to_dict()
    value.pop("recognition_metadata", None)
    return value


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
