/**
 * What a request uses, of all that a channel can lack. Source: dialects reference, section 7.
 *
 * One pass over the parsed request, for any JSON: a member of a wrong type is no use, since its provider refuses it. Null
 * and a provider's default are no use either.
 */
import type { Dialect } from "../routes.ts";
import { objectOf } from "../values.ts";
import type { Capability } from "./capabilities.ts";
import { NO_USES, type Uses } from "./losses.ts";
import type { Found } from "./use-list.ts";
import { usesOfChat } from "./uses-compat.ts";
import { usesOfMessages } from "./uses-messages.ts";

/** `request`: of a chat completion (compat), or of a message or a count of its tokens (messages), as parsed. */
export function usesOf(dialect: Dialect, request: unknown): Uses {
  const fields = objectOf(request);
  if (fields === undefined) return NO_USES;
  return dialect === "compat" ? usesOfChat(fields) : usesOfMessages(fields);
}

const NOWHERE: Found = { used: new Set(), lost: new Set() };

/** Where the request uses one capability: read anew, for a refusal. */
export function placesOf(dialect: Dialect, request: unknown, capability: Capability): Found {
  const fields = objectOf(request);
  if (fields === undefined) return NOWHERE;
  const uses = dialect === "compat" ? usesOfChat(fields, capability) : usesOfMessages(fields, capability);
  return uses.found ?? NOWHERE;
}
