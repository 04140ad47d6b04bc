/** All readings of the console for a cluster in the middle of an incident, and the events that reach it. */
import fc from "fast-check";
import {
  type Data,
  keyOf,
  type Need,
  type Readable,
  type ReadableId,
  type Reading,
} from "../../../../src/console/model/data.ts";
import { NAMED_CHORDS } from "../../../../src/console/model/key-event.ts";
import type { Event } from "../../../../src/console/model/state.ts";
import { initialState } from "../../../../src/console/store/initial-state.ts";
import { VIEWS } from "../../../../src/console/views/all.ts";
import * as cluster from "../../../console/actions/cluster-fixtures.ts";
import * as keys from "../../../console/views/keys-fixture.ts";
import * as traffic from "../../../console/views/traffic-fixtures.ts";
import { TABLES } from "../../../console/workbench/support.ts";

export const NOW = traffic.NOW;

const READINGS: Partial<Readable> = {
  ...traffic.INCIDENT,
  get_status: traffic.STATUS,
  get_whoami: { issuer: "corp", subject: "alice@example", roles: ["admin"] },
  list_cluster_members: [cluster.leader("n1"), cluster.member("n2"), cluster.silent("n3"), cluster.learner("n4")],
  get_config: cluster.config("diverged"),
  list_keys: [
    keys.key(),
    keys.key({ id: "k2", name: "prod-模型", profile: "standard" }),
    keys.key({ id: "k3", name: "old", status: "expired" }),
  ],
  list_profiles: [keys.profile(), keys.profile({ name: "batch", budget: null })],
  list_budgets: [keys.bucket(), keys.bucket({ budget: "hour", status: "exhausted", used: 5_000_000, remaining: 0 })],
  list_sources: [cluster.source("default"), cluster.source("team-ml")],
  list_source_revisions: [cluster.revision(3), cluster.revision(2), cluster.revision(1)],
  list_secrets: [],
  list_audit_records: [traffic.auditRecord(1, { action: "put_suspension" }), traffic.auditRecord(2, null)],
  list_backend_errors: [
    { ...traffic.FAILED, time: traffic.at(-2), kind: "5xx", status: 503, attempt: 1, moved_to: "acme-alt" },
  ],
  list_backend_members: [
    traffic.poolMember("192.0.2.1:8000"),
    traffic.poolMember("192.0.2.2:8000", { state: "failing", failures: 3, last_error: "ECONNREFUSED" }),
  ],
  list_query_tables: TABLES,
  metrics: {
    requests: [1, null, 3],
    errors: [0, null, 1],
    inFlight: [2, null, 4],
    overhead: { p50: 1.9, p95: 6.1, p99: null },
  },
};

/** `without` has ids whose reading failed or that were never read. */
export function dataOf(without: ReadonlyMap<string, "forbidden" | "unread"> = new Map()): Data {
  const failure = { status: 403, code: "forbidden", message: "no policy permits it", at: NOW };
  const readings = new Map<string, Reading<unknown>>();
  for (const [id, value] of Object.entries(READINGS)) {
    const reason = without.get(id);
    if (reason === "unread") continue;
    const isRead = reason === undefined;
    readings.set(id, {
      value: isRead ? value : undefined,
      freshAt: isRead ? NOW : undefined,
      requestedAt: NOW,
      failure: isRead ? undefined : failure,
    });
  }
  return {
    get: <Id extends ReadableId>(need: Need<Id>) =>
      (readings.get(keyOf(need)) ?? readings.get(need.id)) as Reading<Readable[Id]> | undefined,
  };
}

const ENDPOINT = {
  endpoint: { kind: "socket", path: "/run/g.sock" },
  name: "unix:/run/g.sock",
  flags: "-socket /run/g.sock",
} as const;

export const startOf = (isReadOnly: boolean) =>
  initialState({
    size: { columns: 120, rows: 35 },
    now: NOW,
    place: { view: "overview" },
    endpoint: ENDPOINT,
    endpoints: 2,
    isReadOnly,
    isAscii: false,
    hasMetrics: true,
    hasTail: true,
  });

const FAILURE = { status: 0, code: "unreachable", message: "cannot be reached", at: NOW };
const LINKS = {
  online: { kind: "online" },
  connecting: { kind: "connecting" },
  offline: { kind: "offline", since: NOW, retryAt: NOW + 1_000, failure: FAILURE },
  signed_out: { kind: "signed_out", failure: { ...FAILURE, status: 401 } },
} as const;

export const online: Event = { kind: "link", link: { endpoint: ENDPOINT, endpoints: 2, state: LINKS.online } };

const key = (chord: string): Event => ({ kind: "key", chord });
export const letters = [..."abcdefghijklmnoprstuvwxzABCDEFGHIJKLMNOPRSTUVWXZ0123456789:/?-_=.,;!#é漢"];
const verbs = [..."ssuEnmTXRBPIwLHpDvhefaV12345678"];
const texts = [
  "y",
  "y\r",
  "acme-chat",
  "ci-main",
  "n1",
  "n1,n2",
  "2",
  "select 1;\n",
  "\u0000\u001b[31m",
  "(a+)+$",
  "/x",
];
const names = ["acme-chat", "ci-main", "prod-模型", "n3", "n1", "n1,n2", "n1,n2,n4", "2", "default", "team-ml"];
/** All views, some with a subject. */
const views = [...VIEWS.map(({ id }) => id), "errors acme-chat", "pool acme-chat", "rev default", "log", "help"];
const id = fc.integer({ min: 1, max: 40 });

/** Single events or sequences, as an operator types them. */
export const gesture: fc.Arbitrary<readonly Event[]> = fc.oneof(
  { weight: 24, arbitrary: fc.constantFrom(...letters).map((one) => [key(one)]) },
  { weight: 16, arbitrary: fc.constantFrom(...verbs).map((one) => [key(one)]) },
  {
    weight: 18,
    arbitrary: fc
      .constantFrom(...NAMED_CHORDS, "ctrl-d", "ctrl-u", "ctrl-r", "ctrl-p", "ctrl-o", "ctrl-w")
      .map((one) => [key(one)]),
  },
  { weight: 8, arbitrary: fc.constant([key("y")]) },
  { weight: 4, arbitrary: fc.constantFrom(...texts).map((text): readonly Event[] => [{ kind: "paste", text }]) },
  { weight: 4, arbitrary: fc.constantFrom(...names).map((name) => [...[...name].map(key), key("enter")]) },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(...views)
      .map((name) => [key("esc"), key("esc"), ...[...`:${name}`].map(key), key("enter")]),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom("s", "u", "X", "P", "m", "E")
      .map((verb) => [key("esc"), key("esc"), key(verb), key("enter"), key("y")]),
  },
  // Goes from anywhere to a place where something can be confirmed.
  { weight: 4, arbitrary: fc.constant(["esc", "esc", "esc", "2", "s", "enter", "y"].map(key)) },
  {
    weight: 3,
    arbitrary: fc
      .dictionary(fc.constantFrom(...Object.keys(READINGS)), fc.constantFrom("forbidden", "unread"), { maxKeys: 4 })
      .map((missing): readonly Event[] => [{ kind: "data", data: dataOf(new Map(Object.entries(missing))), now: NOW }]),
  },
  { weight: 4, arbitrary: fc.constant<readonly Event[]>([{ kind: "data", data: dataOf(), now: NOW }, online]) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(...Object.values(LINKS))
      .map((state): readonly Event[] => [{ kind: "link", link: { endpoint: ENDPOINT, endpoints: 2, state } }]),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        kind: fc.constant("size" as const),
        columns: fc.integer({ min: -1, max: 220 }),
        rows: fc.integer({ min: -1, max: 70 }),
      })
      .map((one): readonly Event[] => [one]),
  },
  { weight: 2, arbitrary: fc.nat(90_000).map((ms): readonly Event[] => [{ kind: "tick", now: NOW + ms }]) },
  { weight: 2, arbitrary: id.map((of): readonly Event[] => [{ kind: "task_done", id: of, message: "done" }]) },
  {
    weight: 2,
    arbitrary: id.map((of): readonly Event[] => [{ kind: "task_done", id: of, message: "minted", secret: "gw-once" }]),
  },
  {
    weight: 2,
    arbitrary: id.map((of): readonly Event[] => [{ kind: "task_failed", id: of, message: "503 no_leader: no leader" }]),
  },
  {
    weight: 2,
    arbitrary: id.map((of): readonly Event[] => [{ kind: "page_loaded", id: of, lines: [[{ text: "a line 漢" }]] }]),
  },
  { weight: 1, arbitrary: fc.constant<readonly Event[]>([{ kind: "tail", lines: ['{"audit":1}', "no json"] }]) },
);
