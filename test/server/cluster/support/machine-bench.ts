/** A state machine over a real data directory, with a log whose entries are commands. */

import type { TestContext } from "node:test";
import {
  type AppliedState,
  createAppliedState,
  type Row,
} from "../../../../src/server/cluster/consensus/applied-state.ts";
import { createStateWriter, type StateWriter } from "../../../../src/server/cluster/consensus/state-writer.ts";
import { bootstrap } from "../../../../src/server/cluster/members/bootstrap-and-join.ts";
import { openStorage, type Storage } from "../../../../src/server/cluster/storage/index.ts";
import type { Entry } from "../../../../src/server/core/raft/index.ts";
import {
  commands,
  encodeCommand,
  encodeProposal,
  type Mutation,
  type NamedCommand,
} from "../../../../src/server/core/state/index.ts";
import { makeDir } from "./archives.ts";
import { afterwards } from "./cleanup.ts";
import { memberOf } from "./leader-bench.ts";
import { until } from "./outcome.ts";

export interface MachineBench {
  readonly dir: string;
  readonly storage: Storage;
  readonly machine: AppliedState;
  readonly writer: StateWriter;
  readonly reported: { readonly mutations: readonly Mutation[]; readonly index: number }[];
  readonly replaced: { readonly rows: readonly Row[]; readonly index: number }[];
  readonly configurations: number[];
  readonly diverged: number[];
  readonly faults: unknown[];
  restored: number;
  /** Number of entries that were prepared before they could be applied. */
  prepared: number;
  /** Returns the next entry, with this command. */
  entryOf(command: NamedCommand): Entry;
  /** Appends the command as the next entry and applies it. */
  apply(command: NamedCommand): Promise<Entry>;
}

const START = 1_700_000_000_000;

export async function openFor(t: TestContext, dir: string, nodeId = "a"): Promise<Storage> {
  const storage = await openStorage({ dir, nodeId });
  afterwards(t, () => storage.close().catch(() => undefined));
  return storage;
}

export function keyCommand(name: string, metadata: Readonly<Record<string, string>> = {}): NamedCommand {
  const id = `${name}-00000000`.replaceAll("-", "x");
  return commands.keyCreate({ id, name, profile: null, metadata, digest: "ab".repeat(32), expires_in_ms: null });
}

function proposal(command: NamedCommand, sequence: number): Uint8Array {
  const by = { iss: "local", sub: "unix:0" };
  return encodeProposal(
    START + sequence,
    encodeCommand({ id: `c-${sequence}`, c: "client", s: sequence, by, ...command }),
  );
}

export async function machineBench(t: TestContext, dir = makeDir(t), nodeId = "a"): Promise<MachineBench> {
  const storage = await openFor(t, dir, nodeId);
  const state = await bootstrap(storage, [memberOf(nodeId)]);
  const { configuration } = storage.log.initialState();
  const faults: unknown[] = [];
  const writer = createStateWriter({
    store: storage.state(),
    position: { applied: state.applied, digest: state.digest, configuration },
    onDrained: () => undefined,
    onFault: (error) => faults.push(error),
  });
  const reported: MachineBench["reported"] = [];
  const replaced: MachineBench["replaced"] = [];
  const configurations: number[] = [];
  const diverged: number[] = [];
  const stop = new AbortController();
  const machine = createAppliedState({
    storage,
    state,
    configuration,
    writer,
    events: {
      onApplied: (mutations, index) => reported.push({ mutations, index }),
      onReplaced: (slices, index) => replaced.push({ rows: [...slices].flat(), index }),
      onConfiguration: (_, index) => configurations.push(index),
      onRestored: () => {
        bench.restored += 1;
      },
      onPrepared() {
        bench.prepared += 1;
      },
      onDiverged: (index) => diverged.push(index),
      onFault: (error) => faults.push(error),
    },
    signal: stop.signal,
  });
  afterwards(t, () => stop.abort());
  afterwards(t, () => writer.flush());
  let sequence = 0;
  const bench: MachineBench = {
    dir,
    storage,
    machine,
    writer,
    reported,
    replaced,
    configurations,
    diverged,
    faults,
    restored: 0,
    prepared: 0,
    entryOf(command) {
      sequence += 1;
      return { index: machine.state.applied.index + 1, term: 1, kind: "normal", data: proposal(command, sequence) };
    },
    async apply(command) {
      const entry = bench.entryOf(command);
      await storage.log.append({ entries: [entry], hardState: undefined, sync: true });
      const { prepared } = bench;
      if (machine.apply(entry, undefined) === "preparing") {
        await until("the entry is prepared", () => bench.prepared > prepared);
        machine.apply(entry, undefined);
      }
      return entry;
    },
  };
  return bench;
}

/** Returns the rows in a data directory, and their index. */
export async function rowsOn(t: TestContext, dir: string, nodeId = "a"): Promise<{ rows: Row[]; index: number }> {
  const storage = await openFor(t, dir, nodeId);
  const rows: Row[] = [];
  for await (const slice of storage.state().load()) rows.push(...slice);
  const { index } = storage.state().applied;
  await storage.close();
  return { rows, index };
}
