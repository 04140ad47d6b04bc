/**
 * `models`: model artifacts that detectors refer to by name, pinned by digest. Spec: document 3, `models`. Sizes are in bytes.
 */

import {
  choice,
  example,
  integer,
  list,
  mayBeSecret,
  object,
  referenceOnly,
  required,
  text,
  withDefault,
} from "../schema/schema.ts";
import { filled, label } from "./terms.ts";

/** Matches repository names as hubs allow them: no `--`, no `..`, no `.git` at the end. */
const REPOSITORY =
  "^(?!.*(?:--|\\.\\.))(?!.*\\.git$)[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?$";

/** Matches relative paths without `..`. */
const INNER_PATH = "^(?!/)(?!.*(?:^|/)\\.{0,2}(?:/|$))[^\\\\\\u0000-\\u001f]+$";

/** File roles. `model` is an alias of `graph`. */
const ROLES = ["graph", "model", "external_data", "tokenizer", "config", "special_tokens_map"] as const;

/** Maximum size of a model file: 16 GiB. */
const MAX_FILE_BYTES = 16 * 1024 ** 3;

const hub = object(
  "The files come from one commit of a repository of a model hub. `gateway models pin` prints such an entry.",
  {
    repo: required(
      text("The repository, as `owner/name`.", {
        pattern: REPOSITORY,
        examples: ["owner/name"],
      }),
    ),
    revision: required(
      text("The 40 hexadecimal characters of a commit. A branch or tag is refused, because it can move.", {
        pattern: "^[0-9a-f]{40}$",
        examples: ["0123456789abcdef0123456789abcdef01234567"],
      }),
    ),
    model: text(
      "The path of the ONNX graph inside the repository. It defaults to `onnx/model.onnx`, or to `model.onnx` if that does not exist. It is not needed if the graph runs on a server.",
      { pattern: INNER_PATH, minLength: 1, maxLength: 512, examples: ["onnx/model.onnx"] },
    ),
    endpoint: mayBeSecret(
      text(
        "The address of the hub or of a mirror, which must use HTTPS unless it is on this machine. It defaults to `https://huggingface.co`.",
        { format: "url", examples: ["https://hub.internal.example.com"] },
      ),
    ),
    token: referenceOnly(filled("The bearer token for a repository with restricted access. It must be a reference.")),
  },
  { examples: [{ repo: "owner/name", revision: "0123456789abcdef0123456789abcdef01234567" }] },
);

const file = object(
  "One file of the model.",
  {
    role: required(
      choice(
        "The purpose of the file. `graph` (or `model`) is the ONNX graph, `external_data` holds its weights under the name that ends the `url`, `tokenizer` is the `tokenizer.json`, `config` holds the labels, and `special_tokens_map` the special tokens.",
        ROLES,
      ),
    ),
    url: required(
      mayBeSecret(
        text("The file is downloaded from this URL. Only the digest identifies it.", {
          format: "url",
          examples: ["https://models.example.com/pii/model.onnx"],
        }),
      ),
    ),
    sha256: required(
      text("The SHA-256 digest that the file must have, in hexadecimal.", {
        pattern: "^[0-9a-fA-F]{64}$",
        examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
      }),
    ),
    size: required(
      example(
        integer("The exact length of the file in bytes. It also limits the download.", {
          minimum: 1,
          maximum: MAX_FILE_BYTES,
        }),
        435_826_112,
      ),
    ),
  },
  {
    examples: [
      {
        role: "graph",
        url: "https://models.example.com/pii/model.onnx",
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        size: 435_826_112,
      },
    ],
  },
);

const model = object(
  "One model artifact: a `hub` repository or a list of `files`.",
  {
    name: required(label("The `ref` key of a detector refers to this name.", "names")),
    revision: text("The revision is shown to people. The digests identify the artifact.", { examples: ["2026-01"] }),
    source: text("This note records where the model comes from.", { examples: ["owner/name"] }),
    quantization: text("This note records how the weights are quantized.", { examples: ["int8"] }),
    license: text("This note records the license of the model.", { examples: ["Apache-2.0"] }),
    hub,
    files: list("The files of the model, each with its digest.", file, { maxItems: 64 }),
  },
  {
    examples: [{ name: "names", hub: { repo: "owner/name", revision: "0123456789abcdef0123456789abcdef01234567" } }],
  },
);

export const models = object(
  "This section declares the model artifacts that detectors use.",
  {
    models: withDefault(
      list("The declared artifacts. Only those that a detector refers to are downloaded.", model, { maxItems: 256 }),
      [],
    ),
  },
  {
    examples: [
      {
        models: [{ name: "names", hub: { repo: "owner/name", revision: "0123456789abcdef0123456789abcdef01234567" } }],
      },
    ],
  },
);
