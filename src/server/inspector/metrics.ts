/** Metrics of the inspector. Peers are label values; those beyond `MAX_PEERS` share one label. */
import { type Instruments, LATENCY_BOUNDS_SECONDS } from "../../base/index.ts";
import type { InspectorObserver } from "./options.ts";

/** Maximum number of peer labels. It is needed, because a restarted proxy may come back with another address. */
const MAX_PEERS = 64;

interface InspectorReadings {
  readonly openStreams: () => number;
  readonly heldBytes: () => number;
}

/** Registers the metrics. `read` returns `undefined` until the inspector listens. */
export function observeInspector(
  instruments: Instruments,
  read: () => InspectorReadings | undefined,
): InspectorObserver {
  const peers = new Set<string>();
  const labelOf = (peer: string): string => {
    if (!peers.has(peer) && peers.size < MAX_PEERS) peers.add(peer);
    return peers.has(peer) ? peer : "other";
  };
  const inspected = instruments.counter(
    "gateway_inspector_requests_total",
    "Requests of proxies that were inspected, by outcome.",
    ["peer", "outcome"],
  );
  const counted = instruments.counter(
    "gateway_inspector_events_total",
    "Faults in streams of proxies, and messages that passed without inspection, by event.",
    ["peer", "event"],
  );
  const seconds = instruments.histogram(
    "gateway_inspector_seconds",
    "Time from the end of a request to its verdict.",
    LATENCY_BOUNDS_SECONDS,
    ["outcome"],
  );
  instruments.observedGauge("gateway_inspector_streams", "Open streams of proxies.", () => {
    return read()?.openStreams() ?? 0;
  });
  instruments.observedGauge("gateway_inspector_held_bytes", "Bytes of bodies that are buffered for proxies.", () => {
    return read()?.heldBytes() ?? 0;
  });
  return {
    count: (what, peer) => counted.with(labelOf(peer), what).inc(),
    countInspection(outcome, peer, took) {
      inspected.with(labelOf(peer), outcome).inc();
      seconds.with(outcome).observe(took);
    },
  };
}
