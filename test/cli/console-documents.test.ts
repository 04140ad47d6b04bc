/** The console's tests on documents: packs with their cases, a threshold, and the write into the owning file. */

import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createDocumentPorts } from "../../src/cli/console-documents.ts";
import { withScalar } from "../../src/cli/console-trials/owned-document.ts";
import type { OwnedDocument } from "../../src/console/index.ts";
import { builtInPackIds } from "../../src/server/node/index.ts";
import { atEnd } from "../e2e/support/wait.ts";
import { bufferIo } from "./buffer-io.ts";

const never = new AbortController().signal;
const ignoringProgress = { signal: never, onProgress: () => undefined };
const PACK = "baseline-secrets";
const owned = (text: string, others: Partial<OwnedDocument> = {}): OwnedDocument => ({
  source: "default",
  revision: 3,
  file: undefined,
  text,
  ...others,
});

test("each built-in pack reports what an empty document has of it", async () => {
  const ports = createDocumentPorts(bufferIo({}));
  const packs = await ports.packs(owned(""), [], never);
  assert.deepEqual(packs.map(({ name }) => name).sort(), [...(await builtInPackIds())].sort());
  for (const { there, objects, controls, readme } of packs) {
    assert.equal(there, 0);
    assert.ok(controls.length > 0 && readme !== "" && objects >= 0);
  }
});

test("a pack is tested: its objects, the text, the compiler and its own cases; then it is reported present", async () => {
  const ports = createDocumentPorts(bufferIo({}));
  const id = PACK;
  const trial = await ports.tryPack(owned("# mine\n"), [id], ignoringProgress);
  assert.deepEqual(trial.problems, []);
  assert.ok(trial.objects.length > 0 && trial.objects.every(({ change }) => change === "added"));
  assert.equal(trial.cases?.passes, true, trial.cases?.lines.join("\n"));
  assert.equal(trial.compiling?.kind, "compiles");
  const { after = "" } = trial.change ?? {};
  assert.match(after, /^# mine\n/);
  const again = await ports.packs(owned(after), [], never);
  const now = again.find(({ name }) => name === id);
  assert.equal(now?.there, now?.objects);
  assert.equal((await ports.tryPack(owned(after), [id], ignoringProgress)).change?.after, after);
});

test("a document that this machine cannot compile is left to the gateway", async () => {
  const ports = createDocumentPorts(bufferIo({ env: {} }));
  const text = "providers:\n  - name: a\n    type: compat\n    base_url: ${NOT_SET_HERE}\n    models: [m]\n";
  const trial = await ports.tryPack(owned(text), [PACK], ignoringProgress);
  assert.equal(trial.compiling?.kind, "not_here", JSON.stringify(trial.compiling));
});

test("a threshold changes its own line or becomes the first of its block", () => {
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

test("a file that owns the document is written with a higher version, and only over the shown text", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "documents-"));
  atEnd(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "deployment.yaml");
  const text = "version: 7 # seven\n";
  const ports = createDocumentPorts(bufferIo({ cwd: folder }));
  const tryIt = () => ports.tryPack(owned(text, { file }), [PACK], ignoringProgress);
  assert.match((await tryIt()).blockedReason ?? "", /is not on this machine/);
  const elsewhere = owned(text, { file: "/nowhere/deployment.yaml" });
  assert.match(
    (await ports.tryPack(elsewhere, [PACK], ignoringProgress)).blockedReason ?? "",
    /is not on this machine \(there is no directory/,
  );
  await writeFile(file, "version: 6\n");
  assert.match((await tryIt()).blockedReason ?? "", /differs from the configuration in force/);
  await writeFile(file, text, { mode: 0o640 });
  const { change, blockedReason: reason } = await tryIt();
  assert.equal(reason, undefined);
  if (change === undefined) throw new Error("there is a change");
  assert.match(change.after, /^version: 8 # seven\n/);
  await writeFile(file, `${text}# touched\n`);
  await assert.rejects(ports.write(change, never), /differs from the configuration in force/);
  await writeFile(file, text);
  await ports.write(change, never);
  assert.equal(await readFile(file, "utf8"), change.after);
});

const PACKS_FOLDER = fileURLToPath(new URL("../../packs/", import.meta.url));

/** A folder of packs: a valid one, one that builds on it, and a broken one. */
async function folderOfPacks(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "packs-"));
  atEnd(t, () => rm(folder, { recursive: true }));
  for (const name of ["ours", "more", "broken"]) {
    await cp(join(PACKS_FOLDER, PACK), join(folder, "packs", name), { recursive: true });
  }
  const put = async (name: string, change: (text: string) => string): Promise<void> => {
    const file = join(folder, "packs", name, "pack.yaml");
    await writeFile(file, change(await readFile(file, "utf8")));
  };
  await put("ours", (text) => text.replace(`id: ${PACK}`, "id: ours"));
  await put("more", (text) => text.replace(`id: ${PACK}`, "id: more\nbuilds_on: [ours]"));
  await writeFile(join(folder, "packs/more/fragment.yaml"), "guardrails:\n  rules: []\n");
  await writeFile(join(folder, "packs/broken/pack.yaml"), "id: [\n");
  await mkdir(join(folder, "packs/notes"));
  return folder;
}

test("a folder holds packs, a broken one is reported in its row, and one that builds on another is tested with it", async (t) => {
  const cwd = await folderOfPacks(t);
  const ports = createDocumentPorts(bufferIo({ cwd }));
  const packs = await ports.packs(owned(""), ["./packs", "./nowhere", "./packs/notes"], never);
  const named = new Map(packs.map((pack) => [pack.name, pack]));
  const own = [...named.keys()].filter((name) => name.startsWith("."));
  assert.deepEqual(own.sort(), ["./nowhere", "./packs/broken", "./packs/more", "./packs/notes", "./packs/ours"]);
  assert.equal(named.get("./packs/ours")?.id, "ours");
  assert.match(named.get("./packs/broken")?.problem ?? "", /the pack '\.\/packs\/broken' is refused/);
  assert.match(named.get("./nowhere")?.problem ?? "", /cannot be read: there is no such file/);
  assert.match(named.get("./packs/notes")?.problem ?? "", /is not a pack, and no folder in it is one/);
  const trial = await ports.tryPack(owned(""), ["./packs/more", "./packs/ours"], ignoringProgress);
  assert.deepEqual(trial.problems, []);
  assert.ok(trial.objects.some(({ pack }) => pack === "ours"));
  await assert.rejects(ports.tryPack(owned(""), ["./packs/more"], ignoringProgress), /ours/);
});

test("a test reports its progress and ends with its signal", async (t) => {
  const cwd = await folderOfPacks(t);
  const cases = Array.from(
    { length: 3_000 },
    (_, at) => `  - { name: c${at}, guardrail: { text: "${"word ".repeat(100)}" }, expect: allow }\n`,
  );
  await writeFile(join(cwd, "packs/ours/tests.yaml"), `suite: ours\ncases:\n${cases.join("")}`);
  const ports = createDocumentPorts(bufferIo({ cwd }));
  const stop = new AbortController();
  const reported: string[] = [];
  const tried = ports.tryPack(owned(""), ["./packs/ours"], {
    signal: stop.signal,
    onProgress(message) {
      reported.push(message);
      if (/^2 of 3000/.test(message)) stop.abort(new Error("stopped by the test"));
    },
  });
  await assert.rejects(tried, /stopped by the test/);
  assert.equal(reported.at(-1), "2 of 3000 of its own cases");
  await assert.rejects(
    ports.tryPack(owned(""), ["./packs/ours"], { ...ignoringProgress, signal: stop.signal }),
    /stopped by the/,
  );
});
