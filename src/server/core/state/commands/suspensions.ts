/** Suspensions: rows `susp/<kind>:<name>`. An ended one is kept for a day and then removed (row-expiry.ts). */

import { define } from "../command.ts";
import { actor } from "../command-envelope.ts";
import { ok, refused } from "../command-refusals.ts";
import { choice, integer, label, nullable, object, prose } from "../fields.ts";
import { keyPart, rowFormat } from "../row-format.ts";

const kind = choice(["provider", "key", "profile", "model", "mcp", "a2a", "issuer"]);
export type SuspensionKind = ReturnType<typeof kind>;

const suspension = object({
  kind,
  name: label(512),
  reason: prose(1_024),
  at: integer(),
  /** First millisecond at which it no longer applies; null if it applies until lifted. */
  until: nullable(integer()),
  by: actor,
});

export type SuspensionRow = ReturnType<typeof suspension>;
export const suspensionRows = rowFormat(suspension);
export const suspensionRowKey = (of: SuspensionKind, name: string): string => `susp/${of}:${keyPart(name)}`;

/** Duration of a suspension, at most a century, as for keys. */
const durationMs = integer(1, 3_155_760_000_000);

export const suspensionPut = define(
  "suspension.put",
  object({ kind, name: label(512), reason: prose(1_024), duration_ms: nullable(durationMs) }),
  ({ duration_ms, ...params }, { draft, now, by }) => {
    const until = duration_ms === null ? null : now + duration_ms;
    draft.put(suspensionRowKey(params.kind, params.name), suspensionRows.write({ ...params, at: now, until, by }));
    return ok({ at: now, until });
  },
);

export const suspensionDelete = define("suspension.delete", object({ kind, name: label(512) }), (params, { draft }) => {
  const key = suspensionRowKey(params.kind, params.name);
  if (draft.get(key) === undefined) return refused("not_found");
  draft.delete(key);
  return ok();
});
