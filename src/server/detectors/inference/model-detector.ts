/**
 * Detectors of types `nlp`, `classify` and `embed`, whose model runs in this process or on a server. Source:
 * specification document 3.
 */

import { createHash } from "node:crypto";
import type { DetectorConfig } from "../../core/config/index.ts";
import { CATEGORIES, type Category, type Detector, DetectorError, type Finding } from "../../core/guardrails/index.ts";
import { type DetectorProbe, HARMLESS } from "../detector-probe.ts";
import { partsOf, placed } from "../text-parts.ts";
import { type Endpoints, shownHeaders } from "../wire/index.ts";
import {
  isPlan,
  planTokenLabels,
  planTopics,
  planVerdicts,
  type ReadingPlan,
  type ReadingProblem,
} from "./detector-readings.ts";
import type { ModelConfig } from "./labels.ts";
import { configRead, filesOf, type ModelFiles, type TextFiles, type Views } from "./model-files.ts";
import type { ModelFinding } from "./reading/types.ts";
import { askingOf, probeOf, servedGraph } from "./served.ts";
import { locate } from "./session/packages.ts";
import type { AskServer } from "./session/served/server-calls.ts";
import type { Session } from "./session/session.ts";
import type { ReaderSpec, SessionSpec } from "./session/session-protocol.ts";
import { keyOf, type Sessions } from "./session/shared-sessions.ts";

const MODEL_TYPES = ["nlp", "classify", "embed"] as const;
type ModelType = (typeof MODEL_TYPES)[number];

export const isModelType = (type: DetectorConfig["type"]): type is ModelType =>
  (MODEL_TYPES as readonly string[]).includes(type);

export type BuiltModelDetector =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      /** Every `<category>/<LABEL>` that the detector can find. */
      readonly gives: readonly string[];
      /** Key of the session that the detector uses. */
      readonly session: string;
      /** Origin of the server that runs the graph. */
      readonly origin: string | undefined;
      /**
       * Loads the model (for one on a server, the tokenizer) if necessary, and returns its problems. Rejects with the
       * signal's reason.
       */
      readonly prepare: (signal: AbortSignal) => Promise<readonly ReadingProblem[]>;
      /**
       * Queries the server's metadata if they are not known; `undefined` if the graph runs in this process. Rejects
       * with a `DetectorError`, or with the signal's reason.
       */
      readonly checkReachable: ((signal: AbortSignal) => Promise<void>) | undefined;
      readonly probe: DetectorProbe | undefined;
    }
  /** Problems of the configuration; their paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly ReadingProblem[] };

/** Category of findings if `category` is empty. */
const EMPTY_CATEGORY: Readonly<Record<ModelType, Category>> = { nlp: "pii", classify: "injection", embed: "topic" };

type Own = NonNullable<DetectorConfig[ModelType]>;

interface Parts {
  readonly sessions: Sessions;
  readonly endpoints: Endpoints;
  readonly views: Views;
}

/** Creates the detector: checks its files and reads small ones. The model is loaded by `prepare` or at its first use. */
export function createModelDetector(
  config: DetectorConfig,
  type: ModelType,
  name: string,
  parts: Parts,
): BuiltModelDetector {
  const own = config[type];
  const refused = (problems: readonly ReadingProblem[]): BuiltModelDetector => ({ kind: "refused", problems });
  const at = (key: string, message: string): ReadingProblem => ({ path: [type, key], message });
  if (own === undefined) return refused([{ path: [], message: `\`${type}\` is missing` }]);
  const tokenizers = locate("tokenizers", own.tokenizer_library);
  const files = filesOf(own, parts.views);
  const source = sourceOf(own, "tokenizer" in files ? files : undefined, parts.endpoints);
  const category = CATEGORIES.find((known) => known === (own.category || EMPTY_CATEGORY[type]));
  const problems = [
    ...(category === undefined ? [at("category", `the namespaces are ${CATEGORIES.join(", ")}`)] : []),
    ...(source.kind === "refused" ? source.problems.map((it) => ({ ...it, path: [type, ...it.path] })) : []),
    ...(tokenizers.kind === "absent" ? [at("tokenizer_library", tokenizers.message)] : []),
    ...("tokenizer" in files ? [] : files.map(({ key, message }) => at(key, message))),
  ];
  if (problems.length > 0) return refused(problems);
  if (source.kind !== "source" || tokenizers.kind === "absent" || !("tokenizer" in files) || category === undefined) {
    return refused(problems);
  }
  const plan = planOf(config, type, files);
  if (!isPlan(plan)) return refused(plan);
  const { graph, server, identity, shown } = source;
  const session: SessionSpec = { graph, tokenizers: tokenizers.path, identity };
  const reader: ReaderSpec = {
    tokenizer: files.tokenizer,
    maxTokens: own.max_tokens,
    stride: own.stride ?? Math.floor(own.max_tokens / 8),
    stripsMarks: own.strip_marks === "arabic",
    prefix: config.embed?.prefix ?? "",
    reading: plan.reading,
  };
  const read = digestOf({ session: keyOf(session), reader });
  const fingerprint = digestOf({ session: keyOf({ ...session, identity: shown }), reader, category });
  const opened = (): Session => parts.sessions.of(session, server);
  const readTexts: ReadTexts = (texts, signal) => opened().read(read, reader, texts, signal);
  return {
    kind: "detector",
    detector: detectorOf({ name, type, fingerprint, category }, readTexts),
    gives: plan.gives.map((label) => `${category}/${label}`),
    session: keyOf(session),
    origin: graph.kind === "served" ? graph.origin : undefined,
    async prepare(signal) {
      const place = graph.kind === "served" ? graph.origin : graph.path;
      try {
        const problem = await opened().open(read, reader, signal);
        if (problem === undefined) return [];
        const { key, message } = problem;
        return [at(key, `${key === "tokenizer" ? files.tokenizer : place}: ${message}`)];
      } catch (error) {
        if (!(error instanceof DetectorError)) throw error;
        return [at(graph.kind === "served" ? "remote" : "model", `${place}: ${error.message}`)];
      }
    },
    // Without a text, the server's metadata are queried, and examples are embedded.
    checkReachable: graph.kind === "served" ? async (signal) => void (await readTexts([], signal)) : undefined,
    probe:
      graph.kind === "served" && server !== undefined && own.remote !== undefined
        ? probeOf(name, own.remote, server, (signal) => readTexts([HARMLESS], signal))
        : undefined,
  };
}

const digestOf = (value: object): string => createHash("sha256").update(JSON.stringify(value)).digest("hex");

type Source =
  | {
      readonly kind: "source";
      readonly graph: SessionSpec["graph"];
      readonly server: AskServer | undefined;
      /** Changes with the files, or with the server's settings. `shown` is the same without credentials. */
      readonly identity: string;
      readonly shown: string;
    }
  | { readonly kind: "refused"; readonly problems: readonly ReadingProblem[] };

/** Returns the source of the graph. `files` is `undefined` if they are missing, which is a separate problem. */
function sourceOf(own: Own, files: ModelFiles | TextFiles | undefined, endpoints: Endpoints): Source {
  const identity = files?.identity ?? "";
  if (own.remote === undefined) {
    const runtime = locate("onnxruntime-node", own.library);
    if (runtime.kind === "absent") {
      return { kind: "refused", problems: [{ path: ["library"], message: runtime.message }] };
    }
    const path = files !== undefined && "graph" in files ? files.graph : "";
    const graph = { kind: "file", path, threads: own.threads, runtime: runtime.path } as const;
    return { kind: "source", graph, server: undefined, identity, shown: identity };
  }
  const graph = servedGraph(own.remote);
  if (!("kind" in graph)) {
    return { kind: "refused", problems: graph.map(({ path, message }) => ({ path: ["remote", ...path], message })) };
  }
  const { headers, timeout } = own.remote;
  return {
    kind: "source",
    graph,
    server: askingOf(endpoints.of(graph.origin), own.remote),
    identity: digestOf([identity, timeout, Object.entries(headers ?? {})]),
    shown: digestOf([identity, shownHeaders(headers)]),
  };
}

function planOf(config: DetectorConfig, type: ModelType, files: TextFiles): ReadingPlan | readonly ReadingProblem[] {
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
    const message =
      "the labels of the model are unknown: set `labels`, or put a `config.json` with `id2label` beside the model";
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

type ReadTexts = (texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly ModelFinding[])[]>;

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
      const asFinding = ({ start, end, label, score }: ModelFinding): Finding => ({
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
