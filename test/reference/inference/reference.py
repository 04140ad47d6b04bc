"""Findings of the models of assets.ts by others' hands: `reference.py FOLDER VALUES`.

transformers 5.23.0 (its own code of words, strategies and groups), tokenizers 0.23.2, onnxruntime 1.32.0, numpy 2.4.6.
Where guardrails.md, section 3 goes beyond transformers it is written down here a second time: punctuation at the edges of
words, all white space parts words, the prefix of a continuing token and not its length decides, entities at cuts.
Places are UTF-16 units.
"""

import json
import re
import sys
import unicodedata
import warnings
from types import SimpleNamespace

import numpy as np
import onnxruntime as ort
from transformers import PreTrainedTokenizerFast
from transformers.pipelines.token_classification import AggregationStrategy, TokenClassificationPipeline

warnings.simplefilter("ignore")

folder, values_path = sys.argv[1:]
assets = json.load(open(f"{folder}/assets.json"))
labels = assets["labels"]

MARKS = re.compile(
    "[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff]"
)
# As JavaScript's \s has it.
SPACE = re.compile("[\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")


def without_marks(text):
    """The text, and for each of its places (the end too) where it is in the original one."""
    kept, places = [], []
    for at, letter in enumerate(text):
        if MARKS.match(letter):
            continue
        kept.append(letter)
        places.append(at)
    places.append(len(text))
    return "".join(kept), places


def edge_parts(sentence):
    """For each letter: which run of edge punctuation or core of a word it belongs to."""
    parts = [0] * (len(sentence) + 1)
    number = 0
    for word in re.finditer(f"(?:(?!{SPACE.pattern}).)+", sentence, re.S):
        start, end = word.span()
        marks = [unicodedata.category(letter)[0] in "PS" for letter in word.group()]
        core_start, core_end = start, end
        while core_start < end and marks[core_start - start]:
            core_start += 1
        while core_end > core_start and marks[core_end - 1 - start]:
            core_end -= 1
        for at in range(start, end):
            parts[at] = number + (0 if at < core_start else 1 if at < core_end else 2)
        number += 3
    return parts


class Pipeline(TokenClassificationPipeline):
    """Its code for words and groups, without a model of its own."""

    def __init__(self, tokenizer, prefix):
        self.tokenizer = tokenizer
        self.prefix = prefix
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=dict(enumerate(labels))))

    def gather_pre_entities(self, sentence, input_ids, *rest, **more):
        entities = super().gather_pre_entities(sentence, input_ids, *rest, **more)
        parts = edge_parts(sentence)
        before = None
        for entity in entities:
            start = entity["start"]
            at = start
            while at < len(sentence) and SPACE.match(sentence[at]):
                at += 1
            part = parts[at]
            if self.prefix:
                continues = self.tokenizer.convert_ids_to_tokens(int(input_ids[entity["index"]])).startswith(self.prefix)
            else:
                continues = start > 0 and not SPACE.search(sentence[start - 1 : start + 1])
            if int(input_ids[entity["index"]]) == self.tokenizer.unk_token_id:
                continues = False
            entity["is_subword"] = continues and part == before
            before = part
        return entities


def session_of(kind, name):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(f"{folder}/{kind}/{name}.onnx", options)


def run(session, ids):
    feeds = {
        "input_ids": np.array([ids], dtype=np.int64),
        "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
        "token_type_ids": np.zeros((1, len(ids)), dtype=np.int64),
    }
    return session.run(None, feeds)[0][0]


def chunks_of(tokenizer, text, max_length, stride):
    """tokenizers 0.23.2 gives one overflowing window where several are due: the windows are cut here."""
    backend = tokenizer.backend_tokenizer
    framed = backend.encode("a")
    at = framed.special_tokens_mask.index(0)
    before = framed.ids[:at]
    after = framed.ids[len(framed.ids) - framed.special_tokens_mask[::-1].index(0) :]
    whole = backend.encode(text, add_special_tokens=False)
    room = max_length - len(before) - len(after)
    chunks = []
    start = 0
    while True:
        ids, spans = whole.ids[start : start + room], whole.offsets[start : start + room]
        chunks.append(
            dict(
                input_ids=[*before, *ids, *after],
                offset_mapping=[*[(0, 0)] * len(before), *spans, *[(0, 0)] * len(after)],
                special_tokens_mask=[*[1] * len(before), *[0] * len(ids), *[1] * len(after)],
            )
        )
        if start + room >= len(whole.ids):
            return chunks
        start += room - stride


def utf16(text):
    places = [0]
    for letter in text:
        places.append(places[-1] + (2 if ord(letter) > 0xFFFF else 1))
    return places


def trimmed(text, start, end):
    while start < end and SPACE.match(text[start]):
        start += 1
    while end > start and SPACE.match(text[end - 1]):
        end -= 1
    return start, end


NAMES = {"PER": "PERSON", "LOC": "LOCATION", "ORG": "ORGANIZATION"}


def token_findings(pipeline, session, text, max_length, stride, strategy):
    view, places = without_marks(text)
    units = utf16(text)
    chunks = chunks_of(pipeline.tokenizer, view, max_length, stride)
    count = len(chunks)
    specials = sum(chunks[0]["special_tokens_mask"])
    step = max_length - specials - stride
    found = []
    for at, chunk in enumerate(chunks):
        logits = run(session, chunk["input_ids"])
        exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
        scores = exponents / exponents.sum(axis=-1, keepdims=True)
        spans = chunk["offset_mapping"]
        # Indices of tokens in the whole text stand in for places until the end: two tokens may have one place.
        own = [i for i, special in enumerate(chunk["special_tokens_mask"]) if not special]
        pre = pipeline.gather_pre_entities(
            view, np.array(chunk["input_ids"]), scores, spans, np.array(chunk["special_tokens_mask"]), AggregationStrategy[strategy.upper()]
        )
        first_token = at * step
        for entity, i in zip(pre, own):
            entity["start"] = entity["end"] = first_token + (i - own[0])
        for entity in pipeline.aggregate(pre, AggregationStrategy[strategy.upper()]):
            label = entity.get("entity_group", entity.get("entity"))
            if label == "O":
                continue
            first, last = entity["start"], entity["end"]
            chars = {first_token + (i - own[0]): spans[i] for i in own}
            # Marks that follow the last kept letter belong to it.
            start, end = places[chars[first][0]], places[chars[last][1]]
            found.append(
                dict(
                    chunk=at,
                    first=first,
                    last=last,
                    label=label,
                    score=float(entity["score"]),
                    start=units[start],
                    end=units[end],
                    letters=(start, end),
                    begins=entity_begins(pre, first, strategy, pipeline),
                )
            )
    extents = [(at * step, at * step + len(chunk["input_ids"]) - specials) for at, chunk in enumerate(chunks)]
    if strategy == "none":
        found = [one for one in found if owner(one["first"], extents) == one["chunk"]]
        found.sort(key=lambda one: one["first"])
    elif count > 1:
        found = merged(found, extents)
    result = []
    for one in found:
        start, end = trimmed(text, *one["letters"])
        if end > start:
            name = NAMES.get(one["label"], one["label"])
            result.append([units[start], units[end], name, round(one["score"], 5)])
    return result


def entity_begins(pre, first, strategy, pipeline):
    """Whether the label of its first word is one that begins an entity."""
    if strategy == "none":
        return False
    if strategy == "simple":
        words = [[one] for one in pre]
    else:
        words = []
        for one in pre:
            if words and one["is_subword"]:
                words[-1].append(one)
            else:
                words.append([one])
    for word in words:
        if word[0]["start"] != first:
            continue
        if strategy == "simple":
            label = labels[word[0]["scores"].argmax()]
        else:
            label = pipeline.aggregate_word(word, AggregationStrategy[strategy.upper()])["entity"]
        return label.startswith("B-")
    return False


def owner(token, extents):
    best, most = 0, -1.0
    for at, (start, end) in enumerate(extents):
        if start <= token < end:
            left = float("inf") if at == 0 else token - start
            right = float("inf") if at == len(extents) - 1 else end - 1 - token
            if min(left, right) > most:
                best, most = at, min(left, right)
    return best


def merged(found, extents):
    kept = []
    for one in found:
        at = one["chunk"]
        start, end = extents[at]
        one["cut_before"] = at > 0 and one["first"] == start
        one["cut_behind"] = at < len(extents) - 1 and one["last"] == end - 1
        if one["cut_before"] and not one["cut_behind"] and one["last"] < extents[at - 1][1] - 1:
            continue
        if one["cut_behind"] and not one["cut_before"] and one["first"] > extents[at + 1][0]:
            continue
        kept.append(one)
    result = []
    for one in sorted(kept, key=lambda one: one["start"]):
        before = result[-1] if result else None
        if before is None:
            result.append(one)
        elif (
            before["cut_behind"]
            and one["cut_before"]
            and before["label"] == one["label"]
            and (one["first"] <= before["last"] or (one["first"] == before["last"] + 1 and not one["begins"]))
        ):
            longer = one if one["last"] >= before["last"] else before
            result[-1] = dict(
                before,
                last=longer["last"],
                end=longer["end"],
                letters=(before["letters"][0], longer["letters"][1]),
                score=max(before["score"], one["score"]),
                cut_behind=longer["cut_behind"],
            )
        elif one["start"] < before["end"]:
            size, size_before = one["end"] - one["start"], before["end"] - before["start"]
            if size > size_before or (size == size_before and round(one["score"], 9) > round(before["score"], 9)):
                result[-1] = one
        else:
            result.append(one)
    return result


def hull(text, places, chunks, first, last):
    def spans(chunk):
        return [span for span, special in zip(chunk["offset_mapping"], chunk["special_tokens_mask"]) if not special]

    units = utf16(text)
    start = 0 if first == 0 else units[places[spans(chunks[first])[0][0]]]
    end = units[-1] if last == len(chunks) - 1 else units[places[spans(chunks[last])[-1][1]]]
    return start, end


def verdict_findings(tokenizer, session, text, max_length, stride, activation):
    view, places = without_marks(text)
    chunks = chunks_of(tokenizer, view, max_length, stride)
    if sum(1 for special in chunks[0]["special_tokens_mask"] if not special) == 0:
        return []
    scores = []
    for chunk in chunks:
        logits = run(session, chunk["input_ids"]).astype(np.float64)
        scores.append(1 / (1 + np.exp(-logits)) if activation == "sigmoid" else np.exp(logits) / np.exp(logits).sum())
    result = []
    for label, name in enumerate(assets["verdicts"]):
        if activation == "softmax" and name == "SAFE":
            continue
        passing = [at for at, one in enumerate(scores) if one[label] >= 0.5]
        if passing:
            best = max(one[label] for one in scores)
            result.append([*hull(text, places, chunks, passing[0], passing[-1]), name, round(float(best), 5)])
    return sorted(result)


def vectors_of(tokenizer, session, text, max_length, stride, pooling, prefix):
    view, places = without_marks(text)
    room = max_length - len(prefix)
    chunks = chunks_of(tokenizer, view, room, stride)
    vectors = []
    for chunk in chunks:
        ids = chunk["input_ids"]
        if sum(1 for special in chunk["special_tokens_mask"] if not special) == 0:
            continue
        output = run(session, [ids[0], *prefix, *ids[1:]])
        vector = output if output.ndim == 1 else output[0] if pooling == "cls" else output.mean(axis=0)
        vector = vector.astype(np.float64)
        vectors.append(vector / np.linalg.norm(vector))
    return vectors, chunks, places


def topic_findings(tokenizer, session, text, max_length, stride, pooling, prefix):
    embed = lambda one: vectors_of(tokenizer, session, one, max_length, stride, pooling, prefix)
    key = (id(session), max_length, stride, pooling, tuple(prefix))
    if key not in examples:
        topics = [(topic["name"], [v for one in topic["examples"] for v in embed(one)[0]]) for topic in assets["topics"]]
        examples[key] = topics, [v for one in assets["background"] for v in embed(one)[0]]
    topics, background = examples[key]
    vectors, chunks, places = embed(text)
    best = None
    for at, vector in enumerate(vectors):
        scored = sorted(((max(float(v @ vector) for v in known), -i) for i, (_, known) in enumerate(topics)), reverse=True)
        ordinary = max(float(v @ vector) for v in background)
        lead = scored[0][0] - max(ordinary, scored[1][0])
        score = 1 / (1 + np.exp(-lead / assets["temperature"]))
        if best is None or round(score, 4) > round(best[0], 4):
            best = score, topics[-scored[0][1]][0], at
    if best is None or round(best[0], 4) < 0.5:
        return []
    return [[*hull(text, places, chunks, best[2], best[2]), best[1], round(float(best[0]), 5)]]


examples = {}
result = {}
for kind, facts in assets["kinds"].items():
    file = f"{folder}/{kind}/tokenizer.json"
    unknown = {"word-piece": "[UNK]", "unigram": "<unk>"}.get(kind)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=file, **({"unk_token": unknown} if unknown else {}))
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    pipeline = Pipeline(tokenizer, facts["continuingPrefix"])
    sessions = {name: session_of(kind, name) for name in ("nlp", "classify", "embed", "pooled")}
    prefix = tokenizer.backend_tokenizer.encode(assets["prefix"], add_special_tokens=False).ids
    for windows in assets["windows"]:
        max_length, stride = windows["maxTokens"], windows["stride"]
        here = f"{kind} {max_length} {stride}"
        # All of them by one tokenizer; by the others some of each script.
        texts = assets["texts"] if kind == "word-piece" and stride in (14, 4) else assets["texts"][::7]
        for strategy in assets["aggregations"]:
            result[f"nlp {here} {strategy}"] = [
                token_findings(pipeline, sessions["nlp"], text, max_length, stride, strategy) for text in texts
            ]
        for activation in ("softmax", "sigmoid"):
            result[f"classify {here} {activation}"] = [
                verdict_findings(tokenizer, sessions["classify"], text, max_length, stride, activation) for text in texts
            ]
        for name, pooling, before in (("embed", "mean", []), ("embed", "cls", []), ("embed", "mean", prefix), ("pooled", "mean", [])):
            if max_length - 2 - len(before) <= stride:
                continue
            result[f"{name} {here} {pooling}{' prefix' if before else ''}"] = [
                topic_findings(tokenizer, sessions[name], text, max_length, stride, pooling, before) for text in texts
            ]

with open(values_path, "w") as file:
    file.write("{\n")
    file.write(",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in result.items()))
    file.write("\n}\n")
print({key: sum(len(found) for found in value) for key, value in result.items()})
