/** Opens the admin plane of a node: joins its ports with the parts of the node, and opens socket and listener. */
import { type Lifetime, pooledRandomBytes, systemClock } from "../../../base/index.ts";
import { auditSink } from "../audit-trail.ts";
import { configurationStatus } from "../configuration/configuration-status.ts";
import { proxiedUpstreams, upstreamsOf } from "../configuration/proxied-upstreams.ts";
import { loginsOf } from "../governance/issuers.ts";
import { modelStatusOf } from "../model-cache.ts";
import type { NodeParts } from "../node-parts.ts";
import { rehearsalsPort } from "../rehearsal/rehearsals-port.ts";
import { awaitWorkersOnWrite, workersStatusOf } from "../worker/index.ts";
import { backendsPort } from "./backends-port.ts";
import { governanceListsPort } from "./governance-lists-port.ts";
import { guardrailsPort } from "./guardrails-port.ts";
import { listRows } from "./list-rows.ts";
import { listenersOf } from "./listeners.ts";
import { type AdminListeners, openAdminListeners } from "./open-admin-plane.ts";
import { refusalRows } from "./refusals-port.ts";
import { secretsPort } from "./secrets-port.ts";
import { sourcesPort } from "./sources-port.ts";

/** Returns the open listeners of the node, as shown to an operator. */
export const openListeners = ({ settings, observed, late }: Pick<NodeParts, "settings" | "observed" | "late">) =>
  listenersOf(settings.nodeFile, { ...late, metrics: observed.metricsAddress });

/** Opens the admin plane; `owner` closes it. Rejects if a listener cannot be opened. */
export async function openNodeAdmin(parts: NodeParts, owner: Lifetime): Promise<AdminListeners> {
  const { settings, observed, tokens, configuration, models, store, certificates, traffic, late } = parts;
  const { options, nodeFile, path, access, fleet, proxies } = settings;
  const { cluster, nodeSealing } = parts.state;
  const { instruments } = observed;
  const { clock } = cluster;
  const { env, workers, build, log } = options;
  const { statistics, refusals, requests, records, decisions } = traffic;
  const refused = refusalRows(refusals);
  const governance = governanceListsPort({
    ...{ configuration, view: cluster.view, node: cluster.status().nodeId, ledger: parts.governancePorts.budgets },
    refusals: { ofBucket: (bucket) => refusals.ofBucket(bucket), onChange: (listener) => refused.onChange(listener) },
  });
  const guardrails = guardrailsPort(configuration, instruments);
  return await openAdminListeners(
    {
      nodeFile,
      path,
      access,
      tokens,
      log,
      ports: {
        cluster: fleet === undefined ? cluster : awaitWorkersOnWrite(cluster, fleet),
        sources: sourcesPort(cluster, configuration),
        secrets: secretsPort({ cluster, nodeSealing, configuration, now: clock.now }),
        facts: {
          version: build.version,
          startedAt: settings.startedAt,
          uptimeMs: () => systemClock.monotonic() - settings.startedMonotonic,
          listeners: () => openListeners(parts),
          readiness: observed.readiness,
          configuration: () => configurationStatus(configuration),
          models: () => models.status().map(modelStatusOf),
          workers() {
            const isServing = late.dataPlane !== undefined;
            // A node that only inspects has no data plane, and so no workers, while its configuration has no route.
            const isLeftOut = !isServing && late.inspector !== undefined;
            return workersStatusOf(fleet?.status(), { wanted: isLeftOut ? 0 : workers, isServing });
          },
          forwardProxies: () => proxiedUpstreams(upstreamsOf(nodeFile, configuration), proxies),
          keyLastUsedAt: (id) => parts.governancePorts.callers.lastUsedAt(id),
        },
        backends: backendsPort(configuration, statistics, (provider) => late.dataPlane?.members(provider)),
        governance,
        rehearsals: rehearsalsPort({
          configuration,
          cluster,
          store: records,
          governance,
          env,
          now: systemClock.now,
        }),
        guardrails,
        rows: listRows(
          { ...parts.reconciled, refusals: refused, requests: requests.rows, ...parts.history.rows, guardrails },
          { configuration, store, models, certificates, decisions, clock },
        ),
        audit: auditSink(parts.trail, parts.failures),
        logins: loginsOf(nodeFile),
        clock,
        catchUp: fleet && (() => Promise.all([fleet.whenReported(), instruments.refresh()]).then(() => undefined)),
        randomBytes: pooledRandomBytes,
        // The detectors are loaded at the first check, so that a start does not wait for their tables.
        detectSecret: async (text) => (await import("../../detectors/index.ts")).secretIn(text),
        log,
      },
    },
    owner,
  );
}
