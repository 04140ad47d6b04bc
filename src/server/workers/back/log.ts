/** Sends the log of a worker to the node, which writes the lines together with its own. */
import { createLogger, type Log, type LogLine } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** Maximum memory for waiting lines, in bytes. It is small, because requests need the memory. */
const MAX_WAITING_BYTES = 1 << 20;

/**
 * Returns a log that sends its lines. While more than a mebibyte waits, lines are dropped, and the next line that is sent reports
 * how many.
 */
export function sendLog(channel: Channel, level: Parameters<typeof createLogger>[0]["level"], now: () => number): Log {
  let dropped = 0;
  const sink = ({ level: lineLevel, message, fields }: LogLine): void => {
    if (channel.waitingBytes() > MAX_WAITING_BYTES) {
      dropped += 1;
      return;
    }
    channel.send("log", [lineLevel, message, dropped === 0 ? fields : { ...fields, dropped_lines: dropped }]);
    dropped = 0;
  };
  return createLogger({ stream: { write: () => true }, isTerminal: false, level, now, tee: { sink } });
}

/** Writes the log lines of a worker. `worker`: number of the worker, which is added to each line. */
export function takeLog(channel: Channel, log: Log, worker: number): void {
  channel.on("log", (body) => {
    const [level, message, fields] = body as readonly [LogLine["level"], string, LogLine["fields"]];
    log[level](message, { ...fields, worker });
  });
}
