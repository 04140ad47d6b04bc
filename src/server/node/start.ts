/**
 * The composition root: opens what a node is made of, in order, joins the ports, and closes all in reverse.
 *
 * Storage first and closed last; the data plane last and drained first, so that nothing it needs goes away under it.
 */

import { createInstruments, type Lifetime, type Log } from "../../base/index.ts";
import { openDataDir } from "../cluster/index.ts";
import { createAdmission, createMetrics, DEFAULT_ADMISSION, listen } from "../dataplane/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { BuildInfo } from "../telemetry/index.ts";
import { startMetrics } from "../telemetry/index.ts";
import { openOrigins } from "../upstream/index.ts";

/** Running requests get this long after a signal. */
export const DRAIN_MS = 30_000;

export interface NodeSettings {
  readonly listen: string;
  /** `none` serves no metrics. */
  readonly metricsListen: string;
  /** Absent in flag mode, which keeps no state. */
  readonly storage: { readonly dir: string; readonly nodeId: string } | undefined;
  readonly snapshot: Snapshot;
  readonly maxInFlight: number | undefined;
  readonly maxBufferedBytes: number | undefined;
}

export interface RunningNode {
  /** As bound. */
  readonly address: string;
  readonly port: number;
  /** Undefined when no metrics are served. */
  readonly metricsAddress: string | undefined;
  /** Requests under way keep the one they began with. */
  swap(snapshot: Snapshot): void;
}

/** What is opened belongs to `owner`. Rejects when a listener or the data directory cannot be had. */
export async function startNode(
  settings: NodeSettings,
  owner: Lifetime,
  log: Log,
  build: BuildInfo,
): Promise<RunningNode> {
  let { snapshot } = settings;
  const reasons = new Set(["starting"]);
  const instruments = createInstruments();

  if (settings.storage !== undefined) {
    const opened = await openDataDir(settings.storage);
    const { warnings } = owner.own("data directory", opened, (it) => it.close());
    for (const warning of warnings) log.warn(warning);
  }
  const metrics =
    settings.metricsListen === "none"
      ? undefined
      : owner.own(
          "metrics listener",
          await startMetrics({
            address: settings.metricsListen,
            instruments,
            buildInfo: build,
            readiness: () => ({ ready: reasons.size === 0, reasons: [...reasons] }),
            log,
          }),
          (it) => it.close(),
        );
  const origins = owner.own("upstream connections", openOrigins(), (it) => it.close());
  const admission = createAdmission({
    maxInFlight: settings.maxInFlight ?? DEFAULT_ADMISSION.maxInFlight,
    maxBufferedBytes: settings.maxBufferedBytes ?? DEFAULT_ADMISSION.maxBufferedBytes,
  });
  instruments.observedGauge("gateway_in_flight_requests", "Requests being served.", () => admission.inFlight());
  instruments.observedGauge("gateway_buffered_bytes", "Bytes held for requests.", () => admission.bufferedBytes());
  instruments.observedGauge("gateway_upstream_connections", "Open upstream connections.", () => origins.connections());

  const ports = { snapshot: () => snapshot, origins, admission, metrics: createMetrics(instruments), log };
  const door = owner.own(
    "data plane",
    await listen(settings.listen, ports),
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
    metricsAddress: metrics?.address,
    swap(next) {
      snapshot = next;
      origins.keepOnly(new Set(next.providers.flatMap(({ channels }) => channels.map(({ origin }) => origin))));
    },
  };
}
