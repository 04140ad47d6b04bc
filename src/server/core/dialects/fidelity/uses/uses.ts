/**
 * Reads which capabilities a request uses. Source: dialects reference, section 7.
 *
 * One pass over the parsed request accepts any JSON. A member of a wrong type is not a use, since its provider refuses it.
 * Null and a provider's default are not uses either.
 */

import { objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import type { Capability } from "../capabilities.ts";
import { NO_USES, type Uses } from "../losses.ts";
import type { CapabilityPlaces, UseList } from "./use-list.ts";
import { usesOfChat } from "./uses-compat.ts";
import { usesOfMessages } from "./uses-messages.ts";
import { usesOfResponses } from "./uses-responses.ts";

/**
 * Reader of the requests of one form. `to` is the form in which the channel would get the request; only some readers use it.
 * `target` is explained at `UseList`.
 */
type Reader = (fields: Values, target: Capability | undefined, to: Form) => UseList;

const READERS: Readonly<Record<Form, Reader>> = {
  chat: usesOfChat,
  messages: usesOfMessages,
  responses: usesOfResponses,
};

/**
 * Returns the uses of a parsed request: a chat completion, a message, a token count, or a response. A `responses` request that
 * is not translated has no uses: it passes whatever the channel claims.
 */
export function usesOf(form: Form, request: unknown, to: Form): Uses {
  if (form === "responses" && to === form) return NO_USES;
  const fields = objectOf(request);
  return (fields && READERS[form](fields, undefined, to)) ?? NO_USES;
}

const NOWHERE: CapabilityPlaces = { used: new Set(), lost: new Set() };

/** Returns the places where the request uses one capability. It reads the request again, for a refusal. */
export function placesOf(form: Form, request: unknown, capability: Capability, to: Form): CapabilityPlaces {
  const fields = objectOf(request);
  return (fields && READERS[form](fields, capability, to).found) ?? NOWHERE;
}
