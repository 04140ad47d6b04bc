/**
 * Facts of a root address that hold for every provider, catalogued or not: its shape, its placeholders, and how its key
 * is sent. A root has no trailing slash, no query and no fragment; `{placeholders}` stand in host or path.
 */

import type { Dialect } from "../dialects/index.ts";
import { endsInVersion, hasPath, trimmed } from "./join-url.ts";
import type { Channel, KeyHeader } from "./types.ts";

/** Longer than any address in use; a bound for what is parsed. */
const LONGEST_ROOT = 2048;

/** Compat roots are written as SDKs want them, `/v1` included, while clients call the gateway below `/v1`. */
export const COMPAT_STRIP = "/v1";

/** Other hosts of the messages dialect read one header or the other, and ignore the one they do not read. */
export function defaultKeyHeader(dialect: Dialect, root: string): KeyHeader {
  if (dialect === "compat") return "bearer";
  return URL.canParse(root) && new URL(root).hostname === "api.anthropic.com" ? "x-api-key" : "both";
}

/** Names in braces, in order: `https://{resource}.example/{project}` has `resource` and `project`. */
export function placeholders(root: string): readonly string[] {
  return [...root.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name ?? "");
}

/** Describes what is wrong with a root address, to follow "base_url" in a sentence; `undefined` if nothing is. */
export function rootProblem(root: string): string | undefined {
  if (root.length > LONGEST_ROOT) return `is longer than ${LONGEST_ROOT} characters`;
  // A placeholder may be where a URL allows no brace, such as in the host.
  const filled = root.replaceAll(/\{[^{}/]+\}/g, "x");
  if (!/^https?:\/\/[^/\\\s]/i.test(filled) || !URL.canParse(filled)) return "must be an absolute http or https URL";
  if (/[{}]/.test(filled)) return "has a brace without its pair";
  const { username, password } = new URL(filled);
  // Even an empty user is refused: a reader could take the part before `@` for the host.
  if (username !== "" || password !== "" || /^https?:\/\/[^/]*@/i.test(filled)) return "may carry no user";
  if (/[?#]/.test(filled)) return "may have no query and no fragment";
  if (/[\\\s]|[^:/]\/\/|\/\.{1,2}(?:\/|$)/.test(trimmed(filled))) {
    return "may have no whitespace, backslash, empty segment or dot segment";
  }
  return undefined;
}

/**
 * The channel at another root. A preset's root names a version (`http://localhost:8000/v1`), but an operator who moves a
 * server often gives its origin alone, as pools do; then the incoming `/v1` is needed and stays. Where the preset's own
 * root has no version segment the server needs none, and `/v1` is taken off as before.
 */
export function withRoot(channel: Channel, root: string): Channel {
  const isBareOrigin = !hasPath(root) && endsInVersion(channel.baseUrl);
  return { ...channel, baseUrl: trimmed(root), stripPathPrefix: isBareOrigin ? "" : channel.stripPathPrefix };
}
