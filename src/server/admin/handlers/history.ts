/** History of this node: measurements of a quarter of an hour. */

import type { HistoryRecord } from "../../../admin-api/index.ts";
import { gather } from "../everywhere.ts";
import type { Handlers } from "../handler.ts";
import { counted, fixed, type ListSource, narrowed } from "../lists.ts";
import type { History, Ports } from "../ports.ts";
import { noSuchProvider } from "./backends.ts";

/** Changes with each completed bucket. */
export function historyList({ cluster, history }: Ports): ListSource<HistoryRecord> {
  return {
    ...counted((listener) => history.onChange(listener)),
    take() {
      const { nodeId: node } = cluster.status();
      return fixed(history.list().map((row) => ({ ...row, node })));
    },
  };
}

/** Oldest first. */
export const historyOf = (history: History, provider: string): readonly Omit<HistoryRecord, "node">[] => [
  ...narrowed(history.list(), { kind: "backends", name: provider }),
];

export const historyHandlers: Pick<Handlers, "list_backend_history"> = {
  async list_backend_history({ params: { name }, query: { nodes }, signal }, { backends, cluster, history }) {
    if (backends.failures(name) === undefined) throw noSuchProvider();
    const own = historyOf(history, name);
    const { nodeId: node } = cluster.status();
    if (nodes === undefined) return { value: { items: own.map((row) => ({ ...row, node })) } };
    const { items, ...others } = await gather(cluster, { kind: "history", provider: name }, own, signal);
    return { value: { items: items as unknown as readonly HistoryRecord[], ...others } };
  },
};
