/** Session of a model on a server. Source: specification document 3, `remote` of `nlp`, `classify` and `embed`. */

import { parseDuration } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import { DetectorError } from "../../core/guardrails/index.ts";
import type { DetectorProbe } from "../detector-probe.ts";
import { addressOf, type Endpoint, headerPairs, headerProblems } from "../wire/index.ts";
import type { AskServer } from "./session/served/server-calls.ts";
import type { ServedGraph } from "./session/session-protocol.ts";

type InferenceServer = NonNullable<NonNullable<DetectorConfig["nlp"]>["remote"]>;

/** Maximum delay of a timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

const MAX_READY_BYTES = 64 << 10;

interface ServedProblem {
  /** Path below `remote`. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Returns the graph that an inference server runs, or the problems of its settings. */
export function servedGraph(server: InferenceServer): ServedGraph | readonly ServedProblem[] {
  const address = addressOf(server.endpoint);
  const problems: ServedProblem[] = headerProblems(server.headers).map(({ name, message }) => ({
    path: ["headers", name],
    message,
  }));
  if (server.model === "." || server.model === "..")
    problems.push({ path: ["model"], message: "no model has this name" });
  if (typeof address === "string") return [...problems, { path: ["endpoint"], message: address }];
  if (problems.length > 0) return problems;
  const version = (server.version ?? "") === "" ? "" : `/versions/${encodeURIComponent(server.version ?? "")}`;
  const root = `${address.root}/v2`;
  return {
    kind: "served",
    origin: address.origin,
    server: root,
    model: `${root}/models/${encodeURIComponent(server.model)}${version}`,
  };
}

/** Returns a function that calls the server with the configured headers and timeout. */
export function askingOf(endpoint: Endpoint, server: InferenceServer): AskServer {
  const own = headerPairs(server.headers);
  const limitMs = Math.min(Math.max(1, parseDuration(server.timeout) ?? LONGEST_MS), LONGEST_MS);
  return async ({ method, path, headers, body, maxBytes }, signal) => {
    const ending = new AbortController();
    const onAbort = (): void => ending.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const limit = setTimeout(() => {
      ending.abort(new DetectorError("timeout", `its server did not answer within ${server.timeout}`));
    }, limitMs);
    try {
      const asked = {
        method,
        path,
        headers: [...own, ...headers],
        body: body === null ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
        maxBytes,
      };
      const answer = await endpoint.send(asked, ending.signal);
      const length = answer.headers["inference-header-content-length"];
      return {
        status: answer.status,
        headerLength: length === undefined ? undefined : String(length),
        // The body is copied to memory of its own, since it is transferred to another thread.
        body: new Uint8Array(answer.body),
      };
    } finally {
      clearTimeout(limit);
      signal.removeEventListener("abort", onAbort);
    }
  };
}

/**
 * Returns a probe, which checks that the server is ready and its model fits the detector. `read` scans a text, as for a
 * request.
 */
export const probeOf = (
  detector: string,
  { endpoint, headers, model }: InferenceServer,
  server: AskServer,
  read: (signal: AbortSignal) => Promise<unknown>,
): DetectorProbe => ({
  detector,
  presents: `${endpoint}\n${headerPairs(headers).join("\n")}`,
  async ask(_, signal) {
    const path = `${new URL(endpoint).pathname.replace(/\/+$/, "")}/v2/health/ready`;
    const { status } = await server(
      { method: "GET", path, headers: [], body: null, maxBytes: MAX_READY_BYTES },
      signal,
    );
    if (status !== 200) throw new DetectorError("failed", `its server is not ready: it answered ${status}`);
    await read(signal);
    return { message: `${new URL(endpoint).origin} serves \`${model}\`, which reads a text`, isDoubtful: false };
  },
});
