/** Trials of a document before it is written: packs with their own cases, and a threshold. */

import type { Compiling, OwnedDocument, PackFacts, PackTrial, Trial } from "../../console/index.ts";
import { formatProblem } from "../../server/core/config/index.ts";
import { addPacks, type BaseOf, LISTS, type Pack } from "../../server/core/packs/index.ts";
import { builtInPackIds, compileWithoutNode } from "../../server/node/index.ts";
import { loadPacks, tryLoadPacks } from "../packs/load-packs.ts";
import { inOrder, runCases } from "../packs/pack-cases.ts";
import { packsIn } from "../packs/pack-folders.ts";
import { UsageError } from "../parse-flags.ts";
import type { Io } from "../process-io.ts";
import { detectorThreshold, whyNotEditableHere, withScalar, withVersion } from "./owned-document.ts";
import type { TrialRequest, TrialResults } from "./protocol.ts";

type OnProgress = (line: string) => void;

export async function runTrial(
  request: TrialRequest,
  io: Io,
  onProgress: OnProgress,
): Promise<TrialResults[keyof TrialResults]> {
  switch (request.kind) {
    case "packs":
      return await listPacks(request.document, request.paths, io);
    case "pack":
      return await packTrial(request.document, request.names, io, onProgress);
    case "threshold":
      return await thresholdTrial(request, io);
  }
}

/** Lists the packs. One that cannot be read is reported in its row, so that the others are still listed. */
async function listPacks(document: OwnedDocument, paths: readonly string[], io: Io): Promise<readonly PackFacts[]> {
  const builtIn = await builtInPackIds();
  const faultByPath = new Map<string, string>();
  const found: string[] = [];
  for (const path of paths) {
    try {
      found.push(...(await packsIn(path, io)));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      faultByPath.set(path, error.message);
    }
  }
  const { loaded, baseOf, faults } = await tryLoadPacks([...new Set([...builtIn, ...found])], io);
  return [
    ...loaded.map(({ name, pack }) => factsOf(name, pack, baseOf, document)),
    ...[...faultByPath, ...faults].map(([name, problem]) => unreadable(name, problem)),
  ];
}

const unreadable = (name: string, problem: string): PackFacts => ({
  ...{ name, id: name, version: "", title: "", buildsOn: [], detectors: 0, rules: 0, controls: [], readme: "" },
  ...{ there: 0, objects: 0, problem },
});

function factsOf(name: string, pack: Pack, baseOf: BaseOf, document: OwnedDocument): PackFacts {
  const { id, version, title, buildsOn, objects, controls, files } = pack;
  const adding = addPacks({ name: document.source, text: document.text }, inOrder(pack, baseOf), baseOf);
  const packObjects = adding.kind === "refused" ? [] : adding.objects.filter((object) => object.pack === id);
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
    there: packObjects.filter(({ change }) => change === "present").length,
    objects: adding.kind === "refused" ? objects.length : packObjects.length,
    problem: adding.kind === "refused" ? adding.problems[0] : undefined,
  };
}

async function packTrial(
  document: OwnedDocument,
  names: readonly string[],
  io: Io,
  onProgress: OnProgress,
): Promise<PackTrial> {
  onProgress("reading the pack");
  const { named, baseOf } = await loadPacks(names, io);
  const [pack] = named;
  if (pack === undefined) throw new UsageError("no pack is named");
  const adding = addPacks({ name: document.source, text: document.text }, inOrder(pack, baseOf), baseOf);
  onProgress("compiling its own cases");
  const ran = await runCases(pack, baseOf, io, (done, of) => {
    io.signal.throwIfAborted();
    onProgress(`${done} of ${of} of its own cases`);
  });
  const cases =
    ran.kind === "refused" ? { lines: ran.problems, passes: false } : { lines: ran.lines, passes: ran.passes };
  if (adding.kind === "refused") return { ...refused(adding.problems), objects: [], cases };
  const objects = adding.objects.map((object) => ({ ...object, list: LISTS[object.list].join(".") }));
  onProgress("compiling the document with it");
  return { ...(await trialOf(document, adding.text, io)), objects, cases };
}

async function thresholdTrial(
  { document, threshold, detector }: Extract<TrialRequest, { readonly kind: "threshold" }>,
  io: Io,
): Promise<Trial> {
  const ownThreshold = detector === undefined ? undefined : detectorThreshold(document.text, detector);
  if (detector !== undefined && ownThreshold === undefined)
    return refused([`the detector ${detector} no longer has a threshold`]);
  const text = withScalar(document.text, ownThreshold?.path ?? ["guardrails", "score_threshold"], threshold);
  if (text === undefined) return refused(["the document has no block `guardrails` in which a threshold can be set"]);
  return await trialOf(document, text, io);
}

const refused = (problems: readonly string[]): Trial => ({
  problems,
  change: undefined,
  compiling: undefined,
  blockedReason: undefined,
});

async function trialOf(document: OwnedDocument, text: string, io: Io): Promise<Trial> {
  const isSame = text === document.text;
  const after = isSame || document.file === undefined ? text : withVersion(text);
  return {
    problems: [],
    change: { ...document, after },
    compiling: await compilingOf(document, after, io),
    blockedReason: await whyNotEditableHere(document, io),
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
  return isNew ? { kind: "refused", problems: errors } : { kind: "not_here", reason: errors[0] ?? "" };
}

async function problemsOf(name: string, text: string, { env }: Io) {
  const { compiled, deployment } = await compileWithoutNode({ name, text: text.trim() === "" ? "{}\n" : text }, env);
  return compiled.kind === "refused" ? compiled.problems : deployment.problems;
}
