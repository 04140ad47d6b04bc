/**
 * Looks up the values of `${secret:NAME}` and `${file:NAME}`, and watches them for changes.
 *
 * Source: specification document 2, loading rules 3 and 4. One object serves one compiled configuration: it remembers a digest of
 * each value it gave out, so that a file which changes between the compile and the start of the watch is noticed. Content is
 * compared, not times: mounted secrets change by a link that is swapped, and copies keep times.
 *
 * A secret is looked for in `secrets_dir` first, then among the sealed ones (design decisions, section 6); a file that exists but
 * cannot be used is an error, so that no secret of the same name takes its place unnoticed.
 */

import { createHash } from "node:crypto";
import type { SealedSecrets } from "./open-sealed.ts";
import { readSecretFile, type SecretFile } from "./secret-file.ts";

/** Maximum size of a secret, in bytes. The longest credentials, keys and certificate chains have a few KiB. */
const MAX_SECRET_BYTES = 64 * 1024;

/** Maximum size of a text that a deployment document includes, such as a system prompt or a word list, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;

const WATCH_EVERY_MS = 10_000;

/** Placeholder for a sealed secret while no cluster is open: hexadecimal, since operators' keys must be. */
export const PLACEHOLDER_SECRET = `5ea1ed${"0".repeat(58)}`;

type Lookup =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "problem"; readonly message: string; readonly missing: boolean };

/** Calls `run` every `everyMs` until the function it returns is called. */
export type Schedule = (run: () => void, everyMs: number) => () => void;

interface WatchOptions {
  /** Names that the current configuration refers to. */
  readonly used: { readonly secrets: readonly string[]; readonly files: readonly string[] };
  readonly everyMs?: number;
  /** Called once for all changes since the last check, with names such as `secret:NAME` and `file:NAME`. */
  readonly onChange: (changed: readonly string[]) => void;
  /** Called once when a file becomes unreadable (the last value stays in force), and when `onChange` throws. */
  readonly onProblem?: (message: string, error?: unknown) => void;
  readonly signal?: AbortSignal;
  readonly schedule?: Schedule;
}

export interface Secrets {
  secret(name: string): Lookup;
  file(name: string): Lookup;
  /** Checks the files until it is closed or `signal` aborts. Does not keep the process alive. */
  watch(options: WatchOptions): { close(): void };
}

interface Reference {
  readonly scheme: "secret" | "file";
  readonly name: string;
}

interface SecretsOptions {
  /** Absolute path of `secrets_dir`; `undefined` if the node file sets none. */
  readonly dir: string | undefined;
  /** Sealed secrets; omitted for the node file, which is read before the cluster's secrets are available. */
  readonly sealed?: Pick<SealedSecrets, "secret"> | undefined;
}

/** Creates the lookup without reading a file. */
export function openSecrets({ dir, sealed }: SecretsOptions): Secrets {
  const digests = new Map<string, string>();

  function read(reference: Reference): SecretFile {
    const file = readFile(reference);
    if (reference.scheme === "file" || sealed === undefined || file.kind === "value") return file;
    if (dir !== undefined && !file.missing) return file;
    const found = sealed.secret(reference.name);
    if (found.kind === "value") {
      return { ...found, digest: `sealed:${createHash("sha256").update(found.value).digest("hex")}` };
    }
    return found.missing && dir !== undefined
      ? { ...found, message: `${file.message}, and ${found.message}` }
      : { ...found };
  }

  function readFile({ scheme, name }: Reference): SecretFile {
    if (dir === undefined) {
      const message = `\${${scheme}:…} needs secrets_dir, which the node file does not set`;
      return { kind: "problem", message, missing: false };
    }
    return readSecretFile({ dir, name, maxBytes: scheme === "secret" ? MAX_SECRET_BYTES : MAX_FILE_BYTES });
  }

  function lookUp(reference: Reference): Lookup {
    const found = read(reference);
    if (found.kind === "problem") return found;
    digests.set(keyOf(reference), found.digest);
    return { kind: "value", value: found.value };
  }

  return {
    secret: (name) => lookUp({ scheme: "secret", name }),
    file: (name) => lookUp({ scheme: "file", name }),
    watch: (options) => watch(options, read, new Map(digests)),
  };
}

/**
 * Watches the references of a configuration. `known`: digests of the values in use; a reference without one uses the content of
 * the first check.
 */
function watch(
  options: WatchOptions,
  read: (reference: Reference) => SecretFile,
  known: Map<string, string>,
): { close(): void } {
  const { used, everyMs = WATCH_EVERY_MS, onChange, onProblem = () => {}, signal, schedule = startInterval } = options;
  const references = [
    ...used.secrets.map((name) => ({ scheme: "secret", name }) as const),
    ...used.files.map((name) => ({ scheme: "file", name }) as const),
  ];
  const unreadable = new Set<string>();

  function checkReferences(): readonly string[] {
    const changed = new Set<string>();
    for (const reference of references) {
      const key = keyOf(reference);
      const found = read(reference);
      if (found.kind === "problem") {
        if (!unreadable.has(key)) onProblem(`${key}: ${found.message}; its last value stays in force`);
        unreadable.add(key);
        continue;
      }
      unreadable.delete(key);
      const before = known.get(key);
      if (before !== undefined && before !== found.digest) changed.add(key);
      known.set(key, found.digest);
    }
    return [...changed];
  }

  function checkAndNotify(): void {
    const changed = checkReferences();
    if (changed.length === 0) return;
    try {
      onChange(changed);
    } catch (error) {
      // An error thrown in a timer would end the process.
      onProblem(`the change of ${changed.join(", ")} could not be applied`, error);
    }
  }

  if (signal?.aborted || references.length === 0) return { close() {} };
  for (const reference of references) {
    const key = keyOf(reference);
    if (known.has(key)) continue;
    const found = read(reference);
    if (found.kind === "value") known.set(key, found.digest);
  }
  const stop = schedule(checkAndNotify, everyMs);
  function close(): void {
    stop();
    signal?.removeEventListener("abort", close);
  }
  signal?.addEventListener("abort", close, { once: true });
  return { close };
}

function keyOf({ scheme, name }: Reference): string {
  return `${scheme}:${name}`;
}

function startInterval(run: () => void, everyMs: number): () => void {
  const timer = setInterval(run, everyMs).unref();
  return () => clearInterval(timer);
}
