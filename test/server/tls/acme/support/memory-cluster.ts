/** Rows shared by some nodes, one of which leads: the in-memory implementation of the store over the cluster's rows. */
import type { CertificateStore, OpenedRow, RowTable, RowWrite } from "../../../../../src/server/tls/index.ts";

interface Row {
  readonly version: number;
  readonly at: number;
  readonly write: RowWrite;
}

export interface MemoryCluster {
  store(node: string): CertificateStore;
  /** `undefined` for no leader. */
  lead(node: string | undefined): void;
  row(table: RowTable, id: string): string | undefined;
  rows(table: RowTable): readonly RowWrite[];
  /** Time of written rows, in milliseconds since 1970. */
  now: () => number;
  /** Called before a write takes effect; an error it throws is the result of the write. */
  onWrite: (node: string, write: RowWrite) => void;
  /** Called after a write took effect. */
  onWritten: (node: string, write: RowWrite) => void;
}

export function createMemoryCluster(first = "n1"): MemoryCluster {
  const rows = new Map<string, Row>();
  const listeners = new Set<() => void>();
  let leader: string | undefined = first;
  const keyOf = (table: RowTable, id: string): string => `${table}/${id}`;
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const of = (table: RowTable) =>
    [...rows]
      .filter(([key]) => key.startsWith(`${table}/`))
      .map(([, { write, version, at }]) => ({ ...write, version, at }));

  const cluster: MemoryCluster = {
    store: (node) => ({
      read(table, id): OpenedRow {
        const row = rows.get(keyOf(table, id));
        return row === undefined ? { kind: "none" } : { kind: "row", version: row.version, value: row.write.value };
      },
      certificates: () => of("certificate"),
      accounts: () => of("account"),
      async write(write, signal) {
        signal.throwIfAborted();
        cluster.onWrite(node, write);
        const key = keyOf(write.table, write.id);
        const before = rows.get(key)?.version ?? null;
        if (before !== write.expect) return "stale";
        rows.set(key, { version: (before ?? 0) + 1, at: cluster.now(), write });
        cluster.onWritten(node, write);
        notify();
        return "stored";
      },
      async remove(table, id, version) {
        const key = keyOf(table, id);
        if (rows.get(key)?.version === version) rows.delete(key);
        notify();
      },
      isLeader: () => leader === node,
      whenCaughtUp: async () => undefined,
      whenReplicated: async () => undefined,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    lead(node) {
      leader = node;
      notify();
    },
    row: (table, id) => rows.get(keyOf(table, id))?.write.value,
    rows: of,
    now: Date.now,
    onWrite: () => undefined,
    onWritten: () => undefined,
  };
  return cluster;
}
