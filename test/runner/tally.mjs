/**
 * A reporter for Node's test runner: at the end of a process one line of JSON, `{pass, fail, failed, skipped, cpu, children}`.
 *
 * `failed` has `{name, file}` of each failed test at the outermost level, `skipped` has `{name, reason}`. `cpu` is the time
 * of the process in seconds, `children` that of the processes that it has waited for, where the system tells it (Linux).
 */
import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;
/** Place of `cutime` in `/proc/self/stat` after the name of the process, which ends with the last bracket. */
const CHILDREN_USER = 13;

/** Returns the seconds of CPU of all processes that this one has waited for; 0 where the system does not tell it. */
export function childrenSeconds() {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_USER + 1])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

export default async function* tally(events) {
  let pass = 0;
  let fail = 0;
  const failed = [];
  const skipped = [];
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const isFailure = type === "test:fail" && data.todo === undefined;
    if (isFailure && data.nesting === 0) failed.push({ name: data.name, file: data.file });
    if (data.details?.type === "suite") {
      // A suite that could not be set up has no test that failed, and some versions of Node end well with it.
      if (type === "test:fail" && data.details.error?.failureType !== "subtestsFailed") fail += 1;
      continue;
    }
    if (data.skip !== undefined) skipped.push({ name: data.name, reason: data.skip === true ? "" : String(data.skip) });
    else if (isFailure) fail += 1;
    else pass += 1;
  }
  const { user, system } = process.cpuUsage();
  yield `${JSON.stringify({ pass, fail, failed, skipped, cpu: (user + system) / 1e6, children: childrenSeconds() })}\n`;
}
