/**
 * Common parts of both modes of a node: instruments, their exports and the data plane, opened in order and closed in reverse.
 * The data plane is opened last and drained first, so that everything it needs outlives it.
 */

import {
  createMergedInstruments,
  type FetchShared,
  fetchUnshared,
  type Instruments,
  type Lifetime,
  type Log,
  type LogTee,
  type MergedInstruments,
  systemClock,
} from "../../base/index.ts";
import type { IssuerOptions } from "../auth/index.ts";
import { openPresenter } from "../credentials/index.ts";
import {
  type ConnectionSource,
  createMetrics,
  createModelCalls,
  createOwnCards,
  createResponses,
  type DataplaneMetrics,
  DEFAULT_MEMORY_BYTES,
  type DecisionSink,
  type GovernancePorts,
  listen,
  type OtherNodes,
  type Refusals,
  type SealKey,
  type Statistics,
  type SummarySink,
  type TlsLayer,
} from "../dataplane/index.ts";
import { readForwardProxies } from "../forward-proxy/index.ts";
import {
  type Admission,
  createAdmission,
  DEFAULT_ADMISSION,
  maxUnusedBytesOf,
  setMaxUnusedBytes,
} from "../memory/index.ts";
import type { CallModel, Snapshot } from "../snapshot/index.ts";
import {
  type BuildInfo,
  type Otlp,
  observeProcess,
  openOtlp,
  type ProcessMetrics,
  startMetrics,
} from "../telemetry/index.ts";
import { openOrigins, ownListeners, type PoolMember } from "../upstream/index.ts";

/** Time that running requests get after a signal, in milliseconds. */
export const DRAIN_MS = 30_000;
/** Time after the drain for the last frames of cut-off connections, in milliseconds. */
export const AFTER_DRAIN_MS = 5_000;

/** Limits of the data plane that the environment can set. */
export interface DataPlaneBounds {
  readonly maxInFlight: number | undefined;
  readonly maxBufferedBytes: number | undefined;
  /** Number of processes that share these limits; 1 by default. */
  readonly processes?: number;
  readonly drainMs: number | undefined;
  /** Interval between two reports to the usage ledger; `undefined` for a minute. */
  readonly usageEveryMs: number | undefined;
  /** Idle time after which a comment keeps alive a stream that the gateway writes itself, in milliseconds; 0 for never. */
  readonly heartbeatMs: number | undefined;
  /** Memory for items of responses, in bytes; 0 to keep none. */
  readonly responsesMemory: number | undefined;
  /** Memory for records of requests on this node, in bytes; 0 for none, `undefined` for the default. */
  readonly rehearsalMemory: number | undefined;
  /** Name servers for pool members, `address` or `address:port`; empty means the system's. */
  readonly nameServers: readonly string[];
  /** Origins of browser pages that may send requests; empty for none. `undefined` if `auth` alone decides. */
  readonly corsOrigins?: readonly string[] | undefined;
}

/** Inputs of an export to a collector, which the standard environment variables switch on. */
interface ExportSettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Id of this node in exported data; of this process if it is not a node. */
  readonly nodeId: string;
  /** Tee of the node's log; without it no log line is exported. */
  readonly tee: LogTee | undefined;
}

export interface Observed {
  readonly instruments: Instruments;
  /** Metrics of all traffic, routed here or inspected for another proxy. */
  readonly metrics: DataplaneMetrics;
  /** Export to a collector; `undefined` if the environment configures none. */
  readonly otlp: Otlp | undefined;
  /** Address of the metrics listener; `undefined` if no metrics are served. */
  readonly metricsAddress: string | undefined;
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  /** Readiness reasons; the node is not ready while there is one. */
  readonly reasons: Set<string>;
}

/** Opens metrics and exports. Metrics come first, so that they show why a node that waits is not ready. */
export async function observe(
  metricsListen: string,
  owner: Lifetime,
  log: Log,
  buildInfo: BuildInfo,
  exporting: ExportSettings,
): Promise<Observed & { readonly instruments: MergedInstruments }> {
  const reasons = new Set(["starting"]);
  const instruments = createMergedInstruments();
  const readiness = () => ({ ready: reasons.size === 0, reasons: [...reasons] });
  const processMetrics = owner.own("process metrics", observeProcess(instruments, buildInfo), (it) => it.close());
  const listener =
    metricsListen === "none"
      ? undefined
      : owner.own(
          "metrics listener",
          await startMetrics({
            ...{ address: metricsListen, instruments, buildInfo, processMetrics, readiness, log },
            refresh: instruments.refresh,
          }),
          (it) => it.close(),
        );
  const otlp = await exportTelemetry({ instruments, processMetrics, log, buildInfo }, exporting, owner);
  return {
    instruments,
    metrics: createMetrics(instruments, log),
    otlp,
    metricsAddress: listener?.address,
    readiness,
    reasons,
  };
}

async function exportTelemetry(
  { instruments, processMetrics, log, buildInfo }: ExportedParts,
  { env, nodeId, tee }: ExportSettings,
  owner: Lifetime,
): Promise<Otlp | undefined> {
  const { now } = systemClock;
  const { sample } = processMetrics;
  const otlp = await openOtlp({ env, instruments, sample, build: buildInfo, nodeId, log, now });
  if (otlp === undefined) return undefined;
  if (tee !== undefined) tee.sink = otlp.logSink;
  return owner.own("telemetry", otlp, (it) => {
    if (tee !== undefined) tee.sink = undefined;
    return it.close();
  });
}

interface ExportedParts {
  readonly instruments: Instruments;
  readonly processMetrics: ProcessMetrics;
  readonly log: Log;
  readonly buildInfo: BuildInfo;
}

export interface DataPlane {
  /** Bound address. */
  readonly address: string;
  readonly port: number;
  /** Puts a snapshot in force. Running requests keep the one with which they began. */
  swap(snapshot: Snapshot): void;
  /** Returns the servers of a provider's pool; `undefined` if it has none. */
  members(provider: string): readonly PoolMember[] | undefined;
  /** Calls a model through a provider of the configuration in force. */
  readonly callModel: CallModel;
  /** Answers a question of another node; `undefined` if it is not one for the data plane. */
  answer(question: unknown): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/** Returns the admission control of this process, and limits the memory that it keeps without use. */
export function admissionOf({ maxInFlight, maxBufferedBytes, processes = 1 }: DataPlaneBounds): Admission {
  const limits = {
    maxInFlight: maxInFlight ?? DEFAULT_ADMISSION.maxInFlight,
    maxBufferedBytes: maxBufferedBytes ?? DEFAULT_ADMISSION.maxBufferedBytes,
  };
  setMaxUnusedBytes(maxUnusedBytesOf(limits.maxBufferedBytes) / processes);
  return createAdmission(limits);
}

/** Registers gauges of admission; with several processes they show the sum. */
export function observeAdmission(admission: Admission, instruments: Instruments): void {
  instruments.observedGauge("gateway_in_flight_requests", "Requests being served.", () => admission.inFlight());
  instruments.observedGauge("gateway_buffered_bytes", "Bytes buffered for requests in flight.", () =>
    admission.bufferedBytes(),
  );
}

interface DataPlaneOptions extends DataPlaneBounds {
  /** Listen address, or the connections that another process accepts. */
  readonly listen: string | ConnectionSource;
  /** Admission control of this process; omitted if nothing else in it buffers bodies. */
  readonly admission?: Admission;
  readonly snapshot: Snapshot;
  /** Statistics of providers; omitted if nothing reads them. */
  readonly statistics?: Pick<Statistics, "of">;
  readonly refusals?: Pick<Refusals, "refused">;
  readonly finished?: SummarySink;
  readonly decisions?: DecisionSink;
  /** Replicated state and audit trail; omitted in a process without state. */
  readonly governancePorts?: GovernancePorts;
  /** Returns an entry of the node file's `issuers`. Omitted without a node file. */
  readonly issuer?: (name: string) => IssuerOptions | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns `host:port` of every listener of this process except the data plane's. */
  readonly otherListeners?: () => readonly string[];
  /** This node as a cluster member; omitted outside a cluster. */
  readonly member?: Member;
  /** Fetches shared with other processes of the node; omitted if this process fetches alone. */
  readonly fetchShared?: FetchShared;
  /** TLS of the listener; omitted if it serves plain HTTP. */
  readonly tls?: TlsLayer | undefined;
}

interface Member {
  readonly nodeId: string;
  /** Keys of the deployment, the current one first; `undefined` if it has no secret. */
  readonly keys: readonly SealKey[] | undefined;
  readonly others: OtherNodes;
  /** See `ResponsesOptions`. */
  readonly hasSiblings?: boolean;
}

/** Serves the data plane. Rejects if the address cannot be bound. */
export async function serveDataPlane(
  options: DataPlaneOptions,
  { instruments, metrics, otlp, reasons, metricsAddress }: Observed,
  owner: Lifetime,
  log: Log,
): Promise<DataPlane> {
  let { snapshot } = options;
  let address: string | undefined;
  const listeners = (): readonly string[] => [
    ...(address === undefined ? [] : [address]),
    ...(metricsAddress === undefined ? [] : [metricsAddress]),
    ...(options.otherListeners?.() ?? []),
  ];
  const origins = owner.own(
    "upstream connections",
    openOrigins({
      nameServers: options.nameServers,
      proxies: readForwardProxies(options.env).proxies,
      instruments,
      log,
      isOwnListener: (at, port) => ownListeners(listeners())(at, port),
    }),
    (it) => it.close(),
  );
  const { admission = admissionOf(options) } = options;
  observeAdmission(admission, instruments);
  instruments.observedGauge("gateway_upstream_connections", "Open upstream connections.", () => origins.connections());

  const {
    statistics,
    refusals,
    finished,
    decisions,
    governancePorts,
    member,
    env,
    issuer = () => undefined,
    fetchShared = fetchUnshared,
  } = options;
  const presenter = owner.own(
    "credentials",
    openPresenter({ issuer, env, clock: systemClock, instruments, log, fetchShared }),
    (it) => it.close(),
  );
  const ownCards = createOwnCards({ origins, presenter, now: systemClock.monotonic, log, fetchShared });
  const responses = createResponses({
    nodeId: member?.nodeId ?? "",
    keys: member?.keys,
    memoryBytes: options.responsesMemory ?? DEFAULT_MEMORY_BYTES,
    others: member?.others,
    hasSiblings: member?.hasSiblings,
    now: systemClock.monotonic,
    instruments,
  });
  const ports = {
    snapshot: () => snapshot,
    origins,
    presenter,
    admission,
    metrics,
    ownCards,
    responses,
    corsOrigins: options.corsOrigins && new Set(options.corsOrigins),
    ...(statistics !== undefined && { statistics }),
    ...(refusals !== undefined && { refusals }),
    ...(finished !== undefined && { finished }),
    ...(decisions !== undefined && { decisions }),
    ...(governancePorts !== undefined && { governancePorts }),
    tracing: otlp?.tracing,
    heartbeatMs: options.heartbeatMs,
    log,
  };
  const drainMs = options.drainMs ?? DRAIN_MS;
  const listener = owner.own(
    "data plane",
    await listen(options.listen, ports, options.tls),
    (it) => {
      reasons.add("stopping");
      return it.drain(drainMs);
    },
    { limitMs: drainMs + AFTER_DRAIN_MS },
  );
  address = listener.address;
  const keep = ({ providers, fronted: { all } }: Snapshot): void => {
    const channels = [...providers.flatMap((it) => it.channels), ...all.map((it) => it.channel)];
    const cards = all.flatMap(({ cardUrl }) => (cardUrl === undefined ? [] : [new URL(cardUrl).origin]));
    const pools = providers.flatMap(({ pool }) => pool ?? []);
    origins.keepOnly(new Set([...channels.map(({ origin }) => origin), ...cards]), pools);
    presenter.keepOnly(channels.flatMap(({ credential }) => credential ?? []));
  };
  // `keep` resolves the servers of the pools from now on, before the first request needs them.
  keep(snapshot);
  reasons.delete("starting");
  return {
    address: listener.address,
    port: listener.port,
    callModel: createModelCalls(ports),
    answer: responses.answer,
    members: (provider) => origins.members(provider),
    swap(next) {
      snapshot = next;
      keep(next);
      ownCards.keepOnly(next.fronted.all);
    },
  };
}
