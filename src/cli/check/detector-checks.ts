/**
 * Checks of `gateway check` for servers that detectors depend on: analyzers, inference servers, and judge models. For
 * guard models the check proves that labels and text reach their template. Source: judge-formats reference, 1;
 * kserve-v2 and presidio-analyze references, "Client behaviour".
 */
import { anySignal } from "../../base/index.ts";
import { type LoadedNode, openStandaloneModelCalls } from "../../server/node/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import type { Io } from "../process-io.ts";
import { isSealed } from "./credential-checks.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

type Snapshot = LoadedNode["compiled"]["snapshot"];
type DetectorProbe = NonNullable<LoadedNode["compiled"]["probes"]>[number];

export function detectorProbes({ compiled: { probes = [], snapshot } }: LoadedNode, env: Io["env"]): readonly Probe[] {
  return probes.map((probe) => {
    const subject = `detector ${probe.detector}`;
    return { subject, run: (limits) => probeDetector(subject, probe, { snapshot, env }, limits) };
  });
}

async function probeDetector(
  subject: string,
  { presents, provider, ask: probe }: DetectorProbe,
  { snapshot, env }: { readonly snapshot: Snapshot; readonly env: Io["env"] },
  { timeoutMs, signal }: ProbeLimits,
): Promise<Answer> {
  if (presents.includes(PLACEHOLDER_SECRET) || needsSealedSecret(provider, snapshot)) {
    return { verdict: "note", subject, message: "not tested, since its credential is sealed in the cluster" };
  }
  const calls = openStandaloneModelCalls(snapshot, env);
  const limit = AbortSignal.timeout(timeoutMs);
  const startedAt = performance.now();
  try {
    const { message, isDoubtful } = await probe(calls.callModel, anySignal([signal, limit]));
    const ms = Math.round(performance.now() - startedAt);
    return { verdict: isDoubtful ? "note" : "ok", subject, message: `${message}, answered in ${ms} ms` };
  } catch (error) {
    const message = limit.aborted
      ? `no answer within ${timeoutMs} ms`
      : error instanceof Error
        ? error.message
        : String(error);
    return { verdict: "fail", subject, message };
  } finally {
    await calls.close();
  }
}

/** Returns whether a judge's provider, or one that it fails over to, has a credential that only the cluster knows. */
function needsSealedSecret(name: string | undefined, { byName }: Snapshot): boolean {
  const provider = byName.get(name ?? "");
  const failoverProviders = (provider?.failover?.to ?? []).map((other) => byName.get(other));
  return [provider, ...failoverProviders].some((one) => {
    if (one === undefined) return false;
    const shown = [...one.addedHeaders, ...one.channels.map(({ origin }) => origin)].join("\n");
    return shown.includes(PLACEHOLDER_SECRET) || one.channels.some(({ credential }) => isSealed(credential));
  });
}
