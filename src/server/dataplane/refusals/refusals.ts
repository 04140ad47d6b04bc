/**
 * Counts the refusals of this node in the last hour by caller, code and cause. The list `refusals` of the admin API shows them
 * (design decisions, section 3). Answers about a provider's failure are not included; they are shown with the provider.
 *
 * Memory is bounded: beyond `MAX_ROWS`, new callers are combined by code and cause, so that invented names can neither fill the
 * memory nor displace existing rows.
 */
import type { Clock, RefusalCause, RefusalCode } from "../../../base/index.ts";
import type { Caller } from "../../auth/index.ts";
import { callerDisplayName } from "../caller-label.ts";
import { Tally } from "./recent-counts.ts";

/** Maximum number of rows for individual callers. Each takes less than 1 KiB. */
const MAX_ROWS = 1_000;
/** Maximum number of rows for combined callers. Beyond it they are combined by code alone. */
const MAX_OTHERS = 200;
/** Maximum number of unknown key ids that are listed by id, because a client may invent any number of them. */
export const MAX_UNKNOWN_KEYS = 100;
/** Maximum number of budget buckets with refusals in the last minute; further ones are not counted. */
const MAX_BUCKETS = 4_096;

const HOUR_SECONDS = 3_600;
export interface Refusal {
  /** Caller; `undefined` if it was not authenticated. */
  readonly caller: Caller | undefined;
  readonly code: RefusalCode;
  readonly by: RefusalCause | undefined;
  readonly requestId: string;
  /** Time of a refusal reported by another process, in microseconds of the machine's monotonic clock. */
  readonly at?: number;
}

export interface CountedRefusal {
  /** Kind of the caller. `unrecognised`: the credential was not accepted. `others`: combined callers above the limit. */
  readonly callerKind: Caller["kind"] | "unrecognised" | "others";
  /** Name of the caller if known. For `unrecognised`, the id of the unknown key that was presented. */
  readonly caller: string | undefined;
  readonly code: RefusalCode;
  readonly by: Pick<RefusalCause, "kind" | "name"> | undefined;
  readonly lastMinute: number;
  readonly lastHour: number;
  /** Time of the first refusal, in milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Id of the last request. */
  readonly lastRequest: string;
}

export interface Refusals {
  refused(refusal: Refusal): void;
  /** Returns the refusals of the last hour. */
  read(): readonly CountedRefusal[];
  /** Returns the number of requests that this budget bucket refused in the last minute. */
  ofBucket(bucket: string): number;
  /** Returns the milliseconds after which the rows may change without new refusals, or `undefined` if they will not. */
  changesInMs(): number | undefined;
  /** Calls the listener once, as soon as something is refused. There is one listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

/** Codes for failures of upstreams, which are shown with the provider instead. */
const UPSTREAM_CODES: ReadonlySet<RefusalCode> = new Set([
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_incomplete",
  "upstream_invalid",
  "upstream_redirect",
]);

/** Codes of refusals that a profile causes. Their errors do not name the profile, because it is not a rule that denies. */
const PROFILE_CODES: ReadonlySet<RefusalCode> = new Set(["model_not_allowed", "no_pool_subset", "policy_denied"]);

/** Returns the cause of a refusal if it is known. */
export const causeOf = ({ caller, code, by }: Pick<Refusal, "caller" | "code" | "by">): RefusalCause | undefined =>
  by ??
  (caller?.profile !== undefined && PROFILE_CODES.has(code) ? { kind: "profile", name: caller.profile } : undefined);

interface Row {
  readonly tally: Tally;
  readonly fixed: Pick<CountedRefusal, "callerKind" | "caller" | "code" | "by" | "firstAt">;
  lastAt: number;
  lastRequest: string;
  /** Highest `at` of the refusals so far; 0 without any. */
  latestAt: number;
}

/** Creates the counts. `onRefused` receives each refusal that is counted. */
export function createRefusals(clock: Clock, onRefused: (refusal: Refusal) => void = () => undefined): Refusals {
  const rows = new Map<string, Row>();
  const others = new Map<string, Row>();
  const isOfUnknownKey = ({ fixed }: Row): boolean => fixed.callerKind === "unrecognised" && fixed.caller !== undefined;
  let unknownKeys = 0;
  const buckets = new Map<string, Tally>();
  let changeListener: (() => void) | undefined;
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
        latestAt: 0,
      };
      held.set(name, row);
      return row;
    };
    if (rows.size < MAX_ROWS) {
      const row = (name: string, cause: RefusalCause | undefined) =>
        rows.get(name) ?? made(rows, name, { ...describeCaller(caller, cause), code, by: cause });
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
    refused(refused) {
      const { code, requestId, at } = refused;
      if (UPSTREAM_CODES.has(code)) return;
      const by = causeOf(refused);
      const refusal = { ...refused, by };
      const second = secondNow();
      const row = rowOf(refusal, second);
      row.tally.count(second);
      row.lastAt = clock.now();
      if (at === undefined || at >= row.latestAt) row.lastRequest = requestId;
      row.latestAt = Math.max(row.latestAt, at ?? 0);
      if (by?.bucket !== undefined) countBucket(by.bucket, second);
      lastSecond = second;
      onRefused(refusal);
      const listener = changeListener;
      changeListener = undefined;
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
      changeListener = listener;
    },
  };
}

/**
 * Returns the caller's kind and name: for a known key its name, even if the presented secret was wrong, and for an unknown key
 * its id.
 */
function describeCaller(
  caller: Caller | undefined,
  by: RefusalCause | undefined,
): Pick<CountedRefusal, "callerKind" | "caller"> {
  if (caller !== undefined) return { callerKind: caller.kind, caller: callerDisplayName(caller) };
  if (by?.kind === "credential" && by.key !== undefined) return { callerKind: "key", caller: by.key };
  return { callerKind: "unrecognised", caller: by?.keyId };
}
