"""The Presidio analyzer over texts, for the bench: one JSON object on stdin, one on stdout.

In:  {"texts": [str], "recognizers": "default" | "all"}
Out: {"version": str, "entities": [str], "seconds": float, "found": [[{"start", "end", "type", "score"}]]}

Places are UTF-8 bytes. No model can be had where the bench runs, so the pipeline is a blank one; what a lemma is for,
words of context, gets the word in lower case. "default": what Presidio enables for English; "all": every recognizer with
patterns, of whatever country, as ours are.
"""

import importlib.metadata
import inspect
import json
import logging
import sys
import time

import presidio_analyzer.predefined_recognizers as predefined
import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from spacy.language import Language

MODELS = {"SpacyRecognizer", "StanzaRecognizer", "TransformersRecognizer"}
WARM_UP = 40

logging.disable(logging.CRITICAL)
# The list of suffixes that is in the package: with a network it would be fetched once, and not be part of the time.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@Language.component("lower_case_lemmas")
def lower_case_lemmas(doc):
    for token in doc:
        token.lemma_ = token.lower_
    return doc


class BlankEngine(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        pipeline = spacy.blank("en")
        pipeline.add_pipe("lower_case_lemmas")
        self.nlp = {"en": pipeline}


def registry_of(which, engine):
    registry = RecognizerRegistry(supported_languages=["en"])
    if which == "default":
        registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
        return registry
    for name, kind in vars(predefined).items():
        if name in MODELS or not inspect.isclass(kind) or not issubclass(kind, EntityRecognizer):
            continue
        try:
            registry.add_recognizer(kind(supported_language="en"))
        except Exception:  # One that needs a service or a model.
            continue
    return registry


def main():
    asked = json.load(sys.stdin)
    engine = BlankEngine()
    registry = registry_of(asked["recognizers"], engine)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    texts = asked["texts"]
    for text in texts[:WARM_UP]:
        analyzer.analyze(text, language="en")
    before = time.process_time()
    results = [analyzer.analyze(text, language="en") for text in texts]
    seconds = time.process_time() - before
    found = [
        [
            {
                "start": len(text[: one.start].encode()),
                "end": len(text[: one.end].encode()),
                "type": one.entity_type,
                "score": one.score,
            }
            for one in all_of
        ]
        for text, all_of in zip(texts, results)
    ]
    entities = sorted(analyzer.get_supported_entities("en"))
    version = importlib.metadata.version("presidio_analyzer")
    json.dump({"version": version, "entities": entities, "seconds": seconds, "found": found}, sys.stdout)


main()
