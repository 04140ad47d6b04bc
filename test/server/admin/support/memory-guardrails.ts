/** In-memory guardrails: a detector and a rule, and a rehearsal that repeats its input. */

import type { GuardrailRecord, Guardrails } from "../../../../src/server/admin/index.ts";

type Row = Omit<GuardrailRecord, "node">;

const DETECTOR: Row = {
  kind: "detector",
  name: "pii",
  type: "pii",
  mode: "inline",
  schedule: "sync",
  role: "discover",
  kinds: ["user"],
  threshold: 0.4,
  timeout_ms: 30_000,
  on_error: "fail_open",
  entities: ["CREDIT_CARD"],
  recognizers: [],
  requires: null,
  operator: null,
  controls: [],
  exempt: ["p"],
  fingerprint: "0123456789ab",
  horizon_bytes: null,
  decisions: null,
  errors: 0,
  texts_read: 2,
  texts_remembered: 1,
};

const RULE: Row = {
  ...DETECTOR,
  kind: "rule",
  name: "cards",
  type: "redact",
  mode: null,
  schedule: null,
  role: null,
  kinds: null,
  threshold: null,
  timeout_ms: null,
  on_error: "fail_closed",
  entities: null,
  operator: "replace",
  controls: ["C-1"],
  fingerprint: null,
  decisions: 3,
  texts_read: null,
  texts_remembered: null,
};

const TRACE = {
  pattern: "card",
  score_base: 1,
  validated: true,
  context_word: null,
  score_context: 0,
  agreement: 0,
};

const FOUND = {
  segment: 0,
  type: "pii/CREDIT_CARD",
  category: "pii",
  label: "CREDIT_CARD",
  score: 1,
  detector: "pii",
  recognizer: "CreditCardRecognizer",
  start: 0,
  end: 1,
} as const;

export function createMemoryGuardrails(): Guardrails & { list(): readonly Row[] } {
  return {
    list: () => [DETECTOR, RULE],
    rehearse: async ({ segments, profile }) => ({
      decision: "allow",
      rule: null,
      message: null,
      decisions: [
        { rule: "cards", action: "redact", controls: ["C-1"], types: { "pii/CREDIT_CARD": 1 }, kinds: ["user"] },
      ],
      skipped: [{ rule: "r", part: "when", error: "type" }],
      failures: [{ detector: "pii", kind: "timeout", refuses: false }],
      detectors: [
        { name: profile ?? "pii", type: "pii", mode: "inline", kinds: ["user"], in_force: true, asked: true },
      ],
      segments: segments.map(({ kind }) => ({ kind, text: "<CREDIT_CARD>", rewritten: true })),
      findings: [{ ...FOUND, trace: TRACE }],
      shadow: [],
      removed: [{ ...FOUND, trace: null, by: "check" }],
      more: 0,
    }),
  };
}
