/** History of one provider on this node: measurements of a quarter of an hour. */

import type { HistoryRecord } from "../../../admin-api/index.ts";
import { gather } from "../gather-nodes.ts";
import type { Handlers } from "../handler-types.ts";
import { filterByColumns } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { noSuchProvider } from "./backends.ts";

/** Returns the measurements of a provider, oldest first. */
export const historyOf = async (
  { history }: Ports["rows"],
  provider: string,
): Promise<readonly Omit<HistoryRecord, "node">[]> => [
  ...filterByColumns(await history.list(), { kind: "backends", name: provider }),
];

export const historyHandlers: Pick<Handlers, "list_backend_history"> = {
  async list_backend_history({ params: { name }, query: { nodes }, signal }, { backends, cluster, rows }) {
    if (backends.failures(name) === undefined) throw noSuchProvider();
    const own = await historyOf(rows, name);
    const { nodeId: node } = cluster.status();
    if (nodes === undefined) return { value: { items: own.map((row) => ({ ...row, node })) } };
    const { items, ...others } = await gather(cluster, { kind: "history", provider: name }, own, signal);
    return { value: { items: items as unknown as readonly HistoryRecord[], ...others } };
  },
};
