/** `mcp` and `a2a` to what requests are addressed to. Source: specification document 3. */
import type { Deployment } from "../core/config/index.ts";
import { compileFronted, type Fronted, type FrontedKind } from "../upstream/index.ts";

export interface FrontedSnapshot {
  /** In the order of the document: servers, then agents. */
  readonly all: readonly Fronted[];
  /** `path`: what stands behind `/mcp/` or `/a2a/`. */
  readonly at: (kind: FrontedKind, path: string) => Fronted | undefined;
}

export const NOTHING_FRONTED: FrontedSnapshot = Object.freeze({ all: [], at: () => undefined });

export function compileFrontedSnapshot(document: Deployment, asWritten: Deployment): FrontedSnapshot {
  const { mcp = [], a2a = [], credentials } = document;
  if (mcp.length + a2a.length === 0) return NOTHING_FRONTED;
  const keyOf = (config: { readonly api_key?: string | undefined; readonly credential?: string | undefined }) =>
    config.api_key ?? credentials.find(({ name }) => name === config.credential)?.api_key;
  const all = [
    ...mcp.map((config, at) => compileFronted("mcp", config, keyOf(config), asWritten.mcp?.[at]?.url ?? config.url)),
    ...a2a.map((config, at) => compileFronted("a2a", config, keyOf(config), asWritten.a2a?.[at]?.url ?? config.url)),
  ];
  const byPath = new Map(all.flatMap((one) => one.paths.map((path) => [`${one.kind}/${path}`, one] as const)));
  return Object.freeze({
    all: Object.freeze(all),
    at: (kind: FrontedKind, path: string) => byPath.get(`${kind}/${path}`),
  });
}
