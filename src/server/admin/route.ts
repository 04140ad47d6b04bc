/**
 * Matches method and path to an operation of the table, and returns the texts of its path parameters.
 *
 * A literal segment takes precedence over a parameter, so `/secrets/rewrap` is not a secret. Segments are split before they are
 * decoded: a name may contain an encoded slash.
 */

import type { IncomingMessage } from "node:http";
import { BASE_PATH, OPERATIONS, type Operation, type OperationId, PROBE_PATHS } from "../../admin-api/index.ts";

export type Route =
  | {
      readonly kind: "operation";
      readonly id: OperationId;
      readonly operation: Operation;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: "unknown" }
  | { readonly kind: "undecodable" }
  | { readonly kind: "method"; readonly allowed: readonly string[] };

interface Pattern {
  readonly id: OperationId;
  readonly operation: Operation;
  /** One form per segment, with a group per parameter. */
  readonly segments: readonly { readonly form: RegExp; readonly names: readonly string[] }[];
  /** Number of literal segments; the higher takes precedence. */
  readonly literals: number;
}

const PATTERNS: readonly Pattern[] = (Object.entries(OPERATIONS) as [OperationId, Operation][])
  .map(([id, operation]) => pattern(id, operation))
  .sort((a, b) => b.literals - a.literals);

export function route(method: string, path: string): Route {
  if (!path.startsWith(`${BASE_PATH}/`)) return { kind: "unknown" };
  const given = path.slice(BASE_PATH.length + 1).split("/");
  const allowed: string[] = [];
  let literals = 0;
  for (const { id, operation, segments, literals: own } of PATTERNS) {
    // A path that matches a more literal pattern is not tried with a looser one for another method.
    if (segments.length !== given.length || own < literals) continue;
    const texts = matched(segments, given);
    if (texts === undefined) continue;
    literals = own;
    if (operation.method !== method) {
      allowed.push(operation.method);
      continue;
    }
    try {
      const params = Object.fromEntries(texts.map(([name, text]) => [name, decodeURIComponent(text)]));
      return { kind: "operation", id, operation, params };
    } catch {
      return { kind: "undecodable" };
    }
  }
  return allowed.length === 0 ? { kind: "unknown" } : { kind: "method", allowed };
}

function matched(segments: Pattern["segments"], given: readonly string[]): [string, string][] | undefined {
  const texts: [string, string][] = [];
  for (const [at, { form, names }] of segments.entries()) {
    const match = form.exec(given[at] ?? "");
    if (match === null) return undefined;
    for (const [group, name] of names.entries()) texts.push([name, match[group + 1] ?? ""]);
  }
  return texts;
}

function pattern(id: OperationId, operation: Operation): Pattern {
  const segments = operation.path
    .slice(1)
    .split("/")
    .map((segment) => {
      const names = [...segment.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
      // The first of two parameters in a segment ends at the first separator, which may be encoded: `model:a:b` is the model
      // `a:b`.
      const parts = segment.split(/(\{\w+\})/).filter((part) => part !== "");
      const source = parts
        .map((part, at) => {
          if (part.startsWith("{")) return at === parts.length - 1 ? "(.+)" : "([^:%]+)";
          return part === ":" ? "(?::|%3[Aa])" : part;
        })
        .join("");
      return { form: new RegExp(`^${source}$`), names };
    });
  return { id, operation, segments, literals: segments.filter(({ names }) => names.length === 0).length };
}

/**
 * Returns whether it is a probe: these are open to load balancers and supervisors, which connect by address and often without a
 * `Host`.
 */
export function isProbe({ method, url = "" }: IncomingMessage): boolean {
  const path = url.split("?", 1)[0];
  return (method === "GET" || method === "HEAD") && (path === PROBE_PATHS.alive || path === PROBE_PATHS.ready);
}
