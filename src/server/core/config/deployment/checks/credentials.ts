/** Checks within one credential, and of addresses that must not be called. Spec: document 3, `credentials[]`. */

import type { Path, Problem, ProblemAt } from "../../problem.ts";
import type { Credential } from "../credentials.ts";
import type { Check } from "./check.ts";

export const checkCredentials: Check = ({ credentials }, problem) =>
  credentials.flatMap(({ cloudsig, oauth, token_exchange: exchange }, at) => {
    const path = ["credentials", at];
    return [
      ...(cloudsig === undefined ? [] : ofSigning(cloudsig, [...path, "cloudsig"], problem)),
      ...(oauth === undefined ? [] : ofTokenUrl(oauth.token_url, [...path, "oauth", "token_url"], problem)),
      ...(exchange === undefined ? [] : ofExchange(exchange, [...path, "token_exchange"], problem)),
    ];
  });

function ofSigning(
  { access_key_id: id, session_token: token }: NonNullable<Credential["cloudsig"]>,
  path: Path,
  problem: ProblemAt,
): readonly Problem[] {
  return token === undefined || id !== undefined
    ? []
    : [problem([...path, "session_token"], "a session token needs `access_key_id` and `secret_access_key`")];
}

/** Checks the address that receives the client secret. Source: RFC 6749 section 3.2. */
function ofTokenUrl(text: string, path: Path, problem: ProblemAt): readonly Problem[] {
  if (!URL.canParse(text)) return []; // The format check reports it.
  const { protocol, hostname, hash } = new URL(text);
  if (hash !== "" || text.includes("#")) {
    return [problem(path, "the URL of a token endpoint must not have a fragment (`#`)")];
  }
  if (protocol !== "https:" && !isLoopback(hostname)) {
    return [
      problem(
        path,
        "the client secret is sent there, so the URL must begin with `https://`, unless it is on this machine",
      ),
    ];
  }
  return isLinkLocal(hostname) ? [problem(path, LINK_LOCAL)] : [];
}

function ofExchange(
  { grant, audience, resource, scopes = [] }: NonNullable<Credential["token_exchange"]>,
  path: Path,
  problem: ProblemAt,
): readonly Problem[] {
  const found: Problem[] = [];
  if (grant === "token_exchange" && audience === undefined && resource === undefined) {
    found.push(problem(path, "the grant `token_exchange` needs an `audience` or a `resource`"));
  }
  if (grant === "on_behalf_of" && scopes.length === 0) {
    found.push(problem(path, "the grant `on_behalf_of` needs an entry in `scopes` that names the target"));
  }
  // Source: RFC 8707 section 2.
  if (resource !== undefined && (!URL.canParse(resource) || resource.includes("#"))) {
    found.push(problem([...path, "resource"], "a resource must be an absolute URI without a fragment (`#`)"));
  }
  for (const [key, value] of [
    ["audience", audience],
    ["resource", resource],
  ] as const) {
    if (grant !== "on_behalf_of" || value === undefined) continue;
    found.push(
      problem([...path, key], "the grant `on_behalf_of` does not use this key: name the target in `scopes`", "warning"),
    );
  }
  return found;
}

const LINK_LOCAL =
  "this address is link-local, where machines serve the keys of their cloud account: the gateway never connects to it";

/**
 * Refuses link-local addresses, where cloud machines get their own credentials: the author of a document must not be able to
 * read those.
 */
export const checkLinkLocal: Check = ({ providers, mcp, a2a }, problem) => {
  const places: readonly (readonly [Path, string | undefined])[] = [
    ...providers.map(({ base_url }, at) => [["providers", at, "base_url"], base_url] as const),
    ...(mcp ?? []).map(({ url }, at) => [["mcp", at, "url"], url] as const),
    ...(a2a ?? []).flatMap(({ url, card_url }, at) => [
      [["a2a", at, "url"], url] as const,
      [["a2a", at, "card_url"], card_url] as const,
    ]),
  ];
  return places.flatMap(([path, text]) =>
    text !== undefined && URL.canParse(text) && isLinkLocal(new URL(text).hostname) ? [problem(path, LINK_LOCAL)] : [],
  );
};

/**
 * Returns whether a host is a link-local address, as `URL` writes it: IPv4 in four decimal parts, IPv6 in brackets and
 * shortened.
 */
function isLinkLocal(hostname: string): boolean {
  return /^(?:169\.254\.|\[fe[89ab][0-9a-f]:|\[::ffff:a9fe:|\[fd00:ec2:)/i.test(hostname);
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(hostname);
}
