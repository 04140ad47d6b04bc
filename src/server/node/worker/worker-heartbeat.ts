/**
 * Heartbeat of a worker process, sent every second and whenever the node asks for everything not yet reported (`catchUp`), with
 * its counts: connections, requests, and the servers of its pools.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Channel, Heartbeat } from "../../workers/index.ts";
import type { DataPlane } from "../start.ts";

const HEARTBEAT_INTERVAL_MS = 1_000;

export interface ReportedPlane extends Pick<DataPlane, "members"> {
  /** Returns the names of providers with a pool. */
  providersWithPool(): readonly string[];
}

export interface TrafficCounter {
  /** Counts an accepted connection. */
  countConnection(): void;
}

/** Counts requests through a public diagnostics channel of Node. */
export function countTraffic(channel: Channel, plane: () => ReportedPlane | undefined): TrafficCounter {
  let connections = 0;
  let requests = 0;
  let inFlight = 0;
  subscribe("http.server.request.start", () => {
    requests += 1;
    inFlight += 1;
  });
  subscribe("http.server.response.finish", () => {
    inFlight -= 1;
  });
  const sendBeat = (): void => {
    const members: Record<string, unknown> = {};
    for (const name of plane()?.providersWithPool() ?? []) members[name] = plane()?.members(name);
    channel.send("beat", { connections, requests, inFlight, members } satisfies Heartbeat);
  };
  sendBeat();
  channel.on("flush", sendBeat);
  setInterval(sendBeat, HEARTBEAT_INTERVAL_MS);
  return {
    countConnection() {
      connections += 1;
    },
  };
}
