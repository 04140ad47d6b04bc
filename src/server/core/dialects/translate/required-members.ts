/** Readers of members that a translation needs. Each throws `RequestProblem`, which never quotes the request. */
import { objectOf, type Values } from "../json/json-values.ts";
import { RequestProblem } from "./types.ts";

/** Returns whether the value is absent or null, which are equivalent in the messages dialect for each optional member. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function requiredObject(value: unknown, place: string): Values {
  return objectOf(value) ?? refuse(place, "must be an object");
}

export function requiredList(value: unknown, place: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(place, "must be an array");
}

export function requiredText(value: unknown, place: string): string {
  return typeof value === "string" ? value : refuse(place, "must be a string");
}

/** Returns a required id or name. Throws `RequestProblem` if it is empty or not a string. */
export function requiredName(value: unknown, place: string): string {
  return typeof value === "string" && value !== "" ? value : refuse(place, "must be a string that is not empty");
}

export function optionalObject(value: unknown, place: string): Values | undefined {
  return isAbsent(value) ? undefined : requiredObject(value, place);
}

export function optionalList(value: unknown, place: string): readonly unknown[] {
  return isAbsent(value) ? [] : requiredList(value, place);
}

export function optionalText(value: unknown, place: string): string | undefined {
  return isAbsent(value) ? undefined : requiredText(value, place);
}

/**
 * Returns a number, or `undefined` if it is absent. Throws `RequestProblem` for any other value, and for a number that JSON
 * cannot represent (`1e400` is read as infinite).
 */
export function optionalNumber(value: unknown, place: string): number | undefined {
  if (isAbsent(value)) return undefined;
  return typeof value === "number" && Number.isFinite(value) ? value : refuse(place, "must be a number");
}

export function optionalFlag(value: unknown, place: string): boolean {
  if (isAbsent(value)) return false;
  return typeof value === "boolean" ? value : refuse(place, "must be true or false");
}

export function refuse(place: string, message: string): never {
  throw new RequestProblem(place, message);
}
