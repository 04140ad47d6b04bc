/**
 * Active guardrails for an operator: their list, tests on texts by the admin API and by the verbs as processes; and a
 * tested text appears only in the answer to its sender. Source: design decisions, sections 3, 11 (Rehearsal) and 17.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AdminError, GuardrailRehearsal } from "../../../src/admin-api/index.ts";
import { mint, say, startGoverned } from "../governance/support/governed.ts";
import { runProgram } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";
import { filesBelow } from "./support/files-below.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const WRONG_CARD = "4111 1111 1111 1112";
const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
const ENTRY = "projekt-canaryname";
const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const CANARIES = [CARD, WRONG_CARD, MAIL, SSN, "ada.lovelace"];

const { simulator, node, gateway } = await startGoverned(file, {
  deployment: {
    profiles: [{ name: "team" }, { name: "trusted", guardrails: { detectors: [] } }],
    guardrails: {
      detectors: [
        { type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD", "US_SSN", "EMAIL_ADDRESS"] },
        {
          type: "pii",
          name: "names",
          prefilter: "pure",
          mode: "shadow",
          apply_to: ["tool_result"],
          entities: ["PROJECT"],
          custom_recognizers: [{ name: "Projects", entity: "PROJECT", deny_list: [ENTRY] }],
          threshold: 0.5,
        },
      ],
      rules: [
        { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny", message: "Numbers of persons stay here." },
        { name: "mask-cards", action: "redact", select: 'a.label == "CREDIT_CARD"', controls: ["PCI-3.4"] },
        { name: "mails", action: "redact", select: 'a.label == "EMAIL_ADDRESS"', operator: "pseudonym" },
      ],
      pseudonym_key: KEY,
    },
  },
});
const { client } = node;

const inspect = (text: string, more: object = {}): Promise<GuardrailRehearsal> =>
  client.call("inspect_guardrails", { body: { segments: [{ kind: "user", text }], ...more } });

test("tested texts: findings, removal, rewriting, decision", async () => {
  const before = simulator.counts().requests;
  const masked = await inspect(`größe: my card ${CARD} for ${MAIL}`, { profile: "team", model: "sim-1" });
  assert.equal(masked.decision, "allow");
  assert.deepEqual(masked.segments, [
    { kind: "user", text: "größe: my card <CREDIT_CARD> for <EMAIL_ADDRESS:pseudonym>", rewritten: true },
  ]);
  assert.deepEqual(
    masked.findings.map(({ type, start, end, detector }) => [type, start, end, detector]),
    [
      ["pii/CREDIT_CARD", 17, 36, "finder"],
      ["pii/EMAIL_ADDRESS", 41, 65, "finder"],
    ],
  );
  const denied = await inspect(`I am ${SSN}`);
  assert.deepEqual([denied.decision, denied.rule, denied.message], ["deny", "no-ssn", "Numbers of persons stay here."]);
  const wrong = await inspect(`my card ${WRONG_CARD}`);
  assert.deepEqual(
    wrong.removed.map(({ type, by, trace }) => [type, by, trace?.validated]),
    [["pii/CREDIT_CARD", "check", false]],
  );
  const exempt = await inspect(`I am ${SSN}`, { profile: "trusted" });
  assert.deepEqual(
    [exempt.decision, exempt.detectors.map(({ in_force: inForce }) => inForce)],
    ["allow", [false, false]],
  );
  const listed = await client.call("inspect_guardrails", {
    body: { segments: [{ kind: "tool_result", text: `about ${ENTRY}` }] },
  });
  assert.deepEqual(
    listed.shadow.map(({ type, trace }) => [type, trace?.pattern]),
    [["pii/PROJECT", "entry 1"]],
  );
  assert.equal(simulator.counts().requests, before);
});

const REFUSED: readonly [what: string, body: object, words: RegExp][] = [
  ["no text", { segments: [] }, /segments must have at least 1 items/],
  ["an invalid kind", { segments: [{ kind: "prompt", text: CARD }] }, /segments\[0\]\.kind` must be one of/],
  ["an unknown profile", { segments: [{ kind: "user", text: CARD }], profile: "taem" }, /did you mean `team`\?/],
  [
    "too much",
    { segments: [1, 2].map(() => ({ kind: "user", text: `${CARD} `.repeat(5_000) })) },
    /at most 131072 characters in all texts together/,
  ],
  [
    "two messages",
    { segments: ["user", "output"].map((kind) => ({ kind, text: CARD })) },
    /must be of one message: `output` is of an answer/,
  ],
  ["half a character", { segments: [{ kind: "user", text: `${CARD}\ud800` }] }, /is not well-formed Unicode/],
];

for (const [what, body, message] of REFUSED) {
  test(`a request with ${what} is refused, and the text is not repeated`, async () => {
    const asked = client.call as (id: string, input: object) => Promise<unknown>;
    await assert.rejects(asked("inspect_guardrails", { body }), (error: AdminError) => {
      assert.equal(error.code, "invalid");
      const text = `${error.message} ${JSON.stringify(error.details)}`;
      assert.match(text.replaceAll("field `segments`", "segments"), message);
      assert.ok(!text.includes(CARD), text);
      return true;
    });
  });
}

test("the active guardrails are listed with their counters, also as rows of SQL", async () => {
  const key = await mint(node, "k", { profile: "team" });
  const answer = await say(gateway, {
    key,
    body: { model: "sim-1", messages: [{ role: "user", content: `pay ${CARD}` }] },
  });
  assert.equal(answer.status, 200, answer.text);
  const rows = await eventually("a rule that acted", async () => {
    const { items } = await client.call("list_guardrails");
    return items.some(({ decisions }) => decisions === 1) && items;
  });
  assert.deepEqual(
    rows.map(({ kind, name, type, mode, exempt, recognizers }) => [kind, name, type, mode, exempt, recognizers]),
    [
      ["detector", "finder", "pii", "inline", ["trusted"], []],
      ["detector", "names", "pii", "shadow", ["trusted"], ["Projects: PROJECT"]],
      ["rule", "no-ssn", "deny", null, ["trusted"], []],
      ["rule", "mask-cards", "redact", null, ["trusted"], []],
      ["rule", "mails", "redact", null, ["trusted"], []],
    ],
  );
  const [finder, names] = rows;
  assert.match(finder?.fingerprint ?? "", /^[0-9a-f]{12}$/);
  assert.ok((finder?.texts_read ?? 0) > 0);
  assert.deepEqual([names?.threshold, names?.kinds, names?.node], [0.5, ["tool_result"], "n1"]);
  const text = JSON.stringify(rows);
  for (const secret of [KEY, ENTRY]) assert.ok(!text.includes(secret), text);
  const { rows: counted } = await client.call("run_query", {
    body: { sql: "select name, decisions from guardrails where kind = 'rule' and decisions > 0" },
  });
  assert.deepEqual(counted, [["mask-cards", 1]]);
  const { items: profiles } = await client.call("list_profiles");
  assert.deepEqual(
    profiles.map(({ name, detectors }) => [name, detectors]),
    [
      ["team", null],
      ["trusted", []],
    ],
  );
});

test("a blocking list read is answered when a counter changes", async () => {
  const key = await mint(node, "waiting");
  const { index } = await client.call("list_guardrails");
  const changed = client.call("list_guardrails", { query: { index, wait: "30s" } }, { timeLimitMs: 40_000 });
  const body = { model: "sim-1", messages: [{ role: "user", content: `pay ${CARD}` }] };
  assert.equal((await say(gateway, { key, body })).status, 200);
  assert.ok((await within("a change", changed, 20_000)).index > index);
});

const env = { GATEWAY_ADMIN_SOCKET: join(node.dir, "admin.sock") };

const verb = (...args: readonly string[]) => verbOn(undefined, ...args);

/** `input` is written to stdin. */
async function verbOn(input: string | undefined, ...args: readonly string[]) {
  const program = runProgram(file, { args: ["guardrails", ...args], env, ...(input !== undefined && { input }) });
  const { status } = await within("the end of the verb", program.ended, 30_000);
  return { status, out: program.stdout(), err: program.stderr() };
}

test("the verb shows what a gateway makes of a text, and its status shows a denial", async () => {
  const masked = await verb("inspect", "-profile", "team", `my card ${CARD}`);
  assert.deepEqual([masked.status, masked.err], [0, ""]);
  assert.match(
    masked.out,
    /^decision {2}allow, rewritten {2}by mask-cards=redact\nnot asked names: it reads tool_result\n\nFound\n/,
  );
  assert.match(
    masked.out,
    /^pii\/CREDIT_CARD +1\.00 +8\.\.27 +finder\/CreditCardRecognizer\/\S.* +1\.00, passes its check/m,
  );
  assert.match(masked.out, /\nResulting text\nmy card <CREDIT_CARD>\n$/);
  const denied = await verb("inspect", `I am ${SSN}`);
  assert.equal(denied.status, 1);
  assert.match(denied.out, /^decision {2}deny {2}by no-ssn=deny\nmessage {3}Numbers of persons stay here\.\n/);
  const json = await verb("inspect", "-json", "-kind", "tool_result", `see ${WRONG_CARD}`);
  const { removed } = JSON.parse(json.out) as GuardrailRehearsal;
  assert.deepEqual([json.status, removed[0]?.by], [0, "check"]);
  const unknown = await verb("inspect", "-profile", "taem", CARD);
  assert.equal(unknown.status, 1);
  assert.match(unknown.err, /^gateway guardrails inspect: .*did you mean `team`\?/);
  assert.ok(!unknown.err.includes(CARD));
});

test("the verb needs no gateway if given the document, and shows the result of its key", async () => {
  const config = ["-config", join(node.dir, "deployment.yaml")];
  const { status, out } = await verbOn(`write to ${MAIL}`, "inspect", ...config, "-");
  assert.equal(status, 0);
  assert.match(out, /\nResulting text\nwrite to <EMAIL_ADDRESS:[0-9a-z]{10}>\n$/);
  const exempt = await verbOn(`I am ${SSN}`, "inspect", ...config, "-profile", "trusted", "-json", "-");
  assert.deepEqual([exempt.status, (JSON.parse(exempt.out) as GuardrailRehearsal).decision], [0, "allow"]);
  const unknown = await verbOn(SSN, "inspect", ...config, "-profile", "trustd", "-");
  assert.equal(unknown.status, 2);
  assert.match(unknown.err, /the document has no profile 'trustd' \(did you mean 'trusted'\?\)/);
});

test("the verb lists the active guardrails", async () => {
  const { status, out, err } = await verb("list");
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /^detector +type +mode /);
  assert.match(out, /^names +pii +shadow +sync +tool_result +PROJECT \+own +0\.5 /m);
  assert.match(out, /^rule +action /m);
  assert.match(out, /^mask-cards +redact:replace +all +all +PCI-3\.4 +fail_closed +trusted +\d+ +0$/m);
  const { status: listed, out: json } = await verb("list", "-json");
  assert.deepEqual([listed, (JSON.parse(json) as readonly unknown[]).length], [0, 5]);
});

test("no tested text appears in a log, a record, a metric or on the disk", async () => {
  const output = node.output();
  assert.ok(output.includes('"guardrail.decision"'));
  const metrics = await readMetrics(gateway);
  assert.ok(sumOf(metrics, "gateway_guardrail_decisions_total") >= 2);
  const held = [output, [...metrics.keys()].join("\n"), ...filesBelow(node.dataDir)];
  for (const canary of CANARIES) for (const text of held) assert.ok(!text.includes(canary));
  const records = output.split("\n").filter((line) => line.includes('"admin.write"') && line.includes("guardrails"));
  assert.deepEqual(records, []);
});
