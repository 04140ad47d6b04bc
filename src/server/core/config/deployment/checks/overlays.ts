/** Checks of operations on the catalog, inline or from an overlay file. Spec: document 3, `catalog_overlays[]`. */

import { enumerated, type Path, type Problem, type ProblemAt, shown } from "../../problem.ts";
import type { ChannelOperation, ProviderOperation } from "../overlays.ts";
import type { Check } from "./check.ts";
import { repeatedNames } from "./unique-names.ts";

const ALLOWED_KEYS: Readonly<Record<ProviderOperation["op"], readonly string[] | "all">> = {
  add: "all",
  replace: "all",
  patch: ["base_url", "key_env", "docs", "channels"],
  remove: [],
};

/** Matches header names, which are tokens. Source: RFC 9110 section 5.1. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that the gateway sets itself: the credential, message framing and destination. */
const RESERVED_HEADERS = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
]);

export const checkCatalogOverlays: Check = ({ catalog_overlays }, problem) =>
  catalog_overlays.flatMap(({ providers }, overlay) =>
    providers.flatMap((operation, at) =>
      operationChecks(operation, problem, ["catalog_overlays", overlay, "providers", at]),
    ),
  );

/** Runs the checks of one operation that need no catalog. */
export function operationChecks(operation: ProviderOperation, problem: ProblemAt, path: Path = []): readonly Problem[] {
  const channels = operation.channels ?? [];
  return [
    ...disallowedKeys(operation, problem, path),
    ...definitionProblems(operation, problem, path),
    ...rootProblems(operation.base_url, problem, path),
    ...headerProblems(operation, problem, path),
    ...repeatedNames(
      { path: [...path, "channels"], what: "channels of this provider", names: channels.map(({ id }) => id) },
      problem,
    ),
    ...channels.flatMap((channel, at) => channelProblems(operation, channel, problem, [...path, "channels", at])),
  ];
}

function disallowedKeys(operation: ProviderOperation, problem: ProblemAt, path: Path): readonly Problem[] {
  const allowed = ALLOWED_KEYS[operation.op];
  if (allowed === "all") return [];
  const may = allowed.length === 0 ? "takes no key except `name`" : `may change only ${enumerated(allowed, "and")}`;
  const presentKeys = Object.keys(operation).filter((key) => key !== "op" && key !== "name");
  return presentKeys
    .filter((key) => !allowed.includes(key))
    .map((key) => problem([...path, key], `\`op: ${operation.op}\` ${may}; \`${key}\` is not one of them`));
}

/** Checks that a full definition has a root URL and a dialect, for the provider or for each channel. */
function definitionProblems(operation: ProviderOperation, problem: ProblemAt, path: Path): readonly Problem[] {
  if (operation.op !== "add" && operation.op !== "replace") return [];
  const channels = operation.channels ?? [];
  const each = (has: (channel: ChannelOperation) => boolean): boolean => channels.length > 0 && channels.every(has);
  const found: Problem[] = [];
  if (operation.schema === undefined && !each(({ dialect }) => dialect !== undefined)) {
    found.push(
      problem(path, `\`op: ${operation.op}\` needs \`schema.name\`, or a \`dialect\` on each of its channels`),
    );
  }
  if (operation.base_url === undefined && !each(({ base_url }) => base_url !== undefined)) {
    found.push(
      problem(path, `\`op: ${operation.op}\` needs a \`base_url\`, for the provider or on each of its channels`),
    );
  }
  return found;
}

/** Checks only the form, since roots with placeholders such as `{region}` are not URLs yet. */
function rootProblems(root: string | undefined, problem: ProblemAt, path: Path): readonly Problem[] {
  if (root === undefined) return [];
  if (/^https?:\/\/[^/?#]*@/.test(root)) {
    return [problem([...path, "base_url"], "a root URL must not contain a user or password")];
  }
  if (/[?#]/.test(root)) {
    return [problem([...path, "base_url"], "the root URL must not have a query or fragment (`?`, `#`)")];
  }
  return [];
}

function headerProblems(operation: ProviderOperation, problem: ProblemAt, path: Path): readonly Problem[] {
  return Object.entries(operation.set_request_headers ?? {}).flatMap(([name, value]) => {
    const at = [...path, "set_request_headers", name];
    if (!HEADER_NAME.test(name)) return [problem(at, "this is not a header name (RFC 9110 section 5.1)")];
    if (RESERVED_HEADERS.has(name.toLowerCase())) {
      return [problem(at, `the header ${shown(name)} is set by the gateway and by nothing else`)];
    }
    if (/[^\t -~\u0080-\u00ff]/.test(value))
      return [problem(at, "the value contains a character that is not allowed in a header")];
    return [];
  });
}

function channelProblems(
  operation: ProviderOperation,
  channel: ChannelOperation,
  problem: ProblemAt,
  path: Path,
): readonly Problem[] {
  const found: Problem[] = [...rootProblems(channel.base_url, problem, path)];
  if (operation.op === "patch" && channel.op === undefined) {
    found.push(problem(path, "a channel under `op: patch` needs its own `op`: `add`, `replace` or `remove`"));
  }
  if (operation.op !== "patch" && channel.op !== undefined) {
    found.push(
      problem([...path, "op"], `a channel has an \`op\` only under \`op: patch\`, not under \`op: ${operation.op}\``),
    );
  }
  if (channel.op === "remove") {
    const extra = Object.keys(channel).filter((key) => key !== "op" && key !== "id");
    found.push(
      ...extra.map((key) =>
        problem([...path, key], `a channel with \`op: remove\` has only an \`id\`: remove \`${key}\``),
      ),
    );
  } else if (channel.tier === "provider_compat") {
    const missing = (["verified_at", "verified_by"] as const).filter((key) => channel[key] === undefined);
    if (missing.length > 0) {
      found.push(problem(path, `a channel of tier \`provider_compat\` needs ${enumerated(missing, "and")}`));
    }
  }
  return found;
}
