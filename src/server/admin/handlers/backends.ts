/** Providers as this node has measured them, with the suspensions of the whole cluster. */

import { type BackendFailure, type BackendMember, type BackendRecord, MAX_MEMBERS } from "../../../admin-api/index.ts";
import { readSuspension, suspensionRowKey } from "../../core/state/index.ts";
import { gather, sortByTime } from "../gather-nodes.ts";
import { type Handlers, mapRows, rfc3339 } from "../handler-types.ts";
import { type ListSource, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { refusal } from "../refusal.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

/**
 * Returns the list of providers. Its version changes immediately with the configuration and the suspensions, and at most once a
 * second with measurements. The expiry of a suspension does not change it.
 */
export function backendList(ports: Ports): ListSource<BackendRecord> {
  return suspendableList(ports, "provider", () => ports.backends.list());
}

interface MeasuredRow {
  readonly name: string;
  readonly state: BackendRecord["state"];
}

/** Returns the list of any kind that can be suspended. `list` returns the current rows. */
export function suspendableList<Row extends MeasuredRow>(
  { cluster, backends }: Ports,
  kind: "provider" | "mcp" | "a2a",
  list: () => readonly Row[],
): ListSource<Row & { readonly suspended_until: string | null; readonly node: string }> {
  const { view } = cluster;
  const suspensions = tablesVersion(view, TABLE_PREFIX.suspensions);
  let changes = 0;
  return {
    version: () => suspensions.version() + changes,
    watch(onChange) {
      const unwatch = [
        suspensions.watch(onChange),
        backends.onChange(() => {
          changes += 1;
          onChange();
        }),
      ];
      return () => {
        for (const end of unwatch) end();
      };
    },
    take() {
      const { nodeId: node } = cluster.status();
      const stored = list().map((row) => ({ row, suspension: view.get(suspensionRowKey(kind, row.name)) }));
      return (now) =>
        mapRows(stored, ({ row, suspension }) => ({ ...row, ...suspensionColumns(row, suspension, now), node }));
    },
  };
}

/** Returns state and suspension as shown at `now`. `suspension`: stored row; `undefined` without one. */
function suspensionColumns(
  { state }: MeasuredRow,
  suspension: string | undefined,
  now: number,
): { readonly state: BackendRecord["state"]; readonly suspended_until: string | null } {
  const until = suspension === undefined ? undefined : readSuspension(suspension).until;
  const isSuspended = until !== undefined && (until === null || until > now);
  return {
    state: isSuspended ? "suspended" : state,
    suspended_until: isSuspended && until !== null ? rfc3339(until) : null,
  };
}

export const backendHandlers: Pick<Handlers, "list_backend_errors" | "list_backend_members"> = {
  async list_backend_errors({ params: { name }, query: { nodes }, signal }, { backends, cluster }) {
    const localFailures = backends.failures(name);
    if (localFailures === undefined) throw noSuchProvider();
    const { nodeId: node } = cluster.status();
    if (nodes === undefined) return { value: { items: localFailures.map((failure) => ({ ...failure, node })) } };
    const { items, ...others } = await gather(cluster, { kind: "failures", provider: name }, localFailures, signal);
    return { value: { items: sortByTime(items as unknown as readonly BackendFailure[], "time").reverse(), ...others } };
  },

  async list_backend_members({ params: { name }, query: { nodes }, signal }, { backends, cluster }) {
    const all = backends.members(name);
    if (all === undefined) throw noSuchProvider();
    const { nodeId: node } = cluster.status();
    const shown = all.slice(0, MAX_MEMBERS);
    const ownCut = shown.length < all.length ? [node] : [];
    if (nodes === undefined) {
      const items = shown.map((member) => ({ ...member, node }));
      return { value: { items, ...(ownCut.length > 0 && { cut: ownCut }) } };
    }
    const { items, unanswered, cut } = await gather(cluster, { kind: "members", provider: name }, shown, signal);
    return {
      value: { items: items as unknown as readonly BackendMember[], unanswered, cut: [...ownCut, ...cut] },
    };
  },
};

export const noSuchProvider = () => refusal("not_found", "There is no provider of that name in the configuration.");
