/** Published cards, and the signed part. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { buildPublishedCard, cardPayloads } from "../../../../../src/server/core/agents/index.ts";

const OWN = {
  name: "Tickets",
  description: "Answers ticket questions",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://10.0.0.4/grpc", protocolBinding: "GRPC", protocolVersion: "1.0" },
    { url: "http://10.0.0.4/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "ask", name: "Ask", description: "Ask", tags: ["tickets"], examples: [], securityRequirements: [{}] }],
  securitySchemes: { own: { mtlsSecurityScheme: {} } },
  securityRequirements: [{ schemes: { own: { list: [] } } }],
  signatures: [{ protected: "p", signature: "s" }],
  unheardOf: "http://10.0.0.4/",
};
const TERMS = {
  url: "https://gw.example.com/a2a/tickets",
  needsBearer: false,
  openIdConnectUrl: undefined,
  hasExtendedCard: false,
};

function projected(own: unknown, terms = TERMS) {
  const reading = buildPublishedCard(own, terms);
  if (reading.kind !== "card") throw new Error(reading.problem);
  return reading.card;
}

test("the agent's own address, security and signatures are removed", () => {
  const card = projected(OWN);
  assert.doesNotMatch(JSON.stringify(card), /10\.0\.0\.4|mtls|signatures|unheardOf/);
  assert.deepEqual(card["capabilities"], { streaming: true, pushNotifications: false, extendedAgentCard: false });
});

test("the reference's minimal card has the reference's payload", () => {
  const { extendedAgentCard: _, ...capabilities } = projected(OWN)["capabilities"] as Record<string, unknown>;
  const [payload] = cardPayloads({ ...projected(OWN), capabilities });
  const digest = createHash("sha256")
    .update(payload ?? "")
    .digest("hex");
  assert.equal(digest, "cb5f763ca4f5ce4b33065d7788af395fbf27ab2d2e4ba9dc66e9101a177a1e6a");
});

test("if an empty member is required, both forms are signed", () => {
  assert.equal(cardPayloads(projected(OWN)).length, 1);
  const card = projected(OWN, { ...TERMS, needsBearer: true });
  const [published, dropped] = cardPayloads(card);
  assert.match(published ?? "", /"securityRequirements":\[\{"schemes":\{"bearer":\{\}\}\}\]/);
  assert.doesNotMatch(dropped ?? "", /securityRequirements/);
});

test("a card that cannot be fronted is refused", () => {
  const refused = (own: unknown) => {
    const reading = buildPublishedCard(own, TERMS);
    return reading.kind === "refused" ? reading.problem : "";
  };
  assert.match(refused("card"), /not an object/);
  assert.match(refused({ name: "a", url: "http://x", protocolVersion: "0.3.0" }), /0\.3/);
  assert.match(refused({ ...OWN, supportedInterfaces: OWN.supportedInterfaces.slice(0, 1) }), /no interface/);
  assert.match(refused({ ...OWN, description: "" }), /description/);
  assert.match(refused({ ...OWN, skills: [{ id: "x" }] }), /skill/);
});
