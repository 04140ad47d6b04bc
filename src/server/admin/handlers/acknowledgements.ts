/** Acknowledgements of alerts. The console defines the names of alerts, so the names are not checked here. */

import type { AcknowledgementRecord } from "../../../admin-api/index.ts";
import { parseDuration } from "../../../base/index.ts";
import {
  type AcknowledgementRow,
  acknowledgementRowKey,
  commands,
  readAcknowledgement,
} from "../../core/state/index.ts";
import { type Handlers, mapRows, NO_CONTENT, rfc3339 } from "../handler-types.ts";
import { issueCommand } from "../issue-command.ts";
import { type ListSource, storedValues, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { actorText } from "../principal.ts";
import { refusal } from "../refusal.ts";
import { refuseSecret } from "../secret-in-reason.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

export function acknowledgementList({ cluster: { view } }: Ports): ListSource<AcknowledgementRecord> {
  return {
    ...tablesVersion(view, TABLE_PREFIX.acknowledgements),
    async take() {
      const stored = await storedValues(view, TABLE_PREFIX.acknowledgements);
      return (now) => mapRows(stored, (value) => recordOf(readAcknowledgement(value), now));
    },
  };
}

function recordOf(row: AcknowledgementRow, now: number): AcknowledgementRecord {
  const { name, reason, by, at, until, severity, degree } = row;
  return {
    name,
    reason,
    by: actorText(by),
    created_at: rfc3339(at),
    until: rfc3339(until),
    severity,
    degree,
    status: until > now ? "active" : "ended",
  };
}

export const acknowledgementHandlers: Pick<Handlers, "put_acknowledgement" | "delete_acknowledgement"> = {
  async put_acknowledgement({ params: { name }, body, write }, ports) {
    const { reason, duration, severity = null, degree = null } = body;
    await refuseSecret(ports, reason, "operators");
    const duration_ms = Math.max(1, Math.floor(parseDuration(duration) ?? 0));
    await issueCommand(ports, commands.acknowledgementPut({ name, reason, severity, degree, duration_ms }), write);
    const value = ports.cluster.view.get(acknowledgementRowKey(name));
    if (value === undefined) {
      throw refusal("conflict", "The acknowledgement was lifted at the same time.", { outcome: "done" });
    }
    return { value: recordOf(readAcknowledgement(value), ports.clock.now()) };
  },
  async delete_acknowledgement({ params: { name }, write }, ports) {
    await issueCommand(ports, commands.acknowledgementDelete({ name }), write);
    return NO_CONTENT;
  },
};
