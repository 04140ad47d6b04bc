/** Dialog that undoes a lift or a changed end: suspends as before, with the previous reason and the remaining time. */

import type { SuspensionRecord } from "../../admin-api/index.ts";
import { escapeControls, formatDuration } from "../../base/index.ts";
import { plural } from "../format/numbers.ts";
import { actionOf } from "../model/action.ts";
import type { Dialog } from "../model/dialog.ts";
import { line } from "../model/text.ts";
import { onNodes } from "./applying-nodes.ts";
import { suspensionOf } from "./suspension-routes.ts";
import { KIND_TEXTS, labelOf, suspensionText, untilText } from "./suspension-text.ts";

/** Maximum number of suspensions that are listed individually. */
const MAX_LISTED = 8;

/** Builds the dialog. `before` has the previous suspensions, at least one. Several are confirmed by their number. */
export function suspendAgainDialog(before: readonly SuspensionRecord[]): Dialog {
  const [first] = before;
  const stillDue = (now: number) => before.filter(({ until }) => until === null || Date.parse(until) > now);
  const title = before.length === 1 && first !== undefined ? labelOf(first) : plural(before.length, "suspension");
  return {
    title: `Suspend ${title} again`,
    fields: [],
    lines: (_, { data, now }) => [
      ...stillDue(now)
        .slice(0, MAX_LISTED)
        .flatMap((record) => {
          const present = suspensionOf(data, record.kind, record.name);
          const text = `${KIND_TEXTS[record.kind].suspended(escapeControls(record.name))} ${onNodes(data)}`;
          return [
            ["Effect", line(`${text}, "${escapeControls(record.reason)}", ${untilText(record, now)}`)] as const,
            ...(present === undefined ? [] : [["Now", line(`suspended ${suspensionText(present, now)}`)] as const]),
          ];
        }),
      ...(before.length > MAX_LISTED ? [["", line(`and ${before.length - MAX_LISTED} more`)] as const] : []),
      ["Then", line("it is recorded under your name with the previous reason, which callers see")],
    ],
    confirm:
      before.length === 1
        ? { kind: "yes", button: "suspend again" }
        : {
            kind: "typed",
            button: "suspend again",
            label: "type the number of suspensions",
            expected: () => String(before.length),
          },
    blockedReason: (_, { now }) => (stillDue(now).length === 0 ? "it would have ended by now" : undefined),
    task: (_, { now }) => ({
      kind: "actions",
      actions: stillDue(now).map((record) => {
        const { kind, name, reason, until } = record;
        const duration = until === null ? {} : { duration: formatDuration(Math.max(1, Date.parse(until) - now)) };
        return actionOf("put_suspension", { params: { kind, name }, body: { reason, ...duration } }, () => ({
          message: `${labelOf(record)} suspended again, ${untilText(record, now)}`,
        }));
      }),
    }),
  };
}
