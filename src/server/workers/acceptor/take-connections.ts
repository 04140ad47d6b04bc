/** Receives the connections that the node process accepts. A worker acknowledges each before it reads a byte of it. */
import type { Socket } from "node:net";
import type { Channel } from "../channel/index.ts";

/** Interval of reports about closed connections, in milliseconds. The node process uses them to choose the next worker. */
const REPORT_MS = 5;

/** Calls `take` with each connection, in order. */
export function takeConnections(channel: Channel, take: (socket: Socket) => void): void {
  let closedCount = 0;
  const reportClosed = (): void => {
    channel.send("connections.closed", closedCount);
    closedCount = 0;
  };
  const onClose = (): void => {
    if (closedCount === 0) setTimeout(reportClosed, REPORT_MS);
    closedCount += 1;
  };
  let lastNumber = 0;
  process.on("message", (message: unknown, socket?: unknown) => {
    const number = Number(message);
    // A negative number asks whether an earlier connection has arrived.
    if (number < 0) {
      if (lastNumber < -number) channel.send("connections.lost", -number, true);
      return;
    }
    lastNumber = number;
    channel.send("connections.taken", number, true);
    // The client may have left on the way.
    if (socket === undefined) onClose();
    else {
      const taken = socket as Socket;
      taken.once("close", onClose);
      taken.setNoDelay(true);
      // A server's own connections have the same setting: a client may end its half and still read.
      taken.allowHalfOpen = true;
      take(taken);
    }
  });
}
