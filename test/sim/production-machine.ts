/**
 * The production state machine with one extra command, used in a share of the runs. Its envelope, sessions, rows,
 * digest and reload from rows are then subject to the same faults as the log.
 */

import type { CommandRule, State } from "../../src/server/core/state/index.ts";
import {
  createState,
  decodeProposal,
  encodeCommand,
  encodeProposal,
  loadState,
} from "../../src/server/core/state/index.ts";
import { appended, type Command, change as changeOf } from "./command.ts";
import type { Machine, MachineKind } from "./machine.ts";

const NAME = "sim.change";

interface Fields {
  readonly key: number;
  readonly kind: "write" | "swap" | "append";
  readonly expected: number;
  readonly value: number;
  readonly attempt: number;
  readonly fill: string;
}

const rowKey = (key: number): string => `sim/${key}`;
const numberOf = (row: string | undefined): number => (row === undefined ? 0 : Number(row.slice(1)));

export const PRODUCTION: MachineKind = {
  create: (appliedIndex) =>
    machineOf((rules) => createState({ applied: { index: appliedIndex, term: appliedIndex, now: 0 }, rules })),
  encode({ client, seq, attempt, key, now, change }, fillBytes) {
    const { kind, value } = change;
    const expected = kind === "swap" ? change.expected : 0;
    const p: Fields = { key, kind, expected, value, attempt, fill: "x".repeat(fillBytes) };
    const by = { iss: "sim", sub: "client" };
    const envelope = { v: 1, t: NAME, id: `a${attempt}`, c: `c${client}`, s: seq, by, p };
    return encodeProposal(now, encodeCommand(envelope));
  },
};

function machineOf(load: (rules: ReadonlyMap<string, CommandRule>) => State): Machine {
  let isFirst = false;
  const rule: CommandRule = {
    name: NAME,
    version: 1,
    level: 1,
    shape: () => "a register",
    run(input, { draft }) {
      const { key, kind, expected, value } = input as Fields;
      isFirst = true;
      const before = numberOf(draft.get(rowKey(key)));
      if (kind === "swap" && before !== expected) return { kind: "ok", value: 0 };
      const after = kind === "append" ? appended(before, value) : value;
      draft.put(rowKey(key), `1${after}`);
      return { kind: "ok", value: kind === "append" ? after : 1 };
    },
  };
  const state = load(new Map([[NAME, rule]]));

  return {
    get appliedIndex() {
      return state.applied.index;
    },
    get digest() {
      return state.digest;
    },
    apply(entry, memberIds) {
      if (entry.kind === "conf-change") {
        state.applyConfiguration(entry, new Uint8Array(0), memberIds());
        return undefined;
      }
      isFirst = false;
      const { result } = state.apply(entry);
      const command = commandOf(entry.data);
      if (result === undefined || command === undefined) return undefined;
      if (result.kind === "refused") throw new Error(`the command of attempt ${command.attempt}: ${result.code}`);
      return { command, output: Number(result.value), isFirst };
    },
    read: (key) => numberOf(state.get(rowKey(key))),
    copy: () => machineOf((rules) => loadState({ applied: state.applied, rows: [...state.scan("")], rules })),
  };
}

/** The original command; `undefined` for an entry without one. */
function commandOf(data: Uint8Array): Command | undefined {
  const decoded = decodeProposal(data);
  if (decoded.kind !== "proposal") return undefined;
  const { c, s, p } = decoded.command as { readonly c: string; readonly s: number; readonly p: Fields };
  return {
    client: Number(c.slice(1)),
    seq: s,
    attempt: p.attempt,
    key: p.key,
    now: decoded.nowMs,
    change: changeOf(p.kind, p.value, p.expected),
  };
}
