/** Checks within one provider, and between a provider and its credential. Spec: document 3, `providers[]`. */

import { parseDuration } from "../../../../../base/index.ts";
import type { Problem } from "../../problem.ts";
import type { Check } from "./check.ts";
import { unknownName } from "./check.ts";

export const checkIdentity: Check = ({ providers }, problem) =>
  providers.flatMap((provider, at) => {
    const found: Problem[] = [];
    const path = ["providers", at];
    if (provider.preset === undefined && provider.name === undefined) {
      found.push(problem(path, "a provider without a `preset` needs a `name`"));
    }
    if (provider.dialect !== undefined && provider.base_url === undefined && provider.pool === undefined) {
      found.push(problem(path, "a provider without a `preset` needs a `base_url` or a `pool`"));
    }
    return found;
  });

/** Matches the end of a URL that names an endpoint of a provider, not its root. */
const ENDPOINT = /\/(?:chat\/completions|completions|responses|embeddings|messages)\/*$/;

/**
 * Refuses a query or fragment in `base_url`: requests go to `base_url` + path + the caller's query, so it would be lost or
 * moved. Warns of the URL of an endpoint, which examples of other programs have in its place.
 */
export const checkBaseUrl: Check = ({ providers }, problem) =>
  providers.flatMap(({ base_url = "" }, at) => {
    const path = ["providers", at, "base_url"];
    if (/[?#]/.test(base_url)) return [problem(path, "the root URL must not have a query or fragment (`?`, `#`)")];
    const [endpoint] = ENDPOINT.exec(base_url) ?? [];
    if (endpoint === undefined) return [];
    const message = `the path of each request is added to this URL, so write it without \`${endpoint}\``;
    return [problem(path, message, "warning")];
  });

export const checkCredential: Check = ({ providers, credentials, auth }, problem) => {
  const kinds = new Map(credentials.map((credential) => [credential.name, credential]));
  return providers.flatMap(({ credential, api_key }, at) => {
    if (credential === undefined) {
      if (auth === undefined || api_key !== undefined) return [];
      return [
        problem(
          ["providers", at],
          "with `auth` a provider needs an `api_key` or a `credential`, since the caller's credential is not forwarded",
        ),
      ];
    }
    const path = ["providers", at, "credential"];
    const named = kinds.get(credential);
    if (named === undefined) return [problem(path, unknownName("entry of `credentials`", credential, kinds.keys()))];
    if (named.oauth !== undefined || named.token_exchange !== undefined) {
      const kind = named.oauth === undefined ? "token_exchange" : "oauth";
      return [
        problem(
          path,
          `this names a credential of kind \`${kind}\`; a provider needs one with \`api_key\` or \`cloudsig\``,
        ),
      ];
    }
    return [];
  });
};

export const checkAliases: Check = ({ providers }, problem) =>
  providers.flatMap(({ model_aliases = {} }, at) =>
    Object.keys(model_aliases).flatMap((alias) => {
      const path = ["providers", at, "model_aliases", alias];
      if (alias === "") return [problem(path, "an alias cannot be empty: it is the model name that clients ask for")];
      if (alias.includes("*")) {
        return [problem(path, "an alias is one model name; patterns with `*` are only allowed in `models`")];
      }
      return [];
    }),
  );

/** Refuses zero timeouts, with which every attempt or none would fail. */
export const checkWaits: Check = ({ providers }, problem) =>
  providers.flatMap(({ first_byte_timeout, retry }, at) => {
    const found: Problem[] = [];
    if (first_byte_timeout !== undefined && parseDuration(first_byte_timeout) === 0) {
      found.push(problem(["providers", at, "first_byte_timeout"], "expected a duration above zero"));
    }
    if (retry !== undefined && (parseDuration(retry.backoff) ?? 0) > (parseDuration(retry.max_backoff) ?? 0)) {
      found.push(
        problem(
          ["providers", at, "retry"],
          "`backoff` is longer than `max_backoff`, so every wait is as long as `max_backoff`",
          "warning",
        ),
      );
    }
    return found;
  });
