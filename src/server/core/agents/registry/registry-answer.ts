/**
 * Answers requests to the registry API v0.1, which is read-only. Source: mcp-registry reference, 1, 2, 4 and 5; RFC 9457 for
 * errors.
 */
import type { RegistryEntry } from "./registry-entries.ts";

const ROOT = "/registry/v0.1";
const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 100;
const MAX_SEARCH_LENGTH = 200;
const LATEST = "latest";

/** Headers of every answer; clients in browsers need them. */
export const REGISTRY_HEADERS: readonly (readonly [string, string])[] = [
  ["access-control-allow-origin", "*"],
  ["access-control-allow-methods", "GET, OPTIONS"],
  ["access-control-allow-headers", "Authorization, Content-Type"],
];

export interface RegistryAnswer {
  readonly status: number;
  readonly contentType: string;
  /** JSON text; empty if there is no body. */
  readonly body: string;
}

/** Returns whether a path belongs to the registry API. */
export const isRegistryPath = (path: string): boolean => path === ROOT || path.startsWith(`${ROOT}/`);

/** Answers a request. `entries` are those that the caller may see, ordered by name. `query` has no question mark. */
export function answerRegistry(
  entries: readonly RegistryEntry[],
  { method, path, query }: { readonly method: string; readonly path: string; readonly query: string },
): RegistryAnswer {
  if (method !== "GET" && method !== "HEAD")
    return problemAnswer(501, "Not Implemented", "this registry can only be read");
  const segments = decodedSegments(path.slice(ROOT.length));
  if (segments === undefined) return problemAnswer(400, "Bad Request", "the path contains an invalid escape");
  const [root, ...named] = segments;
  if (root !== "servers") return problemAnswer(404, "Not Found", "Not found");
  if (named.length === 0) return list(entries, new URLSearchParams(query));
  // A name contains one slash. Clients encode it; people often do not.
  const [first = "", ...others] = named;
  const [name, rest] = first.includes("/") ? [first, others] : [`${first}/${others[0] ?? ""}`, others.slice(1)];
  const entry = entries.find((one) => one.name === name);
  const [versions, version, ...extraSegments] = rest;
  if (entry === undefined || versions !== "versions" || extraSegments.length > 0) return NOT_FOUND;
  if (version === undefined) return jsonAnswer(`{"servers":[${entry.json}],"metadata":{"count":1}}`);
  return version === LATEST || version === entry.version ? jsonAnswer(entry.json) : NOT_FOUND;
}

function list(entries: readonly RegistryEntry[], query: URLSearchParams): RegistryAnswer {
  const limit = query.get("limit");
  const pageSize = limit === null || limit === "" ? DEFAULT_LIMIT : Number(limit);
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_LIMIT) {
    return problemAnswer(422, "Unprocessable Entity", `\`limit\` must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  const since = query.get("updated_since");
  const from = since === null || since === "" ? Number.NEGATIVE_INFINITY : timeOf(since);
  if (Number.isNaN(from)) return problemAnswer(400, "Bad Request", "`updated_since` must be a time in RFC 3339 format");
  const cursor = query.get("cursor") ?? "";
  const after = cursor === "" ? "" : Buffer.from(cursor, "base64url").toString("utf8");
  if (cursor !== "" && cursorAfter(after) !== cursor)
    return problemAnswer(400, "Bad Request", "`cursor` was not issued by this registry");
  const search = (query.get("search") ?? "").slice(0, MAX_SEARCH_LENGTH).toLowerCase();
  const version = query.get("version") ?? "";
  const matching = entries.filter(
    (entry) =>
      entry.name > after &&
      entry.searchText.includes(search) &&
      (version === "" || version === LATEST || version === entry.version) &&
      Date.parse(entry.updatedAt) >= from,
  );
  const page = matching.slice(0, pageSize);
  const last = matching.length > page.length ? page.at(-1) : undefined;
  const metadata = { count: page.length, ...(last !== undefined && { nextCursor: cursorAfter(last.name) }) };
  return jsonAnswer(`{"servers":[${page.map(({ json }) => json).join(",")}],"metadata":${JSON.stringify(metadata)}}`);
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Parses a time in milliseconds; NaN if malformed. An unencoded plus sign arrives as a space. */
function timeOf(text: string): number {
  const written = text.replace(" ", "+");
  return RFC_3339.test(written) ? Date.parse(written) : Number.NaN;
}

/** Encodes a cursor in base64url, because some clients do not escape it in URLs. */
const cursorAfter = (name: string): string => Buffer.from(name).toString("base64url");

function decodedSegments(path: string): readonly string[] | undefined {
  try {
    return path
      .split("/")
      .slice(1)
      .map((segment) => decodeURIComponent(segment))
      .filter((segment, at, all) => segment !== "" || at < all.length - 1);
  } catch {
    return undefined;
  }
}

const jsonAnswer = (body: string): RegistryAnswer => ({ status: 200, contentType: "application/json", body });

/** Returns an error in both forms that clients expect: RFC 9457 problem details, and a member `error`. */
function problemAnswer(status: number, title: string, detail: string): RegistryAnswer {
  const body = JSON.stringify({ title, status, detail, error: detail });
  return { status, contentType: "application/problem+json", body };
}

const NOT_FOUND = problemAnswer(404, "Not Found", "Server not found");

/** Answer if no `public_url` is set, without which the servers' addresses are unknown. */
export const NO_PUBLIC_URL = problemAnswer(
  503,
  "Service Unavailable",
  "the registry needs `public_url` in the deployment document",
);
