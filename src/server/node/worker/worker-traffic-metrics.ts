/** Metrics of how connections and requests are distributed over the workers. */
import type { Instruments } from "../../../base/index.ts";
import type { Heartbeat, Worker } from "../../workers/index.ts";

/** Registers the metrics. Returns a function that must be called with each worker when it starts. */
export function observeTraffic(instruments: Instruments): (worker: Worker) => void {
  const connections = instruments.gauge(
    "gateway_worker_connections",
    "Connections that a worker process accepted since its start.",
    ["worker"],
  );
  const requests = instruments.gauge(
    "gateway_worker_requests",
    "Requests that a worker process received since its start.",
    ["worker"],
  );
  return ({ number, channel }) =>
    channel.on("beat", (body) => {
      const beat = body as Heartbeat;
      connections.with(`${number}`).set(beat.connections);
      requests.with(`${number}`).set(beat.requests);
    });
}
