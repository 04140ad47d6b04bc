/** What the console tries on documents: packs with their cases, a threshold, and the write into the file that owns it. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createDocumentPorts, withScalar } from "../../src/cli/console-documents.ts";
import type { OwnedDocument } from "../../src/console/index.ts";
import { builtInPackIds } from "../../src/server/node/index.ts";
import { atEnd } from "../e2e/support/wait.ts";
import { bufferIo } from "./buffers.ts";

const never = new AbortController().signal;
const PACK = "baseline-secrets";
const owned = (text: string, others: Partial<OwnedDocument> = {}): OwnedDocument => ({
  source: "default",
  revision: 3,
  file: undefined,
  text,
  ...others,
});

test("each pack that comes with the program says what of it an empty document holds", async () => {
  const ports = createDocumentPorts(bufferIo({}));
  const packs = await ports.packs(owned(""), [], never);
  assert.deepEqual(packs.map(({ name }) => name).sort(), [...(await builtInPackIds())].sort());
  for (const { there, objects, controls, readme } of packs) {
    assert.equal(there, 0);
    assert.ok(controls.length > 0 && readme !== "" && objects >= 0);
  }
});

test("a pack is tried: its objects, the text, the compiler and its own cases; then it is all there", async () => {
  const ports = createDocumentPorts(bufferIo({}));
  const id = PACK;
  const trial = await ports.tryPack(owned("# mine\n"), id, never);
  assert.deepEqual(trial.problems, []);
  assert.ok(trial.objects.length > 0 && trial.objects.every(({ change }) => change === "added"));
  assert.equal(trial.cases?.passes, true, trial.cases?.lines.join("\n"));
  assert.equal(trial.compiling?.kind, "compiles");
  const { after = "" } = trial.change ?? {};
  assert.match(after, /^# mine\n/);
  const again = await ports.packs(owned(after), [], never);
  const now = again.find(({ name }) => name === id);
  assert.equal(now?.there, now?.objects);
  assert.equal((await ports.tryPack(owned(after), id, never)).change?.after, after);
});

test("a document that the machine cannot compile as it stands is left for the gateway to judge", async () => {
  const ports = createDocumentPorts(bufferIo({ env: {} }));
  const text = "providers:\n  - name: a\n    type: compat\n    base_url: ${NOT_SET_HERE}\n    models: [m]\n";
  const trial = await ports.tryPack(owned(text), PACK, never);
  assert.equal(trial.compiling?.kind, "not_here", JSON.stringify(trial.compiling));
});

test("a threshold changes its own line, or becomes the first of its block", () => {
  const path = ["guardrails", "score_threshold"] as const;
  const block = "a: 1 # one\nguardrails:\n  # why\n  detectors: []\nb: 2\n";
  const added = withScalar(block, path, 0.55) ?? "";
  assert.match(added, /\n {2}score_threshold: 0\.55\n {2}detectors: \[\]\nb: 2\n$/);
  assert.match(added, /# why/);
  assert.equal(withScalar(added, path, 0.6), added.replace("0.55", "0.6"));
  assert.equal(withScalar("a: 1\n", path, 0.5), undefined);
  assert.equal(withScalar("guardrails: {detectors: []}\n", path, 0.5), undefined);
  assert.equal(withScalar("guardrails: {score_threshold: 0.1}\n", path, 0.5), "guardrails: {score_threshold: 0.5}\n");
});

test("a file that owns the document is written with its version raised, and only over what was looked at", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "documents-"));
  atEnd(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "deployment.yaml");
  const text = "version: 7 # seven\n";
  const ports = createDocumentPorts(bufferIo({ cwd: folder }));
  const tryIt = () => ports.tryPack(owned(text, { file }), PACK, never);
  assert.match((await tryIt()).why ?? "", /is not on this machine/);
  const elsewhere = owned(text, { file: "/nowhere/deployment.yaml" });
  assert.match(
    (await ports.tryPack(elsewhere, PACK, never)).why ?? "",
    /is not on this machine \(there is no directory/,
  );
  await writeFile(file, "version: 6\n");
  assert.match((await tryIt()).why ?? "", /is not what is in force/);
  await writeFile(file, text, { mode: 0o640 });
  const { change, why } = await tryIt();
  assert.equal(why, undefined);
  if (change === undefined) throw new Error("there is a change");
  assert.match(change.after, /^version: 8 # seven\n/);
  await writeFile(file, `${text}# touched\n`);
  await assert.rejects(ports.write(change, never), /is not what is in force/);
  await writeFile(file, text);
  await ports.write(change, never);
  assert.equal(await readFile(file, "utf8"), change.after);
});
