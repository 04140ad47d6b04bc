/** Rows that some nodes share, one of which leads: the twin in memory of the store over the cluster's rows. */
import type { CertificateStore, Held, RowWrite } from "../../../../../src/server/tls/index.ts";

type Table = RowWrite["table"];

interface Row {
  readonly version: number;
  readonly write: RowWrite;
}

export interface MemoryCluster {
  store(node: string): CertificateStore;
  /** Undefined: nobody. */
  lead(node: string | undefined): void;
  row(table: Table, id: string): string | undefined;
  rows(table: Table): readonly RowWrite[];
  /** Called before a write takes hold; what it throws is what became of the write. */
  onWrite: (node: string, write: RowWrite) => void;
  /** Called after a write took hold. */
  onWritten: (node: string, write: RowWrite) => void;
}

export function createMemoryCluster(first = "n1"): MemoryCluster {
  const rows = new Map<string, Row>();
  const listeners = new Set<() => void>();
  let leader: string | undefined = first;
  const keyOf = (table: Table, id: string): string => `${table}/${id}`;
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const of = (table: Table) =>
    [...rows].filter(([key]) => key.startsWith(`${table}/`)).map(([, row]) => ({ ...row.write, version: row.version }));

  const cluster: MemoryCluster = {
    store: (node) => ({
      read(table, id): Held {
        const row = rows.get(keyOf(table, id));
        return row === undefined ? { kind: "none" } : { kind: "row", version: row.version, value: row.write.value };
      },
      certificates: () => of("certificate"),
      async write(write, signal) {
        signal.throwIfAborted();
        cluster.onWrite(node, write);
        const key = keyOf(write.table, write.id);
        const before = rows.get(key)?.version ?? null;
        if (before !== write.expect) return "stale";
        rows.set(key, { version: (before ?? 0) + 1, write });
        cluster.onWritten(node, write);
        tell();
        return "stored";
      },
      async remove(id, version) {
        const key = keyOf("certificate", id);
        if (rows.get(key)?.version === version) rows.delete(key);
        tell();
      },
      leads: () => leader === node,
      caughtUp: async () => undefined,
      spread: async () => undefined,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    lead(node) {
      leader = node;
      tell();
    },
    row: (table, id) => rows.get(keyOf(table, id))?.write.value,
    rows: of,
    onWrite: () => undefined,
    onWritten: () => undefined,
  };
  return cluster;
}
