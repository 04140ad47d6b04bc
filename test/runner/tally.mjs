/**
 * A reporter for Node's test runner. At the end of a process it writes one line of JSON, `{pass, fail, failed, skipped,
 * cpu, children}`.
 *
 * `failed` has `{name, file}` of each failed test at the outermost level, `skipped` has `{name, reason}`. `cpu` is the
 * CPU time of the process in seconds, `children` that of child processes that it waited for, where the system reports
 * it (Linux).
 */
import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;
/** Position of `cutime` in `/proc/self/stat` after the process name, which ends with the last bracket. */
const CHILDREN_USER = 13;

/**
 * Returns the CPU seconds of all child processes that this process has waited for; 0 where the system does not report
 * it.
 */
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
      // A suite whose setup failed has no failed test, and some versions of Node then exit with 0.
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
