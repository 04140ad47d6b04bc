/** Status of a node's configuration, for code that waits for it and for status requests. */
import type { StateView } from "../../cluster/index.ts";
import { formatProblem } from "../../core/config/index.ts";
import type { Configuration } from "./configuration-types.ts";
import { ConfigurationRefused } from "./environment-settings.ts";

/** Returns a promise that only ever rejects: at a standstill. */
export function rejectOnStartFailure(begun: ReturnType<Configuration["begin"]>): Promise<never> {
  return new Promise((_, reject) => {
    void begun.then(
      (end) => {
        if (end !== undefined) reject(new ConfigurationRefused(end.problems));
      },
      // The error is logged; the stored configuration, or a later one, may still be served.
      () => undefined,
    );
  });
}

export function configurationStatus(configuration: Configuration): {
  state: "running" | "refused";
  message: string | null;
} {
  const problem = configuration.refusal()?.find(({ severity }) => severity === "error");
  return problem === undefined
    ? { state: "running", message: null }
    : { state: "refused", message: formatProblem(problem) };
}

/** Returns a promise that only ever rejects: with the signal's reason. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Resolves at the next change of a row whose key begins with `prefix`, or when the signal aborts. */
export function nextChange(view: Pick<StateView, "watch">, prefix: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      unwatch();
      resolve();
    };
    const unwatch = view.watch(prefix, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
