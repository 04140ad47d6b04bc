/** Network between replicas. */

export type { ClockReading, PulsePeer, PulsePorts } from "./pulse.ts";
export { SnapshotRefused } from "./snapshot-send.ts";
export { startTransport } from "./transport.ts";
export type { PeerConnection, Transport, TransportOptions } from "./types.ts";
