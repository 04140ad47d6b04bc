/**
 * Collects the capabilities used by settings that chat completions and responses have in common. Source: dialects reference,
 * 3.1 and 7; responses reference, 2.
 */
import { objectOf, type Values } from "../../json/json-values.ts";
import { isSendableUserId, isText } from "../dialect-forms.ts";
import type { FieldReader } from "../field-readings.ts";
import { hasUnenforcedBounds, isExpressibleInMessages } from "../schemas.ts";
import type { UseList } from "./use-list.ts";

export const SHARED_READERS = {
  temperature(value, uses) {
    if (typeof value !== "number" || value === 1) return;
    uses.add("sampling");
    if (value > 1) uses.add("temperature_above_one");
  },
  top_p(value, uses) {
    if (isOtherNumber(value, 1)) uses.add("sampling");
  },
  top_logprobs(value, uses) {
    if (typeof value === "number" && value > 0) uses.add("logprobs");
  },
  stream(value, uses) {
    if (value === true) uses.add("streaming");
  },
  verbosity(value, uses) {
    if (typeof value === "string" && value !== "medium") uses.add("verbosity");
  },
  store(value, uses) {
    if (value === true) uses.add("store");
  },
  metadata(value, uses) {
    if (hasMembers(value)) uses.add("metadata");
  },
  user(value, uses) {
    if (isText(value)) uses.add("user_id");
  },
  safety_identifier(value, uses) {
    if (isText(value)) uses.add("user_id");
  },
  prompt_cache_key(value, uses) {
    if (isText(value)) uses.lose("hint", "prompt_cache_key");
  },
  prompt_cache_retention(value, uses) {
    if (isText(value) && value !== "in_memory") uses.lose("hint", "prompt_cache_retention");
  },
  moderation(value, uses) {
    if (objectOf(value) !== undefined) uses.add("moderation");
  },
} as const satisfies Readonly<Record<string, FieldReader>>;

/**
 * Minimum `top_p` that a messages provider accepts with thinking. It then accepts neither a temperature other than 1 nor
 * `top_k`.
 */
const MIN_THINKING_TOP_P = 0.95;

export function readSampling({ temperature, top_p, top_k }: Values, uses: UseList): void {
  if (isOtherNumber(temperature, 1)) uses.lose("sampling", "temperature");
  else if (typeof top_p === "number" && top_p < MIN_THINKING_TOP_P) uses.lose("sampling", "top_p");
  if (typeof top_k === "number" && top_k > 0) uses.lose("top_k", "top_k");
}

/** Reads the end user's id. Only one id is passed on, and never an email address or a telephone number. */
export function readUser({ safety_identifier: identifier, user }: Values, uses: UseList): void {
  const hasIdentifier = isText(identifier);
  if (hasIdentifier && !isSendableUserId(identifier)) uses.lose("user_id", "safety_identifier");
  else if (isText(user) && (hasIdentifier ? user !== identifier : !isSendableUserId(user)))
    uses.lose("user_id", "user");
}

/** Reads a schema. Its name is for the provider's own use; its description is for the model. */
export function readSchema(named: Values | undefined, at: string, known: ReadonlySet<string>, uses: UseList): void {
  uses.add("json_schema");
  if (named === undefined) return;
  if (isText(named.description)) uses.lose("hint", `${at}.description`);
  const place = `${at}.schema`;
  if (objectOf(named.schema) === undefined || !isExpressibleInMessages(named.schema)) uses.lose("json_schema", place);
  else if (hasUnenforcedBounds(named.schema)) uses.lose("hint", place);
  uses.checkMembers(named, known, at);
}

export function isOtherNumber(value: unknown, defaultValue: number): boolean {
  return typeof value === "number" && value !== defaultValue;
}

export function hasMembers(value: unknown): boolean {
  const members = objectOf(value);
  if (members !== undefined) for (const _ in members) return true;
  return false;
}
