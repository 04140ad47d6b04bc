/**
 * What the console tries on a document before it is written: packs, and a threshold. Where a file of this machine owns the
 * document it is written there, with its `version` raised, since a node takes no other text under the same one.
 */

import { isMap, isScalar, parseDocument } from "yaml";
import type { Compiling, ConsolePorts, OwnedDocument, PackFacts, Trial } from "../console/index.ts";
import { formatProblem } from "../server/core/config/index.ts";
import { addPacks, LISTS } from "../server/core/packs/index.ts";
import { builtInPackIds, compileAlone } from "../server/node/index.ts";
import { UsageError } from "./flags.ts";
import type { Io } from "./io.ts";
import { inOrder, runCases } from "./packs/cases.ts";
import { type DeploymentFile, openDeployment } from "./packs/document.ts";
import { loadPacks, type Packs } from "./packs/load.ts";

export function createDocumentPorts(io: Io): ConsolePorts["documents"] {
  return {
    async packs(document, own, signal) {
      const at = { ...io, signal };
      const builtIn = await builtInPackIds();
      const { named, baseOf } = await loadPacks([...builtIn, ...own], at);
      const names = [...builtIn, ...own];
      return named.map((pack, index) => factsOf(names[index] ?? pack.id, pack, baseOf, document));
    },
    async tryPack(document, name, signal) {
      const at = { ...io, signal };
      const { named, baseOf } = await loadPacks([name], at);
      const [pack] = named;
      if (pack === undefined) throw new UsageError("no pack is named");
      const adding = addPacks({ name: document.source, text: document.text }, inOrder(pack, baseOf), baseOf);
      const ran = await runCases(pack, baseOf, at);
      const cases =
        ran.kind === "refused" ? { lines: ran.problems, passes: false } : { lines: ran.lines, passes: ran.passes };
      if (adding.kind === "refused") return { ...refused(adding.problems), objects: [], cases };
      const objects = adding.objects.map((object) => ({ ...object, list: LISTS[object.list].join(".") }));
      return { ...(await trialOf(document, adding.text, at)), objects, cases };
    },
    async tryThreshold(document, threshold, signal) {
      const text = withScalar(document.text, ["guardrails", "score_threshold"], threshold);
      if (text === undefined) return refused(["the document has no block `guardrails` that a threshold can stand in"]);
      return await trialOf(document, text, { ...io, signal });
    },
    async sweep(documents, words, options) {
      const { sweepHere } = await import("./console-sweep.ts");
      return await sweepHere(documents, words, options, io);
    },
    async write({ file, text, after }, signal) {
      if (file === undefined) throw new Error("no file owns the document");
      const opened = await openDeployment(file, true, { ...io, signal });
      const why = otherWhy(opened, file, text);
      if (why !== undefined) throw new UsageError(why);
      signal.throwIfAborted();
      await opened.write(after);
    },
  };
}

function factsOf(
  name: string,
  pack: Packs["named"][number],
  baseOf: Packs["baseOf"],
  document: OwnedDocument,
): PackFacts {
  const { id, version, title, buildsOn, objects, controls, files } = pack;
  const adding = addPacks({ name: document.source, text: document.text }, inOrder(pack, baseOf), baseOf);
  const own = adding.kind === "refused" ? [] : adding.objects.filter((object) => object.pack === id);
  return {
    name,
    id,
    version,
    title,
    buildsOn,
    detectors: objects.filter(({ list }) => list === "detector").length,
    rules: objects.filter(({ list }) => list !== "detector").length,
    controls,
    readme: files.readme,
    there: own.filter(({ change }) => change === "present").length,
    objects: adding.kind === "refused" ? objects.length : own.length,
    problem: adding.kind === "refused" ? adding.problems[0] : undefined,
  };
}

const refused = (problems: readonly string[]): Trial => ({
  problems,
  change: undefined,
  compiling: undefined,
  why: undefined,
});

async function trialOf(document: OwnedDocument, text: string, io: Io): Promise<Trial> {
  const isSame = text === document.text;
  const after = isSame || document.file === undefined ? text : withVersion(text);
  return {
    problems: [],
    change: { ...document, after },
    compiling: await compilingOf(document, after, io),
    why: await whyNotHere(document, io),
  };
}

async function compilingOf({ source, text }: OwnedDocument, after: string, io: Io): Promise<Compiling> {
  const problems = await problemsOf(source, after, io);
  const errors = problems.filter(({ severity }) => severity === "error").map(formatProblem);
  if (errors.length === 0) return { kind: "compiles", warnings: problems.map(formatProblem) };
  const before = new Set(
    (await problemsOf(source, text, io)).flatMap((it) => (it.severity === "error" ? [it.message] : [])),
  );
  const isNew = problems.some(({ severity, message }) => severity === "error" && !before.has(message));
  return isNew ? { kind: "refused", problems: errors } : { kind: "not_here", why: errors[0] ?? "" };
}

async function problemsOf(name: string, text: string, { env }: Io) {
  const { compiled, deployment } = await compileAlone({ name, text: text.trim() === "" ? "{}\n" : text }, env);
  return compiled.kind === "refused" ? compiled.problems : deployment.problems;
}

/** A file that is not what is in force is for its node and its editor to bring together first. */
async function whyNotHere({ file, text }: OwnedDocument, io: Io): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return otherWhy(await openDeployment(file, true, io), file, text);
  } catch (error) {
    if (error instanceof UsageError) return `${elsewhere(file)} (${error.message}): do it there`;
    throw error;
  }
}

const elsewhere = (file: string): string => `the document is ${file} of its node, and is not on this machine`;

function otherWhy({ source, whole }: DeploymentFile, file: string, text: string): string | undefined {
  if (source.text === text || whole(source.text) === text) return undefined;
  return source.text === ""
    ? `${elsewhere(file)}: do it there`
    : `${file} of this machine is not what is in force: reload it (R in config) or correct it first`;
}

/** Undefined: there is no version, or none that can be raised. */
function withVersion(text: string): string {
  const version = parseDocument(text).get("version");
  if (typeof version !== "number" || !Number.isSafeInteger(version)) return text;
  return withScalar(text, ["version"], version + 1) ?? text;
}

/** No other line changes. Undefined: what it would stand in is not there, or is not written as a block. */
export function withScalar(text: string, path: readonly [string, ...string[]], value: number): string | undefined {
  const parsed = parseDocument(text);
  const found = parsed.getIn(path, true);
  if (isScalar(found) && found.range) return text.slice(0, found.range[0]) + String(value) + text.slice(found.range[1]);
  if (found !== undefined) return undefined;
  const parent: unknown = parsed.getIn(path.slice(0, -1), true);
  if (!isMap(parent) || parent.flow || !parent.range) return undefined;
  const [start] = parent.range;
  const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  if (indent.trim() !== "") return undefined;
  return `${text.slice(0, start)}${path.at(-1)}: ${value}\n${indent}${text.slice(start)}`;
}
