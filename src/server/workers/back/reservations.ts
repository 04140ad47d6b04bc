/**
 * Applies one memory limit to all processes of a node: each reports how much it has reserved, and receives the sum of the others.
 * So one request in any process may use all free memory. The limit is exceeded at most by the memory reserved
 * between two checks.
 */
import { type Admission, type AdmissionUsage, NO_USAGE } from "../../memory/index.ts";
import type { Channel } from "../channel/index.ts";

const CHECK_MS = 20;
/** Divisor of a limit: a change below this share of it is not reported, so that ordinary traffic causes no messages. */
const REPORT_DIVISOR = 128;

type AdmissionMemory = Pick<Admission, "limits" | "inFlight" | "bufferedBytes" | "setOtherUsage">;

/** Calls `onChange` when the reservations have changed considerably or dropped to zero. Returns a function that stops it. */
function watchReservations(
  { limits, inFlight, bufferedBytes }: AdmissionMemory,
  onChange: (reserved: AdmissionUsage) => void,
): () => void {
  let lastReported = NO_USAGE;
  const timer = setInterval(() => {
    const reserved: AdmissionUsage = { inFlight: inFlight(), bytes: bufferedBytes() };
    const isConsiderable =
      Math.abs(reserved.inFlight - lastReported.inFlight) * REPORT_DIVISOR >= limits.maxInFlight ||
      Math.abs(reserved.bytes - lastReported.bytes) * REPORT_DIVISOR >= limits.maxBufferedBytes;
    const isReleased =
      (reserved.inFlight === 0 && lastReported.inFlight > 0) || (reserved.bytes === 0 && lastReported.bytes > 0);
    if (!isConsiderable && !isReleased) return;
    lastReported = reserved;
    onChange(reserved);
  }, CHECK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Reports a worker's reservations. Returns a function that stops it. */
export function sendReservations(channel: Channel, admission: AdmissionMemory): () => void {
  channel.on("held.others", (others) => admission.setOtherUsage(others as AdmissionUsage));
  return watchReservations(admission, (reserved) => channel.send("held", reserved, true));
}

export interface ReservationTotals {
  /** Receives the reports of a worker. Returns a function that must be called when the worker has exited. */
  take(channel: Channel): () => void;
  close(): void;
}

/** Opens the sum in the node. `own`: reservations of the node process itself, for example for other proxies' traffic. */
export function openReservations(memory: AdmissionMemory): ReservationTotals {
  const applyOthers = (others: AdmissionUsage): void => memory.setOtherUsage(others);
  const holders = new Map<object, { held: AdmissionUsage; readonly send: (others: AdmissionUsage) => void }>();
  const sendToAll = (except?: object): void => {
    const all = sumOf([...holders.values()].map(({ held }) => held));
    for (const [holder, { held, send }] of holders) {
      if (holder !== except) send({ inFlight: all.inFlight - held.inFlight, bytes: all.bytes - held.bytes });
    }
  };
  const change = (holder: object, held: AdmissionUsage): void => {
    const known = holders.get(holder);
    if (known === undefined) return;
    known.held = held;
    // The sender is skipped, because nothing has changed for it.
    sendToAll(holder);
  };
  holders.set(memory, { held: NO_USAGE, send: applyOthers });
  const end = watchReservations(memory, (held) => change(memory, held));
  return {
    take(channel) {
      holders.set(channel, { held: NO_USAGE, send: (others) => channel.send("held.others", others, true) });
      channel.on("held", (held) => change(channel, held as AdmissionUsage));
      sendToAll();
      return () => {
        holders.delete(channel);
        sendToAll();
      };
    },
    close: end,
  };
}

const sumOf = (all: readonly AdmissionUsage[]): AdmissionUsage =>
  all.reduce((sum, { inFlight, bytes }) => ({ inFlight: sum.inFlight + inFlight, bytes: sum.bytes + bytes }), NO_USAGE);
