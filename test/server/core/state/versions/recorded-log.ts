/**
 * Logs with the result of each entry, recorded once per level and replayed permanently: the same bytes must lead to the
 * same state in every build, since members of several builds apply them side by side and a restart applies them again.
 */
import { hash } from "node:crypto";
import {
  type CommittedEntry,
  createState,
  decodeProposal,
  encodeProposal,
  LOG_TIME_LEVEL,
  type State,
  type StateOptions,
} from "../../../../../src/server/core/state/index.ts";
import { createRandom } from "../../../../e2e/cluster/support/random.ts";
import { member, START, stateFile } from "../harness.ts";
import { drawCommand } from "./random-commands.ts";

/**
 * An entry: a command with its time, or members with the context of their change; and the digest of the rows after it.
 */
type LogLine =
  | { readonly now: number; readonly command: string; readonly digest: string }
  | { readonly members: readonly string[]; readonly context: string; readonly digest: string };

/** Exports of a build's state machine. */
export interface StateModule {
  createState(options?: StateOptions): State;
}

export const OF_THIS_BUILD: StateModule = { createState };

/** Occasional advance of the clock between two entries; negative for a new leader with a late clock. */
const STAMPS = [0, 70_000, 3_600_000, -5_000];

const IDS = ["n1", "n2", "n3"];
const membersAt = (level: number) => IDS.map((id) => member(id, { feature: [1, level] }));

/** A three-node cluster in which every node supports `level`. */
const beginAt = (level: number, of: StateModule): State => of.createState({ members: membersAt(level) });

function applyLine(state: State, line: LogLine): void {
  const entry: CommittedEntry = { index: state.applied.index + 1, term: 1, data: new Uint8Array(0) };
  if ("command" in line) state.apply({ ...entry, data: encodeProposal(line.now, Buffer.from(line.command)) });
  else state.applyConfiguration(entry, Buffer.from(line.context), line.members);
}

interface Drawn {
  readonly level: number;
  readonly seed: number;
  readonly entries: number;
}

/** Returns a log of `entries` entries at `level`, as the machine of this build applies it. */
export function drawLog({ level, seed, entries }: Drawn): readonly LogLine[] {
  const random = createRandom(seed);
  const state = beginAt(level, OF_THIS_BUILD);
  const lines: LogLine[] = [];
  let now = START;
  const add = (line: { readonly now: number; readonly command: string } | { members: string[]; context: string }) => {
    const undigested = { ...line, digest: "" };
    applyLine(state, undigested);
    lines.push({ ...undigested, digest: state.digest });
  };
  const own = (t: string, p: unknown): void => {
    const by = { iss: "gateway", sub: "n1" };
    add({ now, command: JSON.stringify({ v: 1, t, id: "own", c: "own", s: lines.length + 1, by, p }) });
  };
  if (level > 1) own("feat.set", { level });
  for (let at = 1; lines.length < entries; at += 1) {
    now +=
      random.below(2) === 0
        ? random.below(2_000)
        : random.pick(level < LOG_TIME_LEVEL ? STAMPS : [...STAMPS, -900_000]);
    if (random.below(60) === 0) {
      const members = random.below(2) === 0 ? IDS : IDS.filter((id) => id !== random.pick(IDS));
      const added = members.length === IDS.length ? [member("n3", { feature: [1, level], incarnation: 0 })] : [];
      add({ members, context: JSON.stringify({ added }) });
    } else add({ now, command: drawCommand({ random, state, now, level }, at) });
    if (lines.length === Math.floor(entries / 3)) restoreItself(state, own);
  }
  return lines;
}

/** Restores an archive of the current state. */
function restoreItself(state: State, own: (t: string, p: unknown) => void): void {
  const bytes = stateFile(state);
  const sha256 = hash("sha256", bytes, "hex");
  const { digest, rowCount: rows } = state;
  own("blob.put", { sha256, part: 0, of: 1, data: bytes.toString("base64") });
  own("state.restore", { sha256, parts: 1, rows, digest });
}

/** Returns the first entry that leads to another state than recorded; `undefined` if all agree. */
export function firstDifference(lines: readonly LogLine[], level: number, of: StateModule): string | undefined {
  const state = beginAt(level, of);
  for (const [at, line] of lines.entries()) {
    try {
      applyLine(state, line);
    } catch (error) {
      return `entry ${at + 1} (${nameOf(line)}) is not applied: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (state.digest !== line.digest) return `entry ${at + 1} (${nameOf(line)}) comes to another state`;
  }
  return undefined;
}

const nameOf = (line: LogLine): string =>
  "command" in line ? line.command.slice(0, 300) : `members ${line.members.join(", ")}`;

/** Commands applied at least once without a refusal. */
export function doneIn(lines: readonly LogLine[], level: number): ReadonlySet<string> {
  const state = beginAt(level, OF_THIS_BUILD);
  const done = new Set<string>();
  for (const line of lines) {
    if (!("command" in line)) {
      applyLine(state, line);
      continue;
    }
    const data = encodeProposal(line.now, Buffer.from(line.command));
    const { result } = state.apply({ index: state.applied.index + 1, term: 1, data });
    const decoded = decodeProposal(data);
    if (result?.kind === "ok" && decoded.kind === "proposal") done.add((decoded.command as { readonly t: string }).t);
  }
  return done;
}

export const logText = (lines: readonly LogLine[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
export const readLog = (text: string): readonly LogLine[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as LogLine]));
