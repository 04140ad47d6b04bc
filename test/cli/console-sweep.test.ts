/** The console's sweep: figures at every threshold, changing cases, refusals, and fairness to other work. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createDocumentPorts } from "../../src/cli/console-documents.ts";
import { execute } from "../../src/cli/main.ts";
import type { OwnedDocument, SweepAnswer, SweepResult } from "../../src/console/index.ts";
import { bufferIo } from "./buffer-io.ts";

const GUARDRAILS = { score_threshold: 0.42, detectors: [{ type: "pii", prefilter: "pure" }] };
const DOCUMENT = JSON.stringify({ guardrails: GUARDRAILS });

const marked = (text: string, found: string, type: string) => {
  const start = Buffer.byteLength(text.slice(0, text.indexOf(found)));
  return { text, spans: [{ start, end: start + Buffer.byteLength(found), type }] };
};

const CASES = [
  marked("write to ada@example.com", "ada@example.com", "EMAIL_ADDRESS"),
  marked("seen on 12/31/1999", "12/31/1999", "DATE_TIME"),
  { text: "born 01/02/2003, as a version of the file says", spans: [] },
  marked(`${"é".repeat(400)} on 12/31/1999 it was`, "12/31/1999", "DATE_TIME"),
];

const owned = (text: string, others: Partial<OwnedDocument> = {}): OwnedDocument => ({
  source: "default",
  revision: 3,
  file: undefined,
  text,
  ...others,
});

function sweeper(context: TestContext, files: Readonly<Record<string, string>> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "console-sweep-"));
  context.after(() => rmSync(dir, { recursive: true }));
  const all = { "c.jsonl": CASES.map((one) => `${JSON.stringify(one)}\n`).join(""), "d.yaml": DOCUMENT, ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(dir, name), text);
  const io = bufferIo({ cwd: dir, now: Date.now });
  const { sweep } = createDocumentPorts(io);
  const reported: string[] = [];
  return {
    io,
    reported,
    sweep: (text: string, documents = [owned(DOCUMENT)], signal = new AbortController().signal) =>
      sweep(documents, text, { signal, onProgress: (how) => reported.push(how) }),
  };
}

function resultOf(answer: SweepAnswer): SweepResult {
  assert.equal(answer.kind, "done", JSON.stringify(answer));
  return answer.kind === "done" ? answer.result : assert.fail();
}

test("the figures equal those of the verb, and the threshold in force is among them", async (t) => {
  const { sweep, io, reported } = sweeper(t);
  const { steps, cases, inForce, source, averagePrecision } = resultOf(
    await sweep("c.jsonl", [owned("providers: []\n", { source: "other" }), owned(DOCUMENT, { source: "team" })]),
  );
  assert.deepEqual([cases, inForce, source], [4, 0.42, "team"]);
  assert.ok(steps.some(({ threshold }) => threshold === 0.42));
  const verb = bufferIo({ cwd: io.cwd });
  assert.equal(
    await execute(["guardrails", "eval", "-config", "d.yaml", "-json", "-sweep", "c.jsonl"], verb),
    0,
    verb.err(),
  );
  const report = JSON.parse(verb.out());
  const own = steps.filter(({ threshold }) => threshold !== 0.42);
  assert.deepEqual(
    own.map(({ threshold, figures }) => ({ threshold, ...figures })),
    report.sweep.filter(({ threshold }: { threshold: number }) => threshold !== 0.42),
  );
  assert.deepEqual(averagePrecision, report.average_precision);
  assert.match(reported.join("\n"), /compiling[\s\S]*checking the data[\s\S]*scored \d of 4 cases/);
});

test("a changing case is listed with its place, the threshold from which it is wrong, and the text around it", async (t) => {
  const { sweep } = sweeper(t);
  const { steps, changedCases, changedCount } = resultOf(await sweep("c.jsonl"));
  assert.deepEqual([changedCases.map(({ line }) => line), changedCount], [[2, 3, 4], 3]);
  const [second, third, fourth] = changedCases;
  assert.equal(second?.sides[0]?.fault, "");
  assert.match(second?.sides.at(-1)?.fault ?? "", /^misses DATE_TIME$/);
  assert.match(third?.sides[0]?.fault ?? "", /^finds DATE_TIME 0\.\d\d$/);
  assert.equal(third?.sides.at(-1)?.fault, "");
  assert.match(fourth?.excerpt ?? "", /^…é+ on 12\/31\/1999 it was$/);
  // One bit per step for each case that is wrong at it.
  for (const { index, sides } of changedCases) {
    for (const [at, { wrong }] of steps.entries()) {
      const fault = sides.findLast(({ from }) => from <= at)?.fault ?? "";
      assert.equal(((wrong[index >> 3] ?? 0) >> (index & 7)) & 1, fault === "" ? 0 : 1);
    }
  }
});

test("flags come before the files, whose names may be quoted; an error is the verb's own", async (t) => {
  const { sweep } = sweeper(t, { "my cases.jsonl": `${JSON.stringify(CASES[0])}\n` });
  const { files, cases } = resultOf(await sweep("-types email_address 'my cases.jsonl'"));
  assert.deepEqual([files, cases], [["my cases.jsonl"], 1]);
  for (const [fault, why] of [
    ["", /no data file/],
    ["-", /reads the keys from stdin/],
    ["-sweep c.jsonl", /unknown flag '-sweep'/],
    ["-detector nobody c.jsonl", /no detector is called 'nobody'/],
    ["'c.jsonl", /a ' is not closed/],
    ["absent.jsonl", /absent\.jsonl/],
    ["-help", /flags are detector/],
  ] as const) {
    await assert.rejects(sweep(fault), why, fault);
  }
});

test("an invalid line is reported with file and number, without its text", async (t) => {
  const { sweep } = sweeper(t, { "bad.jsonl": `${JSON.stringify(CASES[0])}\n{"text": "my secret", "spans": 3}\n` });
  await assert.rejects(sweep("bad.jsonl"), (error: Error) => {
    assert.match(error.message, /^bad\.jsonl:2: "spans" is not a list/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("documents without detectors, and those that do not compile, are refused with the reasons", async (t) => {
  const { sweep } = sweeper(t);
  assert.deepEqual(await sweep("c.jsonl", [owned("guardrails: {rules: []}\n"), owned("")]), {
    kind: "refused",
    problems: ["no document in force has `guardrails` with `detectors`, so there is nothing to sweep"],
  });
  const broken = await sweep("c.jsonl", [owned("guardrails: {detectors: [{type: nothing}]}\n")]);
  assert.match(broken.kind === "refused" ? broken.problems.join() : "", /source default.*detectors/);
});

test("a judge, which costs money, is called only if it is named", async (t) => {
  const { sweep } = sweeper(t);
  const llm = { provider: "p", model: "m", labels: ["INJECTION"], prompt: "INJECTION: orders." };
  const judge = { name: "judge", type: "llm", llm };
  const document = {
    providers: [{ name: "p", dialect: "compat", base_url: "http://127.0.0.1:9/v1", models: ["m"] }],
    guardrails: { detectors: [{ type: "pii", prefilter: "pure" }, judge] },
  };
  await assert.rejects(
    sweep("c.jsonl", [owned(JSON.stringify(document))]),
    /sends texts to the model m of p.*-detector NAME/,
  );
});

test("other work runs during a sweep, and it can be stopped", async (t) => {
  const rows = Array.from({ length: 1_500 }, (_, at) => `${JSON.stringify(CASES[at % CASES.length])}\n`);
  const { sweep } = sweeper(t, { "many.jsonl": rows.join("") });
  /** Returns how long others waited for their turn during `work`, in milliseconds, shortest first. */
  const waitsIn = async (work: () => Promise<unknown>): Promise<readonly number[]> => {
    const waits: number[] = [];
    let last = performance.now();
    const timer = setInterval(() => {
      waits.push(performance.now() - last);
      last = performance.now();
    }, 5);
    t.after(() => clearInterval(timer));
    await work();
    clearInterval(timer);
    return waits.sort((a, b) => a - b);
  };
  const mostOf = (waits: readonly number[]): number => waits[Math.floor(waits.length * 0.95)] ?? 0;
  const startedAt = performance.now();
  // Compiling is the longest uninterrupted part.
  const sorted = await waitsIn(async () => {
    const { cases, changedCount } = resultOf(await sweep("many.jsonl"));
    assert.deepEqual([cases, changedCount], [1_500, 1_125]);
  });
  const elapsed = performance.now() - startedAt;
  t.diagnostic(`${sorted.length} turns in ${elapsed.toFixed()} ms, longest ${sorted.at(-1)?.toFixed(1)} ms`);
  // A share of the elapsed time, because a busy machine lengthens both.
  assert.ok(mostOf(sorted) < Math.max(100, elapsed / 20), `${mostOf(sorted)} of ${elapsed} ms`);

  const stop = new AbortController();
  const stopped = sweep("many.jsonl", [owned(DOCUMENT)], stop.signal);
  setTimeout(() => stop.abort(new Error("left")), 100);
  await assert.rejects(stopped, /abort|left/);
});
