/**
 * Compiles the deployment document to the one frozen configuration that serves requests: completely, or not at all.
 *
 * Every command compiles through this file, so that `check` and the gateway cannot disagree.
 */
import { hash } from "node:crypto";
import {
  applyOverlays,
  type Catalog,
  compiledCatalog,
  type NamedOverlay,
  resolveProvider,
} from "../core/catalog/index.ts";
import type { Deployment, Draft, Problem, ProviderConfig, Read } from "../core/config/index.ts";
import type { GuardrailProblem } from "../core/guardrails/index.ts";
import type { DetectorProbe, Views } from "../detectors/index.ts";
import { type ModelNeed, modelNeeds } from "../models/index.ts";
import { compileProvider, type Provider, poolProblems } from "../upstream/index.ts";
import { compileCardKeys } from "./card-keys.ts";
import { type GuardrailEngine, type GuardrailSnapshot, UNGUARDED } from "./compiled-guard.ts";
import { compileFrontedSnapshot } from "./fronted-servers.ts";
import { compileGovernance, type GovernanceInput, readsUsage } from "./governance.ts";
import { checkInspected } from "./inspector-snapshot.ts";
import { compileReconcileTargets } from "./reconcile-targets.ts";
import { type ClaimingProvider, compileRouter } from "./router.ts";
import { checkIssuers, credentialsOf } from "./snapshot-credentials.ts";
import { DEFAULT_MAX_BODY_BYTES, type Governance, type Snapshot } from "./types.ts";

export interface CompileInput extends GovernanceInput {
  readonly deployment: Read<Deployment>;
  /** Overlay files of this node. They are applied before the inline overlays, so that inline ones win. */
  readonly fileOverlays: readonly NamedOverlay[];
  /** Guardrail engine; `undefined` if `mayHoldGuardrails` says that no text needs it. */
  readonly guardrails?: GuardrailEngine | undefined;
  /** Declared models that are in the cache. */
  readonly models?: Views | undefined;
  /**
   * Returns when a source was stored, in milliseconds since 1970, equal on all nodes. Absent for documents that are not stored.
   */
  readonly storedAt?: ((source: string) => number | undefined) | undefined;
}

export type Compiled =
  | {
      readonly kind: "compiled";
      readonly snapshot: Snapshot;
      readonly problems: readonly Problem[];
      /**
       * Loads what the snapshot needs before it is put in force, and returns the problems found. `undefined` if there is nothing
       * to load. Rejects with the signal's reason.
       */
      readonly prepare: ((signal: AbortSignal) => Promise<readonly Problem[]>) | undefined;
      /** Probes of the servers and judge models that detectors depend on. */
      readonly probes?: readonly DetectorProbe[];
    }
  /** No errors were found, but some models are not in the cache, so that the rest could not be checked. */
  | {
      readonly kind: "awaits";
      readonly models: readonly ModelNeed[];
      /** Snapshot without guardrails, for questions that do not concern them. It is never served. */
      readonly rest: Snapshot;
      /** Guardrails whose detectors with missing models cannot run. Rehearsals can pass recorded findings to them. */
      readonly guardrails: GuardrailSnapshot;
      readonly problems: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Length of the digest in base64url characters: enough that no two documents of one deployment share a digest. */
const DIGEST_LENGTH = 16;

/** Compiles a deployment. The `problems` of a compiled snapshot are warnings. */
export function compileDeployment(input: CompileInput): Compiled {
  const { deployment: read } = input;
  const { document, asWritten } = read;
  if (document === undefined || asWritten === undefined || read.problems.some(({ severity }) => severity === "error")) {
    return { kind: "refused", problems: allProblems(input) };
  }
  const problems: Problem[] = [...read.problems];
  const { usable: sound, governance, prepared, cardKeys } = compileParts(input, { document, asWritten }, problems);
  const { guardrails, prepare, probes = [] } = prepared;
  if (problems.some(({ severity }) => severity === "error")) return { kind: "refused", problems };
  const { publicUrl } = governance;
  const storedAt = (at: number) => input.storedAt?.(read.problem(["mcp", at], "").file) ?? 0;
  const fronted = compileFrontedSnapshot({ document, asWritten, publicUrl, storedAt });
  const digest = hash("sha256", JSON.stringify(asWritten), "base64url").slice(0, DIGEST_LENGTH);
  const awaited = modelNeeds(document).filter(({ model }) => input.models?.has(model.name) !== true);
  if (awaited.length > 0) {
    const rest = freeze(document, sound, { digest, governance, guardrails: UNGUARDED, fronted, cardKeys });
    return { kind: "awaits", models: awaited, rest, guardrails, problems };
  }
  const snapshot = freeze(document, sound, { digest, governance, guardrails, fronted, cardKeys });
  return { kind: "compiled", snapshot, problems, prepare, probes };
}

interface Parts {
  readonly usable: readonly ClaimingProvider[];
  readonly governance: Governance;
  readonly prepared: PreparedGuardrails;
  readonly cardKeys: Snapshot["cardKeys"];
}

/** Compiles the parts of a snapshot. The result is not usable if an error was added to `problems`. */
function compileParts(input: CompileInput, draft: Draft<Deployment>, problems: Problem[]): Parts {
  const { deployment: read, fileOverlays } = input;
  const { document, asWritten } = draft;
  const catalog = overlaid(read, document, fileOverlays, problems);
  const meters = readsUsage(document, input);
  const claiming = (document.providers ?? []).map((config, at) => {
    return catalog && compileOne({ read, document, asWritten, catalog, problems, meters }, config, at);
  });
  const usable = claiming.filter((one): one is ClaimingProvider => one !== undefined);
  const providers = usable.map(({ provider }) => provider);
  const report = (...problem: Parameters<typeof read.problem>) => problems.push(read.problem(...problem));
  const prepared = compileGuardrails(read, document, input, providers, problems);
  const governance = compileGovernance(read, draft, input, providers, problems);
  checkIssuers(document, input.trusted, report);
  checkInspected(document, input.trusted?.inspector, report);
  const cardKeys = compileCardKeys(document.a2a_cards?.signing_keys ?? [], report);
  return { usable, governance, prepared, cardKeys };
}

/**
 * Returns the problems of a refused document together with those of compiling it, so that all can be fixed at once. A part that
 * a check refuses may not be compiled at all; its other problems are reported once it compiles.
 */
function allProblems(input: CompileInput): readonly Problem[] {
  const { problems: known, draft } = input.deployment;
  if (draft === undefined) return known;
  const problems: Problem[] = [...known];
  try {
    compileParts(input, draft, problems);
  } catch {
    // The check that refused the document has reported why.
  }
  const errors = problems.slice(known.length).filter(({ severity }) => severity === "error");
  const places = new Set(known.map(({ file, line, column }) => `${file} ${line} ${column}`));
  // A compile error at a place that a check refused is the same problem, reported twice.
  return [...known, ...errors.filter(({ file, line, column }) => !places.has(`${file} ${line} ${column}`))];
}

function overlaid(
  read: Read<Deployment>,
  document: Deployment,
  fileOverlays: readonly NamedOverlay[],
  problems: Problem[],
): Catalog | undefined {
  const inline = (document.catalog_overlays ?? []).map((overlay) => ({ source: overlay.name, overlay }));
  const applied = applyOverlays(compiledCatalog(), [...fileOverlays, ...inline]);
  if (applied.kind === "catalog") return applied.catalog;
  for (const { overlay, operation, message } of applied.problems) {
    const at = inline.findIndex(({ source }) => source === overlay);
    const path = at < 0 ? [] : ["catalog_overlays", at, "providers", operation];
    problems.push(read.problem(path, at < 0 ? `catalog overlay ${overlay}: ${message}` : message));
  }
  return undefined;
}

interface Compiling {
  readonly read: Read<Deployment>;
  readonly document: Deployment;
  readonly asWritten: Deployment;
  readonly catalog: Catalog;
  readonly problems: Problem[];
  /** True if something counts usage. */
  readonly meters: boolean;
}

function compileOne(
  { read, document, asWritten, catalog, problems, meters }: Compiling,
  config: ProviderConfig,
  at: number,
): ClaimingProvider | undefined {
  const name = config.name ?? config.preset ?? "";
  const { preset, dialect, pool, region } = config;
  const baseUrl = config.base_url ?? pool?.service;
  const signs = document.credentials.some((it) => it.name === config.credential && it.cloudsig !== undefined);
  const written = asWritten.providers[at] ?? config;
  for (const { path, message } of pool === undefined ? [] : poolProblems(pool)) {
    problems.push(read.problem(["providers", at, "pool", ...path], message));
  }
  if (config.name === undefined && written.preset !== preset) {
    const message =
      "a `preset` that is a reference needs a `name` beside it, since a name must be the same on every node";
    problems.push(read.problem(["providers", at, "preset"], message));
    return undefined;
  }
  const resolved = resolveProvider(catalog, { name, preset, dialect, baseUrl, region, signs });
  if (resolved.kind === "refused") {
    const { key, message } = resolved;
    const isOfPool = key === "base_url" && pool !== undefined;
    const path = isOfPool ? ["pool", "service"] : config[key] === undefined ? [] : [key];
    const problem = isOfPool ? message.replace(/^base_url /, "the `service` of a pool ") : message;
    problems.push(read.problem(["providers", at, ...path], problem));
    return undefined;
  }
  const credentials = credentialsOf(resolved.provider, document, config);
  if (credentials.kind === "refused") {
    problems.push(read.problem(["providers", at, "credential"], credentials.message));
    return undefined;
  }
  const provider = compileProvider(resolved.provider, { ...config, name }, credentials.of, {
    onFidelityLoss: document.on_fidelity_loss ?? "reject",
    readsUsage: meters,
    writtenAddress: writtenAddress({ document, asWritten }, config, written),
  });
  const { models = [], model_aliases: aliases = {} } = written;
  return { provider, models: config.models ?? [], written: { models, aliases } };
}

/** Returns the address with its references as written; `undefined` if it contains none. */
function writtenAddress(
  { document, asWritten }: Pick<Compiling, "document" | "asWritten">,
  config: ProviderConfig,
  written: ProviderConfig,
): string | undefined {
  if (written.base_url !== config.base_url) return written.base_url;
  if (written.pool?.service !== config.pool?.service) return written.pool?.service;
  if (config.base_url !== undefined || config.pool !== undefined) return undefined;
  if (written.region !== config.region) return written.region;
  const roots = ({ catalog_overlays: overlays = [] }: Deployment) =>
    overlays
      .flatMap(({ providers }) => providers.filter(({ name }) => name === config.preset))
      .flatMap(({ base_url: root, channels = [] }) => [root, ...channels.map(({ base_url: own }) => own)]);
  const resolved = roots(document);
  return roots(asWritten).find((root, at) => root !== resolved[at]);
}

function compileGuardrails(
  read: Read<Deployment>,
  document: Deployment,
  { guardrails: engine, models }: Pick<CompileInput, "guardrails" | "models">,
  providers: readonly Provider[],
  problems: Problem[],
): PreparedGuardrails {
  if (document.guardrails === undefined) return NO_GUARDRAILS;
  if (engine === undefined) {
    const message = "this cannot be checked, since the guardrail engine is not loaded";
    problems.push(read.problem(["guardrails"], message));
    return NO_GUARDRAILS;
  }
  const { guardrails, prepare, probes = [], problems: found } = engine.compile(document, models, byNameOf(providers));
  const problemOf = ({ path, message, severity }: GuardrailProblem): Problem => read.problem(path, message, severity);
  problems.push(...found.map(problemOf));
  return { guardrails, probes, prepare: prepare && (async (signal) => (await prepare(signal)).map(problemOf)) };
}

const byNameOf = (providers: readonly Provider[]): ReadonlyMap<string, Provider> =>
  new Map(providers.map((provider) => [provider.name, provider]));

interface PreparedGuardrails extends Pick<Extract<Compiled, { kind: "compiled" }>, "prepare" | "probes"> {
  readonly guardrails: GuardrailSnapshot;
}

const NO_GUARDRAILS: PreparedGuardrails = { guardrails: UNGUARDED, prepare: undefined };

function freeze(
  document: Deployment,
  claiming: readonly ClaimingProvider[],
  parts: Pick<Snapshot, "digest" | "governance" | "guardrails" | "fronted" | "cardKeys">,
): Snapshot {
  const providers = claiming.map(({ provider }) => provider);
  const byName = byNameOf(providers);
  const implied = providers.length === 1 ? providers[0] : undefined;
  const defaultProvider = document.default_provider === undefined ? implied : byName.get(document.default_provider);
  const maxBodyBytes = document.max_body_bytes || DEFAULT_MAX_BODY_BYTES;
  const { route, claims } = compileRouter(claiming, defaultProvider);
  return Object.freeze({
    ...parts,
    reconcileTargets: compileReconcileTargets(document),
    providers: Object.freeze(providers),
    byName,
    defaultProvider,
    maxBodyBytes,
    route,
    claims: Object.freeze(claims),
    modelless: defaultProvider && { provider: defaultProvider, label: "none" },
    listed: Object.freeze(
      claims
        .filter(({ label }) => !label.endsWith("*"))
        .map(({ label, provider }) => ({ id: label, provider: provider.name })),
    ),
  });
}
