/**
 * `gateway wait CONDITION`: blocks until a node meets the condition, or the timeout ends. It is meant for rolling
 * upgrades. A node that cannot be reached may be restarting, so it is waited for too.
 */

import {
  type AdminClient,
  AdminError,
  createAdminClient,
  explain,
  lacksDocument,
  notReadyReasons,
} from "../../admin-api/index.ts";
import { escapeControls, formatDuration, pause } from "../../base/index.ts";
import { chooseAddress } from "../choose-address.ts";
import type { waitFlags } from "../operate/operate-flags.ts";
import { CONDITION_NAMES, type ConditionName } from "../operate/wait-conditions.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";

/** Interval between two checks, in milliseconds. */
const STEP_MS = 250;

/** Returns why the condition is not met yet; `undefined` once it is. */
type Condition = (
  client: AdminClient,
  limits: { readonly signal: AbortSignal; readonly timeLimitMs: number },
) => Promise<string | undefined>;

const CONDITIONS: Readonly<Record<ConditionName, Condition>> = {
  async ready(client, limits) {
    const status = await client.call("get_status", {}, limits);
    if (status.ready) return undefined;
    const remedy = lacksDocument(status) ? " (apply one, or restore an archive)" : "";
    return `it cannot serve yet: ${notReadyReasons(status).join("; ")}${remedy}`;
  },
  async leader(client, limits) {
    const { leader } = await client.call("get_status", {}, limits);
    return leader === null ? "no leader is known" : undefined;
  },
  /** The node answers a consistent read only after it has applied everything that was acknowledged before. */
  async applied(client, limits) {
    await client.call("list_cluster_members", { query: { consistent: true } }, limits);
    return undefined;
  },
  async quiet(client, limits) {
    const lists = await Promise.all([
      client.call("list_backends", {}, limits),
      client.call("list_mcp_servers", {}, limits),
      client.call("list_a2a_agents", {}, limits),
    ]);
    const inFlight = lists.flatMap(({ items }) => items.map((row) => row.in_flight)).reduce((sum, it) => sum + it, 0);
    return inFlight === 0 ? undefined : `${inFlight} calls are in flight`;
  },
};

const isCondition = (text: string): text is ConditionName => Object.hasOwn(CONDITIONS, text);

export async function run(options: FlagsOf<typeof waitFlags>, names: readonly string[], io: Io): Promise<ExitStatus> {
  for (const name of names) {
    if (isCondition(name)) continue;
    throw new UsageError(
      `'${clipArgument(name)}' is not a condition${didYouMean(name, CONDITION_NAMES)}; the conditions are ${CONDITION_NAMES.join(", ")}`,
    );
  }
  const address = chooseAddress(options, io);
  const client = createAdminClient({ address });
  const deadline = performance.now() + options.timeout;
  let isReached = false;
  try {
    for (;;) {
      let unmet: string | undefined;
      try {
        unmet = await firstUnmet(names.filter(isCondition), client, io.signal, deadline);
        isReached = true;
      } catch (error) {
        if (!(error instanceof AdminError) || io.signal.aborted) throw error;
        const { text, isUnreachable } = explain(error, address);
        isReached = !isUnreachable;
        unmet = text;
        // Waiting does not help if the caller is not authorized.
        if (error.status === 401 || error.status === 403) {
          io.stderr.write(`gateway wait: ${escapeControls(unmet)}\n`);
          return 1;
        }
      }
      if (unmet === undefined) return 0;
      if (performance.now() >= deadline) {
        io.stderr.write(
          `gateway wait: not ${names.join(", ")} within ${formatDuration(options.timeout)}: ${escapeControls(unmet)}\n`,
        );
        return isReached ? 1 : 3;
      }
      await pause(STEP_MS, io.signal);
      io.signal.throwIfAborted();
    }
  } finally {
    client.close();
  }
}

async function firstUnmet(
  names: readonly ConditionName[],
  client: AdminClient,
  signal: AbortSignal,
  deadline: number,
): Promise<string | undefined> {
  for (const name of names) {
    const timeLimitMs = Math.max(1_000, Math.min(10_000, deadline - performance.now()));
    const unmet = await CONDITIONS[name](client, { signal, timeLimitMs });
    if (unmet !== undefined) return `${name}: ${unmet}`;
  }
  return undefined;
}
