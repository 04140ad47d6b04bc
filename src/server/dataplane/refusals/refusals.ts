/**
 * What this node refused in the last hour, for people who look: who was refused, with which code, and what refused it. The
 * list `refusals` of the admin API shows it (design decisions, section 3). Answers that a provider's failure led to are none:
 * they stand with the provider.
 *
 * What is held is bounded, whoever calls: past `MAX_ROWS` callers who were not seen in the hour are told as one, by code
 * and cause, so that who invents names neither fills the memory nor pushes out what is there.
 */
import type { Clock, RefusalCode, RefusedBy } from "../../../base/index.ts";
import type { Caller } from "../../auth/index.ts";
import { nameOf } from "../whose.ts";
import { Tally } from "./tally.ts";

/** Of callers; each takes less than 1 KiB. */
export const MAX_ROWS = 1_000;
/** Of callers that are told as one; beyond it, what refused them is not told. */
const MAX_OTHERS = 200;
/** Maximum number of unknown key ids that are listed by id: a client may invent as many as it likes. */
export const MAX_UNKNOWN_KEYS = 100;
/** Buckets of budgets that refused somebody; beyond it those of the last minute are not told. */
const MAX_BUCKETS = 4_096;

const HOUR_SECONDS = 3_600;
export interface Refusal {
  /** Undefined: nobody was recognised. */
  readonly caller: Caller | undefined;
  readonly code: RefusalCode;
  readonly by: RefusedBy | undefined;
  readonly requestId: string;
  /** Of one that another process tells: when it was, in microseconds of the machine's monotonic clock. */
  readonly at?: number;
}

export interface CountedRefusal {
  /** `unrecognised`: its credential was none that is accepted; `others`: more callers than are told one by one. */
  readonly callerKind: Caller["kind"] | "unrecognised" | "others";
  /** Name, where one is known; of `unrecognised` the id of the key that was presented and is not known. */
  readonly caller: string | undefined;
  readonly code: RefusalCode;
  readonly by: Pick<RefusedBy, "kind" | "name"> | undefined;
  readonly lastMinute: number;
  readonly lastHour: number;
  /** Milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Id of the last request. */
  readonly lastRequest: string;
}

export interface Refusals {
  refused(refusal: Refusal): void;
  /** Of the last hour. */
  read(): readonly CountedRefusal[];
  /** Requests that this bucket of a budget refused in the last minute. */
  ofBucket(bucket: string): number;
  /** How soon what is read may be another though nothing is refused, in milliseconds; undefined: not at all. */
  changesInMs(): number | undefined;
  /** Calls back once, as soon as something is refused. One listener at a time; undefined takes it off. */
  awaitChange(listener: (() => void) | undefined): void;
}

/** They stand with the provider, or are no refusal. */
const NOT_TOLD: ReadonlySet<RefusalCode> = new Set([
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_incomplete",
  "upstream_invalid",
  "upstream_redirect",
]);

/** What a profile refuses says so nowhere else: it does nothing but allow. */
const OF_PROFILES: ReadonlySet<RefusalCode> = new Set(["model_not_allowed", "no_pool_subset", "policy_denied"]);

/** What refused it, where that is known. */
export const causeOf = ({ caller, code, by }: Pick<Refusal, "caller" | "code" | "by">): RefusedBy | undefined =>
  by ??
  (caller?.profile !== undefined && OF_PROFILES.has(code) ? { kind: "profile", name: caller.profile } : undefined);

interface Row {
  readonly tally: Tally;
  readonly fixed: Pick<CountedRefusal, "callerKind" | "caller" | "code" | "by" | "firstAt">;
  lastAt: number;
  lastRequest: string;
  /** As `Refusal` has it. */
  lastTold: number;
}

/** `onRefused`: told of each that is told here. */
export function createRefusals(clock: Clock, onRefused: (refusal: Refusal) => void = () => undefined): Refusals {
  const rows = new Map<string, Row>();
  const others = new Map<string, Row>();
  const isOfUnknownKey = ({ fixed }: Row): boolean => fixed.callerKind === "unrecognised" && fixed.caller !== undefined;
  let unknownKeys = 0;
  const buckets = new Map<string, Tally>();
  let awaiting: (() => void) | undefined;
  let lastSecond = Number.NEGATIVE_INFINITY;
  let sweptAt = Number.NEGATIVE_INFINITY;

  const secondNow = (): number => Math.floor(clock.monotonic() / 1_000);

  const sweep = (second: number): void => {
    if (sweptAt === second) return;
    sweptAt = second;
    for (const held of [rows, others]) {
      for (const [key, row] of held) {
        if (row.tally.lastHour(second) !== 0) continue;
        held.delete(key);
        if (isOfUnknownKey(row)) unknownKeys -= 1;
      }
    }
    for (const [name, bucket] of buckets) if (bucket.lastMinute(second) === 0) buckets.delete(name);
  };

  function rowOf({ caller, code, by }: Refusal, second: number): Row {
    const key = `${code}\0${by?.kind ?? ""}\0${by?.name ?? ""}\0${by?.key ?? ""}\0${caller?.kind ?? ""}\0${caller?.principal ?? ""}`;
    const ofKeyId = by?.keyId === undefined ? key : `${key}\0${by.keyId}`;
    const known = rows.get(ofKeyId);
    if (known !== undefined) return known;
    if (rows.size >= MAX_ROWS || unknownKeys >= MAX_UNKNOWN_KEYS) sweep(second);
    const made = (held: Map<string, Row>, name: string, fixed: Omit<Row["fixed"], "firstAt">): Row => {
      const row: Row = {
        tally: new Tally(),
        fixed: { ...fixed, firstAt: clock.now() },
        lastAt: 0,
        lastRequest: "",
        lastTold: 0,
      };
      held.set(name, row);
      return row;
    };
    if (rows.size < MAX_ROWS) {
      const row = (name: string, cause: RefusedBy | undefined) =>
        rows.get(name) ?? made(rows, name, { ...whoIs(caller, cause), code, by: cause });
      if (by?.keyId === undefined) return row(key, by);
      if (unknownKeys >= MAX_UNKNOWN_KEYS) return row(key, { ...by, keyId: undefined });
      unknownKeys += 1;
      return row(ofKeyId, by);
    }
    const withCause = `${code}\0${by?.kind ?? ""}\0${by?.name ?? ""}`;
    const isMore = !others.has(withCause) && others.size >= MAX_OTHERS;
    const name = isMore ? code : withCause;
    const cause = isMore ? undefined : by;
    return others.get(name) ?? made(others, name, { callerKind: "others", caller: undefined, code, by: cause });
  }

  function countBucket(name: string, second: number): void {
    if (!buckets.has(name) && buckets.size >= MAX_BUCKETS) sweep(second);
    let bucket = buckets.get(name);
    if (bucket === undefined) {
      if (buckets.size >= MAX_BUCKETS) return;
      bucket = new Tally();
      buckets.set(name, bucket);
    }
    bucket.count(second);
  }

  return {
    refused(given) {
      const { code, requestId, at } = given;
      if (NOT_TOLD.has(code)) return;
      const by = causeOf(given);
      const refusal = { ...given, by };
      const second = secondNow();
      const row = rowOf(refusal, second);
      row.tally.count(second);
      row.lastAt = clock.now();
      if (at === undefined || at >= row.lastTold) row.lastRequest = requestId;
      row.lastTold = Math.max(row.lastTold, at ?? 0);
      if (by?.bucket !== undefined) countBucket(by.bucket, second);
      lastSecond = second;
      onRefused(refusal);
      const listener = awaiting;
      awaiting = undefined;
      listener?.();
    },
    read() {
      const second = secondNow();
      sweep(second);
      return [...rows.values(), ...others.values()].map(({ tally, fixed, lastAt, lastRequest }) => ({
        ...fixed,
        lastMinute: tally.lastMinute(second),
        lastHour: tally.lastHour(second),
        lastAt,
        lastRequest,
      }));
    },
    ofBucket: (name) => buckets.get(name)?.lastMinute(secondNow()) ?? 0,
    changesInMs() {
      const ago = secondNow() - lastSecond;
      if (ago <= 60) return 1_000;
      return ago <= HOUR_SECONDS + 60 ? 60_000 : undefined;
    },
    awaitChange(listener) {
      awaiting = listener;
    },
  };
}

/** Names a known key although what was presented with its id was not accepted, and gives the id of an unknown one. */
function whoIs(caller: Caller | undefined, by: RefusedBy | undefined): Pick<CountedRefusal, "callerKind" | "caller"> {
  if (caller !== undefined) return { callerKind: caller.kind, caller: nameOf(caller) };
  if (by?.kind === "credential" && by.key !== undefined) return { callerKind: "key", caller: by.key };
  return { callerKind: "unrecognised", caller: by?.keyId };
}
