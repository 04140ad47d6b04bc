/** Presents a static key in the header form that a channel reads it from. */

/** Header that a provider reads its key from; `both` sends `x-api-key` and `authorization`. */
export type KeyHeader = "bearer" | "x-api-key" | "api-key" | "both";

/** Returns the raw header pairs that present `key`. */
export function keyHeaders(form: KeyHeader, key: string): readonly string[] {
  switch (form) {
    case "bearer":
      return ["authorization", `Bearer ${key}`];
    case "x-api-key":
      return ["x-api-key", key];
    case "api-key":
      return ["api-key", key];
    case "both":
      return ["x-api-key", key, "authorization", `Bearer ${key}`];
    default:
      return form satisfies never;
  }
}

/** Headers that carry a client's credential. None is forwarded when the gateway presents its own. */
export const CREDENTIAL_HEADERS: readonly string[] = [
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "cookie",
];
