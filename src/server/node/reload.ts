/** Takes a changed configuration into a running node: whole, or not at all. */
import type { Log } from "../../base/index.ts";
import { decideApply, type NodeFile } from "../core/config/index.ts";
import { type LoadedNode, loadNode } from "./load.ts";
import type { RunningNode } from "./start.ts";

/** Node-file keys that a running process can change (design decisions, section 5). */
const RELOADABLE: ReadonlySet<string> = new Set(["secrets_dir", "catalog_overlay_paths", "deployment"]);

export interface ReloadOptions {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: RunningNode;
  readonly log: Log;
}

/**
 * Why the configuration is made again. `reload`: an operator asked; the documents are read again, and the version
 * decides. `rebuild`: a secret file changed; the documents are those that run already.
 */
export type ReloadCause = "reload" | "rebuild";

/** The node that now runs: the new one, or `running` when the new one was refused, which is logged. */
export async function reload(running: LoadedNode, cause: ReloadCause, options: ReloadOptions): Promise<LoadedNode> {
  const { log } = options;
  const loaded = await loadNode(options.path, options.env, cause === "rebuild" ? running.disk : undefined);
  if (loaded.kind === "refused") {
    for (const problem of loaded.problems) log.error("configuration refused", { problem });
    log.error("the previous configuration keeps serving", { problems: loaded.problems.length });
    return running;
  }
  const next = loaded.node;
  if (cause === "reload") {
    const decision = decideApply({ trigger: "reload", stored: editionOf(running), document: editionOf(next) });
    if (decision.kind === "refuse") {
      log.error("configuration refused; the previous one keeps serving", { reason: decision.reason });
      return running;
    }
  }
  for (const warning of next.warnings) log.warn("configuration", { warning });
  for (const key of changedKeys(running.nodeFile, next.nodeFile)) {
    if (!RELOADABLE.has(key)) log.warn("a change of the node file needs a restart", { key });
  }
  options.node.swap(next.compiled.snapshot);
  log.info("configuration applied", { cause, providers: next.compiled.snapshot.providers.length });
  return next;
}

function editionOf({ deployment, digest }: LoadedNode): { readonly digest: string; readonly version?: number } {
  const version = deployment.document?.version;
  return { digest, ...(version !== undefined && { version }) };
}

function changedKeys(before: NodeFile, after: NodeFile): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const text = (file: NodeFile, key: string): string | undefined => JSON.stringify(file[key as keyof NodeFile]);
  return [...keys].filter((key) => text(before, key) !== text(after, key));
}
