/**
 * Credentials that providers present, and their requirements on this node. Source: specification document 3 (`credentials[]`).
 */
import type { CatalogProvider, Channel } from "../core/catalog/index.ts";
import { type Deployment, type Path, type ProviderConfig, type Severity, unknownName } from "../core/config/index.ts";
import { type Credential, compileCredential, compileKey } from "../credentials/index.ts";
import type { TrustedSettings } from "./governance.ts";

type ProviderCredentials =
  | { readonly kind: "known"; readonly of: ((channel: Channel) => Credential) | undefined }
  | { readonly kind: "refused"; readonly message: string };

/** Returns the credential of each channel; `undefined` if the client's own is forwarded. */
export function credentialsOf(
  { channels, signingService }: CatalogProvider,
  { credentials = [] }: Deployment,
  { api_key: key, credential, region }: ProviderConfig,
): ProviderCredentials {
  if (key !== undefined) return { kind: "known", of: ({ keyHeader }) => compileKey("", key, keyHeader) };
  const named = credentials.find(({ name }) => name === credential);
  if (named === undefined) return { kind: "known", of: undefined };
  const made = new Map<Channel, Credential>();
  for (const channel of channels) {
    const { origin } = new URL(channel.baseUrl);
    const compiled = compileCredential(named, { origin, keyHeader: channel.keyHeader, region, signingService });
    if (compiled.kind === "refused") return compiled;
    made.set(channel, compiled.credential);
  }
  return { kind: "known", of: (channel) => made.get(channel) as Credential };
}

type Report = (path: Path, message: string, severity?: Severity) => void;

/** Reports token exchanges whose issuer is not configured and accepted on this node. */
export function checkIssuers(
  { credentials = [], auth }: Deployment,
  trusted: TrustedSettings | undefined,
  report: Report,
): void {
  const accepted = new Set((auth?.issuers ?? []).map(({ issuer }) => issuer));
  for (const [at, { token_exchange: exchange }] of credentials.entries()) {
    if (exchange === undefined) continue;
    const path = ["credentials", at, "token_exchange", "issuer"];
    const { issuer } = exchange;
    if (trusted?.issuers.includes(issuer) === false) {
      report(path, unknownName("entry of `issuers`", issuer, trusted.issuers, "this node's file"));
    } else if (!accepted.has(issuer)) {
      const message = "this credential cannot be used: `auth.issuers` accepts no tokens of this issuer";
      report(path, message, "warning");
    }
  }
}
