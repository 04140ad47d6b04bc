/** Converts token issuers of the node file, and the admin API's bindings to them, for the modules that use them. */

import type { LoginIssuer } from "../../admin/index.ts";
import type { IssuerOptions } from "../../auth/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { readForwardProxies } from "../../forward-proxy/index.ts";
import { resolveBeside } from "../configuration/read-configuration-files.ts";

/** Returns the issuers. `path`: path of the node file, which its paths are relative to. `env`: names the forward proxies. */
export function issuersOf(
  { issuers = [] }: NodeFile,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly IssuerOptions[] {
  const { proxies } = readForwardProxies(env);
  return issuers.map((issuer) => ({
    name: issuer.name,
    url: issuer.url,
    jwksUrl: issuer.jwks_url || undefined,
    caFile: issuer.ca_file && resolveBeside(path, issuer.ca_file),
    tokenFile: issuer.token_file && resolveBeside(path, issuer.token_file),
    subjectClaim: issuer.subject_claim,
    nameClaim: issuer.name_claim,
    proxies,
  }));
}

/** Returns the issuers of the admin API at which a command line can sign in. */
export function loginsOf({ admin, issuers = [] }: NodeFile): readonly LoginIssuer[] {
  return (admin?.issuers ?? []).flatMap(({ issuer: name, login }) => {
    const issuer = issuers.find((it) => it.name === name);
    if (login === undefined || issuer === undefined) return [];
    const { client_id, scopes, extra = {}, token } = login;
    return [{ name, issuer: issuer.url, client_id, scopes, extra, token }];
  });
}
