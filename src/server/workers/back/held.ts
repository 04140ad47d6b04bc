/**
 * Applies one memory limit to all processes of a node: each reports how much it has reserved, and receives the sum of the others.
 * So one request in any process may use all free memory. The limit is exceeded at most by the memory reserved
 * between two checks.
 */
import { type Admission, type Held, NOTHING_HELD } from "../../memory/index.ts";
import type { Channel } from "../channel/index.ts";

const CHECK_MS = 20;
/** Divisor of a limit: a change below this share of it is not reported, so that ordinary traffic causes no messages. */
const PART = 128;

type Holding = Pick<Admission, "limits" | "inFlight" | "bufferedBytes" | "besides">;

/** Calls `changed` when the reservations have changed considerably or dropped to zero. Returns a function that stops it. */
function follow({ limits, inFlight, bufferedBytes }: Holding, changed: (held: Held) => void): () => void {
  let lastReported = NOTHING_HELD;
  const looking = setInterval(() => {
    const held: Held = { inFlight: inFlight(), bytes: bufferedBytes() };
    const isMore =
      Math.abs(held.inFlight - lastReported.inFlight) * PART >= limits.maxInFlight ||
      Math.abs(held.bytes - lastReported.bytes) * PART >= limits.maxBufferedBytes;
    const isLet = (held.inFlight === 0 && lastReported.inFlight > 0) || (held.bytes === 0 && lastReported.bytes > 0);
    if (!isMore && !isLet) return;
    lastReported = held;
    changed(held);
  }, CHECK_MS);
  looking.unref();
  return () => clearInterval(looking);
}

/** Reports a worker's reservations. Returns a function that stops it. */
export function sendHeld(channel: Channel, admission: Holding): () => void {
  channel.on("held.others", (others) => admission.besides(others as Held));
  return follow(admission, (held) => channel.send("held", held, true));
}

export interface HeldByAll {
  /** Receives the reports of a worker. Returns a function that must be called when the worker has exited. */
  take(channel: Channel): () => void;
  close(): void;
}

/** Opens the sum in the node. `own`: reservations of the node process itself, for example for other proxies' traffic. */
export function openHeld(own: Holding): HeldByAll {
  const tellOwn = (others: Held): void => own.besides(others);
  const holders = new Map<object, { held: Held; readonly tell: (others: Held) => void }>();
  const tellAll = (except?: object): void => {
    const all = sumOf([...holders.values()].map(({ held }) => held));
    for (const [holder, { held, tell }] of holders) {
      if (holder !== except) tell({ inFlight: all.inFlight - held.inFlight, bytes: all.bytes - held.bytes });
    }
  };
  const change = (holder: object, held: Held): void => {
    const known = holders.get(holder);
    if (known === undefined) return;
    known.held = held;
    // The sender is skipped, because nothing has changed for it.
    tellAll(holder);
  };
  holders.set(own, { held: NOTHING_HELD, tell: tellOwn });
  const end = follow(own, (held) => change(own, held));
  return {
    take(channel) {
      holders.set(channel, { held: NOTHING_HELD, tell: (others) => channel.send("held.others", others, true) });
      channel.on("held", (held) => change(channel, held as Held));
      tellAll();
      return () => {
        holders.delete(channel);
        tellAll();
      };
    },
    close: end,
  };
}

const sumOf = (all: readonly Held[]): Held =>
  all.reduce(
    (sum, { inFlight, bytes }) => ({ inFlight: sum.inFlight + inFlight, bytes: sum.bytes + bytes }),
    NOTHING_HELD,
  );
