/** Last steps of a start: once there is a configuration, opens the inspector and the data plane. */
import { type Lifetime, systemClock } from "../../base/index.ts";
import type { Admission } from "../memory/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { TlsServer } from "../tls/index.ts";
import { openReservations, openSharedFetches } from "../workers/index.ts";
import { openListeners } from "./admin/open-node-admin.ts";
import { nodeStateOf } from "./cluster/removal-gate.ts";
import { waitForFeatureLevel } from "./cluster/wait-for-feature-level.ts";
import type { ServingNode } from "./config-node-types.ts";
import { rejectOnAbort, rejectOnStartFailure } from "./configuration/configuration-status.ts";
import type { Configuration } from "./configuration/configuration-types.ts";
import { usageReports } from "./governance/usage-reports.ts";
import { hasRoutes, openWhenRoutable } from "./late-data-plane.ts";
import type { NodeParts } from "./node-parts.ts";
import { openNodeInspector } from "./open-inspector.ts";
import { admissionOf, type DataPlane, observeAdmission, serveDataPlane } from "./start.ts";
import { type Fleet, fleetOptions, reachableMembers } from "./worker/index.ts";

interface ServeNodeInputs {
  /** Outcome of the first configuration. */
  readonly begun: ReturnType<Configuration["begin"]>;
  /** Resolves with the failure that ends the node. */
  readonly ended: Promise<Error>;
  /** TLS of the data listener; `undefined` if it serves plain HTTP. */
  readonly tls: TlsServer | undefined;
}

/**
 * Waits for the first configuration and for the feature level that serving needs, then opens the inspector and the data plane.
 * Rejects with the failure that ended the node before, or with `ConfigurationRefused`.
 */
export async function serveNode(
  parts: NodeParts,
  { begun, ended, tls }: ServeNodeInputs,
  owner: Lifetime,
): Promise<ServingNode> {
  const { settings, observed, state, governancePorts, late } = parts;
  const { options, nodeFile, fleet } = settings;
  const { log, signal } = options;
  const admission = admissionOf(options);
  const failure = ended.then((error) => Promise.reject(error));
  const snapshot = await Promise.race([
    late.firstSnapshot.promise,
    rejectOnStartFailure(begun),
    failure,
    rejectOnAbort(signal),
  ]);
  await Promise.race([waitForFeatureLevel(state.cluster), failure, rejectOnAbort(signal)]);
  const { extproc } = nodeFile;
  if (extproc?.inspect_listen !== undefined) {
    const sinks = { trail: governancePorts.trail, metrics: observed.metrics.guardrails, log };
    const inspectorOptions = { ...options, extproc, snapshot: () => late.snapshot ?? snapshot, sinks, admission };
    late.inspector = await openNodeInspector({ ...inspectorOptions, ...observed }, owner);
  }
  const openDataPlane = async (first: Snapshot): Promise<void> => {
    late.dataPlane =
      fleet === undefined
        ? await serveHere(parts, { snapshot: first, admission, tls }, owner)
        : await serveInWorkers(fleet, parts, admission, owner);
    late.dataListener.resolve();
    // A newer snapshot may have come while the listener opened. Workers receive theirs from the configuration.
    if (fleet === undefined && late.snapshot !== undefined) late.dataPlane.swap(late.snapshot);
  };
  if (late.inspector === undefined || hasRoutes(snapshot)) await openDataPlane(snapshot);
  else {
    late.openWhenRoutable = openWhenRoutable(openDataPlane, log);
    late.openWhenRoutable(late.snapshot ?? snapshot);
  }
  observed.reasons.delete("starting");
  return {
    listen: late.dataPlane?.address,
    inspector: late.inspector?.address,
    metrics: observed.metricsAddress,
    socket: late.adminListeners?.socket,
    admin: late.adminListeners?.listen,
    providers: snapshot.providers.map(({ name }) => name),
  };
}

const otherListeners = (parts: NodeParts) => () => openListeners(parts).map(({ address }) => address);

/** Serves in worker processes. */
function serveInWorkers(fleet: Fleet, parts: NodeParts, admission: Admission, owner: Lifetime): Promise<DataPlane> {
  const { settings, observed, state, governancePorts, traffic, trail, failures, configuration, certificates } = parts;
  const { options, nodeFile, path, dataDir } = settings;
  const { cluster, removal, nodeSealing } = state;
  const { instruments, metricsAddress } = observed;
  const { statistics, refusals, requests, records, decisions } = traffic;
  const { callers, budgets, ledger } = governancePorts;
  const { log } = options;
  const node = {
    ...{ budgets, cluster: usageReports(cluster), trail, failures, controls: decisions, callers },
    ...{ ledger, statistics, refusals, finished: requests, records, instruments, log },
    held: owner.own("bounds", openReservations(admission), (it) => it.close()),
    fetches: openSharedFetches(systemClock.monotonic),
    askSession: configuration.askSession,
    state: nodeStateOf(cluster, removal),
  };
  observeAdmission(admission, instruments);
  const common = { ...options, listen: nodeFile.listen, otherListeners: otherListeners(parts) };
  const nodeOptions = { node, path, cluster, certificates, dataDir, metricsAddress, keks: nodeSealing?.sealing.keks };
  return fleet.open(fleetOptions(options.workers, { ...common, ...nodeOptions }), observed, owner, log);
}

interface ServeHereInputs {
  readonly snapshot: Snapshot;
  readonly admission: Admission;
  readonly tls: TlsServer | undefined;
}

/** Serves in the node process. */
function serveHere(
  parts: NodeParts,
  { snapshot, admission, tls }: ServeHereInputs,
  owner: Lifetime,
): Promise<DataPlane> {
  const { settings, observed, state, governancePorts, tokens, traffic } = parts;
  const { options, nodeFile } = settings;
  const { cluster, nodeSealing } = state;
  const { statistics, refusals, requests, records } = traffic;
  const others = { nodeIds: () => reachableMembers(cluster.status()), ask: cluster.askMember };
  return serveDataPlane(
    {
      ...{ ...options, listen: nodeFile.listen, otherListeners: otherListeners(parts) },
      ...{ admission, snapshot, statistics, refusals, governancePorts },
      finished: requests,
      ...(records !== undefined && { decisions: { record: records.add } }),
      issuer: (name) => tokens.issuer(name),
      tls,
      member: { nodeId: cluster.status().nodeId, keys: nodeSealing?.sealing.keks.all, others },
    },
    observed,
    owner,
    options.log,
  );
}
