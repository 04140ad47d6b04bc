/**
 * Issues commands of the state for handlers: a refusal by the state becomes a refusal of the request.
 *
 * A command that the cluster's feature level does not allow is not proposed: the refusal would be remembered under the
 * request's idempotency key, and outlast its cause. The level rises moments after the last member of a newer version has
 * started; a write waits for that.
 */

import type { WriteOptions } from "../cluster/index.ts";
import { featureLevelStatus, featureLevelWaitText, isLevelRising, levelIn, mayPropose } from "../core/state/index.ts";
import type { Ports } from "./ports.ts";
import { refusal, refusedCommand } from "./refusal.ts";

/** Maximum wait for the level in milliseconds: a leader checks once a second, then the command goes through the log. */
const MAX_RISE_WAIT_MS = 5_000;

/** Issues a command and returns its result. A repeated request gets the result of the first one. */
export async function issueCommand(
  ports: Pick<Ports, "cluster">,
  entry: { readonly t: string; readonly p: unknown },
  options: WriteOptions,
): Promise<unknown> {
  await requireLevel(ports, entry.t, options);
  const result = await ports.cluster.write(entry, options);
  if (result.kind === "refused") throw refusedCommand(result);
  return result.value;
}

/** Resolves once the level allows the command; rejects with `conflict` if it will not. */
async function requireLevel({ cluster: { view } }: Pick<Ports, "cluster">, name: string, options: WriteOptions) {
  const isAllowed = (): boolean => mayPropose(name, levelIn(view));
  if (isAllowed()) return;
  if (isLevelRising(view)) await waitForLevel(view, isAllowed, options);
  if (isAllowed()) return;
  const waiting = featureLevelWaitText(featureLevelStatus(view));
  throw refusal(
    "conflict",
    waiting === undefined
      ? "The cluster's feature level does not allow this yet. It rises by itself within a second of the start of its last member: try again then."
      : `The cluster's feature level does not allow this yet: ${waiting}. It rises by itself once that is of a newer version: try again then.`,
    { reason: "feature_level" },
  );
}

/** Waits until `isDone`, at most for the time that the request can spare. Rejects if the request is aborted. */
function waitForLevel(
  view: Ports["cluster"]["view"],
  isDone: () => boolean,
  { timeoutMs, signal }: WriteOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cleanUp = (): void => {
      clearTimeout(timer);
      unwatch();
      signal?.removeEventListener("abort", onAbort);
    };
    const done = (): void => {
      cleanUp();
      resolve();
    };
    const onAbort = (): void => {
      cleanUp();
      reject(signal?.reason);
    };
    const timer = setTimeout(done, Math.min(MAX_RISE_WAIT_MS, timeoutMs));
    const unwatch = view.watch("feat/", () => void (isDone() && done()));
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    else if (isDone()) done();
  });
}
