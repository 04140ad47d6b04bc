/**
 * Detector types `nlp`, `classify` and `embed`: models that run in ONNX Runtime or on an inference server. Spec: document 3, the
 * sections of those types. Lengths are in tokens of the model's tokenizer.
 */

import {
  choice,
  example,
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
} from "../../schema/schema.ts";
import { filledAs, secretHeaders, strings } from "../terms.ts";
import { category } from "./kinds.ts";

const inferenceServer = object(
  "The graph runs on a server that speaks the v2 inference protocol. The tokenizer still runs in the gateway, so `tokenizer` is required.",
  {
    endpoint: required(
      mayBeSecret(
        text("The root URL of the inference server, without `/v2`.", {
          format: "url",
          examples: ["http://triton.models.svc:8000"],
        }),
      ),
    ),
    model: required(filledAs("The server knows the model by this name.", "pii-tokens")),
    version: orEmpty(
      text("The version of the model. If it is empty or absent, the server chooses.", { examples: ["3"] }),
    ),
    headers: secretHeaders("Every call carries these headers, for authentication."),
    timeout: withDefault(example(positiveDuration("One call may take this long."), "30s", "2s"), "30s"),
  },
  { examples: [{ endpoint: "http://triton.models.svc:8000", model: "pii-tokens" }] },
);

/** Keys for loading a model and for its windows, shared by the three types. */
const LOADING_KEYS = {
  ref: filledAs("The name of an entry of `models.models`. It supplies the paths below.", "names"),
  remote: inferenceServer,
  model: orEmpty(
    filledAs("The path of the `.onnx` file. Leave it out with `remote` or `ref`.", "/models/pii/model.onnx"),
  ),
  tokenizer: filledAs("The path of the `tokenizer.json` that belongs to the model.", "/models/pii/tokenizer.json"),
  strip_marks: withDefault(
    choice(
      "`arabic` removes combining marks and tatweel from the text before the model reads it, and maps findings back to the original text.",
      ["arabic", "none"],
    ),
    "arabic",
  ),
  max_tokens: withDefault(
    example(
      integer(
        "The model reads at most this many tokens at once, including special tokens. Longer text is read in overlapping windows.",
        { minimum: 8 },
      ),
      256,
    ),
    512,
  ),
  threads: withDefault(example(integer("One run of the graph uses this many threads.", { minimum: 1 }), 2), 1),
  library: filledAs(
    "The path of the ONNX Runtime library. It defaults to the library's usual place.",
    "/opt/onnxruntime",
  ),
  tokenizer_library: filledAs(
    "The path of the tokenizer library. It defaults to the library's usual place.",
    "/opt/tokenizers",
  ),
};

const LABEL_KEYS = {
  labels: strings(
    "The names of the model's labels in index order. They default to those in `labels_path`, or in the configuration beside the model.",
    "One label of the model.",
    "O",
    "B-PER",
    "I-PER",
  ),
  labels_path: filledAs("The labels are read from this configuration file.", "/models/pii/config.json"),
};

const stride = example(
  integer("Consecutive windows share this many tokens. The default is an eighth of `max_tokens`.", { minimum: 0 }),
  64,
);

export const tokenClassifier = object(
  "A model labels each token. It finds what has no fixed form, such as names and places.",
  {
    ...LOADING_KEYS,
    ...LABEL_KEYS,
    entity_map: example(
      map(
        "The map renames labels to entity types. A label that it does not contain keeps its name.",
        filledAs("The entity type that replaces the label.", "PERSON"),
      ),
      { PER: "PERSON", LOC: "LOCATION" },
    ),
    aggregation: withDefault(
      choice("The tokens of a word become one finding in this way.", ["none", "simple", "first", "average", "max"]),
      "max",
    ),
    stride: withDefault(example(integer("Consecutive windows share this many tokens.", { minimum: 0 }), 32), 14),
    category: withDefault(category("Findings belong to this category.", "pii"), "pii"),
  },
  { examples: [{ ref: "names", entity_map: { PER: "PERSON" } }] },
);

export const sequenceClassifier = object(
  "A model classifies whole segments. Windows are scored separately, and the best score of each label counts.",
  {
    ...LOADING_KEYS,
    ...LABEL_KEYS,
    stride,
    negative: strings(
      "These labels mean that nothing was found. The default with softmax is the usual names (such as `SAFE`, `BENIGN` and `LABEL_0`), and with sigmoid there is none.",
      "One label of the model.",
      "SAFE",
    ),
    label_map: example(
      map(
        "The map renames labels. A label that it does not contain keeps its name.",
        filledAs("The new name of the label.", "JAILBREAK"),
      ),
      { LABEL_1: "JAILBREAK" },
    ),
    activation: orEmpty(
      choice(
        "This function turns the model's output into scores. The default is what the model's configuration says, or `softmax`.",
        ["softmax", "sigmoid"],
      ),
    ),
    category: withDefault(category("Findings belong to this category.", "injection"), "injection"),
  },
  { examples: [{ ref: "injection", label_map: { LABEL_1: "JAILBREAK" } }] },
);

const topic = object(
  "One topic, described by examples.",
  {
    name: required(
      text("The name is one word without a slash. Findings are reported as `topic/<name>`.", {
        pattern: "^[^\\s/]+$",
        examples: ["weather"],
        maxLength: 128,
      }),
    ),
    examples: required(
      list(
        "Texts on the topic, usually five to twenty.",
        filledAs("One text on the topic.", "Will it rain tomorrow?"),
        { minItems: 1 },
      ),
    ),
  },
  { examples: [{ name: "weather", examples: ["Will it rain tomorrow?", "How warm is it in Lisbon?"] }] },
);

export const topicEmbedder = object(
  "A model embeds texts, and the nearest examples decide which topic a text is on.",
  {
    ...LOADING_KEYS,
    stride,
    topics: required(list("The topics that the detector recognizes.", topic, { minItems: 1 })),
    background: required(
      list(
        "Examples of ordinary texts that are on none of the topics.",
        filledAs("One text that is on no topic.", "Summarize this contract."),
        {
          minItems: 1,
        },
      ),
    ),
    temperature: withDefault(
      example(
        number("A smaller value makes the score steeper. The boundary at one half does not move.", {
          exclusiveMinimum: 0,
        }),
        0.1,
      ),
      0.05,
    ),
    pooling: withDefault(choice("The vectors of the tokens become one vector in this way.", ["mean", "cls"]), "mean"),
    prefix: text("This text is put before every text that is embedded, at the start of every window.", {
      examples: ["query: "],
    }),
    category: withDefault(category("Findings belong to this category.", "topic"), "topic"),
  },
  {
    examples: [
      {
        ref: "sentences",
        topics: [{ name: "weather", examples: ["Will it rain tomorrow?"] }],
        background: ["Summarize this contract."],
      },
    ],
  },
);
