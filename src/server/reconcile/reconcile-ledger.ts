/** Replicated ledger as parsed values, updated when its rows change. */
import { type LedgerEntry, parseEntry } from "./judge/ledger-entry.ts";
import { parseRound, type Round } from "./judge/round-entry.ts";
import type { LedgerChange, LedgerRow, LedgerRows } from "./ports.ts";

export interface LedgerRecord<T> {
  readonly value: T;
  readonly rev: number;
  /** Time of writing, in milliseconds since 1970. */
  readonly at: number;
}

export interface Ledger {
  /** Returns the entries, in no particular order. */
  entries(): Iterable<LedgerRecord<LedgerEntry>>;
  entry(day: string, provider: string): LedgerRecord<LedgerEntry> | undefined;
  rounds(): Iterable<LedgerRecord<Round>>;
  round(provider: string): LedgerRecord<Round> | undefined;
  onChange(listener: () => void): () => void;
  close(): void;
}

export function openLedger(rows: Pick<LedgerRows, "all" | "keyOf" | "onChange">): Ledger {
  const entries = new Map<string, LedgerRecord<LedgerEntry>>();
  const rounds = new Map<string, LedgerRecord<Round>>();
  const listeners = new Set<() => void>();

  const applyChange = ({ key, row }: LedgerChange): void => {
    rounds.delete(key);
    entries.delete(key);
    if (row === undefined) return;
    const { day, id, fields } = row;
    const round = day === "round" ? parseRound(id, fields) : undefined;
    const entry = day === "round" ? undefined : parseEntry(day, id, fields);
    if (round !== undefined) rounds.set(key, toRecord(row, round));
    if (entry !== undefined) entries.set(key, toRecord(row, entry));
  };
  const reload = (): void => {
    entries.clear();
    rounds.clear();
    for (const row of rows.all()) applyChange({ key: rows.keyOf(row.day, row.id), row });
  };
  reload();
  const unwatch = rows.onChange((changes) => {
    if (changes === undefined) reload();
    else for (const change of changes) applyChange(change);
    for (const listener of [...listeners]) listener();
  });
  return {
    entries: () => entries.values(),
    entry: (day, provider) => entries.get(rows.keyOf(day, provider)),
    rounds: () => rounds.values(),
    round: (provider) => rounds.get(rows.keyOf("round", provider)),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: unwatch,
  };
}

const toRecord = <T>({ rev, at }: LedgerRow, value: T): LedgerRecord<T> => ({ value, rev, at });
