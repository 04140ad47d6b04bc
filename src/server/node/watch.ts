/** Watches the secret files that the running configuration names, and says when one has changed. */
import type { Log } from "../../base/index.ts";
import type { LoadedNode } from "./load.ts";

export interface SecretsWatcher {
  /** From now on the files that this configuration names. */
  watch(running: LoadedNode): void;
  close(): void;
}

export function watchSecrets(first: LoadedNode, onChange: () => void, log: Log): SecretsWatcher {
  let stop = start(first);

  function start({ secrets, used }: LoadedNode): AbortController {
    const stopping = new AbortController();
    if (used.secrets.length + used.files.length === 0) return stopping;
    secrets.watch({
      used,
      onChange,
      onProblem: (message) => log.warn("a secret file cannot be read; its last value is kept", { problem: message }),
      signal: stopping.signal,
    });
    return stopping;
  }

  return {
    watch(running) {
      stop.abort();
      stop = start(running);
    },
    close: () => stop.abort(),
  };
}
