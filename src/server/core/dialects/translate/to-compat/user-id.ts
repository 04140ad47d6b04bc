/**
 * Determines the end user's id for a provider: an opaque id of at most 64 characters, never an email address or a telephone
 * number. Source: dialects reference, 8.1 and 8.2.
 */
import { createHash } from "node:crypto";
import { isOpaqueId } from "../../fidelity/dialect-forms.ts";

const MAX_LENGTH = 64;

/**
 * Returns the id, or `undefined` if it must not be sent. A longer id becomes its SHA-256 digest, which has the maximum length.
 */
export function endUserId(id: string): string | undefined {
  if (id === "" || !isOpaqueId(id)) return undefined;
  return id.length <= MAX_LENGTH ? id : createHash("sha256").update(id).digest("hex");
}
