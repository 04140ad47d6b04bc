/**
 * Composition root of a node in config mode. `startConfigNode` opens the parts in order; `owner` closes them in reverse. Parts
 * that open later than those that refer to them are in `LateParts`.
 */
import { resolve } from "node:path";
import { anySignal, GatewayError, type Lifetime, systemClock } from "../../base/index.ts";
import { type AuditTrail, createFailureSampler } from "../audit/index.ts";
import type { Cluster } from "../cluster/index.ts";
import { openModelStore, openModelSupply } from "../models/index.ts";
import { openNodeAdmin } from "./admin/open-node-admin.ts";
import { openTrail, recordChanges } from "./audit-trail.ts";
import type { ConfigNode, ConfigNodeOptions } from "./config-node-types.ts";
import { openConfiguration } from "./configuration/configuration.ts";
import type { Configuration } from "./configuration/configuration-types.ts";
import { resolveBeside } from "./configuration/read-configuration-files.ts";
import { openGovernance } from "./governance/governance-ports.ts";
import { openReconciliation } from "./governance/open-reconciliation.ts";
import { openTokens } from "./governance/token-verifiers.ts";
import { createLateParts } from "./late-parts.ts";
import { modelCacheDirectory } from "./model-cache.ts";
import type { NodeParts } from "./node-parts.ts";
import { type NodeSettings, readSettings } from "./node-settings.ts";
import { openReplicatedState, type ReplicatedState } from "./open-replicated-state.ts";
import { openHistory } from "./record-history.ts";
import { serveNode } from "./serve-node.ts";
import { serviceManagerReports } from "./service-manager-reports.ts";
import { observe } from "./start.ts";
import { acmeSettingsOf, openCertificateOrders } from "./tls/acme-settings.ts";
import { certificateFilesOf, openCertificateFiles, openDataListenerTls } from "./tls/data-listener-tls.ts";
import { createTrafficRecords } from "./traffic-records.ts";

/** Time to send queued records and to publish the trail's head to the cluster, in milliseconds. */
const AUDIT_CLOSE_MS = 30_000;

type Observed = NodeParts["observed"];

/** Starts a node; `owner` closes what it opens. Rejects if a listener, the data directory or the cluster cannot be opened. */
export async function startConfigNode(options: ConfigNodeOptions, owner: Lifetime): Promise<ConfigNode> {
  // A mistake in the settings ends the start before anything is open.
  const settings = await readSettings(options);
  const { nodeFile, path, proxies } = settings;
  const { env, build, log, tee, usageEveryMs, nameServers } = options;

  // Metrics come first, so that a node that waits for its cluster can be asked for the reason.
  const nodeId = nodeFile.cluster.node_id;
  const observed = await observe(nodeFile.metrics_listen, owner, log, build, { env, nodeId, tee });
  const { instruments } = observed;

  // Certificate files are read before anything is created: an unusable certificate ends the start.
  const acme = acmeSettingsOf(nodeFile, { env, nameServers });
  const files = certificateFilesOf(nodeFile, path);
  const certificateFiles = files && (await openCertificateFiles(files, { instruments, log }, owner));

  // Everything below reads or writes the replicated state.
  const state = await openReplicatedState(settings, observed, owner);
  const { cluster, removal, nodeSealing } = state;
  const { clock } = cluster;
  const tokens = openTokens({ nodeFile, path, env, clock, instruments, log }, owner);

  // The trail opens while the configuration compiles. Parts that record need it, but compiling does not.
  const openingTrail = openNodeTrail(settings, observed, cluster, owner);
  const traffic = createTrafficRecords(options);
  const { store, models } = await openModels(settings, observed, owner);
  const late = createLateParts();
  const configuration = openNodeConfiguration({ settings, observed, state, tokens, models, late }, owner);
  const begun = configuration.begin();
  begun.catch((error: unknown) => log.error("the deployment document could not be stored", { error }));
  const trail = await openingTrail;
  owner.own("record of changes", recordChanges(trail, cluster, configuration, log), (end) => end());

  // Parts that record in the trail.
  const reconciled = openReconciliation({ cluster, trail, configuration, clock, proxies, instruments, log }, owner);
  const failures = createFailureSampler({ trail, instruments, now: systemClock.now });
  const controls = traffic.decisions;
  const governancePorts = openGovernance(
    { cluster, removal, tokens, trail, failures, controls, clock, instruments, log, usageEveryMs },
    owner,
  );
  traffic.recordBudgets(governancePorts.trail, owner);
  const { statistics } = traffic;
  const history = owner.own("history", openHistory({ statistics, instruments, cluster, clock }), (it) => it.close());

  // Orders of certificates wait until the data listener can answer their challenges.
  const orders = {
    cluster,
    nodeSealing,
    version: build.version,
    listening: late.dataListener.promise,
    instruments,
    log,
  };
  const certificates = certificateFiles ?? (acme && openCertificateOrders({ settings: acme, ...orders }, owner));

  // The admin plane opens before the first configuration is in force, since it is the way to write one.
  const parts: NodeParts = {
    ...{ settings, observed, state, tokens, traffic, store, models, configuration, trail, failures },
    ...{ reconciled, governancePorts, history, certificates, late },
  };
  late.adminListeners = await openNodeAdmin(parts, owner);

  // The data plane opens last and drains first, so that everything it needs outlives it.
  const ended = firstFailure(cluster, trail);
  const secret = nodeSealing?.sealing.keks.current.key;
  const tls = certificates && (await openDataListenerTls({ ...observed, certificates, secret, log }, owner));
  cluster.onQuestion(async (question) => late.dataPlane?.answer(question));
  const serving = serveNode(parts, { begun, ended, tls }, owner);
  serving.catch(() => undefined);

  const reload = async (): Promise<void> =>
    void (await Promise.all([configuration.reload(), certificateFiles?.reread()]));
  return { serving, ended, reload, ...serviceManagerReports(observed, cluster) };
}

/** Opens the audit trail in `audit.dir` or the data directory. */
function openNodeTrail(
  { options, nodeFile, path, dataDir }: NodeSettings,
  { instruments, otlp }: Observed,
  cluster: Cluster,
  owner: Lifetime,
): Promise<AuditTrail> {
  const auditDir = nodeFile.audit?.dir;
  const opening = owner.own(
    "audit trail",
    openTrail({
      cluster,
      dir: auditDir === undefined ? dataDir : resolve(resolveBeside(path, auditDir)),
      fd: options.auditFd ?? 2,
      version: options.build.version,
      instruments,
      log: options.log,
      ...(otlp !== undefined && { onEmitted: (records) => otlp.exportAudit(records) }),
    }),
    // If the trail could not be opened, the step that awaits it reports the error.
    (it) =>
      it.then(
        (trail) => trail.close(),
        () => undefined,
      ),
    { limitMs: AUDIT_CLOSE_MS },
  );
  opening.catch(() => undefined);
  return opening;
}

/** Opens the model cache and the supply that fills it. */
async function openModels(
  { options, nodeFile, path, proxies }: NodeSettings,
  { instruments }: Observed,
  owner: Lifetime,
): Promise<Pick<NodeParts, "store" | "models">> {
  const { build, log } = options;
  const { now, monotonic } = systemClock;
  const directory = await modelCacheDirectory(nodeFile, path);
  const userAgent = `gateway/${build.version}`;
  const store = owner.own("model store", openModelStore({ directory, userAgent, now, monotonic, proxies }), (it) =>
    it.close(),
  );
  const models = owner.own("models", openModelSupply({ store, log, instruments, monotonic }), (it) => it.close());
  return { store, models };
}

type ConfigurationParts = Pick<NodeParts, "settings" | "observed" | "tokens" | "models" | "late"> & {
  readonly state: ReplicatedState;
};

/** Opens the configuration, which puts each new snapshot in force in the late parts. */
function openNodeConfiguration(parts: ConfigurationParts, owner: Lifetime): Configuration {
  const { settings, observed, state, tokens, models, late } = parts;
  const { options, nodeFile, fleet } = settings;
  const { instruments, reasons } = observed;
  reasons.add("configuration");
  const stop = new AbortController();
  const configuration = owner.own(
    "configuration",
    openConfiguration({
      documents: options.documents,
      env: options.env,
      cluster: state.cluster,
      sealed: state.nodeSealing?.sealed,
      models,
      instruments,
      log: options.log,
      async callModel(question, until, tracer) {
        const { dataPlane } = late;
        if (dataPlane === undefined) throw new GatewayError("busy", "no provider is called before the first request");
        return await dataPlane.callModel(question, until, tracer);
      },
      signal: anySignal([options.signal, stop.signal]),
      otherProcesses: fleet,
      preparesDetectorsLazily: fleet !== undefined && nodeFile.extproc?.inspect_listen === undefined,
      onNodeFile(next) {
        tokens.setNodeFile(next);
        fleet?.setNodeFile(next);
      },
      onSnapshot(snapshot) {
        reasons.delete("configuration");
        late.snapshot = snapshot;
        late.firstSnapshot.resolve(snapshot);
        late.dataPlane?.swap(snapshot);
        late.openWhenRoutable?.(snapshot);
      },
    }),
    (it) => {
      stop.abort();
      it.close();
    },
  );
  instruments.observedGauge(
    "gateway_configuration_refused",
    "1 while this node cannot compile the stored configuration and serves the previous one.",
    () => (configuration.refusal() === undefined ? 0 : 1),
  );
  return configuration;
}

/** Returns a promise of the failure of cluster or trail that ends the node. */
const firstFailure = (cluster: Cluster, trail: AuditTrail): Promise<Error> =>
  new Promise((resolve) => {
    void cluster.ended.then((error) => {
      if (error !== undefined) resolve(error);
    });
    void trail.ended.then(resolve);
  });
