/** Detectors of types `nlp`, `classify` and `embed` whose model runs in this process. Source: specification document 3. */

import { createHash } from "node:crypto";
import type { DetectorConfig } from "../../core/config/index.ts";
import { CATEGORIES, type Category, type Detector, DetectorError, type Finding } from "../../core/guardrails/index.ts";
import { partsOf, placed } from "../parts.ts";
import { configRead, filesOf, type ModelFiles, type Views } from "./files.ts";
import type { ModelConfig } from "./labels.ts";
import type { Read } from "./reading/types.ts";
import {
  isPlan,
  planTokenLabels,
  planTopics,
  planVerdicts,
  type ReadingPlan,
  type ReadingProblem,
} from "./readings.ts";
import { locate } from "./session/packages.ts";
import type { ReaderSpec, SessionSpec } from "./session/protocol.ts";
import { keyOf, type Sessions } from "./session/sessions.ts";

export const MODEL_TYPES = ["nlp", "classify", "embed"] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

export const isModelType = (type: DetectorConfig["type"]): type is ModelType =>
  (MODEL_TYPES as readonly string[]).includes(type);

export type BuiltModelDetector =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      /** Every `<category>/<LABEL>` that it can find. */
      readonly gives: readonly string[];
      /** Of the session that it reads with. */
      readonly session: string;
      /** Loads the model, where it is not loaded, and answers what is wrong with it. Rejects with the signal's reason. */
      readonly prepare: (signal: AbortSignal) => Promise<readonly ReadingProblem[]>;
    }
  /** Paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly ReadingProblem[] };

/** Of a `category` that is written and empty. */
const EMPTY_CATEGORY: Readonly<Record<ModelType, Category>> = { nlp: "pii", classify: "injection", embed: "topic" };

/** Files are looked at and small ones read; the model is loaded when it is prepared or first used. */
export function createModelDetector(
  config: DetectorConfig,
  type: ModelType,
  name: string,
  { sessions, views }: { readonly sessions: Sessions; readonly views: Views },
): BuiltModelDetector {
  const own = config[type];
  const refused = (problems: readonly ReadingProblem[]): BuiltModelDetector => ({ kind: "refused", problems });
  const at = (key: string, message: string): ReadingProblem => ({ path: [type, key], message });
  if (own === undefined) return refused([{ path: [], message: `\`${type}\` is missing` }]);
  if (own.remote !== undefined) {
    return refused([at("remote", "models on a server are not supported by this version, only those of this machine")]);
  }
  const runtime = locate("onnxruntime-node", own.library);
  const tokenizers = locate("tokenizers", own.tokenizer_library);
  const files = filesOf(own, views);
  const category = CATEGORIES.find((known) => known === (own.category || EMPTY_CATEGORY[type]));
  const problems = [
    ...(category === undefined ? [at("category", `the namespaces are ${CATEGORIES.join(", ")}`)] : []),
    ...(runtime.kind === "absent" ? [at("library", runtime.message)] : []),
    ...(tokenizers.kind === "absent" ? [at("tokenizer_library", tokenizers.message)] : []),
    ...("graph" in files ? [] : files.map(({ key, message }) => at(key, message))),
  ];
  if (runtime.kind === "absent" || tokenizers.kind === "absent" || !("graph" in files) || category === undefined) {
    return refused(problems);
  }
  const plan = planOf(config, type, files);
  if (!isPlan(plan)) return refused(plan);
  const { tokenizer, graph, identity } = files;
  const session: SessionSpec = {
    graph,
    threads: own.threads,
    runtime: runtime.path,
    tokenizers: tokenizers.path,
    identity,
  };
  const reader: ReaderSpec = {
    tokenizer,
    maxTokens: own.max_tokens,
    stride: own.stride ?? Math.floor(own.max_tokens / 8),
    stripsMarks: own.strip_marks === "arabic",
    prefix: config.embed?.prefix ?? "",
    reading: plan.reading,
  };
  const read = createHash("sha256")
    .update(JSON.stringify({ session: keyOf(session), reader }))
    .digest("hex");
  const fingerprint = createHash("sha256").update(JSON.stringify({ read, category })).digest("hex");
  return {
    kind: "detector",
    detector: detectorOf({ name, type, fingerprint, category }, (texts, signal) =>
      sessions.of(session).read(read, reader, texts, signal),
    ),
    gives: plan.gives.map((label) => `${category}/${label}`),
    session: keyOf(session),
    async prepare(signal) {
      try {
        const problem = await sessions.of(session).open(read, reader, signal);
        if (problem === undefined) return [];
        const { key, message } = problem;
        return [at(key, `${key === "tokenizer" ? tokenizer : graph}: ${message}`)];
      } catch (error) {
        if (!(error instanceof DetectorError)) throw error;
        return [at("model", `${graph}: ${error.message}`)];
      }
    },
  };
}

function planOf(config: DetectorConfig, type: ModelType, files: ModelFiles): ReadingPlan | readonly ReadingProblem[] {
  const { nlp, classify, embed } = config;
  if (type === "embed") return embed === undefined ? [] : planTopics(embed, config);
  const own = type === "nlp" ? nlp : classify;
  let model: ModelConfig | undefined;
  try {
    model = configRead(files);
  } catch (error) {
    const key = own?.labels_path === undefined ? "model" : "labels_path";
    return [{ path: [type, key], message: error instanceof Error ? error.message : String(error) }];
  }
  const labels = own?.labels ?? model?.labels;
  if (labels === undefined) {
    const message = "nothing names the model's labels: no `config.json` with `id2label` is beside it; set `labels`";
    return [{ path: [type, "labels"], message }];
  }
  if (nlp !== undefined) return planTokenLabels(nlp, labels, config);
  return classify === undefined ? [] : planVerdicts(classify, labels, model?.problemType, config);
}

interface Facts {
  readonly name: string;
  readonly type: ModelType;
  readonly fingerprint: string;
  readonly category: Category;
}

type ReadTexts = (texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly Read[])[]>;

function detectorOf({ name, type, fingerprint, category }: Facts, read: ReadTexts): Detector {
  return Object.freeze({
    name,
    type,
    fingerprint,
    readsContext: [],
    async detect(texts, _all, signal) {
      const parts = texts.flatMap(partsOf);
      const found = await read(
        parts.map(({ text }) => text),
        signal,
      );
      const asFinding = ({ start, end, label, score }: Read): Finding => ({
        start,
        end,
        category,
        label,
        score,
        recognizer: "",
        trace: undefined,
      });
      return placed(
        texts,
        parts,
        found.map((all) => all.map(asFinding)),
      );
    },
    horizon: undefined,
  } satisfies Detector);
}
