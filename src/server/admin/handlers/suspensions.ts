/** Suspensions: of a provider, key, profile, model, server, agent or issuer. */

import type { SuspensionKind, SuspensionRecord } from "../../../admin-api/index.ts";
import { parseDuration } from "../../../base/index.ts";
import type { StateView } from "../../cluster/index.ts";
import { commands, readSuspension, type SuspensionRow, suspensionRowKey } from "../../core/state/index.ts";
import { type Handlers, mapRows, NO_CONTENT, rfc3339 } from "../handler-types.ts";
import { issueCommand } from "../issue-command.ts";
import { requireSuspendable } from "../known-names.ts";
import { type ListSource, storedValues, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { actorText } from "../principal.ts";
import { refusal } from "../refusal.ts";
import { refuseSecret } from "../secret-in-reason.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

export function suspensionList({ cluster: { view } }: Ports): ListSource<SuspensionRecord> {
  return {
    ...tablesVersion(view, TABLE_PREFIX.suspensions),
    async take() {
      const stored = await storedValues(view, TABLE_PREFIX.suspensions);
      return (now) => mapRows(stored, (value) => suspensionRecord(readSuspension(value), now));
    },
  };
}

export function isSuspended(view: StateView, kind: SuspensionKind, name: string, now: number): boolean {
  const value = view.get(suspensionRowKey(kind, name));
  return value !== undefined && isActive(readSuspension(value), now);
}

const isActive = ({ until }: SuspensionRow, now: number): boolean => until === null || until > now;

function suspensionRecord(row: SuspensionRow, now: number): SuspensionRecord {
  return {
    kind: row.kind,
    name: row.name,
    reason: row.reason,
    by: actorText(row.by),
    created_at: rfc3339(row.at),
    until: row.until === null ? null : rfc3339(row.until),
    status: isActive(row, now) ? "active" : "ended",
  };
}

export const suspensionHandlers: Pick<Handlers, "put_suspension" | "delete_suspension"> = {
  async put_suspension({ params: { kind, name }, body: { reason, duration = "" }, write }, ports) {
    requireSuspendable(ports, kind, name);
    await refuseSecret(ports, reason, "callers");
    const ms = duration === "" ? null : Math.max(1, Math.floor(parseDuration(duration) ?? 0));
    await issueCommand(ports, commands.suspensionPut({ kind, name, reason, duration_ms: ms }), write);
    const value = ports.cluster.view.get(suspensionRowKey(kind, name));
    if (value === undefined) {
      throw refusal("conflict", "The suspension was lifted at the same time.", { outcome: "done" });
    }
    return { value: suspensionRecord(readSuspension(value), ports.clock.now()) };
  },
  async delete_suspension({ params: { kind, name }, write }, ports) {
    await issueCommand(ports, commands.suspensionDelete({ kind, name }), write);
    return NO_CONTENT;
  },
};
