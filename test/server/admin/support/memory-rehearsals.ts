import type { RehearsalResult } from "../../../../src/admin-api/index.ts";
import type { Rehearsals } from "../../../../src/server/admin/index.ts";

export const REHEARSED: RehearsalResult = {
  requests: 2,
  since: "2026-11-20T11:00:00.000Z",
  covered_since: "2026-11-20T11:30:00.000Z",
  same: 1,
  refused: 1,
  served: 0,
  other_provider: 0,
  other_guardrail: 0,
  unknown: 0,
  changes: [{ outcome: "refused", cause: "rule no-previews", requests: 1, callers: [{ caller: "ci", requests: 1 }] }],
  reasons: [],
  examples: [
    {
      id: "request-1",
      node: "n1",
      time: "2026-11-20T11:45:00.000Z",
      caller: "ci",
      outcome: "refused",
      cause: "rule no-previews",
    },
  ],
  left: 0,
  nodes: ["n1"],
  unanswered: [],
  disabled: [],
  configuration_changed: true,
};

/** Answers every rehearsal with `REHEARSED` and no records. */
export const createMemoryRehearsals = (): Rehearsals => ({
  rehearse: async () => ({ kind: "done", value: REHEARSED }),
  recordPage: () => Buffer.from('{"chunks":[]}'),
});
