/** Rows of `refusals`: refusals by this node's data plane. */
import type { RefusalRecord, RowsOf } from "../../admin/index.ts";
import type { Refusals as Counted, CountedRefusal } from "../../dataplane/index.ts";
import { createThrottledListeners } from "../change-notifier.ts";

export function refusalRows(counted: Counted): RowsOf<"refusals"> {
  return { list: () => counted.read().map(refusalRecord), onChange: createThrottledListeners(counted) };
}

const refusalRecord = (row: CountedRefusal): Omit<RefusalRecord, "node"> => ({
  caller_kind: row.callerKind,
  caller: row.caller ?? null,
  code: row.code,
  cause: row.by?.kind ?? null,
  cause_name: row.by?.name ?? null,
  last_minute: row.lastMinute,
  last_hour: row.lastHour,
  first_at: new Date(row.firstAt).toISOString(),
  last_at: new Date(row.lastAt).toISOString(),
  last_request: row.lastRequest,
});
