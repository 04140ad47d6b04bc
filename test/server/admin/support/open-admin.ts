/** A local socket over in-memory ports, a client of it, and requests of a foreign client. */

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type AdminClient, createAdminClient } from "../../../../src/admin-api/index.ts";
import { createLogger } from "../../../../src/base/index.ts";
import { PERMIT_ALL } from "../../../../src/server/admin/access/types.ts";
import { openAdminPlane } from "../../../../src/server/admin/admin-plane.ts";
import { type AdminSocket, openAdminSocket, type Ports, type Secrets } from "../../../../src/server/admin/index.ts";
import { secretIn } from "../../../../src/server/detectors/index.ts";
import { createMemoryAudit, type MemoryAudit } from "./memory-audit.ts";
import { createMemoryBackends, type MemoryBackends } from "./memory-backends.ts";
import { createMemoryCluster, type MemoryCluster } from "./memory-cluster.ts";
import { createMemoryGoverned, type MemoryGoverned } from "./memory-governed.ts";
import { createMemoryGuardrails } from "./memory-guardrails.ts";
import { createMemoryRehearsals } from "./memory-rehearsals.ts";
import { memoryRows, sampleRows } from "./memory-rows.ts";
import { createMemorySecrets } from "./memory-secrets.ts";
import { createMemorySources, type MemorySources } from "./memory-sources.ts";
import { assertAnswerTo } from "./openapi-answers.ts";

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  json<T = { readonly error: { readonly code: string; readonly message: string; readonly details?: unknown } }>(): T;
}

interface OpenAdmin {
  readonly path: string;
  readonly directory: string;
  readonly listener: AdminSocket;
  readonly client: AdminClient;
  readonly memory: MemoryCluster;
  readonly sources: MemorySources;
  readonly secrets: Secrets;
  readonly backends: MemoryBackends;
  readonly governed: MemoryGoverned;
  readonly audit: MemoryAudit;
  /** Returns the whole log. */
  readonly log: () => string;
  /** Sets the time of every clock, in milliseconds since 1970. */
  setNow(now: number): void;
  setReady(ready: boolean, reasons?: readonly string[]): void;
  /** Checks the answer against the OpenAPI document. */
  send(method: string, path: string, options?: RawOptions): Promise<RawAnswer>;
}

export interface RawOptions {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

export const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);

const CERTIFICATE = {
  names: ["gateway.example.com"],
  source: "/etc/gateway/tls.crt",
  state: "valid",
  serial: "4A",
  issuer: "test",
  not_before: "2026-11-01T00:00:00.000Z",
  not_after: "2027-01-30T00:00:00.000Z",
  next_renewal: null,
  step: null,
  last_error: null,
  last_error_at: null,
  failures: 0,
  next_attempt: null,
} as const;

const CONTROL = { control: "acme-1:A", pack: "", rules: ["no-cards"], decisions: 3 } as const;

/** A row of refusals. */
const REFUSAL = {
  caller_kind: "key",
  caller: "ci",
  code: "budget_exhausted",
  cause: "budget",
  cause_name: "day",
  last_minute: 2,
  last_hour: 40,
  first_at: "2026-11-20T11:00:00.000Z",
  last_at: "2026-11-20T11:59:58.000Z",
  last_request: "r-1",
} as const;

/** A row of requests. */
const REQUEST = {
  time: "2026-11-20T11:59:58.000Z",
  id: "r-1",
  caller: "ci",
  profile: null,
  hop: "llm",
  route: "chat_completions",
  model: "m-1",
  provider: "acme",
  status: 200,
  code: null,
  attempts: 1,
  ttfb_ms: 12,
  total_ms: 340,
  input_tokens: 10,
  output_tokens: null,
  decided_by: null,
} as const;

/** Ten seconds of a provider's history. */
const HISTORY = {
  time: "2026-11-20T11:59:50.000Z",
  kind: "backends",
  name: "acme",
  attempts: 5,
  failures: 1,
  ttfb_p50_ms: 12.5,
  ttfb_p95_ms: 40,
  in_flight: 2,
  input_tokens: 100,
  output_tokens: 20,
  used: null,
  refused: null,
  decisions: null,
  findings: null,
  types: null,
  held_bytes: null,
  applied_index: null,
  commit_ms: null,
} as const;

const AUDITED = {
  provider: "acme",
  type: "compat",
  scope: "organisation",
  fetched_at: "2026-11-20T11:00:00.000Z",
  judged_to: "2026-11-17",
  days: 1,
  breaches: 1,
  unmeasured_streams: 2,
  error: null,
} as const;

const VERDICT = {
  day: "2026-11-17",
  provider: "acme",
  class: "output",
  metered: 97_000,
  reported: 100_000,
  delta: -3_000,
  ratio: 0.03,
  breach: 1,
  direction: "under",
  hard: 0,
  judged_at: "2026-11-20T11:00:00.000Z",
} as const;

const ARTIFACT = {
  model: "names",
  file: "model.onnx",
  role: "graph",
  digest: `sha256:${"a".repeat(64)}`,
  size: 431,
  state: "fetching",
  fetched: 12,
  message: null,
  source: "hub.example/ner@abc",
  detectors: ["people"],
} as const;

export async function openAdmin(t: TestContext, over: Partial<Ports> = {}): Promise<OpenAdmin> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-admin-"));
  const path = join(directory, "admin.sock");
  let now = NOW;
  let readiness: { ready: boolean; reasons: readonly string[] } = { ready: true, reasons: [] };
  const lines: string[] = [];
  const memory = createMemoryCluster(() => now);
  const sources = createMemorySources(() => now);
  const secrets = createMemorySecrets(() => now);
  const backends = createMemoryBackends();
  const governed = createMemoryGoverned();
  const audit = createMemoryAudit();
  const guardrails = createMemoryGuardrails();
  const ports: Ports = {
    cluster: memory.cluster,
    sources: sources.sources,
    secrets,
    backends: backends.backends,
    governance: governed.governed,
    guardrails,
    rehearsals: createMemoryRehearsals(),
    rows: memoryRows({
      ...sampleRows(),
      history: [HISTORY],
      history_minutes: [HISTORY],
      requests: [REQUEST],
      refusals: [REFUSAL],
      reconcile: [AUDITED],
      reconcile_verdicts: [VERDICT],
      guardrails: guardrails.list(),
      certificates: [CERTIFICATE],
      artifacts: [ARTIFACT],
      controls: [CONTROL],
    }),
    audit: audit.audit,
    logins: [],
    facts: {
      version: "1.2.3",
      startedAt: NOW - 90_000,
      uptimeMs: () => 90_000,
      listeners: () => [{ name: "data plane", address: "127.0.0.1:8484" }],
      readiness: () => readiness,
      configuration: () => ({ state: "running", message: null }),
      workers: () => ({ wanted: 2, serving: 1, restarts: 1, recent_ends: 0, last_end_at: null, last_end_by: null }),
      models: () => [{ name: "names", state: "fetching", bytes: 12, total_bytes: 431, message: null }],
      forwardProxies: () => [],
      keyLastUsedAt: () => undefined,
    },
    clock: { now: () => now, monotonic: () => now },
    randomBytes,
    detectSecret: async (text) => secretIn(text),
    log: createLogger({
      stream: { write: (line: string) => lines.push(line) },
      isTerminal: false,
      level: "debug",
      now: () => now,
    }),
    ...over,
  };
  const plane = openAdminPlane(ports, PERMIT_ALL);
  const peerCredentials = () => ({ uid: 1000, gid: 1000, pid: undefined });
  const listener = await openAdminSocket({ path, plane, peerCredentials });
  const client = createAdminClient({ address: { kind: "socket", path } });
  t.after(async () => {
    client.close();
    await listener.close();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    path,
    directory,
    listener,
    client,
    memory,
    sources,
    secrets,
    backends,
    governed,
    audit,
    log: () => lines.join(""),
    setNow(next) {
      now = next;
    },
    setReady(ready, reasons = []) {
      readiness = { ready, reasons };
    },
    async send(method, target, options) {
      const answer = await send(path, method, target, options);
      assertAnswerTo(method, target, answer.status, answer.headers, answer.text);
      return answer;
    },
  };
}

/** Sends one request on a connection of its own. */
export function send(socketPath: string, method: string, path: string, { headers = {}, body }: RawOptions = {}) {
  return new Promise<RawAnswer>((resolve, reject) => {
    const type =
      body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const request = httpRequest({ socketPath, method, path, headers: { ...type, ...headers }, agent: false });
    let answered = false;
    request.on("error", (error) => {
      if (!answered) reject(error);
    });
    request.once("response", (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: () => JSON.parse(text),
        });
      });
    });
    request.end(body);
  });
}
