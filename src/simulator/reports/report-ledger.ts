/** Usage by UTC day, dialect, kind and key, from which the usage reports of an organization are made. */

import { createHash } from "node:crypto";
import type { Dialect } from "../dialect-errors.ts";
import type { Tokens } from "../route-types.ts";

export const DAY_MS = 86_400_000;

/** Counters of a report, by the names that settings and `GET /sim/reports` use. */
export const COUNTERS = ["input", "cached", "written", "output"] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counters = Record<Counter, number>;

export type Kind = "completions" | "embeddings";

export interface LedgerLine {
  readonly at: number;
  readonly dialect: Dialect;
  readonly kind: Kind;
  readonly model: string;
  /** Id of the key in the report. */
  readonly keyId: string;
  /** True if it was billed as a batch, which does not pass a gateway. */
  readonly isBatch: boolean;
  readonly counters: Readonly<Counters>;
}

/** Maximum number of lines. The oldest are dropped, since a simulator is not an archive. */
const MAX_LINES = 200_000;

export interface UsageLedger {
  record(answered: Omit<LedgerLine, "counters" | "isBatch"> & { readonly tokens: Tokens }): void;
  add(line: LedgerLine): void;
  lines(): readonly LedgerLine[];
  clear(): void;
}

export function createUsageLedger(): UsageLedger {
  let lines: LedgerLine[] = [];
  const add = (line: LedgerLine): void => {
    lines.push(line);
    if (lines.length > MAX_LINES) lines = lines.slice(MAX_LINES / 10);
  };
  return {
    record({ tokens: { input, output, cached = 0, written = 0 }, ...line }) {
      if (input === 0 && output === 0) return;
      add({ ...line, isBatch: false, counters: { input: input - cached - written, cached, written, output } });
    },
    add,
    lines: () => lines,
    clear: () => {
      lines = [];
    },
  };
}

/** Returns the id of a key. Equal keys have equal ids, and the id reveals nothing of the key. */
export function keyIdOf(dialect: Dialect, key: string | undefined): string {
  const digest = createHash("sha256")
    .update(key ?? "")
    .digest("hex")
    .slice(0, 12);
  return `${dialect === "compat" ? "key" : "apikey"}_${digest}`;
}
