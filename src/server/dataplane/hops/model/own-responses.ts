/**
 * Requests for responses, as far as this node itself has a part in them: who remembers for whom, references put in place,
 * and the routes of stored responses, which it has none of. Source: Responses reference, 5.1, 5.5 and 11.1.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../../base/index.ts";
import type { Holding } from "../../../memory/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { Standing } from "../../governance/standing.ts";
import { mayRefer, type Responses, readOwnId, referredIn, withItems } from "../../responses/index.ts";
import { address, type Place, type Target } from "./address.ts";
import type { Sealing } from "./translated-call.ts";
import type { Remembering } from "./translating.ts";

const CREDENTIALS = ["authorization", "x-api-key", "api-key"] as const;
const NEVER = new AbortController().signal;
const BELOW = "/v1/responses/";

/** What is kept for a caller of responses. */
export interface ResponseCaller {
  readonly name: string;
  readonly responses: Responses;
}

/** Undefined: the route has nothing of it. Where the gateway recognises nobody, who brings the same credential is the same. */
export function responseCaller(
  { route }: Place,
  { caller }: Standing,
  { headers }: IncomingMessage,
  responses: Responses,
): ResponseCaller | undefined {
  if (route.form !== "responses" && route.name !== "responses_item") return undefined;
  if (caller.kind !== "anonymous") return { name: `${caller.kind} ${caller.principal}`, responses };
  const digest = createHash("sha256");
  for (const name of CREDENTIALS) digest.update(`${String(headers[name] ?? "")}\n`);
  return { name: `anonymous ${digest.digest("base64url")}`, responses };
}

export function sealingFor({ name, responses }: ResponseCaller): Sealing {
  return (answering) => responses.seals({ caller: name, ...answering });
}

/** For one answer. */
export function rememberingFor({ name, responses }: ResponseCaller, { content }: Target): Remembering {
  const request = content?.source.value as { readonly store?: unknown } | undefined;
  const isKept = request?.store !== false;
  return {
    seed: responses.seed(),
    remember: isKept ? (id, item) => responses.remember(name, id, item) : undefined,
  };
}

/** The same target where nothing of ours is referred to, or nothing of it is remembered. Throws as `address` does. */
export function withReferences(
  target: Target,
  { name, responses }: ResponseCaller,
  snapshot: Snapshot,
  held: Holding,
): Target | Promise<Target> {
  const { content, plain, contentType } = target;
  if (content === undefined || !mayRefer(plain)) return target;
  const ids = referredIn(content.source.value);
  if (ids.length === 0) return target;
  const inPlace = (items: ReadonlyMap<string, string>): Target => {
    if (items.size === 0) return target;
    const body = withItems(content.source, items);
    if (body.length > snapshot.maxBodyBytes) {
      throw new GatewayError("body_too_large", "With the items that it refers to the request body is over the bound.");
    }
    held.hold(body.length);
    return { ...address(snapshot, target, { contentType, original: body, plain: body, held }), isRewritten: true };
  };
  const items = responses.recall(name, ids, NEVER);
  return items instanceof Promise ? items.then(inPlace) : inPlace(items);
}

/**
 * Of a response whose id is ours: none is stored, and one can be forgotten. Undefined: it is no such request, and the
 * provider knows. Throws `response_not_found`.
 */
export async function ownResponse(
  method: string,
  { route, path }: Place,
  { name, responses }: ResponseCaller,
): Promise<string | undefined> {
  if (route.name !== "responses_item") return undefined;
  const [id = "", ...below] = path.slice(BELOW.length).split("/");
  if (!id.startsWith("resp_") || readOwnId(id) === undefined) return undefined;
  const isForgotten = method === "DELETE" && below.length === 0 && (await responses.forget(name, id, NEVER));
  if (isForgotten) return JSON.stringify({ id, object: "response", deleted: true });
  throw new GatewayError("response_not_found", "Responses are not stored: send the conversation again as input.", {
    param: "response_id",
  });
}
