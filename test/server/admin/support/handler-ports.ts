/** Handlers and list sources in isolation: in-memory ports, and calls like the listener's. */

import { randomBytes } from "node:crypto";
import type { OperationId } from "../../../../src/admin-api/index.ts";
import { nullLog } from "../../../../src/base/index.ts";
import type { HandlerCall, HandlerPorts } from "../../../../src/server/admin/handler-types.ts";
import type { Ports } from "../../../../src/server/admin/ports.ts";
import { secretIn } from "../../../../src/server/detectors/index.ts";
import { createMemoryAudit } from "./memory-audit.ts";
import { createMemoryBackends } from "./memory-backends.ts";
import { createMemoryCluster } from "./memory-cluster.ts";
import { createMemoryGoverned } from "./memory-governed.ts";
import { createMemoryGuardrails } from "./memory-guardrails.ts";
import { createMemoryRehearsals } from "./memory-rehearsals.ts";
import { memoryRows } from "./memory-rows.ts";
import { createMemorySecrets } from "./memory-secrets.ts";
import { createMemorySources } from "./memory-sources.ts";

/** Time of every clock of these ports. */
export const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);

export function handlerPorts(over: Partial<Ports> = {}): HandlerPorts {
  const now = (): number => NOW;
  return {
    cluster: createMemoryCluster(now).cluster,
    sources: createMemorySources(now).sources,
    secrets: createMemorySecrets(now),
    backends: createMemoryBackends().backends,
    governance: createMemoryGoverned().governed,
    guardrails: createMemoryGuardrails(),
    rehearsals: createMemoryRehearsals(),
    rows: memoryRows(),
    audit: createMemoryAudit().audit,
    logins: [],
    facts: {
      version: "1.2.3",
      startedAt: NOW - 90_000,
      uptimeMs: () => 90_000,
      listeners: () => [],
      readiness: () => ({ ready: true, reasons: [] }),
      configuration: () => ({ state: "running", message: null }),
      models: () => [],
      workers: () => ({ wanted: 1, serving: 1, restarts: 0, recent_ends: 0, last_end_at: null, last_end_by: null }),
      forwardProxies: () => [],
      keyLastUsedAt: () => undefined,
    },
    clock: { now, monotonic: now },
    randomBytes,
    detectSecret: async (text) => secretIn(text),
    log: nullLog,
    query: {
      run: () => Promise.reject(new Error("no query is run here")),
      async close() {},
    },
    ...over,
  };
}

/** `asked` is the part of the call that the operation reads. */
export function callOf<Id extends OperationId>(
  _id: Id,
  asked: Partial<Pick<HandlerCall<Id>, "params" | "query" | "body">> = {},
): HandlerCall<Id> {
  const call: Omit<HandlerCall<Id>, "params" | "query" | "body"> = {
    principal: { issuer: "local", subject: "unix:1000", roles: ["local"] },
    tables: [],
    may: () => true,
    ifMatch: undefined,
    write: { by: { iss: "local", sub: "unix:1000" }, timeoutMs: 1_000 },
    signal: new AbortController().signal,
  };
  return { ...call, params: {}, query: {}, body: undefined, ...asked } as HandlerCall<Id>;
}
