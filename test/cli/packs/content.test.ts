/**
 * The built-in packs: their citations, the orders in which they are added, and whether their cases detect a changed
 * rule.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { compileWith } from "../../../src/cli/packs/compile-packs.ts";
import { loadPacks } from "../../../src/cli/packs/load-packs.ts";
import { runSuites, subjectOf } from "../../../src/cli/rule-suite/index.ts";
import { addPacks, type BaseOf, namedIn, type Pack, readPack } from "../../../src/server/core/packs/index.ts";
import { builtInPackIds } from "../../../src/server/node/index.ts";
import { bufferIo } from "../buffer-io.ts";

const ROOT = join(import.meta.dirname, "../../..");
const IO = bufferIo({ cwd: ROOT, env: {} });
const IDS = await builtInPackIds();
const { named: PACKS, baseOf } = await loadPacks(IDS, IO);

/** Returns the framework's identifiers with their titles. */
async function publishedOf(framework: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(ROOT, "test/data/controls", `${framework}.txt`), "utf8");
  const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.match(text, /^# .+\.(org|com|gov|eu|sa|ae|gov\.ae|html)\b/, `${framework} names its source`);
  return new Map(rows.map((row) => row.split("\t") as [string, string]));
}

test("each control cited by a pack is in the edition, under its title, and its citation ends with it", async () => {
  for (const { id, controls } of PACKS) {
    for (const control of controls) {
      const [framework = "", ...rest] = control.id.split(":");
      const own = rest.join(":");
      assert.equal((await publishedOf(framework)).get(own), control.title, `${id}: ${control.id}`);
      const spelled = own.replace(/^([A-Z]+)-(?=\d)/, "$1 ");
      assert.ok(control.citation.endsWith(spelled), `${id}: ${control.citation} is of ${spelled}`);
    }
  }
});

test("each cited control is implemented by a rule, of the pack or one it builds on, or by a mechanism", () => {
  for (const { id, controls, objects, attaches, mechanisms } of PACKS) {
    const carried = new Set([
      ...objects.flatMap(({ value }) => (value["controls"] as readonly string[] | undefined) ?? []),
      ...attaches.flatMap((it) => it.controls),
      ...mechanisms.map(({ control }) => control),
    ]);
    for (const control of controls) assert.ok(carried.has(control.id), `${id}: ${control.id} is carried by nothing`);
  }
});

/** Yields every order in which a pack follows those it builds on. */
function* ordersOf(packs: readonly Pack[]): Generator<readonly Pack[]> {
  if (packs.length === 0) yield [];
  for (const first of packs) {
    const rest = packs.filter((it) => it !== first);
    if (first.buildsOn.some((base) => rest.some(({ id }) => id === base))) continue;
    for (const order of ordersOf(rest)) yield [first, ...order];
  }
}

/** Compares by name, since objects are in the order of their packs. */
function meaningOf(text: string): unknown {
  const document: unknown = parse(text);
  return namedIn(document)
    .map(({ list, name, value: { controls, ...rest } }) => ({
      list,
      name,
      rest,
      controls: ((controls as readonly string[] | undefined) ?? []).toSorted(),
    }))
    .toSorted((a, b) => (a.list + a.name < b.list + b.name ? -1 : 1));
}

const withBases = (pack: Pack): readonly Pack[] => [...pack.buildsOn.flatMap((id) => baseOf(id) ?? []), pack];

function addedTo(text: string, packs: readonly Pack[]): string {
  const adding = addPacks({ name: "deployment.yaml", text }, packs, baseOf);
  assert.ok(adding.kind === "added", adding.kind === "refused" ? adding.problems.join("\n") : "");
  return adding.text;
}

for (const pack of PACKS) {
  const trial = pack.files.trial?.text ?? "";
  const chain = withBases(pack);

  test(`${pack.id} fits the smallest document with its requirements, in every order, with the same result`, async () => {
    const [first = [], ...others] = [...ordersOf(chain)];
    const text = addedTo(trial, first);
    const meaning = meaningOf(text);
    for (const order of others) assert.deepEqual(meaningOf(addedTo(trial, order)), meaning);
    assert.equal(addedTo(text, first), text);
    const oneByOne = chain.reduce((whole, one) => addedTo(whole, [one]), trial);
    assert.deepEqual(meaningOf(oneByOne), meaning);
    const compiled = await compileWith({ name: "d.yaml", text: trial }, chain, baseOf, IO);
    assert.equal(compiled.kind, "compiled", compiled.kind === "refused" ? compiled.problems.join("\n") : "");
  });

  test(`${pack.id} is refused by name if the document lacks its requirements or has a conflicting object`, () => {
    const refusals = (text: string, packs: readonly Pack[]): string => {
      const adding = addPacks({ name: "d.yaml", text }, packs, baseOf);
      return adding.kind === "refused" ? adding.problems.join("\n") : "";
    };
    const needs = chain.filter(({ objects }) => objects.some(({ value }) => value["classify"] ?? value["embed"]));
    const result = refusals("", chain);
    assert.equal(result === "", needs.length === 0);
    for (const { id } of needs)
      assert.match(result, new RegExp(`of \`${id}\` needs a model .*gateway models pin -name`));
    if (pack.buildsOn.length > 0) assert.match(refusals(trial, [pack]), /builds on `.*add `.*` first/);
    const [object] = pack.objects;
    if (object === undefined) return;
    const whole = addedTo(trial, chain);
    const key = object.list === "access rule" ? "condition" : object.list === "detector" ? "threshold" : "when";
    const changed = parse(whole) as Record<string, unknown>;
    const found = namedIn(changed).find(({ list, name }) => list === object.list && name === object.name);
    (found?.value as Record<string, unknown>)[key] = key === "threshold" ? 0.123 : "false";
    assert.match(
      refusals(stringify(changed), chain),
      new RegExp(`another ${object.list} \`${object.name}\`.*\`${key}\``),
    );
  });
}

test("all packs in random orders, added to a document with half of them, give the same result", () => {
  const needs = [...new Set(PACKS.map(({ files }) => files.trial?.text ?? "").filter((it) => it.startsWith("models")))];
  const models = needs.flatMap((text) => (parse(text) as { models: { models: { name: string }[] } }).models.models);
  const trial = stringify({ models: { models: [...new Map(models.map((it) => [it.name, it])).values()] } });
  const all = addedTo(
    trial,
    [...PACKS].sort((a, b) => a.buildsOn.length - b.buildsOn.length),
  );
  fc.assert(
    fc.property(fc.shuffledSubarray([...PACKS], { minLength: PACKS.length }), (shuffled) => {
      const order: Pack[] = [];
      const place = (pack: Pack): void => {
        for (const id of pack.buildsOn) place(PACKS.find((it) => it.id === id) as Pack);
        if (!order.includes(pack)) order.push(pack);
      };
      shuffled.forEach(place);
      const half = addedTo(trial, order.slice(0, order.length / 2));
      const whole = addedTo(half, order);
      assert.deepEqual(meaningOf(whole), meaningOf(all));
      const kept = new Set(whole.split("\n"));
      for (const line of trial.split("\n")) assert.ok(kept.has(line));
    }),
    { numRuns: 8 },
  );
});

type Values = Record<string, unknown>;

/** Yields single changes with their names. */
function* mutantsOf(fragment: Values): Generator<readonly [name: string, mutant: Values]> {
  const objects = namedIn(fragment);
  for (const { list, name, at, value } of objects) {
    const mutant = (what: string, change: (it: Values) => void): readonly [string, Values] => {
      const copy = structuredClone(fragment);
      const own = namedIn(copy).find((it) => it.list === list && it.at === at);
      change(own?.value as Values);
      return [`${list} ${name}: ${what}`, copy];
    };
    const texts = (key: string): readonly string[] => (Array.isArray(value[key]) ? (value[key] as string[]) : []);
    if (list === "detector") {
      const threshold = value["threshold"];
      if (typeof threshold === "number") {
        yield mutant("threshold up", (it) => (it["threshold"] = Math.min(1, threshold + 0.45)));
        yield mutant("threshold down", (it) => (it["threshold"] = Math.max(0, threshold - 0.3)));
      }
      for (const kind of texts("apply_to")) {
        if (texts("apply_to").length === 1) continue;
        yield mutant(`not of ${kind}`, (it) => (it["apply_to"] = texts("apply_to").filter((one) => one !== kind)));
      }
      if (value["type"] === "pii") yield mutant("finds something else", (it) => (it["entities"] = ["TH_TNIN"]));
      continue;
    }
    const action = value["action"] as string;
    yield mutant("another action", (it) => {
      it["action"] = list === "access rule" ? "allow" : action === "annotate" ? "deny" : "annotate";
      if (list === "access rule") delete it["message"];
    });
    yield mutant("never", (it) => (it[list === "access rule" ? "condition" : "when"] = "false"));
    for (const kind of texts("kinds")) {
      yield mutant(`not of ${kind}`, (it) => (it["kinds"] = texts("kinds").filter((one) => one !== kind)));
    }
    if (value["message"] !== undefined) yield mutant("another message", (it) => (it["message"] = "No."));
  }
}

for (const pack of PACKS.filter(({ objects }) => objects.length > 0)) {
  test(`the cases of ${pack.id} detect any change to its rules and detectors`, async () => {
    const survivors: string[] = [];
    let mutants = 0;
    for (const [name, fragment] of mutantsOf(parse(pack.files.fragment.text) as Values)) {
      const read = readPack({ ...pack.files, fragment: { name: "fragment.yaml", text: stringify(fragment) } });
      assert.ok(read.kind === "pack", `${name}: ${read.kind === "refused" ? read.problems.join("\n") : ""}`);
      mutants += 1;
      if (await passes(read.pack, baseOf)) survivors.push(name);
    }
    assert.ok(mutants > 0);
    assert.deepEqual(survivors, [], `${survivors.length} of ${mutants} mutants survive`);
  });
}

/** A mutant that does not compile counts as detected. */
async function passes(pack: Pack, of: BaseOf): Promise<boolean> {
  const { tests, trial } = pack.files;
  assert.ok(tests !== undefined);
  const made = await compileWith(trial ?? { name: "d.yaml", text: "" }, withBases(pack), of, IO);
  if (made.kind === "refused") return false;
  const { compiled, deployment } = made;
  const snapshot =
    compiled.kind === "awaits" ? { ...compiled.rest, guardrails: compiled.guardrails } : compiled.snapshot;
  const ran = await runSuites([tests], subjectOf(snapshot, deployment.document), IO.signal);
  assert.equal(ran.kind, "ran", ran.kind === "refused" ? ran.problems.join("\n") : "");
  return ran.kind === "ran" && ran.passes;
}
