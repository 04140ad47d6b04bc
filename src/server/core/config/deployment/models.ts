/**
 * `models`: model artifacts that detectors refer to by name, pinned by digest. Spec: document 3, `models`.
 * Sizes are in bytes.
 */

import { integer, list, mayBeSecret, object, referenceOnly, required, text, withDefault } from "../schema.ts";
import { filled, label } from "./terms.ts";

const hub = object("A repository of a model hub, from which the files are resolved at one commit.", {
  repo: required(
    text("The repository, `owner/name`.", {
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$",
      examples: ["owner/name"],
    }),
  ),
  revision: required(
    text("The 40 hexadecimal characters of a commit; a branch or tag is refused, since it can move.", {
      pattern: "^[0-9a-f]{40}$",
      examples: ["0123456789abcdef0123456789abcdef01234567"],
    }),
  ),
  model: filled("Path of the ONNX graph inside the repository; left out, the usual place."),
  endpoint: mayBeSecret(text("Address of the hub or of a mirror; left out, the public hub.", { format: "url" })),
  token: referenceOnly(
    filled("Bearer token for a gated repository, normally a `secret` reference; a literal is refused."),
  ),
});

const file = object("One file of the model.", {
  role: required(filled("What the file is for, such as `model`, `tokenizer` or `config`.")),
  url: required(
    mayBeSecret(text("Where the bytes are fetched; hosting only, the digest says what they are.", { format: "url" })),
  ),
  sha256: required(text("Digest that the bytes must have, in hexadecimal.", { pattern: "^[0-9a-fA-F]{64}$" })),
  size: required(integer("Exact length in bytes, which also bounds the download.", { minimum: 0 })),
});

const model = object("A model artifact: either a `hub` repository or listed `files`.", {
  name: required(label("What `ref` of a detector names.")),
  revision: text("For people; what identifies the artifact are the digests."),
  source: text("Where the model comes from; a record of provenance."),
  quantization: text("How the weights are quantized; a record of provenance."),
  license: text("Licence of the model; a record of provenance."),
  hub,
  files: list("Files of the model, by digest.", file),
});

export const models = object("Model artifacts that detectors may refer to.", {
  models: withDefault(list("The artifacts.", model), []),
});
