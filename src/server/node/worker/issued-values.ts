/** What `fpe` wrote lately over the processes of a node: each tells the node process, which tells the others. */
import { createIssued, type Issued, type IssuedValue } from "../../core/guardrails/index.ts";
import type { Channel } from "../../workers/index.ts";

/** Of a worker. Values of one turn of the event loop go out together. */
export function issuedOver(channel: Channel): Issued {
  let waiting: IssuedValue[] = [];
  const issued = createIssued((value) => {
    waiting.push(value);
    if (waiting.length > 1) return;
    setImmediate(() => {
      channel.send("issued", waiting);
      waiting = [];
    });
  });
  channel.on("issued", (values) => issued.learn(values as readonly IssuedValue[]));
  return issued;
}

/** Of the node process: `others` are the channels of the workers beside this one. */
export function passIssued(channel: Channel, others: () => Iterable<Channel>): void {
  channel.on("issued", (values) => {
    for (const other of others()) other.send("issued", values);
  });
}
