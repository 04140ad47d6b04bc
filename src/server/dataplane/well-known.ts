/**
 * What the data plane tells without a credential: where its tokens come from. Source: RFC 9728; design decisions, section 7.
 */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { protectedResourceMetadata } from "../auth/index.ts";
import type { Governance } from "../snapshot/index.ts";
import type { Governing } from "./ports.ts";

const PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource";

export interface OwnAnswer {
  /** Label of its metrics. */
  readonly route: string;
  /** JSON. */
  readonly body: string;
}

/** Undefined: the request is for something else. Throws `not_found` while there is no `public_url` or no `auth`. */
export function wellKnown(
  { url = "/", method }: IncomingMessage,
  { auth }: Governance,
  governing: Governing | undefined,
): OwnAnswer | undefined {
  if (!url.startsWith(PROTECTED_RESOURCE) || (method !== "GET" && method !== "HEAD")) return undefined;
  const [path] = url.split("?", 1);
  if (path !== PROTECTED_RESOURCE) return undefined;
  if (auth?.publicUrl === undefined || governing === undefined) {
    throw new GatewayError(
      "not_found",
      "This gateway tells nothing of its resource: it has no `auth` and `public_url`.",
    );
  }
  const metadata = protectedResourceMetadata(auth, (name) => governing.issuerUrl(name));
  return { route: "protected_resource", body: JSON.stringify(metadata) };
}
