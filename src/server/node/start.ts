/**
 * What both modes of a node are made of: instruments, the metrics listener and the data plane, opened in order and
 * closed in reverse. The data plane comes last and is drained first, so that nothing it needs goes away under it.
 */

import { createInstruments, type Instruments, type Lifetime, type Log } from "../../base/index.ts";
import { createAdmission, createMetrics, DEFAULT_ADMISSION, listen } from "../dataplane/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { BuildInfo } from "../telemetry/index.ts";
import { startMetrics } from "../telemetry/index.ts";
import { openOrigins } from "../upstream/index.ts";

/** Running requests get this long after a signal. */
export const DRAIN_MS = 30_000;

export interface AdmissionBounds {
  readonly maxInFlight: number | undefined;
  readonly maxBufferedBytes: number | undefined;
}

export interface Observed {
  readonly instruments: Instruments;
  /** Undefined when no metrics are served. */
  readonly metricsAddress: string | undefined;
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  /** While one stands, the node is not ready. */
  readonly reasons: Set<string>;
}

/** Metrics before all else, so that a node that waits can be asked why. */
export async function observe(metricsListen: string, owner: Lifetime, log: Log, build: BuildInfo): Promise<Observed> {
  const reasons = new Set(["starting"]);
  const instruments = createInstruments();
  const readiness = () => ({ ready: reasons.size === 0, reasons: [...reasons] });
  const metrics =
    metricsListen === "none"
      ? undefined
      : owner.own(
          "metrics listener",
          await startMetrics({ address: metricsListen, instruments, buildInfo: build, readiness, log }),
          (it) => it.close(),
        );
  return { instruments, metricsAddress: metrics?.address, readiness, reasons };
}

export interface DataPlane {
  /** As bound. */
  readonly address: string;
  readonly port: number;
  /** Requests under way keep the one they began with. */
  swap(snapshot: Snapshot): void;
}

export interface DataPlaneOptions extends AdmissionBounds {
  readonly listen: string;
  readonly snapshot: Snapshot;
}

/** Rejects when the address cannot be had. */
export async function serveDataPlane(
  options: DataPlaneOptions,
  { instruments, reasons }: Observed,
  owner: Lifetime,
  log: Log,
): Promise<DataPlane> {
  let { snapshot } = options;
  const origins = owner.own("upstream connections", openOrigins(), (it) => it.close());
  const admission = createAdmission({
    maxInFlight: options.maxInFlight ?? DEFAULT_ADMISSION.maxInFlight,
    maxBufferedBytes: options.maxBufferedBytes ?? DEFAULT_ADMISSION.maxBufferedBytes,
  });
  instruments.observedGauge("gateway_in_flight_requests", "Requests being served.", () => admission.inFlight());
  instruments.observedGauge("gateway_buffered_bytes", "Bytes held for requests.", () => admission.bufferedBytes());
  instruments.observedGauge("gateway_upstream_connections", "Open upstream connections.", () => origins.connections());

  const ports = { snapshot: () => snapshot, origins, admission, metrics: createMetrics(instruments), log };
  const door = owner.own(
    "data plane",
    await listen(options.listen, ports),
    (it) => {
      reasons.add("stopping");
      return it.drain(DRAIN_MS);
    },
    { limitMs: DRAIN_MS + 5_000 },
  );
  reasons.delete("starting");
  return {
    address: door.address,
    port: door.port,
    swap(next) {
      snapshot = next;
      origins.keepOnly(new Set(next.providers.flatMap(({ channels }) => channels.map(({ origin }) => origin))));
    },
  };
}
