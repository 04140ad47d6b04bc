/** Replicated ledger as parsed values, updated when its rows change. */
import { type Entry, entryOf } from "./judge/entry.ts";
import { type Round, roundOf } from "./judge/round-entry.ts";
import type { LedgerChange, LedgerRow, LedgerRows } from "./ports.ts";

export interface Held<T> {
  readonly value: T;
  readonly rev: number;
  /** Time of writing, in milliseconds since 1970. */
  readonly at: number;
}

export interface Ledger {
  /** Returns the entries, in no particular order. */
  entries(): Iterable<Held<Entry>>;
  entry(day: string, provider: string): Held<Entry> | undefined;
  rounds(): Iterable<Held<Round>>;
  round(provider: string): Held<Round> | undefined;
  onChange(listener: () => void): () => void;
  close(): void;
}

export function openLedger(rows: Pick<LedgerRows, "all" | "keyOf" | "onChange">): Ledger {
  const entries = new Map<string, Held<Entry>>();
  const rounds = new Map<string, Held<Round>>();
  const listeners = new Set<() => void>();

  const take = ({ key, row }: LedgerChange): void => {
    rounds.delete(key);
    entries.delete(key);
    if (row === undefined) return;
    const { day, id, fields } = row;
    const round = day === "round" ? roundOf(id, fields) : undefined;
    const entry = day === "round" ? undefined : entryOf(day, id, fields);
    if (round !== undefined) rounds.set(key, held(row, round));
    if (entry !== undefined) entries.set(key, held(row, entry));
  };
  const begin = (): void => {
    entries.clear();
    rounds.clear();
    for (const row of rows.all()) take({ key: rows.keyOf(row.day, row.id), row });
  };
  begin();
  const unwatch = rows.onChange((changes) => {
    if (changes === undefined) begin();
    else for (const change of changes) take(change);
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

const held = <T>({ rev, at }: LedgerRow, value: T): Held<T> => ({ value, rev, at });
