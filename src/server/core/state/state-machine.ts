/**
 * The state machine: takes entries, and returns changed rows and results. An entry is a draft over the rows that is committed
 * completely; the digest and the expiry index are updated with each changed row. Source: cluster reference, section 6.
 */

import { keepRepeat, remember, remembered, repeated } from "./client-sessions.ts";
import type { CommandRule, Site } from "./command.ts";
import { readCommand } from "./command-envelope.ts";
import { refused } from "./command-refusals.ts";
import { FEATURE_RANGE, featureRowKey, LOG_TIME_LEVEL, levelOf } from "./commands/feature.ts";
import { memberRowKey, memberRows } from "./commands/member-rows.ts";
import { changeMembers } from "./commands/members.ts";
import { COMMAND_RULES } from "./commands/table.ts";
import { createDraft, type Draft } from "./mutation-draft.ts";
import { createRows, type Rows } from "./ordered-rows.ts";
import { decodeProposal, UpgradeRequired } from "./proposal.ts";
import { createExpiryIndex } from "./row-expiry.ts";
import { createRowDigest } from "./rows-digest.ts";
import { runSteps, type Steps } from "./steps.ts";
import type {
  Applied,
  ApplyOutcome,
  Command,
  CommandResult,
  CommittedEntry,
  FeatureRange,
  Member,
  Mutation,
  State,
} from "./types.ts";

/**
 * Maximum difference between log time and an entry's stamp that two leaders can cause, in milliseconds: a leader stamps within
 * two seconds of the median. A larger one means that the log is ahead of the members' clocks.
 */
export const MAX_STAMP_LAG_MS = 5_000;

/** Minimum number of rows that expiry touches at each entry; an entry that changes more rows expires as many. */
const EXPIRY_ROWS = 64;

/** Number of rows in one step of a replacement of all rows. */
const STEP_ROWS = 1_000;

const NOTHING: Applied = { index: 0, term: 0, now: 0 };

export interface StateOptions {
  /** Members of a cluster at its bootstrap; every founding node must pass the same. */
  readonly members?: readonly Member[];
  /** Position before the first entry; a bootstrap counts as an entry. */
  readonly applied?: Applied;
  /** Commands and feature range of another build, for tests; defaults to those of this build. */
  readonly rules?: ReadonlyMap<string, CommandRule>;
  readonly feature?: FeatureRange;
}

interface LoadOptions extends Omit<StateOptions, "members" | "applied"> {
  readonly applied: Applied;
  /** Rows in any order, each key once. */
  readonly rows: Iterable<readonly [key: string, value: string]>;
}

export function createState({ members = [], applied = NOTHING, ...options }: StateOptions = {}): State {
  const rows = members.map((member) => [memberRowKey(member.id), memberRows.write(member)] as const);
  return loadState({ applied, rows, ...options });
}

/** Creates a state machine that continues from the rows of a snapshot or the disk, as of `applied`. */
export function loadState(options: LoadOptions): State {
  const { rules = COMMAND_RULES, feature = FEATURE_RANGE } = options;
  let rows = createRows();
  let digest = createRowDigest();
  let expiry = createExpiryIndex();
  let applied = options.applied;
  /** Time at which the last entry was decided. */
  let decidedAt = applied.now;

  /** Throws if the level is above this build's: it would misread commands and rows. */
  function assertLevel(row: string | undefined): void {
    const level = levelOf(row);
    if (level > feature.max) throw new UpgradeRequired(`is of feature level ${level}`, feature);
  }

  function commit(mutations: readonly Mutation[]): void {
    for (const { key, value } of mutations) {
      const before = rows.get(key);
      if (before !== undefined) digest.toggle(key, before);
      if (value !== undefined) digest.toggle(key, value);
      expiry.changed(key, value);
    }
    rows.apply(mutations);
  }

  /** Commits the draft and returns the outcome. Nothing is changed before this, so an error leaves the state as it was. */
  function finish(entry: CommittedEntry, now: number, result: CommandResult | undefined, draft: Draft): ApplyOutcome {
    const mutations = draft.mutations();
    assertLevel(draft.get(featureRowKey));
    commit(mutations);
    decidedAt = now;
    applied = { index: entry.index, term: entry.term, now: Math.max(applied.now, now) };
    return { result, mutations, replacement: undefined };
  }

  function run(
    command: Command,
    rule: CommandRule,
    entry: CommittedEntry,
    now: number,
  ): ApplyOutcome | Steps<() => ApplyOutcome> {
    const draft = createDraft(rows);
    const seen = remembered(draft, command);
    if (seen !== undefined) return finish(entry, now, seen, draft);

    let replacement: Rows | undefined;
    const site: Site = {
      draft,
      now,
      index: entry.index,
      by: command.by,
      get digest() {
        return digest.hex();
      },
      replace(all) {
        replacement = all;
      },
    };
    const again = repeated(draft, command, now);
    if (again !== undefined) return conclude(again);
    if (rule.level > levelOf(draft.get(featureRowKey))) return conclude(refused("feature_level"));
    const result = rule.run(command.p, site);
    return "kind" in result ? conclude(result) : prepare(result);

    function conclude(result: CommandResult): ApplyOutcome {
      // A refused command changes nothing.
      if (result.kind === "refused") draft.drop();
      if (result !== again) keepRepeat(draft, command, result, now);
      remember(draft, command, result, now);
      expiry.expire(draft, now, Math.max(EXPIRY_ROWS, 2 * draft.size));
      return finish(entry, now, result, draft);
    }

    function* prepare(steps: Steps<CommandResult>): Steps<() => ApplyOutcome> {
      const prepared = yield* steps;
      if (replacement === undefined) return () => conclude(prepared);
      assertLevel(replacement.get(featureRowKey));
      const next = yield* indexRows(replacement);
      return () => {
        ({ rows, digest, expiry } = next);
        const after = createDraft(rows);
        keepRepeat(after, command, prepared, now);
        remember(after, command, prepared, now);
        return { ...finish(entry, now, prepared, after), replacement: next.list };
      };
    }
  }

  /** Returns the time at which an entry with this stamp is decided: log time, which never goes back, or the stamp. */
  function timeOf(stamp: number): number {
    const isAhead = applied.now - stamp > MAX_STAMP_LAG_MS;
    return isAhead && levelOf(rows.get(featureRowKey)) >= LOG_TIME_LEVEL ? stamp : Math.max(applied.now, stamp);
  }

  function applyOrPrepare(entry: CommittedEntry): ApplyOutcome | Steps<() => ApplyOutcome> {
    assertNext(applied, entry);
    const decoded = decodeProposal(entry.data);
    if (decoded.kind === "unknown-format")
      throw new UpgradeRequired(`has an entry of format ${decoded.format}`, feature);
    if (decoded.kind === "empty") return finish(entry, decidedAt, undefined, createDraft(rows));
    const now = timeOf(decoded.nowMs ?? applied.now);
    const command = decoded.kind === "proposal" ? readCommand(decoded.command) : undefined;
    if (command === undefined) return finish(entry, now, refused("invalid"), createDraft(rows));
    const rule = rules.get(command.t);
    if (rule === undefined) throw new UpgradeRequired(`has the command ${command.t}`, feature);
    if (command.v > rule.version)
      throw new UpgradeRequired(`has version ${command.v} of the command ${command.t}`, feature);
    return run(command, rule, entry, now);
  }

  for (const [key, value] of options.rows) {
    rows.apply([{ key, value }]);
    digest.toggle(key, value);
    expiry.changed(key, value);
  }
  assertLevel(rows.get(featureRowKey));
  return {
    get applied() {
      return applied;
    },
    get decidedAt() {
      return decidedAt;
    },
    get digest() {
      return digest.hex();
    },
    get rowCount() {
      return rows.size;
    },
    get byteLength() {
      return rows.byteLength;
    },
    get: (key) => rows.get(key),
    scan: (prefix, after) => rows.scan(prefix, after),
    apply(entry) {
      const outcome = applyOrPrepare(entry);
      return "result" in outcome ? outcome : runSteps(outcome)();
    },
    applyOrPrepare,
    applyConfiguration(entry, context, memberIds) {
      assertNext(applied, entry);
      const draft = createDraft(rows);
      changeMembers(draft, parseContext(context), memberIds);
      return finish(entry, decidedAt, undefined, draft);
    },
  };
}

/** Returns the rows with their digest, their expiry index and a list of them, which later changes leave as it is. */
function* indexRows(rows: Rows) {
  const digest = createRowDigest();
  const expiry = createExpiryIndex();
  const list: (readonly [key: string, value: string])[] = [];
  for (const row of rows.scan("")) {
    digest.toggle(...row);
    expiry.changed(...row);
    list.push(row);
    if (list.length % STEP_ROWS === 0) yield;
  }
  return { rows, digest, expiry, list };
}

/** Throws if the entry does not follow the applied one. A missing entry would silently fork the state. */
function assertNext(applied: Applied, entry: CommittedEntry): void {
  const isNext = entry.index === applied.index + 1 && entry.term >= applied.term;
  if (!isNext)
    throw new RangeError(`entry ${entry.term}/${entry.index} does not follow ${applied.term}/${applied.index}`);
}

function parseContext(context: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(context));
  } catch {
    return undefined;
  }
}

/** Returns the digest that `rows` must have, for checking a store or an archive. */
export function digestOf(rows: Iterable<readonly [key: string, value: string]>): string {
  const digest = createRowDigest();
  for (const [key, value] of rows) digest.toggle(key, value);
  return digest.hex();
}
