/**
 * Checks of `gateway check` for servers that detectors depend on: analyzers, inference servers, and judge models. For
 * guard models the check proves that labels and text reach their template. Source: judge-formats reference, 1;
 * kserve-v2 and presidio-analyze references, "Client behaviour".
 */
import { anySignal } from "../../base/index.ts";
import { type LoadedNode, openModelCallsAlone } from "../../server/node/index.ts";
import { STAND_IN } from "../../server/secrets/index.ts";
import type { Io } from "../io.ts";
import { isSealed } from "./credentials.ts";
import type { Answer, Limits, Probe } from "./probe.ts";

type Snapshot = LoadedNode["compiled"]["snapshot"];
type Asked = NonNullable<LoadedNode["compiled"]["probes"]>[number];

export function detectorProbes({ compiled: { probes = [], snapshot } }: LoadedNode, env: Io["env"]): readonly Probe[] {
  return probes.map((probe) => {
    const subject = `detector ${probe.detector}`;
    return { subject, ask: (limits) => ask(subject, probe, { snapshot, env }, limits) };
  });
}

async function ask(
  subject: string,
  { presents, provider, ask: probe }: Asked,
  { snapshot, env }: { readonly snapshot: Snapshot; readonly env: Io["env"] },
  { timeoutMs, signal }: Limits,
): Promise<Answer> {
  if (presents.includes(STAND_IN) || asksSealed(provider, snapshot)) {
    return { verdict: "note", subject, words: "not tested, since its credential is sealed in the cluster" };
  }
  const calls = openModelCallsAlone(snapshot, env);
  const limit = AbortSignal.timeout(timeoutMs);
  const startedAt = performance.now();
  try {
    const { words, isDoubtful } = await probe(calls.callModel, anySignal([signal, limit]));
    const ms = Math.round(performance.now() - startedAt);
    return { verdict: isDoubtful ? "note" : "ok", subject, words: `${words}, answered in ${ms} ms` };
  } catch (error) {
    const words = limit.aborted
      ? `no answer within ${timeoutMs} ms`
      : error instanceof Error
        ? error.message
        : String(error);
    return { verdict: "fail", subject, words };
  } finally {
    await calls.close();
  }
}

/** Returns whether a judge's provider, or one that it fails over to, has a credential that only the cluster knows. */
function asksSealed(name: string | undefined, { byName }: Snapshot): boolean {
  const provider = byName.get(name ?? "");
  const others = (provider?.failover?.to ?? []).map((other) => byName.get(other));
  return [provider, ...others].some((one) => {
    if (one === undefined) return false;
    const shown = [...one.addedHeaders, ...one.channels.map(({ origin }) => origin)].join("\n");
    return shown.includes(STAND_IN) || one.channels.some(({ credential }) => isSealed(credential));
  });
}
