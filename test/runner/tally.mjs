/**
 * A reporter for Node's test runner: at the end of a process one line of JSON, `{pass, fail, skipped: [{name, reason}], cpu}`.
 * `cpu` is in seconds, with that of the children that the process has waited for where the system tells it (Linux).
 */
import { readFileSync } from "node:fs";

/** Of `/proc/self/stat`, in which the name of the process, which may hold anything, ends with the last bracket. */
const TICKS_PER_SECOND = 100;
const CHILDREN_USER = 13;

function childrenSeconds() {
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
  const skipped = [];
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite") {
      // A suite that could not be set up has no test that failed, and some versions of Node end well with it.
      if (type === "test:fail" && data.details.error?.failureType !== "subtestsFailed") fail += 1;
      continue;
    }
    if (data.skip !== undefined) skipped.push({ name: data.name, reason: data.skip === true ? "" : String(data.skip) });
    else if (type === "test:fail" && data.todo === undefined) fail += 1;
    else pass += 1;
  }
  const { user, system } = process.cpuUsage();
  yield `${JSON.stringify({ pass, fail, skipped, cpu: (user + system) / 1e6 + childrenSeconds() })}\n`;
}
