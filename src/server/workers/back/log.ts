/** Log of a worker: the node writes its lines, in one stream with its own. */
import { createLogger, type Log, type LogLine } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** Maximum memory for lines, in bytes: requests need it more. */
const MAX_WAITING_BYTES = 1 << 20;

/**
 * Sends log lines, with loss: while more than a mebibyte waits, lines are dropped, and the next one that is sent reports how
 * many.
 */
export function sendLog(channel: Channel, level: Parameters<typeof createLogger>[0]["level"], now: () => number): Log {
  let dropped = 0;
  const sink = ({ level: of, message, fields }: LogLine): void => {
    if (channel.waitingBytes() > MAX_WAITING_BYTES) {
      dropped += 1;
      return;
    }
    channel.send("log", [of, message, dropped === 0 ? fields : { ...fields, dropped_lines: dropped }]);
    dropped = 0;
  };
  return createLogger({ stream: { write: () => true }, isTerminal: false, level, now, tee: { sink } });
}

/** `worker` is the worker's number, which is added to each line. */
export function takeLog(channel: Channel, log: Log, worker: number): void {
  channel.on("log", (body) => {
    const [level, message, fields] = body as readonly [LogLine["level"], string, LogLine["fields"]];
    log[level](message, { ...fields, worker });
  });
}
