"""Seconds for all texts, the graph once before: `models.py MODEL TOKENIZER TEXTS MAX_TOKENS STRIDE TYPE`."""

import json
import sys
import time

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

model, tokenizer_path, texts_path, max_tokens, stride, kind = sys.argv[1:]
texts = json.load(open(texts_path))
options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(model, options)
tokenizer = Tokenizer.from_file(tokenizer_path)
tokenizer.no_truncation()
tokenizer.no_padding()
first, *_, last = tokenizer.encode("a").ids
room = int(max_tokens) - 2


def run(ids):
    ids = np.array([[first, *ids, last]], dtype=np.int64)
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    (output,) = session.run(None, feeds)
    if kind == "embed":
        vector = output[0].mean(0)
        return vector / np.linalg.norm(vector)
    powers = np.exp(output - output.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


run([first])
began = time.perf_counter()
for text in texts:
    encoded = tokenizer.encode(text, add_special_tokens=False)
    encoded.offsets
    start = 0
    while start < len(encoded.ids):
        run(encoded.ids[start : start + room])
        if start + room >= len(encoded.ids):
            break
        start += room - int(stride)
print(time.perf_counter() - began)
