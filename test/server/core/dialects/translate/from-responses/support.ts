/** Responses requests as either target receives them, and golden cases of them. */
import { readdirSync, readFileSync } from "node:fs";
import {
  defaultClaims,
  type TranslationDirection,
} from "../../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { losses } from "../../../../../../src/server/core/dialects/fidelity/losses.ts";
import { usesOf } from "../../../../../../src/server/core/dialects/fidelity/uses/uses.ts";
import { readJson } from "../../../../../../src/server/core/dialects/json/json-source.ts";
import type { Values } from "../../../../../../src/server/core/dialects/json/json-values.ts";
import {
  responsesToChat,
  responsesToMessages,
  type TranslatedResponseRequest,
} from "../../../../../../src/server/core/dialects/translate/from-responses/request.ts";
import type {
  ChannelTerms,
  ReasoningSeal,
  SealedBlock,
} from "../../../../../../src/server/core/dialects/translate/types.ts";

export const TARGETS = ["messages", "chat"] as const;
export type Target = (typeof TARGETS)[number];

/** The channel claims everything in its dialect except what it `lacks`. */
interface GivenChannel {
  readonly lacks?: readonly string[];
}

interface Expected {
  readonly channel?: GivenChannel;
  readonly body: Values;
  /** Names of all losses in reported order: those of the guard, then those of the translation. */
  readonly lost?: readonly string[];
}

interface Golden {
  readonly row: string;
  readonly given: Values;
  readonly messages?: Expected;
  readonly chat?: Expected;
}

const FOLDER = new URL("../golden/from-responses/", import.meta.url);

export const GOLDENS: readonly (readonly [file: string, cases: readonly Golden[]])[] = readdirSync(FOLDER)
  .sort()
  .map((file) => [file, JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")) as readonly Golden[]]);

const MODEL = { sent: "m1", requested: "asked-model" };

/** Content of the sealed texts in the cases, by their target. */
const SEALED: Readonly<Record<Target, ReadonlyMap<string, readonly SealedBlock[]>>> = {
  messages: new Map<string, readonly SealedBlock[]>([
    ["gwr1.k1.SEALED", [{ k: "t", x: "I need the weather.", s: "EqQBsig==" }]],
    ["gwr1.k1.EMPTY", [{ k: "t", x: "", s: "EqQBsig==" }]],
    ["gwr1.k1.REDACTED", [{ k: "r", x: "c2VjcmV0" }]],
  ]),
  chat: new Map<string, readonly SealedBlock[]>([
    ["gwr1.k1.SEALED", [{ k: "c", x: "I need the weather." }]],
    [
      "gwr1.k1.DETAILS",
      [
        { k: "c", x: "Hm." },
        { k: "d", j: [{ type: "reasoning.text", text: "Hm.", signature: "s", index: 0 }] },
      ],
    ],
  ]),
};

function sealFor(target: Target): ReasoningSeal {
  return { seal: () => "gwr1.k1.SEALED", open: (sealed) => SEALED[target].get(sealed) };
}

const CLAIMABLE = { messages: defaultClaims("messages"), chat: defaultClaims("compat") };
const TRANSLATE = { messages: responsesToMessages, chat: responsesToChat };
const WAY = { messages: "responses>messages", chat: "responses>chat" } as const satisfies Record<
  Target,
  TranslationDirection
>;

function channelTerms(target: Target, { lacks = [] }: GivenChannel = {}): ChannelTerms {
  return {
    claims: (capability) => CLAIMABLE[target].has(capability) && !lacks.includes(capability),
    endUserField: "user",
    acceptsStreamUsage: true,
    seal: sealFor(target),
  };
}

export function translateText(target: Target, text: string, channel?: GivenChannel): TranslatedResponseRequest {
  return TRANSLATE[target](readJson(text), MODEL, channelTerms(target, channel));
}

interface Made {
  readonly body: Values;
  readonly answer: TranslatedResponseRequest["answer"];
  readonly lost: TranslatedResponseRequest["lost"];
}

export function translate(target: Target, request: unknown, channel?: GivenChannel): Made {
  const { body, answer, lost } = translateText(target, JSON.stringify(request), channel);
  return { body: JSON.parse(body) as Values, answer, lost };
}

/** Returns the guard's result for the choice of a channel with these claims. */
export function guarded(target: Target, request: unknown, { lacks = [] }: GivenChannel = {}) {
  const caps = new Set([...CLAIMABLE[target]].filter((name) => !lacks.includes(name)));
  return losses(usesOf("responses", request, target), WAY[target], { caps });
}
