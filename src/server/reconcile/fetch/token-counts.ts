/**
 * Sums the counters of a report by token class. A counter that a result lacks counts as 0, and its class is not
 * compared.
 */

import type { ReportedUsage } from "../judge/judge-usage.ts";
import { TOKEN_CLASSES, type TokenClass } from "../judge/judge-usage.ts";
import { ReportError } from "./fetch-page.ts";

export type ReportResult = Readonly<Record<string, unknown>>;

/** Returns a counter, or `undefined` if the result does not have it. Throws a `ReportError` for an invalid value. */
export function readCount(result: ReportResult, name: string): number | undefined {
  const value = result[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new ReportError(`the report's \`${name}\` is not a count`);
}

/** Counts of one result. `joined`: classes included in its `input`, because the report does not separate them. */
export interface TokenCounts {
  readonly tokens: Readonly<Partial<Record<TokenClass, number>>>;
  readonly joined?: readonly TokenClass[];
  /** Classes that do not apply to this result, so that their absence does not matter. */
  readonly notApplicable?: readonly TokenClass[];
}

/** Sums all results of a day. */
export function sumResults(results: readonly TokenCounts[]): ReportedUsage {
  const joined = TOKEN_CLASSES.filter((name) => results.some((one) => one.joined?.includes(name)));
  const total = (name: TokenClass): number => results.reduce((sum, { tokens }) => sum + (tokens[name] ?? 0), 0);
  const isKnown = (name: TokenClass): boolean =>
    results.every(({ tokens, notApplicable }) => tokens[name] !== undefined || notApplicable?.includes(name) === true);
  const tokens = Object.fromEntries(
    TOKEN_CLASSES.map((name) => {
      if (joined.includes(name) || !isKnown(name)) return [name, null];
      // Classes that other results of the day report separately are added to `input`, so that all results can be compared.
      return [name, total(name) + (name === "input" ? joined.reduce((sum, of) => sum + total(of), 0) : 0)];
    }),
  ) as Record<TokenClass, number | null>;
  return { tokens, joined };
}

/** Adds two reports about different traffic of the same day. */
export function addReports(one: ReportedUsage, other: ReportedUsage): ReportedUsage {
  const asCounted = ({ tokens, joined }: ReportedUsage): TokenCounts => ({
    tokens: Object.fromEntries(
      TOKEN_CLASSES.flatMap((name) => (tokens[name] === null ? [] : [[name, tokens[name]]])),
    ) as TokenCounts["tokens"],
    joined,
  });
  return sumResults([asCounted(one), asCounted(other)]);
}
