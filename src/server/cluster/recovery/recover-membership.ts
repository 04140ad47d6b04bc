/**
 * Rewrites a stopped node to a smaller membership, so that it can continue without the lost majority. Its whole log counts as
 * committed, since the lost members may have acknowledged any of it.
 *
 * The state with the whole log applied becomes a new generation and a snapshot, one index after the log and in a new term, as if
 * an entry there had changed the members. So no other node's log can have an entry of that index and term, and the existing
 * snapshot is not touched. One synced batch switches to it: the snapshot's record, the emptied log, a term without a vote, the
 * generation, and a higher recovery epoch, by which a dropped member that returns with its old log is recognized. A crash before
 * that changes nothing; the next start removes what was prepared. Source: cluster reference, section 2.7.
 */

import { resolve } from "node:path";
import type { Entry } from "../../core/raft/index.ts";
import { decodeConfChange } from "../../core/raft/index.ts";
import { loadState, type State } from "../../core/state/index.ts";
import { idsOf } from "../members/membership.ts";
import {
  configurationAfter,
  configurationOf,
  type OpenedStorage,
  openExisting,
  writeSnapshotFile,
} from "../storage/index.ts";
import { writeFailed } from "../storage-error.ts";
import { planRecovery } from "./recovery-plan.ts";
import { factsOf, type Row, readState } from "./storage-facts.ts";

/** Error for an invalid requested membership. Nothing was changed. */
export class RecoveryRefused extends Error {
  override readonly name = "RecoveryRefused";
}

interface RecoveryOptions {
  readonly dir: string;
  readonly nodeId: string;
  readonly keep: readonly string[];
}

interface RecoveredMembership {
  readonly voters: readonly string[];
  readonly learners: readonly string[];
  readonly dropped: readonly string[];
  readonly recoveryEpoch: number;
  /** New beginning of the log. */
  readonly index: number;
  readonly term: number;
}

/** Rows in one batch of the new generation. */
const SLICE_ROWS = 2_000;
const SLICE_BYTES = 4 << 20;
const NOTHING = new Uint8Array(0);

/** Rewrites the membership. Rejects with a `StorageError`, `RecoveryRefused`, or the state machine's `UpgradeRequired`. */
export async function recoverMembership({ dir, nodeId, keep }: RecoveryOptions): Promise<RecoveredMembership> {
  const path = resolve(dir);
  const storage = await openExisting({ path, displayPath: path, nodeId, warnings: [] });
  try {
    return await recover(path, storage, keep);
  } finally {
    await storage.close();
  }
}

async function recover(path: string, storage: OpenedStorage, keep: readonly string[]): Promise<RecoveredMembership> {
  const { log } = storage;
  const facts = factsOf(path, storage);
  const plan = planRecovery(facts, keep);
  if (plan.kind === "refused") throw new RecoveryRefused(plan.reason);
  if (plan.kind === "nothing") throw new RecoveryRefused(`the members are ${plan.members.join(", ")} already`);
  const { configuration, dropped } = plan;

  const state = loadState({ applied: storage.state().applied, rows: await readState(path, storage) });
  applyLog(state, storage);
  const position = { index: facts.lastIndex + 1, term: facts.term + 1 };
  const added = Buffer.from(JSON.stringify({ added: [] }));
  state.applyConfiguration({ ...position, data: NOTHING }, added, idsOf(configuration));

  const build = await storage.build();
  for await (const slice of slicesOf(state)) await build.add(slice);
  await build.finish(state.applied, state.digest);
  const file = await writeSnapshotFile(path, position, slicesOf(state), new AbortController().signal).catch((cause) => {
    throw writeFailed(path, cause);
  });
  const recoveryEpoch = facts.recoveryEpoch + 1;
  await log.recover({
    record: { ...position, configuration, now: state.applied.now, ...file },
    hardState: { term: position.term, vote: undefined, commit: position.index },
    generation: build.generation,
    epoch: recoveryEpoch,
  });
  await storage.reopenState();
  await storage.removeOldSnapshots();
  // The node is a member of the new membership, whatever its former cluster decided.
  await storage.setRemovedAt(undefined);
  const { voters, learners } = configuration;
  return { voters: voters.map(String), learners: learners.map(String), dropped, recoveryEpoch, ...position };
}

/** Applies everything after the state's position, committed or not. */
function applyLog(state: State, { log, state: store }: OpenedStorage): void {
  let configuration = configurationOf(log, store().applied.index);
  const last = log.lastIndex();
  for (let at = state.applied.index + 1; at <= last; at = state.applied.index + 1) {
    for (const entry of log.entries(at, last + 1, SLICE_BYTES)) {
      if (entry.kind === "normal") state.apply(entry);
      else {
        configuration = configurationAfter(configuration, entry.data);
        state.applyConfiguration(withoutData(entry), decodeConfChange(entry.data).context, idsOf(configuration));
      }
    }
  }
}

function withoutData({ index, term }: Entry): {
  readonly index: number;
  readonly term: number;
  readonly data: Uint8Array;
} {
  return { index, term, data: NOTHING };
}

async function* slicesOf(state: State): AsyncGenerator<readonly Row[]> {
  let slice: Row[] = [];
  for (const row of state.scan("")) {
    slice.push(row);
    if (slice.length < SLICE_ROWS) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
