/**
 * Cost of virtual keys for a node: memory on the main thread for each stored key and for each one in use, and the time
 * of a lookup. Run as `node --import tsx test/bench/key-memory.ts [KEYS]`; 100,000 keys by default.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createView } from "../../src/server/cluster/state-view.ts";
import { commands } from "../../src/server/core/state/index.ts";
import { openKeyStore } from "../../src/server/node/governance/virtual-keys.ts";
import { bench } from "../server/core/state/harness.ts";

const KEYS = Number(process.argv[2] ?? 100_000);
const LOOKUPS = 1_000_000;
/** Keys in use at a time, in the scenario in which all are parsed. */
const IN_USE = 10_000;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heapBytes(): number {
  for (let count = 0; count < 4; count++) collect();
  return process.memoryUsage().heapUsed;
}

const idOf = (number: number): string => `k${String(number).padStart(7, "0")}`;

/** Adds the rows of this many keys as the worker sends them, with separate strings; returns their total length. */
function fill(count: number, into: (rows: readonly (readonly [string, string])[]) => void): number {
  const at = bench();
  for (let number = 0; number < count; number++) {
    const id = idOf(number);
    const metadata = { team: `team-${number % 100}`, env: "prod", owner: `person-${number % 1_000}@example.com` };
    const digest = String(number).padStart(64, "0");
    const name = `key-${String(number).padStart(6, "0")}`;
    at.ok(commands.keyCreate({ id, name, profile: "standard", metadata, digest, expires_in_ms: null }));
  }
  const rows = structuredClone([...at.state.scan("key")]);
  into(rows);
  return rows.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

function nanosOf(lookups: number, look: (number: number) => unknown): number {
  let found = 0;
  const startedAt = process.hrtime.bigint();
  for (let number = 0; number < lookups; number++) if (look(number) !== undefined) found += 1;
  const nanos = Number(process.hrtime.bigint() - startedAt) / lookups;
  if (found !== lookups && found !== 0) throw new Error(`${found} of ${lookups} were found`);
  return nanos;
}

function measure(count: number): void {
  const empty = heapBytes();
  const { view, add, beginReplace, endReplace } = createView((error) => {
    throw error;
  });
  const store = openKeyStore(view);
  const textBytes = fill(count, (rows) => {
    beginReplace();
    add(rows);
    endReplace(1);
  });
  const stored = heapBytes() - empty;
  const inUse = Math.min(IN_USE, count);
  const ids = Array.from({ length: count }, (_, number) => idOf(number));
  const before = heapBytes();
  const parsing = nanosOf(inUse, (number) => store.findById(ids[number] ?? ""));
  const parsedBytes = heapBytes() - before;
  const known = nanosOf(LOOKUPS, (number) => store.findById(ids[number % inUse] ?? ""));
  const unknown = nanosOf(LOOKUPS, (number) => store.findById(`x${number}`));
  const figures = {
    keys: count,
    "bytes of text a key": Math.round(textBytes / count),
    "bytes of heap a key": Math.round(stored / count),
    "more for a key in use": Math.round(parsedBytes / inUse),
    "first look-up, us": Number((parsing / 1e3).toFixed(1)),
    "look-up, ns": Math.round(known),
    "of an unknown id, ns": Math.round(unknown),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

for (const count of [100, KEYS]) measure(count);
