/** Writes values with comments as YAML. It covers the values of our documents only. */

const COMMENT = Symbol("comment");

export type Commented = { readonly [key: string]: unknown; readonly [COMMENT]: string };

/** Returns an object with a comment above it. */
export const withComment = (comment: string, value: Readonly<Record<string, unknown>>): Commented => ({
  ...value,
  [COMMENT]: comment,
});

export function yamlText(value: Readonly<Record<string, unknown>>): string {
  return Object.entries(value)
    .map(([key, item]) => `${commentLines(item, "")}${keyText(key)}:${below(item, "")}`)
    .join("\n\n")
    .concat("\n");
}

export const commentText = (text: string, indent = ""): string =>
  text
    .split("\n")
    .map((line) => `${indent}#${line === "" ? "" : ` ${line.replace(UNSEEN, "?")}`}\n`)
    .join("");

/** Matches characters that a comment cannot contain (production c-printable) and those that reverse text. */
const UNSEEN = /[^\t\u0020-\u007e\u00a0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/g;

function below(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return " []";
    if (value.every((item) => typeof item !== "object")) return flowOrLines(value, indent);
    return value
      .map(
        (item) =>
          `\n${commentLines(item, `${indent}  `)}${indent}  - ${item === null || typeof item !== "object" ? scalar(item) : keysOf(item, `${indent}    `)}`,
      )
      .join("");
  }
  if (typeof value === "object" && value !== null) {
    return Object.keys(value).length === 0 ? " {}" : `\n${indent}  ${keysOf(value, `${indent}  `)}`;
  }
  return ` ${scalar(value)}`;
}

/** Writes the keys of an object. The first one is already indented. */
function keysOf(value: object, indent: string): string {
  const entries = Object.entries(value);
  return entries.length === 0
    ? "{}"
    : entries.map(([key, item]) => `${keyText(key)}:${below(item, indent)}`).join(`\n${indent}`);
}

const MAX_WIDTH = 100;

function flowOrLines(items: readonly unknown[], indent: string): string {
  const flow = ` [${items.map(scalar).join(", ")}]`;
  return flow.length + indent.length <= MAX_WIDTH
    ? flow
    : items.map((item) => `\n${indent}  - ${scalar(item)}`).join("");
}

function commentLines(item: unknown, indent: string): string {
  const text =
    typeof item === "object" && item !== null ? (Reflect.get(item, COMMENT) as string | undefined) : undefined;
  return text === undefined ? "" : commentText(text, indent);
}

/** Matches texts that need no quotes. */
const PLAIN = /^[A-Za-z][A-Za-z0-9_./-]*$/;
const RESERVED_WORDS = /^(true|false|yes|no|on|off|null|y|n)$/i;

const scalar = (value: unknown): string =>
  typeof value === "string" && PLAIN.test(value) && !RESERVED_WORDS.test(value) ? value : quote(value);

const keyText = (key: string): string => (PLAIN.test(key) && !RESERVED_WORDS.test(key) ? key : quote(key));

/** Quotes a value as JSON, with the characters escaped that YAML does not allow. */
const quote = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
