/** A machine with its own log position and clock, so that tests are short. */

import assert from "node:assert/strict";
import {
  type ApplyOutcome,
  type Command,
  type CommandResult,
  type CommittedEntry,
  createState,
  createStateEncoder,
  digestOf,
  encodeCommand,
  encodeProposal,
  type Member,
  type NamedCommand,
  type State,
  type StateOptions,
  unknownMember,
} from "../../../../src/server/core/state/index.ts";

export const START = 1_700_000_000_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export const member = (id: string, more: Partial<Member> = {}): Member => ({ ...unknownMember(id), ...more });

export interface Bench {
  readonly state: State;
  now: number;
  /** Returns the next entry, with this command. */
  entry(command: NamedCommand, envelope?: Partial<Command>): CommittedEntry;
  /** Applies the command as the next entry, from a new sequence unless `envelope` says otherwise. */
  apply(command: NamedCommand, envelope?: Partial<Command>): ApplyOutcome;
  run(command: NamedCommand, envelope?: Partial<Command>): CommandResult;
  /** Returns the value of a command that must succeed. */
  ok(command: NamedCommand, envelope?: Partial<Command>): unknown;
  /** Returns the code of a command that must be refused and leave only the record of it. */
  refusal(command: NamedCommand, envelope?: Partial<Command>): string;
}

export function proposalOf(command: NamedCommand, envelope: Partial<Command>, now: number): Uint8Array {
  const by = { iss: "local", sub: "unix:0" };
  return encodeProposal(now, encodeCommand({ id: "cmd", c: "client", s: 1, by, ...command, ...envelope }));
}

export function bench(options: StateOptions = {}): Bench {
  const state = createState(options);
  let sequence = 0;
  const self: Bench = {
    state,
    now: START,
    entry(command, envelope = {}) {
      sequence += 1;
      const data = proposalOf(command, { s: sequence, ...envelope }, self.now);
      return { index: state.applied.index + 1, term: 1, data };
    },
    apply: (command, envelope) => state.apply(self.entry(command, envelope)),
    run(command, envelope) {
      const { result } = self.apply(command, envelope);
      assert.ok(result !== undefined);
      return result;
    },
    ok(command, envelope) {
      const result = self.run(command, envelope);
      assert.equal(result.kind, "ok", result.kind === "refused" ? `${command.t}: ${result.code}` : "");
      return result.kind === "ok" ? result.value : undefined;
    },
    refusal(command, envelope) {
      const { result, mutations } = self.apply(command, envelope);
      assert.equal(result?.kind, "refused", `${command.t} was not refused`);
      assert.deepEqual(
        mutations.map(({ key }) => key).filter((key) => !key.startsWith("sess/")),
        [],
      );
      return result?.kind === "refused" ? result.code : "";
    },
  };
  return self;
}

/** Returns the bytes of a snapshot of the state. */
export function stateFile(state: Pick<State, "scan">): Buffer {
  const encoder = createStateEncoder();
  const rows = Array.from(state.scan(""), ([key, value]) => encoder.row(key, value));
  return Buffer.concat([encoder.header(), ...rows, encoder.end()]);
}

export function assertDigest(state: State): void {
  assert.equal(state.digest, digestOf(state.scan("")));
}
