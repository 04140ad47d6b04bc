/** In-memory configuration sources: a document with the word `refused` is refused, and any other compiles. */

import type { SourceChange, SourceProblem } from "../../../../src/admin-api/index.ts";
import { GatewayError } from "../../../../src/base/index.ts";
import type { DocumentWrite, SourceOutcome, Sources } from "../../../../src/server/admin/index.ts";

interface Stored {
  readonly revision: number;
  readonly document: string;
  readonly at: number;
  readonly by: string;
}

export interface MemorySources {
  readonly sources: Sources;
  /** Acts like a file-configured deployment. */
  ownByFile(): void;
  setStanding(name: string, state: "running" | "pending" | "refused", message?: string): void;
}

export function createMemorySources(now: () => number): MemorySources {
  const history = new Map<string, Stored[]>();
  const standings = new Map<string, { state: "running" | "pending" | "refused"; message?: string }>();
  const listeners = new Set<() => void>();
  let writer: "api" | "file" = "api";

  const newest = (name: string): Stored | undefined => history.get(name)?.at(-1);
  const mayWrite = (): void => {
    if (writer === "file") {
      throw new GatewayError("conflict", "The file that `deployment` of the node file names is the single writer.");
    }
  };
  const mustMatch = (name: string, revision: number | undefined): void => {
    if (revision !== undefined && revision !== (newest(name)?.revision ?? 0)) {
      throw new GatewayError("stale", "The source has changed since that revision.");
    }
  };

  function judge({ name, document, ifRevision }: DocumentWrite): SourceOutcome<SourceChange> {
    mayWrite();
    mustMatch(name, ifRevision);
    const at = document.split("\n").findIndex((line) => line.includes("refused"));
    if (at >= 0) {
      const problem: SourceProblem = {
        source: name,
        path: "providers[0]",
        line: at + 1,
        column: 1,
        message: "no such",
      };
      return { kind: "refused", problems: [problem] };
    }
    const before = newest(name);
    const changed = before?.document !== document;
    return {
      kind: "done",
      value: {
        name,
        revision: before?.revision ?? 0,
        changed,
        differences: changed ? [{ path: "providers", kind: before === undefined ? "added" : "changed" }] : [],
        warnings: [],
      },
    };
  }

  const sources: Sources = {
    list: () =>
      [...history.keys()].sort().flatMap((name) => {
        const stored = newest(name);
        const { state, message } = standings.get(name) ?? { state: "running" };
        if (stored === undefined) return [];
        const { revision, at, by } = stored;
        const updated_at = new Date(at).toISOString();
        return [{ name, revision, writer, updated_at, by, state, message: message ?? null }];
      }),
    onStatus(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async document(name, revision) {
      const kept = history.get(name) ?? [];
      return (revision === undefined ? kept.at(-1) : kept.find((it) => it.revision === revision))?.document;
    },
    revisions: (name) =>
      history
        .get(name)
        ?.toReversed()
        .map(({ revision, at, by, document }) => ({
          revision,
          updated_at: new Date(at).toISOString(),
          by,
          bytes: Buffer.byteLength(document),
        })),
    async put(change, { by }) {
      const outcome = judge(change);
      if (outcome.kind === "refused" || !outcome.value.changed) return outcome;
      const revision = outcome.value.revision + 1;
      const { name, document } = change;
      history.set(name, [...(history.get(name) ?? []), { revision, document, at: now(), by: by.sub }]);
      return { kind: "done", value: { ...outcome.value, revision } };
    },
    async rollback({ name, to, ifRevision }, write) {
      const document = history.get(name)?.find(({ revision }) => revision === to)?.document;
      if (document === undefined) throw new GatewayError("not_found", "That revision is not kept.");
      return await sources.put({ name, document, ifRevision }, write);
    },
    dryRun: async (change) => judge(change),
    async delete(name, ifRevision) {
      mayWrite();
      if (!history.has(name)) return { kind: "done", value: false };
      mustMatch(name, ifRevision);
      return { kind: "done", value: history.delete(name) };
    },
    config: () => ({
      source: writer === "file" ? "deployment.yaml" : "api",
      sources: [...history.keys()].sort().map((name) => ({ name, revision: newest(name)?.revision ?? 0 })),
      file_status: { state: writer === "file" ? "in_sync" : "no_file", message: "as it is", remedy: "" },
    }),
    async tryReload() {
      const done = await sources.reload({ by: { iss: "local", sub: "unix:7" }, timeoutMs: 1_000 });
      if (done.kind === "refused") return done;
      const differences = [{ path: "providers.a", kind: "added" as const }];
      return { kind: "done", value: { ...done.value, applied: false, differences, warnings: [] } };
    },
    async reload() {
      const file_status = sources.config().file_status;
      if (writer === "api") throw new GatewayError("conflict", "There is no deployment document to reload.");
      return { kind: "done", value: { applied: false, revision: newest("default")?.revision ?? null, file_status } };
    },
  };
  return {
    sources,
    ownByFile() {
      writer = "file";
    },
    setStanding(name, state, message) {
      standings.set(name, { state, ...(message !== undefined && { message }) });
      for (const listener of listeners) listener();
    },
  };
}
