/** Composition root of a node in config mode: opens metrics, cluster, secrets, configuration and listeners, in order. */

import { resolve } from "node:path";
import {
  anySignal,
  GatewayError,
  type Lifetime,
  pooledRandomBytes,
  systemClock,
  withResolvers,
} from "../../base/index.ts";
import { createFailureSampler } from "../audit/index.ts";
import { type Cluster, openCluster } from "../cluster/index.ts";
import { type BudgetRecords, createRefusals, createStatistics, recordBudgets } from "../dataplane/index.ts";
import { readForwardProxies } from "../forward-proxy/index.ts";
import type { Inspector } from "../inspector/index.ts";
import { openModelStore, openModelSupply } from "../models/index.ts";
import { createSealedSecrets, type Sealing } from "../secrets/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { openHeld, openSharedFetches } from "../workers/index.ts";
import { backendsPort } from "./admin/backends-port.ts";
import { createControlDecisions } from "./admin/control-decisions.ts";
import { governedPort } from "./admin/governed-port.ts";
import { guardrailsPort } from "./admin/guardrails-port.ts";
import { listRows } from "./admin/list-rows.ts";
import { listenersOf } from "./admin/listeners.ts";
import { type AdminDoors, accessOf, openAdminDoors } from "./admin/open-admin-plane.ts";
import { refusalRows } from "./admin/refusals-port.ts";
import { createRequests } from "./admin/requests-port.ts";
import { type SealingHere, secretsPort } from "./admin/secrets-port.ts";
import { sourcesPort } from "./admin/sources-port.ts";
import { auditSink, openTrail, recordChanges } from "./audit-trail.ts";
import { clusterOptionsOf } from "./cluster/cluster-options.ts";
import { observeCluster, observeLoss } from "./cluster/observe-cluster.ts";
import { nodeStateOf, openRemovalGate } from "./cluster/removal-gate.ts";
import { keySourcesOf, sealingKeysOf } from "./cluster/sealing-keys.ts";
import { waitForFeatureLevel } from "./cluster/wait-for-feature-level.ts";
import type { ConfigNode, ConfigNodeOptions, ServingNode } from "./config-node-types.ts";
import { openConfiguration } from "./configuration/configuration.ts";
import { aborted, configurationStatus, standstillOf } from "./configuration/configuration-status.ts";
import { proxiedUpstreams, upstreamsOf } from "./configuration/proxied-upstreams.ts";
import { beside } from "./configuration/read-files.ts";
import { countIn } from "./configuration/startup-errors.ts";
import { openGoverning } from "./governance/governance-ports.ts";
import { loginsOf } from "./governance/issuers.ts";
import { openReconciling } from "./governance/open-reconciliation.ts";
import { openTokens } from "./governance/token-verifiers.ts";
import { usageReports } from "./governance/usage-reports.ts";
import { KEEPS_NOTHING, openOnce, routesAny } from "./late-data-plane.ts";
import { modelCacheOf, modelStatusOf } from "./model-cache.ts";
import { nodeLife } from "./node-life.ts";
import { openNodeInspector } from "./open-inspector.ts";
import { openHistory } from "./record-history.ts";
import { recordsOf, rehearsalsPort } from "./rehearsal/rehearsals-port.ts";
import { admissionOf, type DataPlane, measureAdmission, observe, serveDataPlane } from "./start.ts";
import { acmeSettingsOf, openCertificateOrders } from "./tls/acme-settings.ts";
import { certificateFilesOf, openCertificateFiles, openDataListenerTls } from "./tls/data-listener-tls.ts";
import { createFleet, fleetOptions, settling, workersOf } from "./worker/index.ts";

/** Time to hand leadership over and finish the last writes, in milliseconds. */
const CLUSTER_CLOSE_MS = 20_000;
const HAND_OVER_MS = 5_000;
/** Time to send queued records and to publish the trail's head to the cluster, in milliseconds. */
const AUDIT_CLOSE_MS = 30_000;

/** Starts a node; `owner` closes what it opens. Rejects if a listener, the data directory or the cluster cannot be opened. */
export async function startConfigNode(options: ConfigNodeOptions, owner: Lifetime): Promise<ConfigNode> {
  const { documents, env, workers, build, log, signal } = options;
  const [{ nodeFile, path }, { proxies }] = [documents, readForwardProxies(env)];
  const fleet = workers === 1 ? undefined : createFleet(nodeFile);
  const [startedAt, startedMonotonic] = [systemClock.now(), systemClock.monotonic()];
  const keySources = keySourcesOf(nodeFile, path, env);
  const minFreeBytes = countIn(env, "GATEWAY_MIN_FREE_BYTES");
  const access = await accessOf(nodeFile, path, log);
  const observed = await observe(nodeFile.metrics_listen, owner, log, build, {
    env,
    nodeId: nodeFile.cluster.node_id,
    tee: options.tee,
  });

  const acme = acmeSettingsOf(nodeFile, { env, nameServers: options.nameServers });
  const files = certificateFilesOf(nodeFile, path);
  // The files are read before anything is created: an unusable certificate ends the start.
  const certificateFiles =
    files && (await openCertificateFiles(files, { instruments: observed.instruments, log }, owner));

  const { data_dir: kept } = nodeFile.cluster;
  const dataDir = kept === undefined ? undefined : resolve(beside(path, kept));
  if (dataDir === undefined) log.info(KEEPS_NOTHING);
  const clusterOptions = clusterOptionsOf(nodeFile, {
    dataDir,
    previousSecret: keySources.previousSecret,
    version: build.version,
    ...(minFreeBytes !== undefined && { minFreeBytes }),
  });
  // The keys are derived while the cluster opens.
  const deriving = sealingKeysOf(keySources);
  deriving.catch(() => undefined);
  observed.reasons.add("cluster");
  let here: SealingHere | undefined;
  let opened: Cluster | undefined;
  const cluster = owner.own(
    "cluster",
    await openCluster(
      {
        ...clusterOptions,
        log,
        ...observeCluster(observed.instruments, () => opened),
        canOpenRing: (row) => here?.sealed.canOpenRing(row) ?? false,
      },
      signal,
    ),
    async (it) => {
      await it.handOver(AbortSignal.timeout(HAND_OVER_MS)).catch(() => undefined);
      await it.close();
    },
    { limitMs: CLUSTER_CLOSE_MS },
  );
  opened = cluster;
  observed.reasons.delete("cluster");
  observeLoss(cluster, observed.reasons, log);
  const removal = owner.own("removal gate", openRemovalGate(cluster, observed.reasons), (it) => it.close());
  const keks = await deriving;
  if (keks !== undefined) {
    const sealing: Sealing = { view: cluster.view, ...keks };
    here = { sealing, sealed: createSealedSecrets(sealing) };
  }

  const { instruments, metrics } = observed;
  const { clock } = cluster;
  const tokens = openTokens({ nodeFile, path, env, clock, instruments, log }, owner);
  const auditDir = nodeFile.audit?.dir;
  const decisions = createControlDecisions();
  // The audit trail opens while the configuration compiles.
  const opening = owner.own(
    "audit trail",
    openTrail({
      cluster,
      dir: auditDir === undefined ? dataDir : resolve(beside(path, auditDir)),
      fd: options.auditFd ?? 2,
      version: build.version,
      instruments,
      log,
      ...(observed.otlp !== undefined && { onEmitted: (records) => observed.otlp?.audit(records) }),
    }),
    // If the trail could not be opened, the code below that awaits it reports the error.
    (it) =>
      it.then(
        (trail) => trail.close(),
        () => undefined,
      ),
    { limitMs: AUDIT_CLOSE_MS },
  );
  opening.catch(() => undefined);
  const statistics = createStatistics(systemClock);
  let budgetRecords: BudgetRecords | undefined;
  const refusals = createRefusals(systemClock, (refusal) => budgetRecords?.refused(refusal));
  const requests = createRequests();
  const records = recordsOf(options.rehearsalMemory);
  const store = owner.own(
    "model store",
    openModelStore({
      directory: await modelCacheOf(nodeFile, path),
      userAgent: `gateway/${build.version}`,
      ...{ now: systemClock.now, monotonic: systemClock.monotonic, proxies },
    }),
    (it) => it.close(),
  );
  const models = owner.own(
    "models",
    openModelSupply({ store, log, instruments, monotonic: systemClock.monotonic }),
    (it) => it.close(),
  );
  observed.reasons.add("configuration");
  const stop = new AbortController();
  let dataPlane: DataPlane | undefined;
  let inForce: Snapshot | undefined;
  let routes: ((snapshot: Snapshot) => void) | undefined;
  const firstSnapshot = withResolvers<Snapshot>();
  const configuration = owner.own(
    "configuration",
    openConfiguration({
      documents,
      env,
      cluster,
      sealed: here?.sealed,
      models,
      instruments,
      log,
      async callModel(question, until, tracer) {
        if (dataPlane === undefined) throw new GatewayError("busy", "no provider is called before the first request");
        return await dataPlane.callModel(question, until, tracer);
      },
      signal: anySignal([signal, stop.signal]),
      elsewhere: fleet,
      isSpare: fleet !== undefined && nodeFile.extproc?.inspect_listen === undefined,
      onNodeFile(next) {
        tokens.trust(next);
        fleet?.trust(next);
      },
      onSnapshot(snapshot) {
        observed.reasons.delete("configuration");
        inForce = snapshot;
        firstSnapshot.resolve(snapshot);
        dataPlane?.swap(snapshot);
        routes?.(snapshot);
      },
    }),
    (it) => {
      stop.abort();
      it.close();
    },
  );
  observed.instruments.observedGauge(
    "gateway_configuration_refused",
    "1 while this node cannot compile what the cluster stores, and serves what it served before.",
    () => (configuration.refusal() === undefined ? 0 : 1),
  );

  const begun = configuration.begin();
  begun.catch((error: unknown) => log.error("the deployment document could not be stored", { error }));
  const trail = await opening;
  owner.own("record of changes", recordChanges(trail, cluster, configuration, log), (end) => end());

  const reconciled = openReconciling({ cluster, trail, configuration, clock, proxies, instruments, log }, owner);

  const failures = createFailureSampler({ trail, instruments, now: systemClock.now });
  const governing = openGoverning(
    {
      cluster,
      removal,
      tokens,
      trail,
      failures,
      controls: decisions,
      clock,
      instruments,
      log,
      usageEveryMs: options.usageEveryMs,
    },
    owner,
  );
  budgetRecords = owner.own("record of budgets", recordBudgets(governing.trail), (it) => it.close());
  const refused = refusalRows(refusals);
  const governed = governedPort({
    ...{ configuration, view: cluster.view, node: cluster.status().nodeId, ledger: governing.budgets },
    refusals: { ofBucket: (bucket) => refusals.ofBucket(bucket), onChange: (listener) => refused.onChange(listener) },
  });
  const history = owner.own("history", openHistory({ statistics, instruments, cluster, clock }), (it) => it.close());

  const dataListener = withResolvers();
  const orders = { cluster, here, version: build.version, listening: dataListener.promise, instruments, log };
  const certificates = certificateFiles ?? (acme && openCertificateOrders({ settings: acme, ...orders }, owner));
  const guardrails = guardrailsPort(configuration, instruments);
  let doors: AdminDoors | undefined;
  let inspector: Inspector | undefined;
  const listening = () => listenersOf(nodeFile, { metrics: observed.metricsAddress, dataPlane, inspector, doors });
  doors = await openAdminDoors(
    {
      nodeFile,
      path,
      access,
      tokens,
      log,
      ports: {
        cluster: fleet === undefined ? cluster : settling(cluster, fleet),
        sources: sourcesPort(cluster, configuration),
        secrets: secretsPort({ cluster, here, configuration, now: clock.now }),
        facts: {
          version: build.version,
          startedAt,
          uptimeMs: () => systemClock.monotonic() - startedMonotonic,
          listeners: listening,
          readiness: observed.readiness,
          configuration: () => configurationStatus(configuration),
          models: () => models.standing().map(modelStatusOf),
          workers() {
            const isServing = dataPlane !== undefined;
            // A node that only inspects has no data plane, and so no workers, while its configuration has no route.
            const isLeftOut = !isServing && inspector !== undefined;
            return workersOf(fleet?.standing(), { wanted: isLeftOut ? 0 : workers, isServing });
          },
          forwardProxies: () => proxiedUpstreams(upstreamsOf(nodeFile, configuration), proxies),
          keyLastUsedAt: (id) => governing.callers.lastUsedAt(id),
        },
        backends: backendsPort(configuration, statistics, (provider) => dataPlane?.members(provider)),
        governed,
        rehearsals: rehearsalsPort({ configuration, cluster, store: records, governed, env, now: systemClock.now }),
        guardrails,
        rows: listRows(
          { ...reconciled, refusals: refused, requests: requests.rows, ...history.rows, guardrails },
          { configuration, store, models, certificates, decisions, clock },
        ),
        audit: auditSink(trail, failures),
        logins: loginsOf(nodeFile),
        clock,
        caughtUp: fleet && (() => Promise.all([fleet.caughtUp(), instruments.refresh()]).then(() => undefined)),
        randomBytes: pooledRandomBytes,
        // The detectors are loaded at the first check, so that a start does not wait for their tables.
        secretIn: async (text) => (await import("../detectors/index.ts")).secretIn(text),
        log,
      },
    },
    owner,
  );

  const ended = new Promise<Error>((resolve) => {
    void cluster.ended.then((error) => {
      if (error !== undefined) resolve(error);
    });
    void trail.ended.then(resolve);
  });

  const door =
    certificates &&
    (await openDataListenerTls({ ...observed, certificates, secret: keks?.keks.current.key, log }, owner));

  cluster.onQuestion(async (question) => dataPlane?.answer(question));
  const admission = admissionOf(options);
  const openDataPlane = async (snapshot: Snapshot): Promise<void> => {
    const member = { nodeId: cluster.status().nodeId, keys: keks?.keks.all };
    const otherListeners = () => listening().map(({ address }) => address);
    const common = { ...options, listen: nodeFile.listen, otherListeners };
    if (fleet !== undefined) {
      const { metricsAddress } = observed;
      const { callers, budgets, ledger } = governing;
      const node = {
        ...{ budgets, cluster: usageReports(cluster), trail, failures, controls: decisions, callers },
        ...{ ledger, statistics, refusals, finished: requests, records, instruments, log },
        held: owner.own("bounds", openHeld(admission), (it) => it.close()),
        fetches: openSharedFetches(systemClock.monotonic),
        askSession: configuration.askSession,
        state: nodeStateOf(cluster, removal),
      };
      measureAdmission(admission, instruments);
      const here = { node, path, cluster, certificates, dataDir, metricsAddress, keks: keks?.keks };
      dataPlane = await fleet.open(fleetOptions(workers, { ...common, ...here }), observed, owner, log);
      dataListener.resolve();
      return;
    }
    const others = { nodeIds: () => cluster.status().members.map(({ id }) => id), ask: cluster.askMember };
    dataPlane = await serveDataPlane(
      {
        ...common,
        ...{ admission, snapshot, statistics, refusals, governing },
        finished: requests,
        ...(records !== undefined && { decisions: { decided: records.add } }),
        issuer: (name) => tokens.issuer(name),
        door,
        member: { ...member, others },
      },
      observed,
      owner,
      log,
    );
    dataListener.resolve();
    // A newer snapshot may have come while the listener opened.
    if (inForce !== undefined) dataPlane.swap(inForce);
  };
  const serve = async (): Promise<ServingNode> => {
    const fault = ended.then((error) => Promise.reject(error));
    const snapshot = await Promise.race([firstSnapshot.promise, standstillOf(begun), fault, aborted(signal)]);
    await Promise.race([waitForFeatureLevel(cluster), fault, aborted(signal)]);
    const { extproc } = nodeFile;
    if (extproc?.inspect_listen !== undefined) {
      const sinks = { trail: governing.trail, metrics: metrics.guardrails, log };
      const given = { ...options, extproc, snapshot: () => inForce ?? snapshot, sinks, admission };
      inspector = await openNodeInspector({ ...given, ...observed }, owner);
    }
    if (inspector === undefined || routesAny(snapshot)) await openDataPlane(snapshot);
    else {
      routes = openOnce(openDataPlane, log);
      routes(inForce ?? snapshot);
    }
    observed.reasons.delete("starting");
    return {
      listen: dataPlane?.address,
      inspector: inspector?.address,
      metrics: observed.metricsAddress,
      socket: doors?.socket,
      admin: doors?.listen,
      providers: snapshot.providers.map(({ name }) => name),
    };
  };
  const serving = serve();
  serving.catch(() => undefined);
  const reload = async (): Promise<void> =>
    void (await Promise.all([configuration.reload(), certificateFiles?.look()]));
  return { serving, ended, reload, ...nodeLife(observed, cluster) };
}
