/**
 * Serves the card of a fronted agent, signed if the deployment has keys. Source: a2a reference, 8 and 9; specification document
 * 3 (`a2a_cards`); design decisions, section 7.
 */
import { createHash } from "node:crypto";
import { FlattenedSign } from "jose";
import { GatewayError } from "../../../base/index.ts";
import { type CardTerms, cardPayloads } from "../../core/agents/index.ts";
import { wrongPathMessage } from "../../core/dialects/index.ts";
import type { CardKey, Snapshot } from "../../snapshot/index.ts";
import type { FrontedServer } from "../../upstream/index.ts";
import type { AgentPath } from "../hops/agents/agent-path.ts";
import type { OwnDocument } from "../own-document.ts";
import type { Ports } from "../ports.ts";
import type { Projected } from "./own-cards.ts";

export const CARD_KEYS_PATH = "/.well-known/a2a-jwks.json";
/** Path that stands for all card paths without the name of an agent. */
const NAMELESS_CARD = "/a2a/.well-known/agent-card.json";

/** Value of `cache-control` for cards and for the keys that sign them. */
export const CARD_CACHE_CONTROL = "public, max-age=300";

/** Header pairs of every answer. They let browser pages of all origins read cards. */
export const CARD_HEADERS: readonly string[] = [
  "access-control-allow-origin",
  "*",
  "access-control-allow-methods",
  "GET, HEAD, OPTIONS",
  "access-control-allow-headers",
  "A2A-Version, A2A-Extensions, Authorization, Content-Type",
];

/** Returns the card. Rejects with the refusal to send. */
export async function cardDocument(
  { fronted, name }: AgentPath,
  { governance: { auth, publicUrl }, cardKeys: { keys } }: Snapshot,
  method: string,
  { ownCards, governancePorts }: Ports,
): Promise<OwnDocument> {
  if (method === "OPTIONS") return { status: 204, body: "" };
  if (method !== "GET" && method !== "HEAD") {
    throw new GatewayError("method_not_allowed", "An agent card can only be read, with GET or HEAD.");
  }
  if (name === "") throw new GatewayError("not_found", wrongPathMessage(method, NAMELESS_CARD));
  if (fronted === undefined) throw new GatewayError("not_found", "No agent of this name is configured.");
  if (publicUrl === undefined) {
    const message = "The address of this agent is unknown: the deployment document has no `public_url`.";
    throw new GatewayError("no_public_url", message);
  }
  const issuer = auth?.issuers
    .map(({ issuer: name }) => governancePorts?.issuerUrl(name))
    .find((url) => url !== undefined);
  const terms: CardTerms = {
    url: `${publicUrl}/a2a/${fronted.name}`,
    needsBearer: auth !== undefined,
    openIdConnectUrl: issuer && `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
    // `GetExtendedAgentCard` is refused, because its answer would contain the agent's own address.
    hasExtendedCard: false,
  };
  const card = await ownCards.of(fronted, publicUrl, terms);
  const { body, etag } = await signedCard(fronted, card, keys[0], publicUrl);
  return { body, etag, cacheControl: CARD_CACHE_CONTROL };
}

interface Signed {
  readonly content: string;
  readonly document: Promise<Pick<OwnDocument, "body" | "etag"> & { readonly etag: string }>;
}

/** Last signed card of each agent. Each signature differs, so without a cache every read would look like a changed card. */
const signed = new WeakMap<FrontedServer, Signed>();

function signedCard(
  agent: FrontedServer,
  card: Projected,
  key: CardKey | undefined,
  publicUrl: string,
): Signed["document"] {
  const payloads = cardPayloads(card);
  const content = [publicUrl, key?.kid ?? "", ...payloads].join("\n");
  const before = signed.get(agent);
  if (before?.content === content) return before.document;
  const document = signCard(card, payloads, key, publicUrl).then((body) => ({
    body,
    // The tag is weak, because every node creates its own signature but all must report the same tag.
    etag: `W/"${createHash("sha256").update(content).digest("base64url")}"`,
  }));
  signed.set(agent, { content, document });
  document.catch(() => signed.delete(agent));
  return document;
}

async function signCard(
  card: Projected,
  payloads: readonly string[],
  key: CardKey | undefined,
  publicUrl: string,
): Promise<string> {
  if (key === undefined) return JSON.stringify(card);
  const header = { alg: "ES256", kid: key.kid, typ: "JOSE", jku: publicUrl + CARD_KEYS_PATH };
  const signatures = await Promise.all(
    payloads.map(async (payload) => {
      const jws = await new FlattenedSign(Buffer.from(payload)).setProtectedHeader(header).sign(key.key);
      return { protected: jws.protected, signature: jws.signature };
    }),
  );
  return JSON.stringify({ ...card, signatures });
}
