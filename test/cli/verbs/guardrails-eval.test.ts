/** `gateway guardrails eval` in the test's process: figures, reasons for misses, statuses, streams. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { Interrupted, type Io } from "../../../src/cli/process-io.ts";
import { bufferIo } from "../buffer-io.ts";

const GUARDRAILS = {
  score_threshold: 0.5,
  detectors: [{ type: "pii", prefilter: "pure" }],
};

const CARD = "4111111111111111";

const span = (text: string, found: string, type: string) => {
  const start = Buffer.byteLength(text.slice(0, text.indexOf(found)));
  return { start, end: start + Buffer.byteLength(found), type };
};

const marked = (text: string, found: string, type: string, more: object = {}) => ({
  text,
  spans: [span(text, found, type)],
  ...more,
});

const CASES = [
  marked(`größe: card ${CARD}`, CARD, "credit_card", { tags: ["valid", "card"] }),
  marked("write to ada@example.com", "ada@example.com", "EMAIL_ADDRESS", { tags: ["valid"] }),
  { text: "nothing to see", spans: [], tags: ["clean"] },
  marked("write to ada (at) example", "ada (at) example", "EMAIL_ADDRESS"),
  { text: `card ${CARD}`, spans: [], tags: ["clean"] },
];

const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

interface Setup {
  readonly guardrails?: object;
  readonly files?: Readonly<Record<string, string>>;
  readonly io?: Partial<Io>;
}

async function evaluate(context: TestContext, args: readonly string[], setup: Setup = {}) {
  const dir = mkdtempSync(join(tmpdir(), "guardrails-eval-"));
  context.after(() => rmSync(dir, { recursive: true }));
  const { guardrails = GUARDRAILS, files = {} } = setup;
  const all = { "d.yaml": JSON.stringify({ guardrails }), "c.jsonl": jsonLines(CASES), ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(dir, name), text);
  const io = bufferIo({ cwd: dir, ...setup.io });
  const status = await execute(["guardrails", "eval", "-config", "d.yaml", ...args], io);
  return { status, out: io.out(), err: io.err() };
}

async function report(context: TestContext, args: readonly string[], setup: Setup = {}) {
  const { status, out, err } = await evaluate(context, ["-json", ...args], setup);
  assert.equal(status, 0, err);
  return JSON.parse(out);
}

test("the report has totals, types and tags, and then the wrong cases with their texts", async (t) => {
  const { status, out, err } = await evaluate(t, ["c.jsonl"]);
  assert.deepEqual([status, err], [0, ""]);
  assert.equal(
    out,
    [
      "5 cases of 1 file, 2 wrong",
      "",
      "score    tp  fp  fn  precision  recall     F1",
      "exact     2   1   1      0.667   0.667  0.667",
      "overlap   2   1   1      0.667   0.667  0.667",
      "Mean F1 of the marked types, exact: 0.667",
      "",
      "type           score  tp  fp  fn  precision  recall     F1  overlap F1",
      "EMAIL_ADDRESS  exact   1   0   1      1.000   0.500  0.667       0.667",
      "credit_card    exact   1   1   0      0.500   1.000  0.667       0.667",
      "",
      "tag    score  tp  fp  fn  precision  recall     F1  overlap F1",
      "card   exact   1   0   0      1.000   1.000  1.000       1.000",
      "clean  exact   0   1   0      0.000       -  0.000       0.000",
      "valid  exact   2   0   0      1.000   1.000  1.000       1.000",
      "",
      "Wrong cases, the first 2 of 2:",
      "",
      "c.jsonl:4",
      "  missed  EMAIL_ADDRESS 9..25 write to [ada (at) example]",
      "          nothing was found there at any score",
      "",
      "c.jsonl:5 [clean]",
      `  extra   credit_card 5..21 1.00 by pii/CreditCardRecognizer/card card [${CARD}]`,
      "",
    ].join("\n"),
  );
});

test("the JSON has the documented keys and no text of the data", async (t) => {
  const { status, out } = await evaluate(t, ["-json", "-verdicts", "-sweep", "c.jsonl"]);
  assert.equal(status, 0);
  assert.ok(!out.includes(CARD) && !out.includes("ada"));
  const made = JSON.parse(out);
  const keys = ["files", "cases", "exact", "overlap", "labels", "types", "slices", "sweep"];
  assert.deepEqual(Object.keys(made), [...keys, "average_precision", "verdicts", "wrong"]);
  const figures = { tp: 2, fp: 1, fn: 1, precision: 2 / 3, recall: 2 / 3, f1: 2 / 3 };
  assert.deepEqual([made.files, made.cases, made.exact, made.labels], [["c.jsonl"], 5, figures, null]);
  const card = { tp: 1, fp: 0, fn: 0, precision: 1, recall: 1, f1: 1 };
  assert.deepEqual(made.slices.card, { exact: card, overlap: card, labels: null });
  assert.equal(made.verdicts.length, 5);
  // "größe" has two letters of two bytes.
  const place = { start: 14, end: 30, type: "credit_card" };
  assert.deepEqual(made.verdicts[0].spans, [place]);
  const { start, end, type, score } = made.verdicts[0].findings[0];
  assert.deepEqual({ start, end, type, score }, { ...place, score: 1 });
  assert.deepEqual(
    made.wrong.map((one: { line: number }) => one.line),
    [4, 5],
  );
});

test("without -sweep and -verdicts their keys are absent, and -errors 0 lists no wrong case", async (t) => {
  const made = await report(t, ["-errors", "0", "c.jsonl"]);
  assert.deepEqual(Object.keys(made).slice(7), ["wrong"]);
  assert.deepEqual(made.wrong, []);
});

test("a missed mark is listed with what dropped its finding", async (t) => {
  const reason = async (guardrails: object, one: object) => {
    const { wrong } = await report(t, ["a.jsonl"], { guardrails, files: { "a.jsonl": jsonLines([one]) } });
    return wrong[0].missed[0].near.map(({ type, by }: { type: string; by: string }) => `${type} ${by}`);
  };
  const email = marked("write to ada@example.com", "ada@example.com", "EMAIL_ADDRESS");
  const detectors = [{ type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS"] }];
  const listed = { detectors, allow_list: ["ada@example.com"] };
  assert.deepEqual(await reason(listed, email), ["EMAIL_ADDRESS allow_list"]);
  const late = marked("on 12/31/1999", "12/31/1999", "DATE_TIME");
  const dates = [{ type: "pii", prefilter: "pure", entities: ["DATE_TIME"] }];
  assert.deepEqual(await reason({ detectors: dates, score_threshold: 0.99 }, late), ["DATE_TIME score_threshold"]);
  assert.deepEqual(await reason({ detectors: [{ ...dates[0], threshold: 0.99 }] }, late), ["DATE_TIME threshold"]);
  const other = marked("write to ada@example.com", "ada@example", "EMAIL_ADDRESS");
  assert.deepEqual(await reason({ detectors }, other), ["EMAIL_ADDRESS kept"]);
});

test("labels are sets, clean cases count false alarms, and a case without marks is not counted", async (t) => {
  const rows = [
    { text: `${CARD} and ${CARD}`, labels: ["CREDIT_CARD"] },
    { text: `card ${CARD}`, labels: [] },
    { text: "hello", labels: [] },
    { text: `card ${CARD}` },
  ];
  const files = { "l.jsonl": jsonLines(rows) };
  const { labels, exact, types } = await report(t, ["l.jsonl"], { files });
  assert.deepEqual([labels.tp, labels.fp, labels.fn, exact], [1, 1, 0, null]);
  assert.equal(types.CREDIT_CARD.labels.tp, 1);
  const { out } = await evaluate(t, ["l.jsonl"], { files });
  assert.match(out, /^False alarms: 1 of 2 clean cases$/m);
});

test("types come from the data or from -types, under their new names; without marks all are used", async (t) => {
  const files = {
    "m.jsonl": jsonLines([marked("ada@example.com 4111111111111111", "ada@example.com", "MAIL")]),
    "n.jsonl": jsonLines([{ text: `ada@example.com ${CARD}`, spans: [] }]),
  };
  const counts = async (...args: string[]) => {
    const { exact } = await report(t, args, { files });
    return [exact.tp, exact.fp, exact.fn];
  };
  assert.deepEqual(await counts("m.jsonl"), [0, 0, 1]);
  assert.deepEqual(await counts("-rename", "MAIL=EMAIL_ADDRESS", "m.jsonl"), [1, 0, 0]);
  assert.deepEqual(
    await counts("-rename", "mail=email_address", "-types", "Email_Address,CREDIT_CARD", "m.jsonl"),
    [1, 1, 0],
  );
  assert.deepEqual(await counts("n.jsonl"), [0, 2, 0]);
});

test("a type that no case marks causes a warning that names the closest known one", async (t) => {
  const { status, err } = await evaluate(t, ["-types", "EMAIL_ADRESS", "c.jsonl"]);
  assert.deepEqual(
    [status, err],
    [0, `warning: no case has the label "EMAIL_ADRESS" (did you mean 'EMAIL_ADDRESS'?)\n`],
  );
});

test("the kind of a case selects its detectors, and findings in its system turn do not count", async (t) => {
  const guardrails = { detectors: [{ type: "pii", prefilter: "pure", apply_to: ["output"] }] };
  const email = marked("ada@example.com", "ada@example.com", "EMAIL_ADDRESS");
  const files = {
    "e.jsonl": jsonLines([email]),
    "o.jsonl": jsonLines([{ ...email, kind: "output" }]),
    "s.jsonl": jsonLines([{ ...email, system: "bob@example.com and eve@example.com" }]),
  };
  const fn = async (...args: string[]) => (await report(t, args, { files, guardrails })).exact.fn;
  assert.equal(await fn("e.jsonl"), 1);
  assert.equal(await fn("-kind", "output", "e.jsonl"), 0);
  assert.equal(await fn("o.jsonl"), 0);
  const { exact } = await report(t, ["s.jsonl"], { files });
  assert.deepEqual([exact.tp, exact.fp], [1, 0]);
});

test("-detector scores one detector, even a shadow; otherwise a shadow does not count", async (t) => {
  const pii = { type: "pii", prefilter: "pure" };
  const cards = { ...pii, name: "cards", entities: ["CREDIT_CARD"] };
  const mails = { ...pii, name: "mails", entities: ["EMAIL_ADDRESS"], mode: "shadow" };
  const setup = { guardrails: { detectors: [cards, mails] } };
  const tp = async (...args: string[]) => {
    const { types } = await report(t, [...args, "c.jsonl"], setup);
    return [types.credit_card.exact.tp, types.EMAIL_ADDRESS.exact.tp];
  };
  assert.deepEqual(await tp(), [1, 0]);
  assert.deepEqual(await tp("-detector", "cards"), [1, 0]);
  assert.deepEqual(await tp("-detector", "mails"), [0, 1]);
  const { status, err } = await evaluate(t, ["-detector", "mail", "c.jsonl"], setup);
  assert.equal(status, 2);
  assert.match(err, /no detector is called 'mail' \(did you mean 'mails'\?\)/);
});

test("a sweep lowers every threshold, and its highest F1 may be elsewhere than the configured one", async (t) => {
  const guardrails = { score_threshold: 0.99, detectors: [{ type: "pii", prefilter: "pure", threshold: 0.99 }] };
  const files = { "d.jsonl": jsonLines([marked("on 12/31/1999", "12/31/1999", "DATE_TIME")]) };
  const made = await report(t, ["-sweep", "d.jsonl"], { guardrails, files });
  assert.equal(made.exact.tp, 0);
  assert.deepEqual(made.average_precision, { exact: 1, overlap: 1, labels: null });
  const thresholds = made.sweep.map(({ threshold }: { threshold: number }) => threshold);
  assert.deepEqual(
    thresholds,
    thresholds.toSorted((a: number, b: number) => a - b),
  );
  assert.equal(thresholds.filter((at: number) => Number.isInteger(Math.round(at * 1e6) / 5e4)).length >= 20, true);
  assert.equal(made.sweep[0].exact.tp, 1);
  assert.equal(made.sweep.at(-1).exact.tp, 0);
  const { out } = await evaluate(t, ["-sweep", "d.jsonl"], { guardrails, files });
  assert.match(out, /^Thresholds, exact: average precision 1\.000;/m);
  assert.match(out, /^ +0\.05 +1 +0 +0 +1\.000 +1\.000 +1\.000 {2}#{20}$/m);
});

test("parallel runs, stdin and CoNLL give the same figures as a sequential run", async (t) => {
  const many = jsonLines(Array.from({ length: 60 }, (_, at) => CASES[at % CASES.length]));
  const files = { "m.jsonl": many };
  const one = await report(t, ["-verdicts", "m.jsonl"], { files });
  assert.deepEqual(await report(t, ["-verdicts", "-parallel", "7", "m.jsonl"], { files }), one);
  const piped = await report(t, ["-"], { io: { stdin: Readable.from([Buffer.from(many)]) } });
  assert.deepEqual([piped.cases, piped.exact], [60, one.exact]);
  const conll = "write\tO\nto\tO\nada@example.com\tB-EMAIL_ADDRESS\n\nhello\tO\n";
  const { cases, exact } = await report(t, ["t.conll"], { files: { "t.conll": conll } });
  assert.deepEqual([cases, exact.tp, exact.fp, exact.fn], [2, 1, 0, 0]);
  assert.equal((await report(t, ["-limit", "2", "m.jsonl", "c.jsonl"], { files })).cases, 4);
});

test("languages are compared with one reference", async (t) => {
  const text = { en: "call ada@example.com", de: "ruf ada (at) example", fr: `ada@example.com ${CARD}` };
  const rows = [{ id: "1", text }, { text: { en: "hello", de: "hallo" } }, { text: { de: "hallo" } }];
  const files = { "i.jsonl": jsonLines(rows), "i.csv": 'id,en,de\n1,"ada@example.com, please",hallo\n' };
  const made = await report(t, ["-invariance", "i.jsonl"], { files });
  assert.deepEqual([made.rows, made.reference, made.skipped], [3, "en", 1]);
  const { rows: both, agreed, agreement, empty_agree, lost, gained } = made.languages.de;
  assert.deepEqual([both, agreed, agreement, empty_agree, lost, gained], [2, 1, 0.5, 1, 1, 0]);
  assert.deepEqual([made.languages.fr.lost, made.languages.fr.gained], [0, 1]);
  assert.deepEqual(made.wrong[0], {
    file: "i.jsonl",
    line: 1,
    language: "de",
    lost: { EMAIL_ADDRESS: 1 },
    gained: {},
  });
  const { out } = await evaluate(t, ["-invariance", "i.csv"], { files });
  assert.match(out, /^i\.csv:2 de: lost EMAIL_ADDRESS$/m);
  const { status, err } = await evaluate(t, ["-invariance", "-reference", "it", "i.csv"], { files });
  assert.deepEqual([status, /no row has a text of 'it'/.test(err)], [2, true]);
});

test("a node file can replace the document it names, and no provider's key is needed", async (t) => {
  const document = { providers: [{ name: "p", dialect: "compat", api_key: "$" + "{NO_KEY}" }], guardrails: GUARDRAILS };
  const files = {
    "n.yaml": JSON.stringify({ cluster: { node_id: "n", secret: "$" + "{NO_SECRET}" }, deployment: "d2.yaml" }),
    "d2.yaml": JSON.stringify(document),
  };
  const made = await report(t, ["-config", "n.yaml", "c.jsonl"], { files });
  assert.equal(made.exact.tp, 2);
});

test("an impossible evaluation is refused with its place and status 1", async (t) => {
  const detectors = [{ type: "pii", prefilter: "pure", entities: ["EMAIL_ADRESS"] }];
  const refusals: readonly (readonly [Setup, readonly string[], RegExp])[] = [
    [{ guardrails: { detectors } }, ["c.jsonl"], /entities\[0\].*did you mean `EMAIL_ADDRESS`/],
    [{ guardrails: { detectors: [] } }, ["c.jsonl"], /no `detectors`/],
    [{ files: { "d.yaml": "{}" } }, ["c.jsonl"], /it has no `guardrails`/],
    [{ files: { "d.yaml": '{"guardrails": {"detektors": []}}' } }, ["c.jsonl"], /detektors/],
    [{ files: { "bad.jsonl": '{"text":"a"}\n{"text":1}\n' } }, ["bad.jsonl"], /bad\.jsonl:2: "text" is missing/],
    [{ files: { "empty.jsonl": "\n" } }, ["empty.jsonl"], /there are no cases in empty\.jsonl/],
  ];
  for (const [setup, args, message] of refusals) {
    const { status, out, err } = await evaluate(t, args, setup);
    assert.match(err, message);
    assert.deepEqual([status, out], [1, ""], err);
  }
});

test("conflicting flags and files are usage errors", async (t) => {
  const files = { "c.json": jsonLines(CASES) };
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [["-verdicts", "c.jsonl"], /'-verdicts' is for the report of '-json'/],
    [["-invariance", "-sweep", "c.jsonl"], /do not go together/],
    [["-kind", "header", "c.jsonl"], /'-kind' is user/],
    [["-rename", "X", "c.jsonl"], /FROM=TO/],
    [["nothing.jsonl"], /there is no such file/],
    [["c.json"], /unless its name ends in \.jsonl/],
    [["-", "-"], /more than once/],
    [[], /missing argument: DATA/],
  ];
  for (const [args, message] of refusals) {
    const { status, out, err } = await evaluate(t, args, { files });
    assert.match(err, message);
    assert.deepEqual([status, out], [2, ""], err);
  }
});

test("an unknown key causes one warning", async (t) => {
  const files = {
    "k.jsonl": jsonLines([
      { text: "a", span: [] },
      { text: "b", span: [] },
    ]),
  };
  const { err } = await evaluate(t, ["k.jsonl"], { files });
  assert.equal(err, `warning: k.jsonl:1: the key "span" is not read (did you mean 'spans'?)\n`);
});

test("a terminal shows rate and remaining time; an interrupt prints the scored part, with status 130", async (t) => {
  const files = { "m.jsonl": jsonLines(Array.from({ length: 400 }, (_, at) => CASES[at % CASES.length])) };
  const stop = new AbortController();
  let clock = 0;
  const message: string[] = [];
  const base = bufferIo();
  const stderr = base.stderr;
  const write = stderr.write.bind(stderr);
  stderr.write = ((text: string) => {
    message.push(text);
    if (text.includes("scored 20 ")) stop.abort(new Interrupted("SIGINT"));
    return write(text);
  }) as typeof stderr.write;
  const now = (): number => {
    clock += 50;
    return clock;
  };
  const io = { stderr, now, isTerminal: (name: string) => name === "stderr", signal: stop.signal };
  const { status, out } = await evaluate(t, ["-json", "m.jsonl"], { files, io });
  assert.equal(status, 130);
  const { cases, exact } = JSON.parse(out);
  assert.equal(cases, 20);
  assert.deepEqual([exact.tp, exact.fp], [8, 4]);
  assert.ok(message.some((text) => /scored \d+ of 400 cases, [\d.]+\/s, \d+ s left$/.test(text)));
  assert.equal(message.at(-1), "interrupted after 20 of 400 cases: the report covers only these\n");
});

test("an interrupt before any score exits with status 130 without a report", async (t) => {
  const io = { signal: AbortSignal.abort(new Interrupted("SIGINT")) };
  assert.deepEqual(await evaluate(t, ["c.jsonl"], { io }), { status: 130, out: "", err: "" });
});
