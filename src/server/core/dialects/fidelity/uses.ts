/**
 * What a request uses, of all that a channel can lack. Source: dialects reference, section 7.
 *
 * One pass over the parsed request, for any JSON: a member of a wrong type is no use, since its provider refuses it. Null
 * and a provider's default are no use either.
 */
import type { Form } from "../routes.ts";
import { objectOf, type Values } from "../values.ts";
import type { Capability } from "./capabilities.ts";
import { NO_USES, type Uses } from "./losses.ts";
import type { Found, UseList } from "./use-list.ts";
import { usesOfChat } from "./uses-compat.ts";
import { usesOfMessages } from "./uses-messages.ts";
import { usesOfResponses } from "./uses-responses.ts";

/** `to`: of what the channel would be sent, which only some requests are read for. `sought`: as a list of uses knows it. */
type Reader = (fields: Values, sought: Capability | undefined, to: Form) => UseList;

const READERS: Readonly<Record<Form, Reader>> = {
  chat: usesOfChat,
  messages: usesOfMessages,
  responses: usesOfResponses,
};

/**
 * `request`: of a chat completion, of a message or a count of its tokens, or for a response, as parsed. One for a response
 * passes to a channel that serves the route, whatever that claims.
 */
export function usesOf(form: Form, request: unknown, to: Form): Uses {
  if (form === "responses" && to === form) return NO_USES;
  const fields = objectOf(request);
  return (fields && READERS[form](fields, undefined, to)) ?? NO_USES;
}

const NOWHERE: Found = { used: new Set(), lost: new Set() };

/** Where the request uses one capability: read anew, for a refusal. */
export function placesOf(form: Form, request: unknown, capability: Capability, to: Form): Found {
  const fields = objectOf(request);
  return (fields && READERS[form](fields, capability, to).found) ?? NOWHERE;
}
