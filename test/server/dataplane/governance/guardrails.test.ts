/** The answer, counters, records and log lines for each guardrail outcome of a request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, GatewayError, nullLog } from "../../../../src/base/index.ts";
import { ANONYMOUS } from "../../../../src/server/auth/index.ts";
import type { Annotation, Judgement, RuleDecision, RuleFault } from "../../../../src/server/core/guardrails/index.ts";
import { createGuardrailMetrics } from "../../../../src/server/core/guardrails/index.ts";
import type { EffectiveProfile } from "../../../../src/server/dataplane/governance/effective-profile.ts";
import { settleAnswer, settleInspection } from "../../../../src/server/dataplane/governance/guardrails.ts";
import type { DecisionRecord } from "../../../../src/server/dataplane/ports.ts";
import type { GuardResult } from "../../../../src/server/snapshot/index.ts";

const REQUEST = { requestId: "r1", hop: "llm", route: "chat_completions", to: "sim", model: "m" } as const;
const EFFECTIVE = { caller: ANONYMOUS, profile: { name: "team" } } as unknown as EffectiveProfile;
const NOTHING = { decisions: [], skipped: [], annotations: [], shadow: [], fpeDomainTooSmall: 0 };
const FOUND = { byDetector: [], failures: [] };

const decision = (rule: string, action: RuleDecision["action"]): RuleDecision => ({
  rule,
  action,
  controls: ["C-1"],
  types: { "pii/CREDIT_CARD": 2 },
  kinds: ["user"],
});

const FAULT: RuleFault = {
  rule: "broken",
  controls: ["C-2"],
  part: "when",
  error: "missing_key",
  detail: "no such key",
};

function settled(judgement: Judgement | undefined, failures: GuardResult["failures"] = [], isFull = false) {
  const records: DecisionRecord[] = [];
  const warned: string[] = [];
  const log = { ...nullLog, warn: (message: string) => void warned.push(message) };
  const trail = {
    record(record: DecisionRecord) {
      if (isFull) throw new GatewayError("audit_unavailable", "full");
      records.push(record);
    },
    recordFailedAuthentication() {},
  };
  const metrics = createGuardrailMetrics(createInstruments(), log, () => performance.now());
  const guarded: GuardResult = { found: { ...FOUND, failures }, judgement, failures };
  const outcome = settleInspection(guarded, REQUEST, EFFECTIVE, { trail, metrics, log });
  return { ...outcome, records, warned };
}

test("an allow without a rule leaves nothing behind", () => {
  const { error, decisionsHeader: acted, records } = settled({ outcome: "allow", rewrites: [], ...NOTHING });
  assert.deepEqual([error, acted, records], [undefined, "", []]);
});

test("acting rules are listed in the header, whatever their names, and recorded with their counts", () => {
  const decisions = [decision("mask cards, all=✓", "redact"), decision("note", "annotate")];
  const { error, decisionsHeader: acted, records } = settled({ outcome: "allow", rewrites: [], ...NOTHING, decisions });
  assert.equal(error, undefined);
  assert.equal(acted, "mask%20cards%2C%20all%3D%E2%9C%93=redact, note=annotate");
  const [record] = records;
  assert.deepEqual([record?.event, record?.controls], ["guardrail.decision", ["C-1"]]);
  assert.deepEqual(
    record?.data["matched"],
    decisions.map(({ rule, action, types, kinds }) => ({ rule, action, types, kinds })),
  );
});

test("a denial is refused by its rule, and by the trail if it cannot be recorded", () => {
  const by = decision("no-cards", "deny");
  const judgement: Judgement = { outcome: "deny", message: "Not here.", by, ...NOTHING, decisions: [by] };
  const { error, records } = settled(judgement);
  assert.deepEqual(
    [error?.code, error?.status, error?.message, error?.by],
    ["guardrail_denied", 403, "Not here.", { kind: "guardrail", name: "no-cards" }],
  );
  assert.deepEqual([records[0]?.data["decision"], records[0]?.data["rule"]], ["deny", "no-cards"]);
  assert.throws(() => settled(judgement, [], true), { code: "audit_unavailable" });
});

test("a failing rule refuses if it fails closed, and is skipped and reported if it fails open", () => {
  const closed = settled({ outcome: "error", message: "broken could not be evaluated", by: FAULT, ...NOTHING });
  assert.deepEqual([closed.error?.code, closed.error?.status, closed.error?.by?.name], ["policy_error", 403, "broken"]);
  assert.deepEqual([closed.records[0]?.data["error"], closed.records[0]?.controls], ["missing_key", ["C-2"]]);
  const open = settled({ outcome: "allow", rewrites: [], ...NOTHING, skipped: [FAULT] });
  assert.equal(open.error, undefined);
  assert.deepEqual(open.records[0]?.data["skipped"], ["broken"]);
  assert.equal(open.warned.length, 1);
});

test("a failed detector refuses if that is fatal, and is otherwise reported once a minute", () => {
  for (const [kind, code] of [
    ["failed", "guardrail_error"],
    ["timeout", "guardrail_error"],
    ["overloaded", "overloaded"],
  ] as const) {
    const { error, records } = settled(undefined, [{ detector: "finder", kind, reason: "", isFatal: true }]);
    assert.deepEqual([error?.code, error?.status], [code, 503]);
    assert.match(error?.message ?? "", /finder/);
    assert.deepEqual([records[0]?.data["decision"], records[0]?.data["detector"]], ["error", "finder"]);
  }
  const failure = { detector: "finder", kind: "failed", reason: "", isFatal: false } as const;
  const open = settled({ outcome: "allow", rewrites: [], ...NOTHING }, [failure, failure]);
  assert.deepEqual([open.error, open.warned.length, open.records], [undefined, 1, []]);
});

test("shadow findings are recorded by counts and refuse nobody even if the trail is full", () => {
  const shadow = ["EMAIL_ADDRESS", "EMAIL_ADDRESS", "PHONE_NUMBER"].map(
    (label) => ({ detector: "watcher", category: "pii", label }) as unknown as Annotation,
  );
  const judgement: Judgement = { outcome: "allow", rewrites: [], ...NOTHING, shadow };
  const { records } = settled(judgement);
  assert.deepEqual(
    records.map(({ event, data }) => [event, data["detectors"]]),
    [["guardrail.shadow", { watcher: { "pii/EMAIL_ADDRESS": 2, "pii/PHONE_NUMBER": 1 } }]],
  );
  assert.equal(settled(judgement, [], true).error, undefined);
});

test("a detector with too many findings refuses a request by its length, and an answer as an error", () => {
  const failure = { detector: "pii", kind: "excess", reason: "", isFatal: true } as const;
  const asked = settled(undefined, [failure]).error;
  assert.equal(asked?.code, "body_too_large");
  const metrics = createGuardrailMetrics(createInstruments(), nullLog, () => performance.now());
  const judged = { guarded: { judgement: undefined, failures: [failure] }, shadow: {}, isOversize: false };
  const { error } = settleAnswer(judged, REQUEST, EFFECTIVE, { trail: undefined, metrics, log: nullLog });
  assert.deepEqual([error?.code, error?.by?.name], ["guardrail_error", "detector pii"]);
  assert.match(String(error?.message), /detector pii finds more than 20000 places in the answer/);
});
