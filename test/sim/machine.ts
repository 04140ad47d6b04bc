/**
 * State machine of most simulated runs: numbers under numbered keys, where each command takes effect once by (client,
 * seq). It is small, so that a run spends its time on consensus and not on state.
 */

import type { Entry } from "../../src/server/core/raft/index.ts";
import { appended, type Command, decodeCommand, encodeCommand } from "./command.ts";

/** Result of a command. */
export interface Effect {
  readonly command: Command;
  /** The output, also of a command that took effect earlier. */
  readonly output: number;
  /** Whether it took effect just now. */
  readonly isFirst: boolean;
}

export interface Machine {
  readonly appliedIndex: number;
  /** Digest of the whole state; equal on all nodes at the same index. */
  readonly digest: string | number;
  /** `undefined` for an entry without a command. */
  apply(entry: Entry, memberIds: () => readonly string[]): Effect | undefined;
  /** 0 for a key that was never written. */
  read(key: number): number;
  copy(): Machine;
}

/** How a kind of machine is created, and its encoding of commands. */
export interface MachineKind {
  /** An empty machine as of `appliedIndex`. */
  create(appliedIndex: number): Machine;
  encode(command: Command, fillBytes: number): Uint8Array;
}

interface Session {
  readonly seq: number;
  readonly output: number;
}

interface Contents {
  readonly appliedIndex: number;
  readonly digest: number;
  readonly values: ReadonlyMap<number, number>;
  readonly sessions: ReadonlyMap<number, Session>;
}

export const SMALL: MachineKind = {
  create: (appliedIndex) => machineOf({ appliedIndex, digest: 0, values: new Map(), sessions: new Map() }),
  encode: encodeCommand,
};

function machineOf(contents: Contents): Machine {
  let { appliedIndex, digest } = contents;
  const values = new Map(contents.values);
  const sessions = new Map(contents.sessions);

  const toggle = (...row: readonly number[]): void => {
    let hash = 0x811c9dc5;
    for (const part of row) {
      hash = Math.imul(hash ^ part, 0x01000193);
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    }
    digest ^= hash;
  };

  const change = ({ key, change: asked }: Command): number => {
    const before = values.get(key) ?? 0;
    if (asked.kind === "swap" && before !== asked.expected) return 0;
    const after = asked.kind === "append" ? appended(before, asked.value) : asked.value;
    toggle(1, key, before);
    toggle(1, key, after);
    values.set(key, after);
    return asked.kind === "append" ? after : 1;
  };

  return {
    get appliedIndex() {
      return appliedIndex;
    },
    get digest() {
      return digest;
    },
    apply(entry) {
      appliedIndex = entry.index;
      if (entry.kind !== "normal") return undefined;
      const command = decodeCommand(entry.data);
      if (command === undefined) return undefined;
      const { client, seq } = command;
      const session = sessions.get(client);
      const isRepeated = session !== undefined && seq <= session.seq;
      // A client waits for each result before its next command, so only the last result can be requested again.
      if (isRepeated) return { command, output: session.output, isFirst: false };
      const output = change(command);
      if (session !== undefined) toggle(2, client, session.seq, session.output);
      toggle(2, client, seq, output);
      sessions.set(client, { seq, output });
      return { command, output, isFirst: true };
    },
    read: (key) => values.get(key) ?? 0,
    copy: () => machineOf({ appliedIndex, digest, values, sessions }),
  };
}
