/**
 * Commands as nodes and clients may send them, generated from a seed: of every kind, valid and invalid, over few enough
 * names to share rows. Builds are compared by the result of a log of them.
 */
import { hash } from "node:crypto";
import type { CommandRule } from "../../../../../src/server/core/state/command.ts";
import { COMMAND_RULES } from "../../../../../src/server/core/state/commands/table.ts";
import {
  memberRowKey,
  readMember,
  readRevision,
  revisionsOf,
  type State,
} from "../../../../../src/server/core/state/index.ts";
import type { Random } from "../../../../e2e/cluster/support/random.ts";

interface DrawContext {
  readonly random: Random;
  readonly state: Pick<State, "get" | "scan" | "digest" | "applied">;
  readonly now: number;
  readonly level: number;
}

type Draw = (context: DrawContext) => unknown;

const NODES = ["n1", "n2", "n3"] as const;
const NAMES = ["alpha", "beta", "ключ/γ", "d".repeat(128)] as const;
const IDS = ["kAAA1", "kBBB2", "kCCC3"] as const;
const HOUR_MS = 3_600_000;

const sha256 = (text: string): string => hash("sha256", text, "hex");
const hex = (random: Random, length: number): string => sha256(String(random.below(4))).slice(0, length);
const maybe = <Value>(random: Random, value: Value): Value | undefined => (random.below(2) === 0 ? value : undefined);
const orNull = <Value>(random: Random, value: Value): Value | null => (random.below(2) === 0 ? value : null);
const lifetime = (random: Random): number | null => orNull(random, 1 + random.below(3 * HOUR_MS));

const sealed = (random: Random) => ({
  dk: random.pick(["dk-1", "dk-1", "dk-2", "dk-3"]),
  n: "AAAAAAAAAAAAAAAA",
  ct: Buffer.from(`ciphertext ${random.below(9)}`).toString("base64"),
});
const wraps = (random: Random) => [{ kek: `kek:${hex(random, 8)}`, n: "AAAAAAAAAAAAAAAA", ct: "AAAA" }];
const metadata = (random: Random) => (random.below(2) === 0 ? {} : { team: random.pick(NAMES), __proto__x: "y" });
const incarnationOf = ({ state, random }: DrawContext, node: string): number => {
  const row = state.get(memberRowKey(node));
  return random.below(9) === 0 ? 1 : Math.max(1, row === undefined ? 1 : readMember(row).incarnation);
};

/** Packed rows in the format of a ledger report: numbers in base 36. */
const packed = (rows: readonly (readonly number[])[]): string =>
  rows
    .map((row) =>
      row
        .map((each) => (each === 0 ? "" : each.toString(36)))
        .join(",")
        .replace(/,+$/, ""),
    )
    .join(";");

const sequences = new WeakMap<object, Map<string, number>>();
/** Counts up for each node's incarnation, with rare exceptions. */
function nextSequence({ state, random }: DrawContext, of: string): number {
  const known = sequences.get(state) ?? new Map<string, number>();
  sequences.set(state, known);
  const next = (known.get(of) ?? 0) + (random.below(8) === 0 ? random.below(3) : 1);
  known.set(of, next);
  return Math.max(1, next);
}

const sources: Draw = ({ random }) => {
  const text = `version: ${1 + random.below(3)}\n# ${random.below(3)}\n`;
  const writer = random.pick(["api", "file"]);
  return {
    name: random.pick(["default", "second"]),
    text,
    sha256: random.below(9) === 0 ? sha256("other") : sha256(text),
    version: orNull(random, 1 + random.below(4)),
    writer,
    expect_revision: orNull(random, random.below(4)),
    trigger: writer === "api" ? "api" : random.pick(["seed", "start", "reload"]),
  };
};

const DRAWS: Readonly<Record<string, Draw>> = {
  "node.start": ({ random, level }) => {
    const id = random.pick(NODES);
    return {
      id,
      storage: sha256(random.below(12) === 0 ? "another" : id).slice(0, 32),
      raft_addr: `${id}:7000`,
      forward_addr: `${id}:7001`,
      version: random.pick(["0.1.0", "0.2.0"]),
      proto: [1, 1],
      feature: [1, level],
    };
  },
  "key.create": ({ random }) => ({
    id: random.pick(IDS),
    name: random.pick(NAMES),
    profile: orNull(random, "team"),
    metadata: metadata(random),
    digest: sha256(String(random.below(5))),
    expires_in_ms: lifetime(random),
  }),
  "key.patch": ({ random }) => ({
    name: random.pick(NAMES),
    profile: maybe(random, orNull(random, "other")),
    metadata: maybe(random, metadata(random)),
    expires_in_ms: maybe(random, lifetime(random)),
  }),
  "key.delete": ({ random }) => ({ name: random.pick(NAMES) }),
  "key.rotate": ({ random }) => ({ name: random.pick(NAMES), id: random.pick(IDS), digest: sha256("rotated") }),
  "suspension.put": ({ random }) => ({
    kind: random.pick(["provider", "key", "profile", "model", "mcp", "a2a", "issuer"]),
    name: random.pick(NAMES),
    reason: random.pick(["", "too slow", "zu teuer €"]),
    duration_ms: lifetime(random),
  }),
  "suspension.delete": ({ random }) => ({ kind: random.pick(["provider", "key", "model"]), name: random.pick(NAMES) }),
  "acknowledgement.put": ({ random }) => ({
    name: random.pick(NAMES),
    reason: random.pick(["known", "zu teuer €"]),
    severity: orNull(random, random.pick(["note", "warn", "fail"])),
    degree: orNull(random, random.below(4)),
    duration_ms: 1 + random.below(3 * HOUR_MS),
  }),
  "acknowledgement.delete": ({ random }) => ({ name: random.pick(NAMES) }),
  "source.put": sources,
  "source.delete": ({ random }) => ({
    name: random.pick(["default", "second"]),
    writer: random.pick(["api", "file"]),
    expect_revision: orNull(random, random.below(4)),
  }),
  "source.rollback": ({ random, state }) => {
    const name = random.pick(["default", "second"]);
    const kept = Array.from(state.scan(revisionsOf(name)), ([, value]) => readRevision(value).revision);
    return { name, to: kept.length === 0 ? 1 : random.pick(kept), expect_revision: null };
  },
  "blob.put": ({ random }) => {
    const text = `content ${random.below(3)}`;
    const of = 1 + random.below(2);
    return { sha256: sha256(text), part: random.below(of + 1), of, data: Buffer.from(text).toString("base64") };
  },
  "secret.put": ({ random, state }) => {
    const name = random.pick(["one", "two"]);
    const row = state.get(`secret/${name}`);
    const version = row === undefined ? null : (JSON.parse(row.slice(1)) as { ver: number }).ver;
    return { name, expect: random.below(6) === 0 ? 7 : version, sealed: sealed(random) };
  },
  "secret.delete": ({ random }) => ({ name: random.pick(["one", "two"]) }),
  "secret.reseal": ({ random }) => ({
    name: random.pick(["one", "two"]),
    ver: 1 + random.below(2),
    sealed: sealed(random),
  }),
  "ring.add": ({ random, now }) => ({
    id: random.pick(["dk-1", "dk-2", "dk-3"]),
    alg: "A256GCM",
    wraps: wraps(random),
    created: now,
  }),
  "ring.activate": ({ random }) => ({ id: random.pick(["dk-1", "dk-2"]) }),
  "ring.rewrap": ({ random }) => ({ id: random.pick(["dk-1", "dk-2"]), wraps: wraps(random) }),
  "ring.drop": ({ random }) => ({ id: random.pick(["dk-2", "dk-3"]) }),
  "usage.report": (context) => {
    const { random, now, level } = context;
    const node = random.pick(NODES);
    const window_ms = random.pick([60_000, HOUR_MS]);
    const pledged = level >= 2 ? { pledge: random.below(400), seq: nextSequence(context, `usage ${node}`) } : {};
    const row = () => ({
      b: random.pick(["team", "ключ/γ"]),
      w: Math.floor(now / window_ms) + random.pick([0, 0, 0, -1, 1, 9]),
      window_ms,
      limit: 1_000,
      limit_rev: 1 + random.below(2),
      spent: random.below(300),
      want: random.below(500),
      ...(random.below(2) === 0 && { need: random.below(100) }),
      ret: random.below(100),
      ...(random.below(4) > 0 && pledged),
    });
    return { node, inc: incarnationOf(context, node), rows: Array.from({ length: 1 + random.below(2) }, row) };
  },
  "used.add": (context) => {
    const { random, now } = context;
    const node = random.pick(NODES);
    const inc = incarnationOf(context, node);
    const hour = Math.floor(now / HOUR_MS) - random.pick([0, 0, 1, 30, 200]);
    const rows = Array.from({ length: random.below(4) }, () => [
      hour,
      random.below(3),
      ...Array.from({ length: 4 }, () => random.below(4)),
      ...Array.from({ length: 8 }, () => random.below(1_000)),
    ]);
    const metered = Array.from({ length: random.below(3) }, () => [
      hour,
      2 + random.below(2),
      random.below(2),
      ...Array.from({ length: 7 }, () => random.below(1_000)),
    ]);
    return {
      node,
      inc,
      seq: nextSequence(context, `used ${node} ${inc}`),
      names: ["alpha", "β"],
      rows: packed(rows),
      metered: packed(metered),
    };
  },
  "reconcile.put": ({ random }) => ({
    rows: [
      {
        day: random.pick(["2023-11-14", "2023-11-15", "round"]),
        id: random.pick(NAMES),
        fields: { verdict: "breach", delta: random.below(9) / 4, open: true, note: null },
        seen: random.below(3),
      },
    ],
  }),
  "reconcile.drop": ({ random }) => ({ before: random.pick(["2023-11-14", "2023-11-15"]) }),
  "reconcile.forget": ({ random }) => ({ id: random.pick(NAMES) }),
  "cert.put": ({ random, now }) => ({
    id: random.pick(["example.com", "*.example.com"]),
    expect: orNull(random, 1 + random.below(2)),
    names: ["example.com"],
    not_after: orNull(random, now),
    sealed: sealed(random),
  }),
  "cert.delete": ({ random }) => ({ id: random.pick(["example.com", "*.example.com"]), ver: 1 + random.below(2) }),
  "acme.put": ({ random }) => ({ id: "directory", expect: orNull(random, 1), sealed: sealed(random) }),
  "acme.delete": ({ random }) => ({ id: "directory", ver: 1 + random.below(2) }),
  "audit.witness": ({ random }) => ({
    node: random.pick(NODES),
    kid: random.pick(["chain-0000000000001", "chain-0000000000002"]),
    seq: random.below(6),
    hash: Buffer.alloc(32, random.below(2)).toString("base64url"),
    succeeds: maybe(random, null),
  }),
  "feat.set": ({ random, level }) => ({ level: 1 + random.below(level) }),
  "state.check": ({ random, state }) => ({
    index: state.applied.index,
    digest: random.below(3) === 0 ? "0".repeat(32) : state.digest,
  }),
  "state.restore": ({ random }) => ({
    sha256: sha256(`content ${random.below(3)}`),
    parts: 1,
    rows: 0,
    digest: "0".repeat(32),
  }),
};

/** Invalid commands: an additional field, one of another type, no fields. */
const SPOILED: readonly ((fields: Readonly<Record<string, unknown>>) => unknown)[] = [
  (fields) => ({ ...fields, unknown_to_all: 1 }),
  (fields) => ({ ...fields, name: 7, node: [], id: null }),
  () => null,
  () => "a text",
];

/** Names of commands that are never generated: a new command must be generated too. */
export const undrawn = (): readonly string[] => [...COMMAND_RULES.keys()].filter((name) => !Object.hasOwn(DRAWS, name));

/** Returns the next command as its proposer encodes it, among those that may be proposed at `level`. */
export function drawCommand(context: DrawContext, sequence: number): string {
  const { random, level } = context;
  const rules = [...COMMAND_RULES.values()].filter((rule: CommandRule) => rule.level <= level);
  const { name, version } = random.pick(rules);
  const fields = DRAWS[name]?.(context) as Readonly<Record<string, unknown>>;
  const p = random.below(12) === 0 ? random.pick(SPOILED)(fields) : fields;
  const again = random.below(25) === 0;
  const key = random.below(10) === 0 ? { k: `local/${random.below(3)}`, kd: `d${random.below(2)}` } : {};
  return JSON.stringify({
    v: version,
    t: name,
    id: `c-${sequence}`,
    c: random.pick(["client-a", "client-b"]),
    s: again ? Math.max(1, sequence - 1 - random.below(5)) : sequence,
    by: { iss: "local", sub: random.pick(["unix:0", "unix:1000"]) },
    ...key,
    p,
  });
}
