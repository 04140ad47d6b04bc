/**
 * What a provider is told of the end user: an opaque id of at most 64 characters, and nobody's address or number.
 * Source: dialects reference, 8.1 and 8.2.
 */
import { createHash } from "node:crypto";
import { isOpaqueId } from "../../fidelity/forms.ts";

const MAX_LENGTH = 64;

/** Undefined: it is not to be sent. A longer id becomes its SHA-256, which is as long as an id may be. */
export function endUserId(id: string): string | undefined {
  if (id === "" || !isOpaqueId(id)) return undefined;
  return id.length <= MAX_LENGTH ? id : createHash("sha256").update(id).digest("hex");
}
