/** Checks of `gateway check` for reconciled providers: requests yesterday's usage report with the administrator's key. */

import { anySignal, formatDuration } from "../../base/index.ts";
import { openGuardedDialer } from "../../server/credentials/index.ts";
import type { ForwardProxies } from "../../server/forward-proxy/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { fetchReport, lookbackWindow } from "../../server/reconcile/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import type { ReconciledProvider } from "../../server/snapshot/index.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

const DAY_MS = 86_400_000;
const MAX_REPORT_BYTES = 8 << 20;

export function reconcileProbes({ compiled: { snapshot } }: LoadedNode, proxies: ForwardProxies): readonly Probe[] {
  return (snapshot.reconcileTargets?.providers ?? []).map((audited) => {
    const subject = `usage report of ${audited.provider}`;
    return { subject, run: (limits) => probeReconciliation(subject, audited, proxies, limits) };
  });
}

async function probeReconciliation(
  subject: string,
  audited: ReconciledProvider,
  proxies: ForwardProxies,
  { timeoutMs, signal }: ProbeLimits,
): Promise<Answer> {
  if (`${audited.adminKey}${audited.baseUrl}`.includes(PLACEHOLDER_SECRET)) {
    return { verdict: "note", subject, message: "not tested, since its credential is sealed in the cluster" };
  }
  const dialer = openGuardedDialer({ connectMs: timeoutMs, maxAnswerBytes: MAX_REPORT_BYTES, proxies });
  const limit = AbortSignal.timeout(timeoutMs);
  const startedAt = performance.now();
  try {
    const ports = { send: dialer.send, now: Date.now };
    const report = await fetchReport(audited, lookbackWindow(Date.now(), DAY_MS), ports, anySignal([signal, limit]));
    if (report.kind === "failed") return { verdict: "fail", subject, message: report.problem };
    if (report.unreadableDays.length > 0)
      return { verdict: "fail", subject, message: "the report contains no known counters" };
    const scope = audited.keyIds.length === 0 ? "the whole organization" : `${audited.keyIds.length} of its API keys`;
    const message = `covers ${scope}, answered in ${Math.round(performance.now() - startedAt)} ms`;
    return { verdict: "ok", subject, message };
  } catch {
    // The probe rejects only with the reason of its signal.
    return { verdict: "fail", subject, message: `no answer within ${formatDuration(timeoutMs)}` };
  } finally {
    dialer.close();
  }
}
