/**
 * Finds the chain in a directory and continues it, or begins a new one. Source: cluster reference, 9.2.
 *
 * | key | journal | result |
 * |---|---|---|
 * | - | - | new key, new chain |
 * | present | present | continues if they belong together and to this node; otherwise refused |
 * | present | - | the journal is lost: new key, new chain; a number is never guessed |
 * | - | present | refused |
 * | present | behind the head that the cluster has witnessed | restored from a backup: journal put aside, new key, new chain |
 *
 * A new chain is made in steps, each durable before the next: journal put aside, key replaced, journal created with the
 * first record. After a crash between two of them there is a key without a journal, and the next start begins a new
 * chain.
 */

import { AuditError, unwritable } from "./audit-error.ts";
import type { StartOptions } from "./audit-worker-protocol.ts";
import { type Chain, createChain } from "./chain.ts";
import { acquireLock, type ChainLock } from "./chain-lock.ts";
import { createDirectory } from "./durable-files.ts";
import {
  continueJournal,
  createJournal,
  JOURNAL_FILE,
  type Journal,
  loadJournal,
  supersedeJournal,
} from "./journal.ts";
import type { JournalContent, JournalRecord } from "./journal-format.ts";
import { type ChainKey, createKeyFile, generateKey, KEY_FILE, readKeyFile } from "./key-file.ts";
import type { AuditHead, JsonValue } from "./types.ts";

interface OpenedChain {
  readonly chain: Chain;
  /** Journal and lock; `undefined` without a directory. */
  readonly journal: Journal | undefined;
  readonly lock: ChainLock | undefined;
  /** Records in the journal that were not acknowledged. They are emitted before anything else, byte for byte. */
  readonly pending: readonly JournalRecord[];
  /** Acknowledged records that are still in the journal. */
  readonly recent: readonly JournalRecord[];
  /** Predecessor to report to the cluster; `undefined` if the cluster knows the chain. */
  readonly succeeds: AuditHead | null | undefined;
  readonly warnings: readonly string[];
}

export async function openChain(options: StartOptions): Promise<OpenedChain> {
  const { dir } = options;
  if (dir === undefined) return beginEphemeral(options);
  try {
    createDirectory(dir);
  } catch (cause) {
    throw unwritable(dir, cause);
  }
  const lock = await acquireLock(dir);
  try {
    return { ...openWithLock(options, dir), lock };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

type ChainWithoutLock = Omit<OpenedChain, "lock">;

function openWithLock(options: StartOptions, dir: string): ChainWithoutLock {
  const { key, warning } = readKeyFile(dir);
  const content = loadJournal(dir);
  const warnings = warning === undefined ? [] : [warning];
  if (content === undefined) {
    const lost = `the audit journal is missing beside ${KEY_FILE} in ${dir}: a new chain begins with a new key`;
    return beginChain(options, dir, [], key === undefined ? warnings : [...warnings, lost]);
  }
  if (key === undefined) {
    throw new AuditError(
      "damaged",
      `${KEY_FILE} is missing beside ${JOURNAL_FILE} in ${dir}: restore it, or remove ${JOURNAL_FILE}, so that a new ` +
        "chain begins",
    );
  }
  refuseForeign(options, dir, key, content);
  const { records, acknowledged } = content;
  const pending = records.filter(({ seq }) => acknowledged === undefined || seq > acknowledged);
  if (isBehind(content, options.witnessed)) {
    supersedeJournal(dir);
    const behind = `the audit journal in ${dir} is older than the record that the cluster has stored for this node, for example after a restore: it was moved aside, and a new chain begins with a new key`;
    return beginChain(options, dir, pending, [...warnings, behind]);
  }
  const journal = continueJournal(dir, content);
  const chain = createChain(options.nodeId, key, records.at(-1));
  const resume = chain.appendEvent({ event: "chain.resume", data: { ...options.process } }, options.now);
  journal.append([resume]);
  return {
    chain,
    journal,
    pending: [...pending, resume],
    recent: records.slice(0, records.length - pending.length),
    succeeds: options.witnessed?.kid === key.kid ? undefined : content.chain.succeeds,
    warnings,
  };
}

function refuseForeign({ nodeId }: StartOptions, dir: string, key: ChainKey, { chain }: JournalContent): void {
  if (chain.node !== nodeId) {
    throw new AuditError(
      "damaged",
      `the audit trail in ${dir} is that of node ${chain.node}, and this is ${nodeId}: give each node its own audit.dir`,
    );
  }
  if (chain.kid !== key.kid) {
    throw new AuditError(
      "damaged",
      `${KEY_FILE} in ${dir} is not the key of the chain in ${JOURNAL_FILE}: restore the key ${chain.kid}, or remove ` +
        `${JOURNAL_FILE} to begin a new chain`,
    );
  }
}

/**
 * Returns whether the journal is behind what the cluster has witnessed, so that continuing would use numbers again. A
 * witnessed record was on this disk before.
 */
function isBehind({ chain, records }: JournalContent, witnessed: AuditHead | undefined): boolean {
  if (witnessed === undefined) return false;
  const { kid, seq, hash } = witnessed;
  // A chain that the cluster has not seen yet succeeds the newest known chain.
  if (kid !== chain.kid) return chain.succeeds?.kid !== kid;
  const last = records.at(-1);
  const own = records.find((record) => record.seq === seq);
  return last === undefined || seq > last.seq || (own !== undefined && own.hash !== hash);
}

function beginChain(
  options: StartOptions,
  dir: string,
  pending: readonly JournalRecord[],
  warnings: readonly string[],
): ChainWithoutLock {
  const key = createKeyFile(dir);
  const succeeds = options.witnessed ?? null;
  const { chain, first } = createFirstRecord(options, key, false);
  const journal = createJournal(dir, { node: options.nodeId, kid: key.kid, succeeds }, [first]);
  return { chain, journal, pending: [...pending, first], recent: [], succeeds, warnings };
}

function beginEphemeral(options: StartOptions): OpenedChain {
  const { chain, first } = createFirstRecord(options, generateKey(), true);
  const succeeds = options.witnessed ?? null;
  return { chain, journal: undefined, lock: undefined, pending: [first], recent: [], succeeds, warnings: [] };
}

function createFirstRecord(
  { nodeId, process, witnessed, now }: StartOptions,
  key: ChainKey,
  ephemeral: boolean,
): { readonly chain: Chain; readonly first: JournalRecord } {
  const chain = createChain(nodeId, key, undefined);
  const succeeds: JsonValue = witnessed === undefined ? null : { ...witnessed };
  const data = { key: key.raw.toString("base64"), ephemeral, succeeds, ...process };
  return { chain, first: chain.appendEvent({ event: "chain.start", data }, now) };
}
