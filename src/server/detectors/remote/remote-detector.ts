/** Detectors of type `remote`: an analyzer behind `/analyze`. Source: specification document 3; presidio-analyze reference. */

import { createHash } from "node:crypto";
import { mapWithLimit } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import { CATEGORIES, type Detector, DetectorError, type Finding } from "../../core/guardrails/index.ts";
import { type DetectorProbe, HARMLESS } from "../detector-probe.ts";
import { partsOf, placed } from "../text-parts.ts";
import { addressOf, type Endpoint, type Endpoints, headerPairs, headerProblems, shownHeaders } from "../wire/index.ts";
import { type AnswerTerms, findingsIn } from "./analyzer-answer.ts";
import { probeAnalyzer } from "./probe-analyzer.ts";

/** Maximum size of the answer for one text, in bytes. */
const MAX_ANSWER_BYTES = 8 << 20;

interface RemoteProblem {
  /** Path from the detector. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type BuiltRemoteDetector =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      /** Every `<category>/<LABEL>` that the detector can find; `undefined` if only its server knows. */
      readonly gives: readonly string[] | undefined;
      /** Origin of the detector's server. */
      readonly origin: string;
      readonly probe: DetectorProbe;
    }
  | { readonly kind: "refused"; readonly problems: readonly RemoteProblem[] };

/** Creates the detector; sends nothing before the first text. */
export function createRemoteDetector(
  config: DetectorConfig,
  name: string,
  { endpoints }: { readonly endpoints: Endpoints },
): BuiltRemoteDetector {
  const { remote: own, entities, threshold } = config;
  if (own === undefined) return { kind: "refused", problems: [{ path: [], message: "`remote` is missing" }] };
  const address = addressOf(own.endpoint);
  const category = CATEGORIES.find((known) => known === (own.category || "pii"));
  const problems: RemoteProblem[] = headerProblems(own.headers).map(({ name: header, message }) => ({
    path: ["remote", "headers", header],
    message,
  }));
  if (typeof address === "string") problems.push({ path: ["remote", "endpoint"], message: address });
  if (category === undefined) {
    problems.push({ path: ["remote", "category"], message: `the namespaces are ${CATEGORIES.join(", ")}` });
  }
  if (problems.length > 0 || typeof address === "string" || category === undefined)
    return { kind: "refused", problems };
  const { path, language, concurrency, offsets } = own;
  const asked = {
    language,
    ...(entities !== undefined && { entities }),
    ...(threshold !== undefined && { score_threshold: threshold }),
  };
  const terms: AnswerTerms = {
    category,
    offsets,
    entities: entities === undefined ? undefined : new Set(entities),
    seen: new Set(),
  };
  const endpoint = endpoints.of(address.origin);
  const analyze = analyzer(endpoint, { path: address.root + path, headers: headerPairs(own.headers), asked }, terms);
  const detector: Detector = Object.freeze({
    name,
    type: "remote",
    fingerprint: createHash("sha256")
      .update(JSON.stringify(["remote", address, path, shownHeaders(own.headers), asked, category, offsets]))
      .digest("hex"),
    readsContext: [],
    async detect(texts, _all, signal) {
      const parts = texts.flatMap(partsOf);
      const found = await mapWithLimit(parts, concurrency, signal, ({ text }, until) => analyze(text, until));
      return placed(texts, parts, found);
    },
    horizon: undefined,
  } satisfies Detector);
  const gives = entities?.map((entity) => `${category}/${entity}`);
  const headers = headerPairs(own.headers);
  const asking = { root: address.root, headers, language, entities };
  const probe: DetectorProbe = {
    detector: name,
    presents: `${own.endpoint}\n${headers.join("\n")}`,
    ask: (_, signal) => probeAnalyzer(endpoint, asking, () => analyze(HARMLESS, signal), signal),
  };
  return { kind: "detector", detector, gives, origin: address.origin, probe };
}

interface Call {
  readonly path: string;
  readonly headers: readonly string[];
  /** Members of the request in addition to the text. */
  readonly asked: object;
}

type Analyze = (text: string, signal: AbortSignal) => Promise<readonly Finding[]>;

function analyzer(endpoint: Endpoint, { path, headers: own, asked }: Call, terms: AnswerTerms): Analyze {
  const headers = [...own, "content-type", "application/json"];
  return async (original, signal) => {
    // White space has no findings, and an analyzer refuses empty text.
    if (original.trim() === "") return [];
    // Half a surrogate pair is a character in Python but invalid in UTF-8. It is replaced by another character of one
    // unit, which counts the same.
    const text = original.toWellFormed();
    const body = JSON.stringify({ text, ...asked });
    const answer = await endpoint.send({ method: "POST", path, headers, body, maxBytes: MAX_ANSWER_BYTES }, signal);
    if (answer.status !== 200) throw new DetectorError("failed", `its server answered ${answer.status}`);
    return findingsIn(answer.body, text, terms);
  };
}
