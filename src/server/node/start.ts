/**
 * What both modes of a node are made of: instruments, their exports and the data plane, opened in order and closed in
 * reverse. The data plane comes last and is drained first, so that nothing it needs goes away under it.
 */

import {
  createMergedInstruments,
  type FetchShared,
  fetchAlone,
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
  type Accepted,
  createMetrics,
  createModelCalls,
  createOwnCards,
  createResponses,
  type DataplaneMetrics,
  DEFAULT_MEMORY_BYTES,
  type DecisionSink,
  type Door,
  type FinishedSink,
  type Governing,
  listen,
  type OtherNodes,
  type Refusals,
  type SealKey,
  type Statistics,
} from "../dataplane/index.ts";
import { readForwardProxies } from "../forward-proxy/index.ts";
import { type Admission, createAdmission, DEFAULT_ADMISSION } from "../memory/index.ts";
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

/** Running requests get this long after a signal. */
export const DRAIN_MS = 30_000;
/** Beyond the drain, for the last frames of what it cut off. */
export const AFTER_DRAIN_MS = 5_000;

/** What the environment may say of the data plane. */
export interface DataPlaneBounds {
  readonly maxInFlight: number | undefined;
  readonly maxBufferedBytes: number | undefined;
  readonly drainMs: number | undefined;
  /** Between two reports to the ledger of usage; undefined: a minute. */
  readonly usageEveryMs: number | undefined;
  /** Without a byte, before a comment keeps a stream alive that the gateway writes itself; 0: never. */
  readonly heartbeatMs: number | undefined;
  /** Bytes of items of responses; 0: none are kept. */
  readonly responsesMemory: number | undefined;
  /** Bytes of records of requests on this node; 0: none; undefined: the default. */
  readonly rehearsalMemory: number | undefined;
  /** Asked for the servers of pools, `address` or `address:port`; empty: the system's. */
  readonly nameServers: readonly string[];
  /** Of browser pages that are served; empty: of none. Undefined: whatever `auth` allows. */
  readonly corsOrigins?: readonly string[] | undefined;
}

/** What an export to a collector needs, beside the standard environment's wish for one. */
export interface Exporting {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Names this node, or this process where there is no node, to the collector. */
  readonly nodeId: string;
  /** Of the node's log; without it no log line is exported. */
  readonly tee: LogTee | undefined;
}

export interface Observed {
  readonly instruments: Instruments;
  /** Of what passes through, be it routed here or by another proxy. */
  readonly metrics: DataplaneMetrics;
  /** Undefined when the environment asks for no export. */
  readonly otlp: Otlp | undefined;
  /** Undefined when no metrics are served. */
  readonly metricsAddress: string | undefined;
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  /** While one stands, the node is not ready. */
  readonly reasons: Set<string>;
}

/** Metrics before all else, so that a node that waits can be asked why. */
export async function observe(
  metricsListen: string,
  owner: Lifetime,
  log: Log,
  buildInfo: BuildInfo,
  exporting: Exporting,
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
  { env, nodeId, tee }: Exporting,
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
  /** As bound. */
  readonly address: string;
  readonly port: number;
  /** Requests under way keep the one they began with. */
  swap(snapshot: Snapshot): void;
  /** Servers of a provider's pool; undefined: it has none. */
  members(provider: string): readonly PoolMember[] | undefined;
  /** Through a provider of the configuration in force. */
  readonly callModel: CallModel;
  /** A question of another node; undefined: it is none of the data plane's. */
  answer(question: unknown): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/** Of one process. */
export const admissionOf = ({ maxInFlight, maxBufferedBytes }: DataPlaneBounds): Admission =>
  createAdmission({
    maxInFlight: maxInFlight ?? DEFAULT_ADMISSION.maxInFlight,
    maxBufferedBytes: maxBufferedBytes ?? DEFAULT_ADMISSION.maxBufferedBytes,
  });

/** Of a node with several processes, the sum over them. */
export function measureAdmission(admission: Admission, instruments: Instruments): void {
  instruments.observedGauge("gateway_in_flight_requests", "Requests being served.", () => admission.inFlight());
  instruments.observedGauge("gateway_buffered_bytes", "Bytes held for requests.", () => admission.bufferedBytes());
}

export interface DataPlaneOptions extends DataPlaneBounds {
  /** Where it listens, or what another process accepts. */
  readonly listen: string | Accepted;
  /** Left out where nothing else in this process holds bodies. */
  readonly admission?: Admission;
  readonly snapshot: Snapshot;
  /** Left out where nobody can ask for them. */
  readonly statistics?: Pick<Statistics, "of">;
  readonly refusals?: Pick<Refusals, "refused">;
  readonly finished?: FinishedSink;
  readonly decisions?: DecisionSink;
  /** Left out where there is no state. */
  readonly governing?: Governing;
  /** An entry of the node file's `issuers`. Left out where there is no node file. */
  readonly issuer?: (name: string) => IssuerOptions | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `host:port` of every listener of this process beside the data plane's. */
  readonly otherListeners?: () => readonly string[];
  /** What this node is among others; left out where it is none. */
  readonly member?: Member;
  /** Left out where this process shares with no other. */
  readonly fetchShared?: FetchShared;
  /** Left out where it serves plain HTTP. */
  readonly door?: Door | undefined;
}

export interface Member {
  readonly nodeId: string;
  /** Of the deployment, the current one first; undefined: it has no secret. */
  readonly keys: readonly SealKey[] | undefined;
  readonly others: OtherNodes;
  /** As in `ResponsesOptions`. */
  readonly hasSiblings?: boolean;
}

/** Rejects when the address cannot be had. */
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
      isOwn: (at, port) => ownListeners(listeners())(at, port),
    }),
    (it) => it.close(),
  );
  const { admission = admissionOf(options) } = options;
  measureAdmission(admission, instruments);
  instruments.observedGauge("gateway_upstream_connections", "Open upstream connections.", () => origins.connections());

  const {
    statistics,
    refusals,
    finished,
    decisions,
    governing,
    member,
    env,
    issuer = () => undefined,
    fetchShared = fetchAlone,
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
    ...(governing !== undefined && { governing }),
    tracing: otlp?.tracing,
    heartbeatMs: options.heartbeatMs,
    log,
  };
  const drainMs = options.drainMs ?? DRAIN_MS;
  const door = owner.own(
    "data plane",
    await listen(options.listen, ports, options.door),
    (it) => {
      reasons.add("stopping");
      return it.drain(drainMs);
    },
    { limitMs: drainMs + AFTER_DRAIN_MS },
  );
  address = door.address;
  const keep = ({ providers, fronted: { all } }: Snapshot): void => {
    const channels = [...providers.flatMap((it) => it.channels), ...all.map((it) => it.channel)];
    const cards = all.flatMap(({ cardUrl }) => (cardUrl === undefined ? [] : [new URL(cardUrl).origin]));
    const pools = providers.flatMap(({ pool }) => pool ?? []);
    origins.keepOnly(new Set([...channels.map(({ origin }) => origin), ...cards]), pools);
    presenter.keepOnly(channels.flatMap(({ credential }) => credential ?? []));
  };
  // From now on the servers of its pools are known before they are asked for.
  keep(snapshot);
  reasons.delete("starting");
  return {
    address: door.address,
    port: door.port,
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
