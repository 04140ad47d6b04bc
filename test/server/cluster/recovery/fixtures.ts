/** A stopped member of a three-node cluster, with a log whose end may not be on a majority. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStorage } from "../../../../src/server/cluster/storage/index.ts";
import type { Entry } from "../../../../src/server/core/raft/index.ts";
import { encodeConfChange } from "../../../../src/server/core/raft/index.ts";
import { createState, encodeCommand, encodeProposal, type Member } from "../../../../src/server/core/state/index.ts";

const member = (id: string): Member => ({
  id,
  storage: "",
  raft_addr: `${id}:7000`,
  forward_addr: `${id}:7001`,
  version: "",
  proto: [1, 1],
  feature: [1, 1],
  incarnation: 0,
});

/** A command that every build knows. */
function command(sequence: number): Uint8Array {
  return encodeProposal(
    1_700_000_000_000 + sequence,
    encodeCommand({
      v: 1,
      t: "state.check",
      id: `id-${sequence}`,
      c: "9f".repeat(16),
      s: sequence,
      by: { iss: "local", sub: "unix:0" },
      p: { index: 1, digest: "0".repeat(32) },
    }),
  );
}

export const normal = (index: number, term: number): Entry => ({ index, term, kind: "normal", data: command(index) });

export function adding(index: number, term: number, id: string): Entry {
  const context = Buffer.from(JSON.stringify({ added: [member(id)] }));
  const data = encodeConfChange({ transition: "auto", changes: [{ type: "add-learner", nodeId: id }], context });
  return { index, term, kind: "conf-change", data };
}

/**
 * Node `b` of a, b and c: snapshot at 1, entries 2 to 8 of term 3, of which 6 are committed and 4 applied; entry 8 adds
 * the learner d.
 */
export async function writeSurvivor(dir: string, nodeId = "b"): Promise<void> {
  const storage = await openStorage({ dir, nodeId });
  const state = createState();
  const ids = ["a", "b", "c"];
  const context = Buffer.from(JSON.stringify({ added: ids.map(member) }));
  const first = { index: 1, term: 1, data: new Uint8Array(0) };
  const { mutations } = state.applyConfiguration(first, context, ids);
  await storage.state().write(mutations, state.applied, state.digest);
  const none = { votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  await storage.log.bootstrap({ voters: ids, ...none });
  const log = [2, 3, 4, 5, 6, 7].map((index) => normal(index, 3));
  const hardState = { term: 4, vote: "c", commit: 6 };
  await storage.log.append({ entries: [...log, adding(8, 3, "d")], hardState, sync: true });
  for (const entry of log.slice(0, 3)) {
    const outcome = state.apply(entry);
    await storage.state().write(outcome.mutations, state.applied, state.digest);
  }
  await storage.close();
}

/** Returns a digest of every file. */
export function fingerprint(dir: string): Readonly<Record<string, string>> {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort()
      .map((file) => [file, createHash("sha256").update(readFileSync(file)).digest("hex")]),
  );
}
