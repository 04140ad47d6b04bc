/** Card of the simulated agent, signed if its name asks for that. Source: a2a.md sections 7 to 9; RFC 7515, 7638, 8785. */

import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";
import { generatePrivateKey } from "../../base/index.ts";
import type { AgentQuirk } from "../agents/quirks.ts";
import { arrayOf, type Json, type JsonObject, objectOf } from "../json-fields.ts";
import { type Answer, json, NO_TOKENS } from "../route-types.ts";
import { SKILLS } from "./agent-skills.ts";

const BIG = 2 * 1024 * 1024;
const MAX_AGE_SECONDS = 60;

export interface CardPlace {
  /** Origin, such as `http://127.0.0.1:8485`. */
  readonly origin: string;
  /** Path of the agent: `/a2a`, or `/a2a/NAME`. */
  readonly path: string;
}

export function answerCard(place: CardPlace, quirks: ReadonlySet<AgentQuirk>): Answer {
  if (quirks.has("redirect")) {
    const headers = ["location", `${place.origin}/.well-known/agent-card.json`];
    return { kind: "body", status: 302, headers, contentType: "", body: "", tokens: NO_TOKENS };
  }
  const text = JSON.stringify(quirks.has("old") ? oldCard(place) : signedCard(place, quirks, false));
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 16)}"`;
  return { ...json(text), headers: ["cache-control", `max-age=${MAX_AGE_SECONDS}`, "etag", etag] };
}

export function extendedCard(place: CardPlace, quirks: ReadonlySet<AgentQuirk>): JsonObject {
  return signedCard(place, quirks, true);
}

export function answerKeys(): Answer {
  return json(JSON.stringify({ keys: [signer().jwk] }));
}

function signedCard(place: CardPlace, quirks: ReadonlySet<AgentQuirk>, isExtended: boolean): JsonObject {
  const card = cardOf(place, quirks, isExtended);
  if (!quirks.has("signed") && !quirks.has("tampered")) return card;
  const { privateKey, kid } = signer();
  const jku = `${place.origin}${place.path}/jwks.json`;
  const header = Buffer.from(JSON.stringify({ alg: "ES256", typ: "JOSE", kid, jku })).toString("base64url");
  const payload = Buffer.from(canonical(card)).toString("base64url");
  const signed = sign("sha256", Buffer.from(`${header}.${payload}`), { key: privateKey, dsaEncoding: "ieee-p1363" });
  const signatures = [{ protected: header, signature: signed.toString("base64url") }];
  return { ...card, ...(quirks.has("tampered") && { version: "6.6.6" }), signatures };
}

function cardOf({ origin, path }: CardPlace, quirks: ReadonlySet<AgentQuirk>, isExtended: boolean): JsonObject {
  const description = "Answers, reports, books and fails, and calls nobody.";
  const url = quirks.has("elsewhere") ? "https://elsewhere.example/a2a" : `${origin}${path}`;
  const hidden = { id: "secret", name: "Secret", description: "Is on the extended card alone.", tags: ["simulated"] };
  return {
    name: "Simulated agent",
    description: quirks.has("big-card") ? description.padEnd(BIG, ".") : description,
    version: "1.0.0",
    provider: { organization: "Simulated", url: "https://provider.example" },
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: quirks.has("extended") },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: isExtended ? [...SKILLS, hidden] : SKILLS,
  };
}

function oldCard({ origin, path }: CardPlace): JsonObject {
  return {
    protocolVersion: "0.3.0",
    name: "Simulated agent",
    description: "Is of A2A 0.3.",
    version: "1.0.0",
    url: `${origin}${path}`,
    preferredTransport: "JSONRPC",
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: SKILLS,
  };
}

interface Signer {
  readonly privateKey: KeyObject;
  readonly kid: string;
  readonly jwk: JsonObject;
}

let made: Signer | undefined;

/** Returns the signing key, which is created at the first use and lasts as long as the process. */
function signer(): Signer {
  if (made !== undefined) return made;
  const privateKey = generatePrivateKey("p-256");
  const { x = "", y = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const thumbprint = JSON.stringify({ crv: "P-256", kty: "EC", x, y });
  const kid = createHash("sha256").update(thumbprint).digest("base64url");
  made = { privateKey, kid, jwk: { kty: "EC", crv: "P-256", x, y, kid, alg: "ES256", use: "sig" } };
  return made;
}

/** Returns canonical JSON (RFC 8785), in which numbers and strings are as `JSON.stringify` writes them. */
function canonical(value: Json | undefined): string {
  const items = arrayOf(value);
  if (items !== undefined) return `[${items.map(canonical).join(",")}]`;
  const object = objectOf(value);
  if (object === undefined) return JSON.stringify(value);
  const members = Object.keys(object)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(object[name])}`);
  return `{${members.join(",")}}`;
}
