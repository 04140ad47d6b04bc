/** Answer streams with a real guard: what is shown, however they are cut, and what ends them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnreadableAnswer } from "../../../src/server/answers/index.ts";
import { SseSplitter } from "../../../src/server/core/dialects/index.ts";
import { type Detector, DetectorError, type Finding } from "../../../src/server/core/guardrails/index.ts";
import { guardOf } from "../dataplane/support/guards.ts";
import { DONE, delta, FINISH, open } from "./support/open-stream.ts";

const MAIL = "ada.lovelace@example.com";
const IBAN = "DE89 3704 0044 0532 0130 00";
const SSN = "536-90-4399";
const PII = {
  type: "pii",
  prefilter: "pure",
  apply_to: ["output"],
  entities: ["EMAIL_ADDRESS", "IBAN_CODE", "US_SSN"],
};
const RULES = [
  { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny" },
  { name: "hide", action: "redact" },
];
const REDACTING = { detectors: [PII], rules: RULES };

/** Returns what a client assembles from the choices of a compat stream. */
function textIn(stream: string, index = 0): string {
  return new SseSplitter()
    .push(Buffer.from(stream))
    .map(({ data = "" }) => data)
    .filter((data) => data.startsWith("{"))
    .flatMap((data) => (JSON.parse(data) as { choices: { index: number; delta: { content?: string } }[] }).choices)
    .filter((choice) => choice.index === index)
    .map((choice) => choice.delta.content ?? "")
    .join("");
}

const SENTENCE = `Write to ${MAIL} or pay ${IBAN}, she said.`;
const HIDDEN = "Write to <EMAIL_ADDRESS> or pay <IBAN_CODE>, she said.";

for (const policy of ["window", "buffer"]) {
  test(`a text cut at every place is shown as when it arrives whole: ${policy}`, async () => {
    const guard = guardOf({ ...REDACTING, stream: { policy } });
    for (let at = 0; at <= SENTENCE.length; at++) {
      const { push, end, shown, answer } = open(guard);
      await push(delta(SENTENCE.slice(0, at)));
      assert.ok(!shown().includes("ada"), shown());
      await push(delta(SENTENCE.slice(at)) + FINISH + DONE);
      await end();
      assert.equal(textIn(shown()), HIDDEN, `cut at ${at}`);
      assert.ok(shown().endsWith(FINISH + DONE), shown());
      const { decisions = [] } = answer.judged.guarded.judgement ?? {};
      assert.deepEqual(
        decisions.map(({ rule, types }) => [rule, types]),
        [["hide", { "pii/EMAIL_ADDRESS": 1, "pii/IBAN_CODE": 1 }]],
      );
    }
  });
}

test("a stream without findings passes byte for byte, including odd lines", async () => {
  const stream = `\ufeff: a comment\r\n\r\nid: 7\r\n${delta("Nothing ").trimEnd()}\r\n\r\n${delta("of note.")}retry: 10\n${FINISH}${DONE}`;
  const { push, end, shown } = open(guardOf(REDACTING));
  for (const byte of Buffer.from(stream)) await push(Buffer.from([byte]));
  await end();
  assert.equal(textIn(shown()), "Nothing of note.");
  assert.ok(shown().startsWith("\ufeff: a comment\r\n\r\n"), shown());
});

/** Spaces behind a match prove its end. */
const SPACES = " ".repeat(24);

test("text without a terminating event is shown within the settling time", async () => {
  const { push, shown, woken, end } = open(
    guardOf({ ...REDACTING, detectors: [{ ...PII, entities: ["EMAIL_ADDRESS"] }], stream: { scan_chunk_bytes: 64 } }),
  );
  const wake = woken();
  await push(delta(`Hi! ${SPACES}`));
  assert.equal(textIn(shown()), "");
  await wake;
  assert.equal(textIn(shown()), `Hi! ${SPACES}`);
  await end();
});

test("a denial ends a stream, and only text proven safe before it is shown", async () => {
  const { push, end, shown, answer } = open(guardOf(REDACTING));
  await push(delta("The number is known: ") + delta(SSN.slice(0, 5)));
  await push(delta(`${SSN.slice(5)}, it is.`) + FINISH + DONE);
  await end();
  assert.equal(answer.isRefused, true);
  assert.equal(answer.judged.guarded.judgement?.outcome, "deny");
  assert.ok("The number is known: ".startsWith(textIn(shown())), shown());
  assert.ok(!shown().includes("DONE"));
});

test("data that event clients ignore is dropped by a rewriting rule, and denied by a denying one", async () => {
  const { push, end, shown } = open(guardOf(REDACTING));
  await push(`: ${MAIL}\n\nid: ${MAIL}\nevent: x\ndata: {}\n\nevent: ${MAIL}\ndata: {}\n\n`);
  await end();
  assert.ok(!shown().includes(MAIL), shown());
  assert.ok(shown().includes("event: x\ndata: {}\n\n"), shown());
  const denied = open(guardOf(REDACTING));
  await denied.push(`: ${SSN}\n\n`);
  assert.equal(denied.answer.isRefused, true);
});

test("unreadable JSON, an oversized event and too many concurrent texts invalidate the answer", async () => {
  const escaped = [...MAIL].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join("");
  const guard = guardOf(REDACTING);
  await assert.rejects(
    open(guard).push(`data: {"choices":[{"delta":{"content":"${escaped}"}}],"x":NaN}\n\n`),
    UnreadableAnswer,
  );
  await assert.rejects(open(guard).push(`data: ${"x".repeat((8 << 20) + 1)}`), UnreadableAnswer);
  const many = open(guard);
  const choices = Array.from({ length: 600 }, (_, index) => ({ index, delta: { content: "a" }, finish_reason: null }));
  await assert.rejects(many.push(`data: ${JSON.stringify({ choices })}\n\n`), UnreadableAnswer);
});

test("an endless run of text is released and counted once, or held back up to a limit if configured", async () => {
  const url = { ...PII, entities: ["EMAIL_ADDRESS", "URL"] };
  const base = { detectors: [{ ...url, name: "finder" }], rules: RULES };
  const run = `https://example.com/${"a".repeat(900)}`;
  const emitted = open(guardOf({ ...base, stream: { max_hold_bytes: 64, on_hold_overflow: "emit" } }));
  for (const char of run) await emitted.push(delta(char));
  await emitted.push(FINISH + DONE);
  await emitted.end();
  assert.equal(emitted.counted["unproven finder"], 1);
  const held = open(guardOf({ ...base, stream: { max_hold_bytes: 64, on_hold_overflow: "buffer" } }));
  for (const char of run) await held.push(delta(char));
  assert.equal(textIn(held.shown()), "");
  await held.push(FINISH + DONE);
  await held.end();
  assert.equal(textIn(held.shown()), "<URL>");
  assert.equal(held.counted["unproven finder"], undefined);
  const response = { max_body_bytes: 200, on_oversize: "deny" };
  const denied = open(guardOf({ ...base, response, stream: { max_hold_bytes: 64, on_hold_overflow: "buffer" } }));
  for (const char of run) await denied.push(delta(char));
  assert.deepEqual(
    [denied.answer.isRefused, denied.counted["oversize"], denied.shown().includes("example")],
    [true, 1, false],
  );
});

test("an oversized buffered stream passes and is counted, or is refused, before any of it is shown", async () => {
  const response = { max_body_bytes: 40 };
  const allowed = open(guardOf({ ...REDACTING, stream: { policy: "buffer" }, response }));
  const stream = delta(SENTENCE) + FINISH + DONE;
  await allowed.push(stream);
  await allowed.end();
  assert.deepEqual([allowed.shown(), allowed.counted["oversize"]], [stream, 1]);
  const denied = open(
    guardOf({ ...REDACTING, stream: { policy: "buffer" }, response: { ...response, on_oversize: "deny" } }),
  );
  await denied.push(stream);
  assert.deepEqual([denied.shown(), denied.answer.isRefused, denied.counted["oversize"]], ["", true, 1]);
});

const EVENTS = {
  start:
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}\n\n',
  stop: 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
};
const fragment = (partial_json: string) =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } })}\n\n`;

for (const policy of ["window", "buffer"]) {
  test(`call arguments with escaped digits, cut at every place: ${policy}`, async () => {
    const guard = guardOf({ ...REDACTING, stream: { policy } });
    const digits = "DE89370400440532013000".replace(/\d/g, (digit) => `\\u066${digit}`);
    const json = `{"iban":"${digits}","to":"x ${MAIL}\\n","n":1}`;
    for (let at = 0; at <= json.length; at++) {
      const { push, end, shown } = open(guard, "messages", "messages");
      await push(EVENTS.start + fragment(json.slice(0, at)));
      await push(fragment(json.slice(at)) + EVENTS.stop);
      await end();
      const deltas = [...shown().matchAll(/data: (.*)/g)].map(
        ([, data]) => JSON.parse(data ?? "") as { delta?: { partial_json?: string } },
      );
      const made = deltas.map((one) => one.delta?.partial_json ?? "").join("");
      assert.deepEqual(
        JSON.parse(made),
        { iban: "<IBAN_CODE>", to: "x <EMAIL_ADDRESS>\n", n: 1 },
        `cut at ${at}: ${made}`,
      );
    }
  });
}

/** Answers later, on request; it proves nothing of a text before its end. */
function judgeOf(finds: (text: string) => Finding[] | DetectorError): {
  readonly detector: Detector;
  readonly read: string[];
} {
  const read: string[] = [];
  const detector: Detector = {
    name: "judge",
    type: "llm",
    fingerprint: "f",
    readsContext: [],
    horizon: undefined,
    detect: async (texts) => {
      await new Promise((resolve) => setImmediate(resolve));
      return texts.map(({ segment: { text } }) => {
        read.push(text);
        const found = finds(text);
        if (found instanceof DetectorError) throw found;
        return found;
      });
    },
  };
  return { detector, read };
}

const verdict = (text: string, label: string): Finding => ({
  start: 0,
  end: text.length,
  category: "safety",
  label,
  score: 1,
  recognizer: "",
  trace: undefined,
});

const JUDGED = {
  detectors: [PII, { type: "pii", name: "judge", prefilter: "pure", apply_to: ["output"] }],
  rules: [
    { name: "no-bombs", when: '"safety/BOMB" in labels', action: "deny" },
    { name: "hide", action: "redact", select: 'a.category == "pii"' },
  ],
};

test("a detector without a horizon reads a sliding window and the rest at the end, and holds nothing back", async () => {
  const { detector, read } = judgeOf(() => []);
  const { push, end, shown } = open(guardOf(JUDGED, { judge: detector }));
  const message = "a few words more, ".repeat(1_000);
  for (let at = 0; at < message.length; at += 9) {
    await push(delta(message.slice(at, at + 9)));
    if (at === 9 * 100) assert.ok(textIn(shown()).length > 800);
  }
  await push(FINISH + DONE);
  await end();
  assert.equal(textIn(shown()), message);
  assert.ok(read.length > 5 && read.every((text) => text.length <= 4_096), String(read.length));
  assert.ok(message.endsWith(read.at(-1) ?? "?"));
  let covered = 0;
  for (const text of read) {
    const at = message.lastIndexOf(text, covered);
    assert.ok(at >= 0 && at <= covered, "nothing is passed over");
    covered = Math.max(covered, at + text.length);
  }
  assert.equal(covered, message.length);
});

test("a verdict over a stream stops the rest of it, at its end at the latest", async () => {
  const { detector } = judgeOf((text) => (text.includes("bomb") ? [verdict(text, "BOMB")] : []));
  const short = open(guardOf(JUDGED, { judge: detector }));
  await short.push(delta("How to make a bomb: ") + FINISH + DONE);
  await short.end();
  assert.equal(short.answer.isRefused, true);
  assert.ok(!short.shown().includes("DONE") && !short.shown().includes("stop"), short.shown());
  const long = open(guardOf(JUDGED, { judge: detector }));
  const woken = long.woken();
  await long.push(delta(`A bomb. ${"More words. ".repeat(40)}`));
  for (let turn = 0; turn < 100 && !long.answer.isRefused; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  assert.equal(long.answer.isRefused, true);
  await woken;
  const before = long.shown();
  await long.push(delta("and more"));
  assert.equal(long.shown(), before);
});

test("a verdict repeated by each reading counts once", async () => {
  const { detector } = judgeOf((text) => [verdict(text, "TOPIC")]);
  const { push, end, answer } = open(
    guardOf({ ...JUDGED, rules: [{ name: "note", action: "annotate" }] }, { judge: detector }),
  );
  for (let i = 0; i < 200; i++) await push(delta("a few words more, "));
  await push(FINISH + DONE);
  await end();
  const [note] = answer.judged.guarded.judgement?.decisions ?? [];
  assert.deepEqual(note?.types, { "safety/TOPIC": 1 });
});

test("a detector that fails closed ends the stream, and one that fails open is reported once", async () => {
  for (const on_error of ["fail_closed", "fail_open"]) {
    const { detector } = judgeOf(() => new DetectorError("failed", "no"));
    const [pii, judge] = JUDGED.detectors;
    const { push, end, shown, answer } = open(
      guardOf({ ...JUDGED, detectors: [pii, { ...judge, on_error }] }, { judge: detector }),
    );
    for (let i = 0; i < 100; i++) await push(delta("a few words more, "));
    await push(FINISH + DONE);
    await end();
    const isClosed = on_error === "fail_closed";
    assert.equal(answer.isRefused, isClosed);
    assert.equal(shown().includes("DONE"), !isClosed);
    const { failures, judgement } = answer.judged.guarded;
    assert.deepEqual(
      failures.map(({ detector, kind, isFatal }) => ({ detector, kind, isFatal })),
      [{ detector: "judge", kind: "failed", isFatal: isClosed }],
    );
    assert.equal(judgement === undefined, isClosed);
  }
});

test("a slow detector with a horizon keeps the order of the shown text", async () => {
  const own: Detector = {
    name: "late",
    type: "pii",
    fingerprint: "f",
    readsContext: [],
    horizon: { reaches: [{ name: "r", maxBytes: 3, rightBytes: 0, mayContain: (it) => it === 120, prefix: "" }] },
    detect: async (texts) =>
      texts.map(({ segment: { text } }) =>
        [...text.matchAll(/xx/g)].map((it) => ({ ...verdict(text, "XX"), start: it.index, end: it.index + 2 })),
      ),
  };
  const guard = guardOf(
    { detectors: [{ ...PII, name: "late" }], rules: [{ name: "hide", action: "redact" }] },
    { late: own },
  );
  const { push, end, shown } = open(guard);
  const pushes = ["one x", "x two ", "three xx", " end"].map((text) => push(delta(text)));
  await Promise.all([...pushes, push(FINISH + DONE)]);
  await end();
  assert.equal(textIn(shown()), "one <XX> two three <XX> end");
  assert.ok(shown().endsWith(DONE));
});
