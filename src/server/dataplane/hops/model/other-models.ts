/**
 * Finds further models that a request names: in its query, or in a body that is JSON and at the same time a form of its content
 * type. A server may use any of them, so the rules for models apply to all.
 */
import { GatewayError } from "../../../../base/index.ts";
import { findField, isFormEncoded, parametersNamed } from "../../../core/dialects/index.ts";
import { formBoundary, type Target } from "./resolve-target.ts";

const NONE: readonly string[] = [];

/** Returns the named models without the target's. Throws `invalid_request` if the body is ambiguous. */
export function otherModelNames({ query, contentType, plain, isJson, model }: Target): readonly string[] {
  const named = query === "" ? [] : parametersNamed(query.slice(1), "model").map(({ value }) => value);
  if (isJson && isFormEncoded(contentType)) {
    named.push(...parametersNamed(plain.toString("utf8"), "model").map(({ value }) => value));
  }
  const boundary = isJson ? formBoundary(contentType) : undefined;
  if (boundary !== undefined && plain.includes(`--${boundary}`)) {
    const field = findField(plain, boundary, "model");
    if (field.kind === "problem") throw new GatewayError("invalid_request", TWO_READINGS, { param: "model" });
    if (field.kind === "field") named.push(field.value);
  }
  return named.length === 0 ? NONE : [...new Set(named)].filter((name) => name !== model);
}

const TWO_READINGS = "The body can be read both as JSON and as a form: send it with the correct Content-Type.";
