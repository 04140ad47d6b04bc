/**
 * Ledger entry of one provider and day, and its update by a new report. The replicated row is flat: `<class>.metered`,
 * `<class>.reported`, `<class>.breach`, `<class>.told`, and fields of the whole day.
 */
import { isMature } from "./days.ts";
import {
  type ClassComparison,
  compareUsage,
  type DriftRules,
  isDrift,
  type MeteredUsage,
  type ReportedUsage,
  type Scope,
  TOKEN_CLASSES,
  type TokenClass,
  type Verdict,
  verdictOf,
} from "./judge-usage.ts";

export interface LedgerEntry {
  readonly day: string;
  readonly provider: string;
  readonly type: "compat" | "messages";
  readonly scope: Scope;
  /** Last report of the provider. */
  readonly reported: ReportedUsage;
  /** Result of the comparison; `undefined` until the provider's report of the day is final. */
  readonly judged: Judged | undefined;
}

interface Judged {
  /** Time of this result, in milliseconds since 1970. A later comparison with the same result keeps it. */
  readonly at: number;
  readonly unmeasured: number;
  readonly classes: readonly JudgedClass[];
  /** Id of the node that judged, and therefore records new breaches. */
  readonly by: string;
}

interface JudgedClass extends ClassComparison {
  readonly breach: boolean;
  /** True if the breach is recorded in the audit trail. */
  readonly isRecorded: boolean;
}

export interface JudgeInput {
  readonly now: number;
  readonly lagMs: number;
  readonly rules: DriftRules;
  /** Metered usage of the day; `undefined` if it is not known, and then the day is not judged. */
  readonly metered: MeteredUsage | undefined;
  /** Id of this node. */
  readonly nodeId: string;
}

/** Returns the entry with a new report, judged if the day is mature. Returns `before` itself if nothing changed. */
export function updateEntry(
  fresh: Pick<LedgerEntry, "day" | "provider" | "type" | "scope" | "reported">,
  before: LedgerEntry | undefined,
  { now, lagMs, rules, metered, nodeId }: JudgeInput,
): LedgerEntry {
  const mature = metered !== undefined && isMature(fresh.day, now, lagMs);
  const known = new Map(before?.judged?.classes.map((one) => [one.class, one]));
  const judged: Judged | undefined = mature
    ? {
        at: now,
        by: nodeId,
        unmeasured: metered.unmeasured,
        classes: compareUsage(metered, fresh.reported).map((compared) => {
          const breach = isDrift(compared, rules);
          return { ...compared, breach, isRecorded: breach && known.get(compared.class)?.isRecorded === true };
        }),
      }
    : before?.judged;
  const { day, provider, type, scope, reported } = fresh;
  const entry: LedgerEntry = { day, provider, type, scope, reported, judged };
  return before !== undefined && isSame(entry, before) ? before : entry;
}

/** Returns whether two entries are equal, regardless of which node judged and when. */
function isSame(one: LedgerEntry, other: LedgerEntry): boolean {
  const comparable = ({ judged, ...rest }: LedgerEntry): string =>
    JSON.stringify([entryFields({ ...rest, judged: judged && { ...judged, at: 0, by: "" } })]);
  return comparable(one) === comparable(other);
}

export const verdictsOf = ({ judged, scope }: LedgerEntry): readonly Verdict[] =>
  (judged?.classes ?? []).map(({ breach, isRecorded: _, ...compared }) => verdictOf(compared, breach, scope));

/** Returns the breaches that are not recorded yet. */
export const unrecordedBreaches = (entry: LedgerEntry): readonly Verdict[] => {
  const waiting = new Set(entry.judged?.classes.flatMap((one) => (one.breach && !one.isRecorded ? one.class : [])));
  return verdictsOf(entry).filter((verdict) => waiting.has(verdict.class));
};

export function withRecordedBreaches(entry: LedgerEntry): LedgerEntry {
  const { judged } = entry;
  if (judged === undefined) return entry;
  return {
    ...entry,
    judged: { ...judged, classes: judged.classes.map((one) => ({ ...one, isRecorded: one.breach })) },
  };
}

type Field = string | number | boolean | null;
export type Fields = Readonly<Record<string, Field>>;

export function entryFields({ type, scope, reported, judged }: LedgerEntry): Fields {
  const fields: Record<string, Field> = { type, scope, joined: reported.joined.join(" ") };
  for (const name of TOKEN_CLASSES) {
    const tokens = reported.tokens[name];
    if (tokens !== null) fields[`${name}.reported`] = tokens;
  }
  if (judged === undefined) return fields;
  fields["judged.at"] = judged.at;
  fields["judged.by"] = judged.by;
  fields["unmeasured"] = judged.unmeasured;
  for (const one of judged.classes) {
    fields[`${one.class}.metered`] = one.metered;
    fields[`${one.class}.judged`] = one.reported;
    fields[`${one.class}.breach`] = one.breach;
    fields[`${one.class}.told`] = one.isRecorded;
  }
  return fields;
}

/** Parses a row made by `entryFields`. Returns `undefined` for any other row. */
export function parseEntry(day: string, provider: string, fields: Fields): LedgerEntry | undefined {
  const { type, scope, joined } = fields;
  if ((type !== "compat" && type !== "messages") || (scope !== "organisation" && scope !== "keys")) return undefined;
  const tokens = Object.fromEntries(
    TOKEN_CLASSES.map((name) => [name, countField(fields, `${name}.reported`) ?? null]),
  ) as Record<TokenClass, number | null>;
  const joinedNames = typeof joined === "string" ? joined.split(" ") : [];
  const reported = { tokens, joined: TOKEN_CLASSES.filter((name) => joinedNames.includes(name)) };
  return { day, provider, type, scope, reported, judged: parseJudged(fields) };
}

function parseJudged(fields: Fields): Judged | undefined {
  const at = countField(fields, "judged.at");
  if (at === undefined) return undefined;
  const by = fields["judged.by"];
  const classes = TOKEN_CLASSES.flatMap((name): readonly JudgedClass[] => {
    const metered = countField(fields, `${name}.metered`);
    const reported = countField(fields, `${name}.judged`);
    if (metered === undefined || reported === undefined) return [];
    const [breach, isRecorded] = [fields[`${name}.breach`] === true, fields[`${name}.told`] === true];
    return [{ class: name, metered, reported, breach, isRecorded }];
  });
  return { at, by: typeof by === "string" ? by : "", unmeasured: countField(fields, "unmeasured") ?? 0, classes };
}

function countField(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
