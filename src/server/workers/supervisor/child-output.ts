/**
 * Logs the output of a child process on stdout and stderr, such as Node's last messages before a crash, as lines of the node's
 * log.
 *
 * A child has its own pipes: when Node starts a child that shares stdout and stderr, it makes them blocking for all processes
 * that use them, and again when that child ends.
 */
import type { Readable } from "node:stream";
import type { Log, LogFields } from "../../../base/index.ts";

/** Maximum number of lines per process. A crash writes about twenty. */
const MAX_LINES = 200;
const MAX_LINE_LENGTH = 2_000;

export function logOutput(output: Readable, log: Log, fields: LogFields): void {
  let rest = "";
  let count = 0;
  const write = (line: string): void => {
    if (line.trim() === "") return;
    count += 1;
    if (count <= MAX_LINES) log.warn("a process wrote to its stderr", { ...fields, text: line });
  };
  output.setEncoding("utf8");
  output.on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = (lines.pop() ?? "").slice(0, MAX_LINE_LENGTH);
    for (const line of lines) write(line);
  });
  output.on("end", () => write(rest));
  output.on("error", () => undefined);
}
