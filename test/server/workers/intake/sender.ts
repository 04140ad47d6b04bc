/** A thread that records a decision every few milliseconds until it is stopped, and reports the number of refusals. */
import { parentPort, workerData } from "node:worker_threads";
import { connectIntake, type IntakeAddress, sendDecisions } from "../../../../src/server/workers/index.ts";

const channel = await connectIntake(workerData as IntakeAddress, AbortSignal.timeout(10_000), () => undefined);
const decided = sendDecisions(channel, Date.now);
let recorded = 0;
let refused = 0;
const timer = setInterval(() => {
  try {
    decided({ event: "access.decision", controls: ["c1"], data: { request: `r${recorded}` } });
    recorded += 1;
    if (recorded === 1) parentPort?.postMessage("begun");
  } catch {
    // Before the first record there is no room yet.
    if (recorded > 0) refused += 1;
  }
}, 2);
parentPort?.once("message", async () => {
  clearInterval(timer);
  await channel.close();
  parentPort?.postMessage({ recorded, refused });
});
