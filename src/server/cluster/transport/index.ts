/** Network between replicas. */

export type { ClockReading, PulsePeer } from "./pulse.ts";
export { startTransport } from "./transport.ts";
export type { Transport, TransportOptions } from "./types.ts";
