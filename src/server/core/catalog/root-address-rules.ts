/**
 * Rules for root addresses of all providers, in the catalog or not: shape, placeholders, and how the key is sent. A root has
 * no trailing slash, query or fragment; `{placeholders}` are allowed in host and path.
 */

import type { Dialect } from "../dialects/index.ts";
import { endsInVersion, hasPath, trimmed } from "./join-url.ts";
import type { Channel, KeyHeader } from "./types.ts";

/** Maximum length of a root, longer than any address in use. It bounds the parsing. */
const LONGEST_ROOT = 2048;

/** Prefix that is removed from incoming paths: compat roots already include `/v1`, as SDKs expect. */
export const COMPAT_STRIP = "/v1";

/**
 * Returns the header for a provider's key. Hosts of the messages dialect other than its maker read one of the two headers and
 * ignore the other, so both are sent.
 */
export function defaultKeyHeader(dialect: Dialect, root: string): KeyHeader {
  if (dialect === "compat") return "bearer";
  return URL.canParse(root) && new URL(root).hostname === "api.anthropic.com" ? "x-api-key" : "both";
}

/** Returns the names in braces, in order: `https://{resource}.example/{project}` has `resource` and `project`. */
export function placeholders(root: string): readonly string[] {
  return [...root.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name ?? "");
}

/**
 * Returns what is wrong with a root address, as the rest of a sentence that starts with "base_url"; `undefined` if it is
 * valid.
 */
export function rootProblem(root: string): string | undefined {
  if (root.length > LONGEST_ROOT) return `is longer than ${LONGEST_ROOT} characters`;
  // Placeholders are replaced first, since they may be where a URL allows no brace, such as in the host.
  const filled = root.replaceAll(/\{[^{}/]+\}/g, "x");
  if (!/^https?:\/\/[^/\\\s]/i.test(filled) || !URL.canParse(filled)) return "must be an absolute http or https URL";
  if (/[{}]/.test(filled)) return "has a brace without its pair";
  const { username, password } = new URL(filled);
  // Even an empty user is refused, because a person could take the part before `@` for the host.
  if (username !== "" || password !== "" || /^https?:\/\/[^/]*@/i.test(filled)) return "must not contain a user";
  if (/[?#]/.test(filled)) return "must not have a query or fragment";
  if (/[\\\s]|[^:/]\/\/|\/\.{1,2}(?:\/|$)/.test(trimmed(filled))) {
    return "must not contain whitespace, a backslash, an empty segment or a dot segment";
  }
  return undefined;
}

/**
 * Returns the channel at another root. A preset's root includes a version (`http://localhost:8000/v1`), but operators and pools
 * often give only the origin of a moved server. Then the incoming `/v1` is kept, because the server needs it. If the preset's
 * own root has no version segment, `/v1` is removed as before.
 */
export function withRoot(channel: Channel, root: string): Channel {
  const isBareOrigin = !hasPath(root) && endsInVersion(channel.baseUrl);
  return { ...channel, baseUrl: trimmed(root), stripPathPrefix: isBareOrigin ? "" : channel.stripPathPrefix };
}
