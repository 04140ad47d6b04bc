/**
 * Reports failed authentications of a worker: all are counted, and a few per second are reported in detail, so that guessing keys
 * cannot keep the node busy.
 */
import type { AuthFailure, FailureSampler } from "../../audit/index.ts";
import type { DecisionTrail } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";
import { createKeyedBatch } from "./keyed-batch.ts";

/** Maximum number of kinds of failures. They come from the gateway's own enumerations. */
const MAX_KINDS = 100;
/** Maximum number of detailed failures per kind and report. */
const MAX_REPORTED = 10;

interface FailureCount {
  count: number;
  readonly data: AuthFailure[];
}

export function sendFailures(channel: Channel): DecisionTrail["recordFailedAuthentication"] {
  const gathered = createKeyedBatch<FailureCount>(channel, "audit.failures", MAX_KINDS);
  return (data) => {
    const failed = gathered.getOrCreate(`${data["plane"]} ${data["fault"]}`, () => ({ count: 0, data: [] }));
    failed.count += 1;
    if (failed.data.length < MAX_REPORTED) failed.data.push(data);
  };
}

export function takeFailures(channel: Channel, failures: FailureSampler): void {
  channel.on("audit.failures", (body) => {
    for (const { count, data } of body as readonly FailureCount[]) {
      for (const one of data) failures.record({ plane: "data", ...one });
      const [first] = data;
      if (first !== undefined && count > data.length)
        failures.countUnsampled({ plane: "data", ...first }, count - data.length);
    }
  });
}
