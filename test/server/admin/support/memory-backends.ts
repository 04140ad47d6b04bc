/** In-memory providers: rows set by a test. */

import type { BackendFailure, BackendMember, BackendRecord, ModelRecord } from "../../../../src/admin-api/index.ts";
import type { Backends } from "../../../../src/server/admin/index.ts";

type Row = Omit<BackendRecord, "suspended_until" | "node">;
type Member = Omit<BackendMember, "node">;

export interface MemoryBackends {
  readonly backends: Backends;
  /** Acts like a configuration with these providers, in this order. */
  configure(...names: readonly string[]): void;
  /** Acts like traffic at a provider. */
  measure(name: string, measured: Partial<Row>): void;
  fail(name: string, failure: Omit<BackendFailure, "node">): void;
  /** Makes it a pool with these members. */
  have(name: string, members: readonly Member[]): void;
}

/** Request details of every failure. */
export const FAILED = {
  request: "r-1",
  caller: "ci",
  model: "gpt-fast",
  duration_ms: 812,
  error_type: "server_error",
  error_code: null,
} as const;

const backend = (name: string, over: Partial<Row> = {}): Row => ({
  name,
  dialect: "compat",
  state: "idle",
  rate: 0,
  error_ratio: null,
  ttfb_p50_ms: null,
  ttfb_p95_ms: null,
  in_flight: 0,
  retries: 0,
  failovers_in: 0,
  failovers_out: 0,
  units_per_minute: 0,
  subsets: [],
  members: 0,
  ...over,
});

export const backendMember = (address: string, over: Partial<Member> = {}): Member => ({
  address,
  subsets: [],
  state: "ok",
  in_flight: 0,
  attempts: 1,
  failures: 0,
  last_error: null,
  last_error_at: null,
  failing_since: null,
  ...over,
});

/** Details of a failing member. */
export const FAILING_MEMBER = {
  state: "failing",
  failures: 2,
  last_error: "ECONNREFUSED",
  last_error_at: "2026-11-20T14:02:06.000Z",
  failing_since: "2026-11-20T14:02:05.000Z",
} as const;

const model = (provider: string): ModelRecord => ({
  model: `${provider}-*`,
  kind: "pattern",
  provider,
  upstream_model: null,
  dialects: ["compat"],
  failover: [],
});

/** Servers and agents have the names of the providers. */
const called = (name: string) => ({
  name,
  url: `https://${name}.example.com/rpc`,
  protocol: "1.0",
  state: "idle" as const,
  rate: 0,
  error_ratio: null,
  ttfb_p50_ms: null,
  ttfb_p95_ms: null,
  in_flight: 0,
  units_per_minute: 0,
});

export function createMemoryBackends(): MemoryBackends {
  const listeners = new Set<(what: "configuration" | "measurements") => void>();
  let rows = new Map<string, Row>();
  const failures = new Map<string, readonly Omit<BackendFailure, "node">[]>();
  const members = new Map<string, readonly Member[]>();
  const notify = (what: "configuration" | "measurements"): void => {
    for (const listener of [...listeners]) listener(what);
  };
  return {
    backends: {
      list: () => [...rows.values()],
      failures: (name) => (rows.has(name) ? (failures.get(name) ?? []) : undefined),
      members: (name) => (rows.has(name) ? (members.get(name) ?? []) : undefined),
      models: () => [...rows.keys()].map(model),
      servers: () => [...rows.keys()].map((name) => ({ ...called(name), registry_name: `com.example/${name}` })),
      agents: () => [...rows.keys()].map(called),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    configure(...names) {
      rows = new Map(names.map((name) => [name, rows.get(name) ?? backend(name)]));
      notify("configuration");
    },
    measure(name, measured) {
      rows.set(name, backend(name, { ...rows.get(name), ...measured }));
      notify("measurements");
    },
    fail(name, failure) {
      failures.set(name, [failure, ...(failures.get(name) ?? [])]);
      notify("measurements");
    },
    have(name, all) {
      members.set(name, all);
      notify("measurements");
    },
  };
}
