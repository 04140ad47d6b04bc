/** Guardrails tested on texts: reported findings, dropped ones with the reason, and the resulting texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rehearsal, RehearsalQuestion } from "../../../src/server/core/guardrails/index.ts";
import { snapshotOf } from "./governed.ts";

const CARD = "4111 1111 1111 1111";
const WRONG_CARD = "4111 1111 1111 1112";
const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

async function rehearse(guardrails: object, question: Partial<RehearsalQuestion>, profiles: readonly object[] = []) {
  const { guardrails: compiled } = await snapshotOf(
    JSON.stringify({ providers: [{ preset: "openai" }], profiles, guardrails }),
  );
  return compiled.rehearse({ profile: undefined, segments: [], ...question }, AbortSignal.timeout(10_000));
}

const user = (...texts: string[]) => ({ segments: texts.map((text) => ({ kind: "user" as const, text })) });

const pii = (facts: object = {}) => ({ type: "pii", prefilter: "pure", ...facts });

const reasons = ({ removed }: Rehearsal) => removed.map(({ type, by, start, end }) => [type, by, start, end]);

const reason = async (guardrails: object, text: string) => reasons(await rehearse(guardrails, user(text)));

test("a finding is shown with its byte offsets and its trace, and with the resulting text", async () => {
  const result = await rehearse(
    {
      detectors: [pii({ entities: ["CREDIT_CARD"] })],
      rules: [{ name: "cards", action: "redact", controls: ["C-1"] }],
    },
    user("first", `größe: my card ${CARD}, thanks`),
  );
  assert.equal(result.decision, "allow");
  assert.deepEqual(result.decisions, [
    { rule: "cards", action: "redact", controls: ["C-1"], types: { "pii/CREDIT_CARD": 1 }, kinds: ["user"] },
  ]);
  assert.deepEqual(result.segments, [
    { kind: "user", text: "first", rewritten: false },
    { kind: "user", text: "größe: my card <CREDIT_CARD>, thanks", rewritten: true },
  ]);
  const [found, ...more] = result.findings;
  assert.deepEqual(more, []);
  assert.deepEqual(
    [found?.segment, found?.type, found?.detector, found?.recognizer, found?.start, found?.end, found?.score],
    [1, "pii/CREDIT_CARD", "pii", "CreditCardRecognizer", 17, 36, 1],
  );
  assert.deepEqual([found?.trace?.validated, found?.trace?.context_word], [true, "card"]);
  assert.ok(!JSON.stringify({ ...result, segments: [] }).includes("4111"));
  assert.deepEqual(result.detectors, [
    {
      name: "pii",
      type: "pii",
      mode: "inline",
      kinds: ["system", "user", "assistant", "tool_args", "tool_result"],
      in_force: true,
      asked: true,
    },
  ]);
});

test("a dropped finding is shown with what dropped it", async () => {
  const detectors = [pii({ entities: ["CREDIT_CARD", "DATE_TIME"] })];
  assert.deepEqual(await reason({ detectors }, `card ${WRONG_CARD}`), [["pii/CREDIT_CARD", "check", 5, 24]]);
  const low = await rehearse({ detectors: [pii({ entities: ["US_SSN"], threshold: 0.99 })] }, user("ssn 536-90-4399"));
  assert.deepEqual(reasons(low), [["pii/US_SSN", "threshold", 4, 15]]);
  assert.equal(low.removed[0]?.trace?.context_word, "ssn");
  const ssn = [pii({ entities: ["US_SSN"] })];
  assert.deepEqual(await reason({ detectors: ssn, score_threshold: 0.99 }, "ssn 536-90-4399"), [
    ["pii/US_SSN", "score_threshold", 4, 15],
  ]);
  assert.deepEqual(await reason({ detectors, allow_list: [CARD] }, `card ${CARD}`), [
    ["pii/CREDIT_CARD", "allow_list", 5, 24],
  ]);
  const twice = [pii({ name: "one", entities: ["CREDIT_CARD"] }), pii({ name: "two", entities: ["CREDIT_CARD"] })];
  assert.deepEqual(await reason({ detectors: twice }, `card ${CARD}`), [["pii/CREDIT_CARD", "conflicts", 5, 24]]);
  assert.deepEqual(await reason({ detectors }, "nothing here"), []);
});

test("a type that a check rules out is not listed as dropped if another type was found at its place", async () => {
  const text = await rehearse({ detectors: [pii()] }, user(`card ${CARD}`));
  assert.deepEqual(
    text.findings.map(({ type }) => type),
    ["pii/CREDIT_CARD"],
  );
  assert.deepEqual(
    text.removed.filter(({ by }) => by === "check"),
    [],
  );
});

test("a denial shows the rule and its message, and the unchanged text", async () => {
  const result = await rehearse(
    { detectors: [pii({ entities: ["CREDIT_CARD"] })], rules: [{ name: "no", action: "deny", message: "Not here." }] },
    user(`card ${CARD}`),
  );
  assert.deepEqual([result.decision, result.rule, result.message], ["deny", "no", "Not here."]);
  assert.deepEqual(result.segments, [{ kind: "user", text: `card ${CARD}`, rewritten: false }]);
});

test("a profile has its own detectors, and an exempt one has none", async () => {
  const profiles = [{ name: "free", guardrails: { detectors: [] } }, { name: "plain" }];
  const guardrails = { detectors: [pii({ entities: ["CREDIT_CARD"] })], rules: [{ name: "no", action: "deny" }] };
  const question = user(`card ${CARD}`);
  const free = await rehearse(guardrails, { ...question, profile: "free" }, profiles);
  assert.deepEqual([free.decision, free.detectors[0]?.in_force, free.detectors[0]?.asked], ["allow", false, false]);
  const plain = await rehearse(guardrails, { ...question, profile: "plain" }, profiles);
  assert.equal(plain.decision, "deny");
  const header = await rehearse(guardrails, { segments: [{ kind: "header", text: CARD }] });
  assert.deepEqual([header.detectors[0]?.in_force, header.detectors[0]?.asked], [true, false]);
  const none = await (await snapshotOf("providers: [{preset: openai}]")).guardrails.rehearse(
    { profile: undefined, ...question },
    AbortSignal.timeout(10_000),
  );
  assert.deepEqual([none.decision, none.detectors, none.segments[0]?.text], ["allow", [], `card ${CARD}`]);
});

test("conditions read the given model and route", async () => {
  const rules = [
    { name: "not-large", action: "deny", requires: [], when: 'model == "large" && route == "embeddings"' },
  ];
  const asked = { ...user("hi"), model: "large", route: "embeddings" };
  assert.equal((await rehearse({ rules }, asked)).decision, "deny");
  assert.equal((await rehearse({ rules }, user("hi"))).decision, "allow");
});

for (const operator of ["pseudonym", "fpe", "hash"]) {
  test(`a text that ${operator} makes with a key is not shown by a test`, async () => {
    const guardrails = {
      detectors: [pii({ entities: ["CREDIT_CARD", "EMAIL_ADDRESS"] })],
      rules: [
        { name: "keyed", action: "redact", operator, select: 'a.label == "CREDIT_CARD"' },
        { name: "plain", action: "redact" },
      ],
      pseudonym_key: KEY,
      fpe_key: KEY,
    };
    const question = user(`pay ${CARD} as a@example.com`);
    const [hidden] = (await rehearse(guardrails, question)).segments;
    assert.equal(hidden?.text, `pay <CREDIT_CARD:${operator}> as <EMAIL_ADDRESS>`);
    const [shown] = (await rehearse(guardrails, { ...question, showsKeyed: true })).segments;
    assert.match(shown?.text ?? "", /^pay (?!<CREDIT_CARD:(pseudonym|fpe|hash)>)\S.* as <EMAIL_ADDRESS>$/);
    assert.ok(!shown?.text.includes(CARD));
  });
}

test("with `explain: false` no trace is shown, and long lists are truncated", async () => {
  const detectors = [pii({ entities: ["EMAIL_ADDRESS", "CREDIT_CARD"], threshold: 0.1 })];
  const text = `${WRONG_CARD} ${"ada@example.com ".repeat(600)}`;
  const result = await rehearse({ detectors, explain: false }, user(text));
  assert.deepEqual([result.findings.length, result.more], [500, 100]);
  assert.ok([...result.findings, ...result.removed].every(({ trace }) => trace === null));
  assert.equal(result.removed.length, 1);
});

test("the active guardrails are shown without keys, patterns, deny lists and examples", async () => {
  const { guardrails } = await snapshotOf(
    JSON.stringify({
      providers: [{ preset: "openai" }],
      profiles: [
        { name: "free", guardrails: { detectors: [] } },
        { name: "some", guardrails: { detectors: ["pii"] } },
      ],
      guardrails: {
        detectors: [
          pii({ entities: ["CREDIT_CARD"], threshold: 0.4, timeout: "2s", on_error: "fail_closed" }),
          pii({
            name: "own",
            mode: "shadow",
            entities: ["PROJECT"],
            custom_recognizers: [{ name: "Projects", entity: "PROJECT", deny_list: ["canary-project"] }],
          }),
        ],
        rules: [
          { name: "cards", action: "redact", requires: ["pii"], operator: "fpe", kinds: ["user"], controls: ["C"] },
        ],
        fpe_key: KEY,
      },
    }),
  );
  const { detectors, rules, selections } = guardrails.inForce;
  assert.deepEqual(
    detectors.map(({ fingerprint, ...detector }) => [detector, /^[0-9a-f]{64}$/.test(fingerprint)]),
    [
      [
        {
          name: "pii",
          mode: "inline",
          schedule: "sync",
          role: "discover",
          threshold: 0.4,
          timeoutMs: 2_000,
          failsClosed: true,
          type: "pii",
          kinds: ["system", "user", "assistant", "tool_args", "tool_result"],
          entities: ["CREDIT_CARD"],
          customRecognizers: [],
          horizonBytes: undefined,
          exempt: ["free"],
        },
        true,
      ],
      [
        {
          name: "own",
          mode: "shadow",
          schedule: "sync",
          role: "discover",
          threshold: 0,
          timeoutMs: undefined,
          failsClosed: false,
          type: "pii",
          kinds: ["system", "user", "assistant", "tool_args", "tool_result"],
          entities: ["PROJECT"],
          customRecognizers: ["Projects: PROJECT"],
          horizonBytes: undefined,
          exempt: ["free", "some"],
        },
        true,
      ],
    ],
  );
  assert.deepEqual(rules, [
    {
      name: "cards",
      action: "redact",
      operator: "fpe",
      kinds: ["user"],
      requires: ["pii"],
      controls: ["C"],
      failsOpen: false,
      exempt: ["free"],
    },
  ]);
  assert.deepEqual(
    [...selections],
    [
      ["free", []],
      ["some", ["pii"]],
    ],
  );
  assert.ok(!JSON.stringify(guardrails.inForce).includes("canary"));
});
