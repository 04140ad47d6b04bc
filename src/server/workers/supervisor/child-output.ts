/**
 * Logs what a child process writes to its stdout and stderr, such as Node's last messages before a crash, as lines of the
 * node's log.
 *
 * A child has its own pipes: Node makes stdout and stderr blocking for all processes that share them when it starts a child
 * with them, and again when that child ends.
 */
import type { Readable } from "node:stream";
import type { Log, LogFields } from "../../../base/index.ts";

/** Maximum number of lines per process; a crash writes some twenty. */
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
