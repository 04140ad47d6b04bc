/**
 * Detector types `nlp`, `classify` and `embed`: models run through ONNX Runtime or on an inference server.
 * Spec: document 3, the sections of those types. Lengths are in tokens of the model's tokenizer.
 */

import {
  choice,
  integer,
  list,
  map,
  mayBeSecret,
  number,
  object,
  orEmpty,
  positiveDuration,
  required,
  text,
  withDefault,
} from "../../schema.ts";
import { filled, secretHeaders, strings } from "../terms.ts";
import { category } from "./kinds.ts";

const inferenceServer = object(
  "A server that runs the graph (v2 inference protocol); the tokenizer stays here, so `tokenizer` is still needed.",
  {
    endpoint: required(mayBeSecret(text("Root of the inference server, without `/v2`.", { format: "url" }))),
    model: required(filled("Name under which the server serves the model.")),
    version: orEmpty(text("Version of the model; empty lets the server choose.")),
    headers: secretHeaders("Headers sent with every call, for authentication."),
    timeout: withDefault(positiveDuration("Longest wait for one answer."), "30s"),
  },
);

/** How a model and its windows are loaded; all three types share it. */
const LOADING_KEYS = {
  ref: filled("Name of a declared model, resolved to the paths below."),
  remote: inferenceServer,
  model: orEmpty(filled("Path of the `.onnx` file; left out with `remote`.")),
  tokenizer: filled("Path of the `tokenizer.json` that belongs to the model."),
  strip_marks: withDefault(
    choice("`arabic` drops combining marks and tatweel before tokenizing, and maps findings back.", ["arabic", "none"]),
    "arabic",
  ),
  max_tokens: withDefault(
    integer("Longest sequence including special tokens; longer text is read in overlapping windows.", { minimum: 8 }),
    512,
  ),
  threads: withDefault(integer("Threads within one run of the graph.", { minimum: 1 }), 1),
  library: filled("Path of the ONNX Runtime library; left out, its default place."),
  tokenizer_library: filled("Path of the tokenizer library; left out, its default place."),
};

const LABEL_KEYS = {
  labels: strings(
    "Names of the model's labels in index order; left out, read from `labels_path` or beside the model.",
    "A label, as the model gives it.",
  ),
  labels_path: filled("Configuration file from which the labels are read."),
};

const stride = integer("Tokens that consecutive windows share; left out, an eighth of `max_tokens`.", { minimum: 0 });

export const tokenClassifier = object("A model that labels each token, for names and places.", {
  ...LOADING_KEYS,
  ...LABEL_KEYS,
  entity_map: map(
    "Renames labels to entity types; a label that is not listed keeps its name.",
    filled("Entity type in place of the label."),
  ),
  aggregation: withDefault(
    choice("How the tokens of a word become one finding.", ["none", "simple", "first", "average", "max"]),
    "max",
  ),
  stride: withDefault(integer("Tokens that consecutive windows share.", { minimum: 0 }), 14),
  category: withDefault(category("Namespace of the annotations."), "pii"),
});

export const sequenceClassifier = object("A classifier of whole segments; the best score of each label is kept.", {
  ...LOADING_KEYS,
  ...LABEL_KEYS,
  stride,
  negative: strings(
    "Labels that mean nothing was found; left out, the usual clean names under softmax and none under sigmoid.",
    "A label of the model.",
  ),
  label_map: map("Renames labels; one that is not listed keeps its name.", filled("New name of the label.")),
  activation: orEmpty(
    choice("How scores are made of the model's output; left out, read from the model, else `softmax`.", [
      "softmax",
      "sigmoid",
    ]),
  ),
  category: withDefault(category("Namespace of the annotations."), "injection"),
});

const topic = object("A topic, told by examples.", {
  name: required(
    text("One word without a slash; reported as `topic/<name>`.", {
      pattern: "^[^\\s/]+$",
      examples: ["weather"],
      maxLength: 128,
    }),
  ),
  examples: required(
    list("Texts on the topic, usually five to twenty.", filled("A text on the topic."), { minItems: 1 }),
  ),
});

export const topicEmbedder = object("Tells topics by the nearness of embeddings to examples.", {
  ...LOADING_KEYS,
  stride,
  topics: required(list("Topics to tell apart.", topic, { minItems: 1 })),
  background: required(list("Examples of ordinary traffic.", filled("A text that is on no topic."), { minItems: 1 })),
  temperature: withDefault(
    number("Steepness of the score; never moves the boundary at one half.", { exclusiveMinimum: 0 }),
    0.05,
  ),
  pooling: withDefault(choice("How token vectors become one vector.", ["mean", "cls"]), "mean"),
  prefix: text("Text put before every text that is embedded, at the start of every window."),
  category: withDefault(category("Namespace of the annotations."), "topic"),
});
