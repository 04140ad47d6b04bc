/**
 * `models`: model artifacts that detectors refer to by name, pinned by digest. Spec: document 3, `models`. Sizes are in bytes.
 */

import { choice, integer, list, mayBeSecret, object, referenceOnly, required, text, withDefault } from "../schema.ts";
import { filled, label } from "./terms.ts";

/** Repository names as hubs allow them: no `--`, no `..`, no ending with a special meaning. */
const REPOSITORY =
  "^(?!.*(?:--|\\.\\.))(?!.*\\.git$)[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?$";

/** Relative, without a step up. */
const INNER_PATH = "^(?!/)(?!.*(?:^|/)\\.{0,2}(?:/|$))[^\\\\\\u0000-\\u001f]+$";

/** `model` is another word for `graph`. */
const ROLES = ["graph", "model", "external_data", "tokenizer", "config", "special_tokens_map"] as const;

/** The largest file that a model may have: 16 GiB. */
const MAX_FILE_BYTES = 16 * 1024 ** 3;

const hub = object("A repository of a model hub, from which the files are resolved at one commit.", {
  repo: required(
    text("The repository, `owner/name`.", {
      pattern: REPOSITORY,
      examples: ["owner/name"],
    }),
  ),
  revision: required(
    text("The 40 hexadecimal characters of a commit; a branch or tag is refused, since it can move.", {
      pattern: "^[0-9a-f]{40}$",
      examples: ["0123456789abcdef0123456789abcdef01234567"],
    }),
  ),
  model: text(
    "Path of the ONNX graph inside the repository; left out, `onnx/model.onnx`, or `model.onnx` where that is absent. Not asked for where the graph runs on a server.",
    { pattern: INNER_PATH, minLength: 1, maxLength: 512, examples: ["onnx/model.onnx"] },
  ),
  endpoint: mayBeSecret(
    text("Address of the hub or of a mirror, https unless it is on this machine; left out, `https://huggingface.co`.", {
      format: "url",
    }),
  ),
  token: referenceOnly(
    filled("Bearer token for a gated repository, normally a `secret` reference; a literal is refused."),
  ),
});

const file = object("One file of the model.", {
  role: required(
    choice(
      "What the file is for: `graph` (or `model`), `external_data` that the graph names as the last part of its `url`, `tokenizer`, `config` (labels), `special_tokens_map`.",
      ROLES,
    ),
  ),
  url: required(
    mayBeSecret(text("Where the bytes are fetched; hosting only, the digest says what they are.", { format: "url" })),
  ),
  sha256: required(text("Digest that the bytes must have, in hexadecimal.", { pattern: "^[0-9a-fA-F]{64}$" })),
  size: required(
    integer("Exact length in bytes, which also bounds the download.", {
      minimum: 1,
      maximum: MAX_FILE_BYTES,
    }),
  ),
});

const model = object("A model artifact: either a `hub` repository or listed `files`.", {
  name: required(label("What `ref` of a detector names.")),
  revision: text("For people; what identifies the artifact are the digests."),
  source: text("Where the model comes from; a record of provenance."),
  quantization: text("How the weights are quantized; a record of provenance."),
  license: text("Licence of the model; a record of provenance."),
  hub,
  files: list("Files of the model, by digest.", file, { maxItems: 64 }),
});

export const models = object("Model artifacts that detectors may refer to.", {
  models: withDefault(
    list("The artifacts; only those that a detector refers to are fetched.", model, { maxItems: 256 }),
    [],
  ),
});
