/** Receives the connections that the node process accepts. A worker acknowledges each before it reads a byte of it. */
import type { Socket } from "node:net";
import type { Channel } from "../channel/index.ts";

/** Interval of reports about closed connections, in milliseconds. The node process uses them to choose the next worker. */
const REPORT_MS = 5;

/** Calls `take` with each connection, in order. */
export function takeConnections(channel: Channel, take: (socket: Socket) => void): void {
  let closed = 0;
  const reportClosed = (): void => {
    channel.send("connections.closed", closed);
    closed = 0;
  };
  const ended = (): void => {
    if (closed === 0) setTimeout(reportClosed, REPORT_MS);
    closed += 1;
  };
  let last = 0;
  process.on("message", (message: unknown, socket?: unknown) => {
    const number = Number(message);
    // A negative number asks whether an earlier connection has arrived.
    if (number < 0) {
      if (last < -number) channel.send("connections.lost", -number, true);
      return;
    }
    last = number;
    channel.send("connections.taken", number, true);
    // The client may have left on the way.
    if (socket === undefined) ended();
    else {
      const taken = socket as Socket;
      taken.once("close", ended);
      taken.setNoDelay(true);
      // A server's own connections have the same setting: a client may end its half and still read.
      taken.allowHalfOpen = true;
      take(taken);
    }
  });
}
