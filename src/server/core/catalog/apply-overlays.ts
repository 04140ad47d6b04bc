/**
 * Overlays: operations that change the catalog before presets are resolved. Spec: document 3, `catalog_overlays[]`; document
 * 2, `catalog_overlay_paths`.
 *
 * If there is any problem, the catalog stays unchanged and every problem is reported. The given catalog is never modified. The
 * configuration's rules check an operation alone; the checks here need the catalog or its vocabulary.
 */

import type { CatalogOverlay, ProviderOperation } from "../config/index.ts";
import { operationProblems } from "./operation-rules.ts";
import { type Applied, definedProvider, patchedProvider } from "./operations.ts";
import type { Catalog, CatalogProvider } from "./types.ts";

export interface NamedOverlay {
  /** Name of the overlay or of its file. Used in provenance and problems. */
  readonly source: string;
  readonly overlay: CatalogOverlay;
}

interface OverlayProblem {
  readonly overlay: string;
  /** Index in the overlay's `providers`, from 0. */
  readonly operation: number;
  readonly message: string;
}

type OverlayOutcome =
  | { readonly kind: "catalog"; readonly catalog: Catalog }
  | { readonly kind: "refused"; readonly problems: readonly OverlayProblem[] };

export function applyOverlays(catalog: Catalog, overlays: readonly NamedOverlay[]): OverlayOutcome {
  const next = new Map(catalog);
  const problems: OverlayProblem[] = [];
  // After a refused operation, later ones on the same provider would only repeat its problem.
  const refused = new Set<string>();
  for (const { source, overlay } of overlays) {
    for (const [at, operation] of overlay.providers.entries()) {
      const { name } = operation;
      if (refused.has(name)) continue;
      const applied = applyOperation(next.get(name), operation, source);
      if (applied.kind === "refused") {
        refused.add(name);
        problems.push(
          ...applied.messages.map((message) => ({
            overlay: source,
            operation: at,
            message: `${operation.op} \`${name}\`: ${message}`,
          })),
        );
      } else if (applied.provider === undefined) {
        next.delete(name);
      } else {
        next.set(name, applied.provider);
      }
    }
  }
  return problems.length > 0 ? { kind: "refused", problems } : { kind: "catalog", catalog: next };
}

function applyOperation(present: CatalogProvider | undefined, operation: ProviderOperation, source: string): Applied {
  const messages = operationProblems(operation);
  if (messages.length > 0) return { kind: "refused", messages };
  const refuse = (message: string): Applied => ({ kind: "refused", messages: [message] });
  if (operation.op === "add") {
    return present === undefined
      ? definedProvider(operation, undefined, source)
      : refuse("the catalog has this provider already; use `replace` or `patch`");
  }
  if (present === undefined) return refuse("the catalog has no such provider");
  switch (operation.op) {
    case "replace":
      return definedProvider(operation, present, source);
    case "patch":
      return patchedProvider(operation, present, source);
    case "remove":
      return { kind: "applied", provider: undefined };
    default:
      return operation.op satisfies never;
  }
}

/** Returns a message if an overlay file is not named after the provider that it changes; otherwise `undefined`. */
export function overlayFileProblem(fileName: string, operation: Pick<ProviderOperation, "name">): string | undefined {
  const base = (fileName.split(/[/\\]/).at(-1) ?? "").replace(/\.(ya?ml|json)$/i, "");
  if (base === operation.name) return undefined;
  return `the file is named ${JSON.stringify(base)} and changes the provider ${JSON.stringify(operation.name)}: the two must be equal`;
}
