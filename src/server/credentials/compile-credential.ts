/** Compiles an entry of `credentials`, or an inline key, for one upstream. Source: specification document 3. */
import { hash } from "node:crypto";
import type { Credential as CredentialConfig } from "../core/config/index.ts";
import { createCredentialCheck } from "./credential-headers.ts";
import { signingRegion, signingService } from "./signing/signing-scope.ts";
import { type KeyHeader, keyHeaders } from "./static-key.ts";
import type { Credential, StaticCredential } from "./types.ts";

/** Address at which the credential is presented. */
interface CredentialTarget {
  readonly origin: string;
  readonly keyHeader: KeyHeader;
  /** Region of the provider. */
  readonly region: string | undefined;
  /** Service that the catalog names for signing; empty if it names none. */
  readonly signingService: string;
}

type CompiledCredential =
  | { readonly kind: "credential"; readonly credential: Credential }
  | { readonly kind: "refused"; readonly message: string };

/** Compiles a static key in the header that its upstream reads. `name`: name of the entry; empty for an inline key. */
export function compileKey(name: string, key: string, form: KeyHeader): StaticCredential {
  return Object.freeze({
    kind: "api_key",
    name,
    digest: digestOf(["api_key", name, key, form]),
    headers: keyHeaders(form, key),
    containsCredential: createCredentialCheck(key),
  });
}

export function compileCredential(config: CredentialConfig, target: CredentialTarget): CompiledCredential {
  const { name, api_key: key, cloudsig, oauth, token_exchange: exchange } = config;
  if (cloudsig !== undefined) {
    const { hostname } = new URL(target.origin);
    const found = signingRegion(target.region, hostname);
    if (found.kind === "refused") return found;
    const service = signingService(cloudsig.service, target.signingService, hostname);
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken } = cloudsig;
    const keys =
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : Object.freeze({ accessKeyId, secretAccessKey, sessionToken });
    const scope = Object.freeze({ region: found.region, service });
    return compiledAs({
      kind: "cloudsig",
      name,
      digest: digestOf(["cloudsig", name, scope, keys ?? null]),
      scope,
      keys,
    });
  }
  if (oauth !== undefined) {
    const { token_url: tokenUrl, client_id: clientId, client_secret: clientSecret, scopes = [] } = oauth;
    const settings = { tokenUrl, clientId, clientSecret, scopes };
    return compiledAs({ kind: "oauth", name, digest: digestOf(["oauth", name, settings]), ...settings });
  }
  if (exchange !== undefined) {
    const { issuer, grant, audience, resource, scopes = [] } = exchange;
    const { client_id: clientId, client_secret: clientSecret, subject_token_type: subjectTokenType } = exchange;
    const settings = { issuer, grant, audience, resource, scopes, clientId, clientSecret, subjectTokenType };
    return compiledAs({
      kind: "token_exchange",
      name,
      digest: digestOf(["token_exchange", name, settings]),
      ...settings,
    });
  }
  return { kind: "credential", credential: compileKey(name, key ?? "", target.keyHeader) };
}

function compiledAs(credential: Credential): CompiledCredential {
  return { kind: "credential", credential: Object.freeze(credential) };
}

function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value), "hex");
}
