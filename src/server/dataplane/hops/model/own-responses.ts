/**
 * Handles Responses requests on this node: determines the caller that remembered items belong to, replaces references, and serves
 * the routes of stored responses, of which the gateway keeps none. Source: Responses reference, 5.1, 5.5 and 11.1.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../../base/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import {
  mayHaveReferences,
  parseGeneratedId,
  type Responses,
  referencedIds,
  replaceReferences,
} from "../../responses/index.ts";
import { type RouteMatch, resolveTarget, type Target } from "./resolve-target.ts";
import type { ItemRecorder } from "./translate-answer.ts";
import type { CreateSeal } from "./translated-call.ts";

const CREDENTIALS = ["authorization", "x-api-key", "api-key"] as const;
const NEVER_ABORTED = new AbortController().signal;
const RESPONSES_PREFIX = "/v1/responses/";

/** Caller of the Responses API and the items that are remembered for it. */
export interface ResponseCaller {
  readonly name: string;
  readonly responses: Responses;
}

/**
 * Returns the caller, or `undefined` if the route is not part of the Responses API. Callers that are not authenticated are
 * distinguished by their credential.
 */
export function responseCallerOf(
  { route }: RouteMatch,
  { caller }: EffectiveProfile,
  { headers }: IncomingMessage,
  responses: Responses,
): ResponseCaller | undefined {
  if (route.form !== "responses" && route.name !== "responses_item") return undefined;
  if (caller.kind !== "anonymous") return { name: `${caller.kind} ${caller.principal}`, responses };
  const digest = createHash("sha256");
  for (const name of CREDENTIALS) digest.update(`${String(headers[name] ?? "")}\n`);
  return { name: `anonymous ${digest.digest("base64url")}`, responses };
}

export function sealFactoryFor({ name, responses }: ResponseCaller): CreateSeal {
  return (answering) => responses.sealFor({ caller: name, ...answering });
}

/** Returns the settings for remembering the items of one answer. */
export function itemRecorderFor({ name, responses }: ResponseCaller, { content }: Target): ItemRecorder {
  const request = content?.source.value as { readonly store?: unknown } | undefined;
  const isStored = request?.store !== false;
  return {
    seed: responses.seed(),
    remember: isStored ? (id, item) => responses.remember(name, id, item) : undefined,
  };
}

/**
 * Replaces references by the remembered items. Returns the same target if it refers to none of them. Throws as `address` does,
 * and `body_too_large`.
 */
export function withReferences(
  target: Target,
  { name, responses }: ResponseCaller,
  snapshot: Snapshot,
  memory: RequestMemory,
): Target | Promise<Target> {
  const { content, plain, contentType } = target;
  if (content === undefined || !mayHaveReferences(plain)) return target;
  const ids = referencedIds(content.source.value);
  if (ids.length === 0) return target;
  const insertItems = (items: ReadonlyMap<string, string>): Target => {
    if (items.size === 0) return target;
    const body = replaceReferences(content.source, items);
    if (body.length > snapshot.maxBodyBytes) {
      throw new GatewayError(
        "body_too_large",
        "The request body is larger than the limit once the items that it refers to are added.",
      );
    }
    memory.hold(body.length);
    return {
      ...resolveTarget(snapshot, target, { contentType, original: body, plain: body, memory }),
      isRewritten: true,
    };
  };
  const items = responses.recall(name, ids, NEVER_ABORTED);
  return items instanceof Promise ? items.then(insertItems) : insertItems(items);
}

/**
 * Answers a request for a response whose id the gateway generated. Responses are not stored, so only a deletion of remembered
 * items succeeds. Returns `undefined` for other requests, which the provider answers. Throws `response_not_found`.
 */
export async function localResponse(
  method: string,
  { route, path }: RouteMatch,
  { name, responses }: ResponseCaller,
): Promise<string | undefined> {
  if (route.name !== "responses_item") return undefined;
  const [id = "", ...below] = path.slice(RESPONSES_PREFIX.length).split("/");
  if (!id.startsWith("resp_") || parseGeneratedId(id) === undefined) return undefined;
  const isForgotten = method === "DELETE" && below.length === 0 && (await responses.forget(name, id, NEVER_ABORTED));
  if (isForgotten) return JSON.stringify({ id, object: "response", deleted: true });
  throw new GatewayError("response_not_found", "Responses are not stored: send the whole conversation as input.", {
    param: "response_id",
  });
}
