/** Notifies requests that wait for an event. A wait ends with its connection. */

import type { ServerResponse } from "node:http";

export interface EventNotifier<Event> {
  notify(event: Event): void;
  /** Starts listening. Returns the listener, which gets events from now on. */
  listen(response: ServerResponse): EventSubscription<Event>;
}

interface EventSubscription<Event> {
  /** Returns the next event, `late` after `ms` without one, or `gone` if the client left. Waits forever if `ms` is infinite. */
  next(ms: number): Promise<{ readonly kind: "event"; readonly event: Event } | { readonly kind: "late" | "gone" }>;
  end(): void;
}

/** Maximum number of queued events for a listener that does not read. */
const MAX_QUEUED = 1_000;

export function createEventNotifier<Event>(): EventNotifier<Event> {
  const listeners = new Set<(event: Event) => void>();
  return {
    notify(event) {
      for (const listener of [...listeners]) listener(event);
    },
    listen(response) {
      const queue: Event[] = [];
      let wake = (): void => undefined;
      const add = (event: Event): void => {
        if (queue.length < MAX_QUEUED) queue.push(event);
        wake();
      };
      const end = (): void => {
        listeners.delete(add);
        response.off("close", end);
        wake();
      };
      listeners.add(add);
      response.once("close", end);
      const takeEvent = () => {
        const event = queue.shift();
        return event === undefined ? undefined : ({ kind: "event", event } as const);
      };
      return {
        end,
        async next(ms) {
          const ready = takeEvent();
          if (ready !== undefined) return ready;
          if (response.closed || response.destroyed) return { kind: "gone" };
          await new Promise<void>((done) => {
            const timer = Number.isFinite(ms) ? setTimeout(done, Math.max(0, ms)) : undefined;
            wake = () => {
              clearTimeout(timer);
              done();
            };
          });
          wake = () => undefined;
          return takeEvent() ?? { kind: response.closed || response.destroyed ? "gone" : "late" };
        },
      };
    },
  };
}
