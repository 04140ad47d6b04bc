/** Configuration of a worker: compiles and loads it on one message, puts it in force on another. */
import { createSemaphore, type Instruments, type Log } from "../../../base/index.ts";
import { formatProblem } from "../../core/config/index.ts";
import {
  type AskSession,
  type CallModel,
  type GuardrailEngine,
  loadGuardrails,
  loadRules,
  mayHoldGuardrails,
  type Rules,
  type Snapshot,
} from "../../snapshot/index.ts";
import type { Channel } from "../../workers/index.ts";
import { compileSources, prepareSources } from "../configuration/compile-sources.ts";
import { shareIssuedValues } from "./issued-values.ts";
import { fromTransferredInputs, type TransferredInputs } from "./transferred-inputs.ts";

export interface ConfigurationRevision {
  readonly rev: number;
  readonly inputs: TransferredInputs;
}

interface WorkerSnapshots {
  current(): Snapshot | undefined;
  /** Resolves with the first snapshot. */
  readonly first: Promise<Snapshot>;
  onActivated(listener: (snapshot: Snapshot) => void): void;
}

interface SnapshotsOptions {
  readonly channel: Channel;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly instruments: Instruments;
  readonly log: Log;
  readonly callModel: CallModel;
  /** Runs models in memory in the node process. */
  readonly askSession: AskSession;
  /** Number of threads for long texts. */
  readonly threads: number;
}

export function followSnapshots(options: SnapshotsOptions): WorkerSnapshots {
  const { channel, env, instruments, log, callModel, askSession, threads } = options;
  const issued = shareIssuedValues(channel);
  let rules: Rules | undefined;
  let guardrails: Promise<GuardrailEngine | undefined> | undefined;
  let prepared: { readonly rev: number; readonly snapshot: Snapshot } | undefined;
  let current: Snapshot | undefined;
  let listener: ((snapshot: Snapshot) => void) | undefined;
  let resolveFirst: ((snapshot: Snapshot) => void) | undefined;
  const first = new Promise<Snapshot>((resolve) => {
    resolveFirst = resolve;
  });

  /** Prepares a configuration. Returns the problems, one per line; empty if it can be used. */
  const prepare = async ({ rev, inputs }: ConfigurationRevision, signal: AbortSignal): Promise<readonly string[]> => {
    const texts = inputs.sources.map(({ text }) => text);
    rules ??= await loadRules(texts);
    // The counters of the engine can be created only once.
    if (texts.some(mayHoldGuardrails))
      guardrails ??= loadGuardrails(texts, { instruments, log, callModel, askSession, threads, issued });
    const sources = compileSources({ ...fromTransferredInputs(inputs), env, rules, guardrails: await guardrails });
    const { compiled } = await prepareSources(sources, signal);
    if (compiled.kind === "refused") return compiled.problems.map(formatProblem);
    if (compiled.kind === "awaits") return ["models that it needs are no longer in the cache"];
    prepared = { rev, snapshot: compiled.snapshot };
    return [];
  };

  /** Puts the prepared configuration in force. Resolves with false if `rev` was not prepared. */
  const activate = async (rev: number): Promise<boolean> => {
    if (prepared?.rev !== rev) return false;
    current = prepared.snapshot;
    prepared = undefined;
    listener?.(current);
    resolveFirst?.(current);
    (await guardrails)?.keep(current.guardrails);
    return true;
  };

  const compileSlot = createSemaphore({ permits: 1 });
  channel.answer("prepare", (body, signal) => compileSlot.run(() => prepare(body as ConfigurationRevision, signal)));
  channel.answer("take", (rev) => activate(Number(rev)));
  return {
    current: () => current,
    first,
    onActivated(next) {
      listener = next;
    },
  };
}
