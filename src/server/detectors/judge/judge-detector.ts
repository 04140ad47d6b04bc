/** Detectors of type `llm`: a model of a configured provider judges whole segments. Source: specification document 3. */

import { createHash } from "node:crypto";
import { closestName, GatewayError, mapWithLimit, type QuestionTracer } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import { CATEGORIES, type Detector, DetectorError, type Finding, type Segment } from "../../core/guardrails/index.ts";
import { type DetectorProbe, HARMLESS } from "../detector-probe.ts";
import type { CallModel, ModelAnswer } from "../ports.ts";
import { partsOf, placed } from "../text-parts.ts";
import { createCallSlots } from "../wire/index.ts";
import { endOf, windowsOf } from "./byte-windows.ts";
import { codesFormat, MAX_CODES } from "./guard-codes.ts";
import { normal, safetyFormat } from "./guard-safety.ts";
import { jsonFormat } from "./json-format.ts";
import { createProof } from "./proof.ts";
import {
  type ContextBlock,
  invalidAnswer,
  type JudgedText,
  type JudgeFormat,
  type JudgeQuestion,
  type JudgeTerms,
  type Verdict,
} from "./types.ts";

type Own = NonNullable<DetectorConfig["llm"]>;

interface JudgeProblem {
  /** Path from the detector. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type BuiltJudge =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      readonly gives: readonly string[];
      readonly probe: DetectorProbe;
    }
  | { readonly kind: "refused"; readonly problems: readonly JudgeProblem[] };

interface JudgeOptions {
  readonly callModel: CallModel;
  /** Whether the provider has a channel of the compat dialect; `undefined` if this is not known here. */
  readonly speaksCompat: boolean | undefined;
  /** Returns the time of a monotonic clock with any origin, in milliseconds. */
  readonly now?: () => number;
}

const FORMATS: Readonly<Record<Own["format"], (terms: JudgeTerms) => JudgeFormat>> = {
  json: jsonFormat,
  guard_safety: safetyFormat,
  guard_codes: codesFormat,
};

export function createJudge(config: DetectorConfig, name: string, options: JudgeOptions): BuiltJudge {
  const { llm: own, entities } = config;
  if (own === undefined) return { kind: "refused", problems: [{ path: [], message: "`llm` is missing" }] };
  const category = CATEGORIES.find((known) => known === (own.category || "injection"));
  const problems = problemsOf(own, entities, options.speaksCompat);
  if (category === undefined) {
    problems.push({ path: ["llm", "category"], message: `the namespaces are ${CATEGORIES.join(", ")}` });
  }
  if (problems.length > 0 || category === undefined) return { kind: "refused", problems };
  const labels = entities === undefined ? own.labels : own.labels.filter((label) => entities.includes(label));
  const judge = judging(own, name, options);
  const kinds = own.context ?? [];
  const detector: Detector = Object.freeze({
    name,
    type: "llm",
    fingerprint: createHash("sha256")
      .update(JSON.stringify(["llm", own, category, labels]))
      .digest("hex"),
    readsContext: kinds,
    async detect(texts, all, signal, tracer) {
      const parts = texts.flatMap(partsOf);
      const asked = parts.flatMap(({ at, text }, part) => {
        const segment = texts[at]?.segment as Segment;
        if (text.trim() === "") return [];
        const context = contextOf(segment, all, kinds, own.max_bytes);
        return windowsOf(text.toWellFormed(), own.max_bytes).map((window) => ({
          part,
          judged: { kind: segment.kind, text: window, context } satisfies JudgedText,
        }));
      });
      const verdicts = await mapWithLimit(asked, own.concurrency, signal, ({ judged }, until) =>
        judge(judged, until, tracer),
      );
      const best = parts.map(() => new Map<string, number>());
      asked.forEach(({ part }, at) => {
        for (const { label, score } of verdicts[at] ?? []) {
          if (labels.includes(label)) best[part]?.set(label, Math.max(best[part]?.get(label) ?? 0, score));
        }
      });
      const found = parts.map(({ text }, part) =>
        [...(best[part] ?? [])].map(
          ([label, score]): Finding => ({
            start: 0,
            end: text.length,
            category,
            label,
            score,
            recognizer: "",
            trace: undefined,
          }),
        ),
      );
      return placed(texts, parts, found);
    },
    horizon: undefined,
  } satisfies Detector);
  const probe: DetectorProbe = {
    detector: name,
    presents: "",
    provider: own.provider,
    async ask(callModel, signal) {
      await judging(own, name, { ...options, callModel })({ kind: "user", text: HARMLESS, context: [] }, signal);
      const proved = own.format === "json" ? "" : ", which labels and text reach";
      return { message: `\`${own.model}\` of ${own.provider} judges a text${proved}`, isDoubtful: false };
    },
  };
  return { kind: "detector", detector, gives: labels.map((label) => `${category}/${label}`), probe };
}

/** Form of a label, which becomes a type's name in rules, headers and metrics. */
const LABEL = /^[^\p{Cc}\s/"\\](?:[^\p{Cc}/"\\]{0,62}[^\p{Cc}\s/"\\])?$/u;

function problemsOf(
  own: Own,
  entities: readonly string[] | undefined,
  speaksCompat: boolean | undefined,
): JudgeProblem[] {
  const { labels, format, provider } = own;
  const problems: JudgeProblem[] = [];
  const seen = new Set<string>();
  for (const [at, label] of labels.entries()) {
    const path = ["llm", "labels", at];
    const name = format === "guard_safety" ? normal(label) : label.toUpperCase();
    if (!LABEL.test(label)) {
      problems.push({
        path,
        message: "a label must have at most 64 characters, and no slash, quotes or control characters",
      });
    } else if (format === "guard_safety" && /[,()]/.test(label)) {
      problems.push({ path, message: "a label of `guard_safety` must not contain a comma or parentheses" });
    }
    if (seen.has(name)) problems.push({ path, message: "this label cannot be distinguished from an earlier one" });
    seen.add(name);
  }
  if (format === "guard_codes" && labels.length >= MAX_CODES) {
    problems.push({ path: ["llm", "labels"], message: `\`guard_codes\` supports at most ${MAX_CODES - 1} labels` });
  }
  if (format !== "json" && speaksCompat === false) {
    const message = `\`${format}\` needs a provider of the compat dialect, and \`${provider}\` has no channel of it`;
    problems.push({ path: ["llm", "format"], message });
  }
  for (const [at, entity] of (entities ?? []).entries()) {
    if (labels.includes(entity)) continue;
    const meant = closestName(entity, new Set(labels));
    const hint = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    problems.push({ path: ["entities", at], message: `the judge has no label \`${entity}\`${hint}` });
  }
  return problems;
}

/** Returns one block for each kind of context, with its newest `maxBytes`. */
function contextOf(
  judged: Segment,
  all: readonly Segment[],
  kinds: readonly Segment["kind"][],
  maxBytes: number,
): readonly ContextBlock[] {
  return kinds.flatMap((kind) => {
    const texts = all.filter((segment) => segment.kind === kind && segment !== judged).map(({ text }) => text);
    const text = endOf(texts.join("\n\n").toWellFormed(), maxBytes);
    return text.trim() === "" ? [] : [{ kind, text }];
  });
}

type Judge = (judged: JudgedText, signal: AbortSignal, tracer?: QuestionTracer) => Promise<readonly Verdict[]>;

function judging(own: Own, name: string, { callModel, now = () => performance.now() }: JudgeOptions): Judge {
  const { provider, model, max_tokens: maxTokens } = own;
  const format = FORMATS[own.format](own);
  const slots = createCallSlots();
  const ask = async (
    asking: JudgeQuestion,
    signal: AbortSignal,
    tracer: QuestionTracer | undefined,
  ): Promise<ModelAnswer> => {
    await slots.acquire({ signal });
    try {
      const question = { detector: name, provider, model, maxTokens, ...asking };
      return await callModel(question, signal, tracer?.tracerForDetector(name));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DetectorError) throw error;
      if (!(error instanceof GatewayError)) throw new DetectorError("failed", "the request to its provider failed");
      throw new DetectorError(error.code === "overloaded" ? "overloaded" : "failed", error.message);
    } finally {
      slots.release();
    }
  };
  const prove = format.buildProbe && createProof(format.buildProbe, now);
  return async (judged, signal, tracer) => {
    await prove?.((asking) => ask(asking, signal, tracer));
    return format.parseAnswer(answerOf(await ask(format.buildQuestion(judged), signal, tracer)), judged);
  };
}

/**
 * Returns the judge's answer without its reasoning. Throws a `DetectorError` if there is none, instead of reporting nothing
 * found.
 */
function answerOf({ text, isFinished }: ModelAnswer): string {
  if (!isFinished) throw invalidAnswer("is unfinished");
  let rest = text.replace(/^\ufeff/, "").trim();
  if (rest.startsWith("<think>")) {
    const end = rest.indexOf("</think>");
    if (end < 0) throw invalidAnswer("is unfinished");
    rest = rest.slice(end + "</think>".length).trim();
  }
  if (rest === "") throw invalidAnswer("is empty");
  return rest;
}
