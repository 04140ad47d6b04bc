/**
 * Builds the card of a fronted agent as the gateway publishes it: known members only, with the gateway's address and security
 * instead of the agent's. Source: a2a reference, 8 and 9; A2A specification, 4.4 and 8.4.
 *
 * Signers disagree about whether empty members are signed. So empty members are only written where the protocol requires them.
 * If there are any, two payloads are signed: one that follows the specification, and one that follows the official libraries.
 */
import canonicalize from "canonicalize";

type Values = Readonly<Record<string, unknown>>;

export interface CardTerms {
  /** URL at which the gateway serves this agent. */
  readonly url: string;
  /** True if callers need a credential of the gateway. */
  readonly needsBearer: boolean;
  /** URL of the OpenID discovery document of the accepted issuer, for clients that get a token themselves. */
  readonly openIdConnectUrl: string | undefined;
  readonly hasExtendedCard: boolean;
}

export type CardReading =
  | { readonly kind: "card"; readonly card: Values }
  /** `problem` describes what is wrong with the agent's card, without quoting it. `isOld` means a card of A2A 0.3. */
  | { readonly kind: "refused"; readonly problem: string; readonly isOld: boolean };

const MAX_SKILLS = 1_000;
const MAX_EXTENSIONS = 100;
const BEARER = "bearer";
const ISSUER = "openid";

/** Builds the published card from `agentCard`, the agent's parsed card. */
export function buildPublishedCard(agentCard: unknown, terms: CardTerms): CardReading {
  const card = objectIn(agentCard);
  if (card === undefined) return problem("it is not an object");
  const interfaces = listIn(card["supportedInterfaces"]).map(objectIn);
  const supported = interfaces.find(
    (one) => one?.["protocolBinding"] === "JSONRPC" && /^1\.0(?:\.\d+)?$/.test(String(one["protocolVersion"])),
  );
  if (supported === undefined) {
    const isOld = typeof card["url"] === "string" || typeof card["protocolVersion"] === "string";
    return isOld
      ? { kind: "refused", problem: "it is of A2A 0.3, and the gateway speaks 1.0", isOld }
      : problem("it names no interface of A2A 1.0 over JSON-RPC");
  }
  for (const name of ["name", "description", "version"]) {
    if (typeof card[name] !== "string" || card[name] === "") return problem(`it has no \`${name}\``);
  }
  const skills = listIn(card["skills"]).map(skillOf);
  if (skills.length > MAX_SKILLS) return problem(`it has more than ${MAX_SKILLS} skills`);
  if (skills.includes(undefined)) return problem("a skill has no `id`, `name` or `description`");
  const { streaming, extensions } = objectIn(card["capabilities"]) ?? {};
  const projected = withoutEmptyMembers({
    name: card["name"],
    description: card["description"],
    version: card["version"],
    supportedInterfaces: [
      withoutEmptyMembers({
        url: terms.url,
        protocolBinding: "JSONRPC",
        protocolVersion: "1.0",
        tenant: textIn(supported["tenant"]),
      }),
    ],
    provider: providerOf(card["provider"]),
    documentationUrl: textIn(card["documentationUrl"]),
    iconUrl: textIn(card["iconUrl"]),
    capabilities: withoutEmptyMembers({
      streaming: streaming === true,
      pushNotifications: false,
      extendedAgentCard: terms.hasExtendedCard,
      extensions: listIn(extensions)
        .slice(0, MAX_EXTENSIONS)
        .map(extensionOf)
        .filter((one) => one !== undefined),
    }),
    defaultInputModes: textsIn(card["defaultInputModes"]),
    defaultOutputModes: textsIn(card["defaultOutputModes"]),
    skills,
    ...security(terms),
  });
  return { kind: "card", card: projected };
}

function security({ needsBearer, openIdConnectUrl }: CardTerms): Values {
  if (!needsBearer) return {};
  const schemes: Record<string, unknown> = { [BEARER]: { httpAuthSecurityScheme: { scheme: "Bearer" } } };
  if (openIdConnectUrl !== undefined) schemes[ISSUER] = { openIdConnectSecurityScheme: { openIdConnectUrl } };
  const requirements = Object.keys(schemes).map((name) => ({ schemes: { [name]: {} } }));
  return { securitySchemes: schemes, securityRequirements: requirements };
}

/**
 * Returns the bytes to sign: the card as published and, if different, the card without empty values, as some libraries see it.
 */
export function cardPayloads(card: Values): readonly string[] {
  const published = canonicalText(card);
  const dropped = canonicalText(withoutEmptyValues(card));
  return published === dropped ? [published] : [published, dropped];
}

function canonicalText(card: unknown): string {
  const text = canonicalize(card);
  if (text === undefined) throw new Error("a card has no canonical form");
  return text;
}

function withoutEmptyValues(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutEmptyValues).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  const object = objectIn(value);
  if (object === undefined) return value === "" || value === null ? undefined : value;
  const kept = Object.entries(object)
    .map(([name, member]) => [name, withoutEmptyValues(member)] as const)
    .filter(([, member]) => member !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function skillOf(value: unknown): Values | undefined {
  const skill = objectIn(value);
  const [id, name, description] = [textIn(skill?.["id"]), textIn(skill?.["name"]), textIn(skill?.["description"])];
  if (skill === undefined || id === undefined || name === undefined || description === undefined) return undefined;
  return withoutEmptyMembers({
    id,
    name,
    description,
    tags: textsIn(skill["tags"]),
    examples: textsIn(skill["examples"]),
    inputModes: textsIn(skill["inputModes"]),
    outputModes: textsIn(skill["outputModes"]),
  });
}

function extensionOf(value: unknown): Values | undefined {
  const extension = objectIn(value);
  const uri = textIn(extension?.["uri"]);
  if (extension === undefined || uri === undefined) return undefined;
  return withoutEmptyMembers({
    uri,
    description: textIn(extension["description"]),
    required: extension["required"] === true ? true : undefined,
    params: withoutEmptyValues(objectIn(extension["params"])),
  });
}

function providerOf(value: unknown): Values | undefined {
  const provider = objectIn(value);
  return (
    provider && withoutEmptyMembers({ url: textIn(provider["url"]), organization: textIn(provider["organization"]) })
  );
}

/** Removes members that are undefined or empty. */
function withoutEmptyMembers(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([, value]) =>
        value !== undefined &&
        !(Array.isArray(value) && value.length === 0) &&
        !(objectIn(value) !== undefined && Object.keys(value as object).length === 0),
    ),
  );
}

const problem = (text: string): CardReading => ({ kind: "refused", problem: text, isOld: false });

const objectIn = (value: unknown): Values | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : undefined;
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);
const textIn = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const textsIn = (value: unknown): readonly string[] =>
  listIn(value).filter((one): one is string => textIn(one) !== undefined);
