/**
 * Sends the rows of the replicated state that decisions about requests need from the node process to a worker: all of them first,
 * then changes.
 */
import { createView, type StateView } from "../cluster/index.ts";
import type { Mutation } from "../core/state/index.ts";
import type { Channel } from "./channel/index.ts";

/** Prefixes of the tables: keys, the ids that name them, and suspensions. */
const TABLES = ["key/", "keyid/", "susp/"] as const;

const MAX_ROWS_PER_MESSAGE = 1_000;

interface RowsMessage {
  readonly seq: number;
  /** Kind of the message. `begin` starts a replacement: the previous rows are dropped when `end` arrives. */
  readonly kind: "begin" | "add" | "end" | "change";
  /** Rows of the message. A row without a value was deleted. */
  readonly rows: readonly (readonly [key: string, value?: string])[];
  readonly index: number;
}

export interface RowsFeed {
  /**
   * Resolves once the worker has received everything sent before the call; never if it has exited. `onProgress` is called for each
   * message that it has received in the meantime.
   */
  whenReceived(onProgress?: () => void): Promise<void>;
  close(): void;
}

/** Feeds a worker from the node process. */
export function feedRows(channel: Channel, view: StateView): RowsFeed {
  let seq = 0;
  let acknowledgedSeq = 0;
  const waiting = new Set<{ readonly seq: number; readonly resolve: () => void; readonly onProgress: () => void }>();
  const send = (kind: RowsMessage["kind"], rows: RowsMessage["rows"]): void => {
    seq += 1;
    channel.send("rows", { seq, kind, rows, index: view.appliedIndex } satisfies RowsMessage);
  };
  const sendAll = (): void => {
    send("begin", []);
    let rows: (readonly [string, string])[] = [];
    for (const table of TABLES) {
      for (const row of view.scan(table)) {
        rows.push(row);
        if (rows.length < MAX_ROWS_PER_MESSAGE) continue;
        send("add", rows);
        rows = [];
      }
    }
    send("add", rows);
    send("end", []);
  };
  const change = (mutations: readonly Mutation[] | undefined): void => {
    if (mutations === undefined) {
      sendAll();
      return;
    }
    const workerMutations = mutations.filter(({ key }) => TABLES.some((table) => key.startsWith(table)));
    if (workerMutations.length === 0) return;
    send(
      "change",
      workerMutations.map(({ key, value }) => (value === undefined ? [key] : [key, value])),
    );
  };
  channel.on("rows.taken", (body) => {
    acknowledgedSeq = Number(body);
    for (const wait of waiting) {
      wait.onProgress();
      if (wait.seq > acknowledgedSeq) continue;
      waiting.delete(wait);
      wait.resolve();
    }
  });
  sendAll();
  // One watcher of all tables: one of each would send everything three times after a restore.
  const unwatch = view.watch("", change);
  return {
    whenReceived: (onProgress = () => undefined) =>
      acknowledgedSeq >= seq ? Promise.resolve() : new Promise((resolve) => waiting.add({ seq, resolve, onProgress })),
    close: unwatch,
  };
}

/** Follows the rows in a worker. The view is empty until the first rows are complete. */
export function followRows(channel: Channel, onFailure: (error: unknown) => void): StateView {
  const { view, follow, beginReplace, add, endReplace } = createView(onFailure);
  channel.on("rows", (body) => {
    const { seq, kind, rows, index } = body as RowsMessage;
    if (kind === "begin") beginReplace();
    else if (kind === "add") add(rows as readonly (readonly [string, string])[]);
    else if (kind === "end") endReplace(index);
    else follow(rows.map(([key, value]) => ({ key, value })) as readonly Mutation[], index);
    channel.send("rows.taken", seq);
  });
  return view;
}
