/**
 * Operators' acknowledgements of alerts: rows `ack/<name>`. Each has an end and is removed by the first entry after it
 * (row-expiry.ts). They only affect what operators see.
 */

import { define } from "../command.ts";
import { actor } from "../command-envelope.ts";
import { ok, refused } from "../command-refusals.ts";
import { choice, integer, label, nullable, object } from "../fields.ts";
import { keyPart, rowFormat } from "../row-format.ts";
import { ACKNOWLEDGEMENTS_LEVEL } from "./feature.ts";

const PREFIX = "ack/";
const SINCE = { level: ACKNOWLEDGEMENTS_LEVEL };

/** Maximum number of acknowledgements at a time, since names are not checked. */
export const MAX_ACKNOWLEDGEMENTS = 1_000;

const fields = {
  name: label(512),
  reason: label(1_024),
  /** Severity that the operator saw when acknowledging; null if not given. */
  severity: nullable(choice(["note", "warn", "fail"])),
  degree: nullable(integer()),
};

const acknowledgement = object({
  ...fields,
  at: integer(),
  /** First millisecond at which it no longer applies. */
  until: integer(),
  by: actor,
});

export type AcknowledgementRow = ReturnType<typeof acknowledgement>;
export const acknowledgementRows = rowFormat(acknowledgement);
export const acknowledgementRowKey = (name: string): string => PREFIX + keyPart(name);

/** Duration of an acknowledgement, at most a year. */
const durationMs = integer(1, 366 * 86_400_000);

export const acknowledgementPut = define(
  "acknowledgement.put",
  object({ ...fields, duration_ms: durationMs }),
  ({ duration_ms, ...fields }, { draft, now, by }) => {
    const key = acknowledgementRowKey(fields.name);
    if (draft.get(key) === undefined) {
      let active = 0;
      for (const [, value] of draft.scan(PREFIX)) if (acknowledgementRows.read(value).until > now) active += 1;
      if (active >= MAX_ACKNOWLEDGEMENTS) return refused("acknowledgement_limit");
    }
    const until = now + duration_ms;
    draft.put(key, acknowledgementRows.write({ ...fields, at: now, until, by }));
    return ok({ at: now, until });
  },
  SINCE,
);

export const acknowledgementDelete = define(
  "acknowledgement.delete",
  object({ name: label(512) }),
  ({ name }, { draft }) => {
    const key = acknowledgementRowKey(name);
    if (draft.get(key) === undefined) return refused("not_found");
    draft.delete(key);
    return ok();
  },
  SINCE,
);
