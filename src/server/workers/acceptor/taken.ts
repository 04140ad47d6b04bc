/** A worker's end of the connections that its node process accepts: each is said to be taken before a byte of it is read. */
import type { Socket } from "node:net";
import type { Channel } from "../channel/index.ts";

/** Of what is told of those that closed: the node process chooses by it who gets the next. */
const TELL_MS = 5;

/** `take` is called with each, in order. */
export function takeConnections(channel: Channel, take: (socket: Socket) => void): void {
  let closed = 0;
  const tell = (): void => {
    channel.send("connections.closed", closed);
    closed = 0;
  };
  const ended = (): void => {
    if (closed === 0) setTimeout(tell, TELL_MS);
    closed += 1;
  };
  let last = 0;
  process.on("message", (told: unknown, socket?: unknown) => {
    const number = Number(told);
    // Whether it has come is asked behind it.
    if (number < 0) {
      if (last < -number) channel.send("connections.lost", -number, true);
      return;
    }
    last = number;
    channel.send("connections.taken", number, true);
    // Its client may have gone on the way.
    if (socket === undefined) ended();
    else {
      const taken = socket as Socket;
      taken.once("close", ended);
      taken.setNoDelay(true);
      // As a server's own: a client may end its half and still read.
      taken.allowHalfOpen = true;
      take(taken);
    }
  });
}
