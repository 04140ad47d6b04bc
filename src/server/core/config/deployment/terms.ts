/**
 * Schemas that several sections of the deployment document share: kinds of names, model patterns, triggers, scores, and the
 * reaction to a fault. Descriptions say what a key is for; the form is defined here once.
 */

import {
  choice,
  example,
  headerValue,
  list,
  map,
  number,
  type Schema,
  secret,
  type TextLimits,
  text,
} from "../schema/schema.ts";

const MAX_NAME_LENGTH = 128;

/** Limits of names that are used unchanged in headers, metric labels and paths: visible ASCII without the slash. */
const PATH_NAME = {
  pattern: "^[!-.0-~]+$",
  maxLength: MAX_NAME_LENGTH,
  examples: ["team-a"],
} as const satisfies TextLimits;

export const pathName = (description: string, ...examples: readonly string[]): Schema<string> =>
  text(description, { ...PATH_NAME, ...(examples.length > 0 && { examples }) });

/** Returns a schema of a name for people, in refusals and metrics: anything but control characters. */
export const label = (description: string, ...examples: readonly string[]): Schema<string> =>
  text(description, {
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
    ...(examples.length > 0 && { examples }),
  });

/** Returns a schema of a text that must not be empty. */
export const filled = (description: string, limits: TextLimits = {}): Schema<string> =>
  text(description, { minLength: 1, ...limits });

/** Same as `filled`, with examples. */
export const filledAs = (description: string, ...examples: readonly string[]): Schema<string> =>
  filled(description, { examples });

/** Returns a schema of model patterns: exact names, or prefixes with one `*` at the end; `*` alone matches every model. */
export const modelPatterns = (description: string): Schema<readonly string[]> =>
  list(
    description,
    text("One exact model name, or a prefix that ends in `*`. A `*` anywhere else is refused.", {
      pattern: "^([^*]+\\*?|\\*)$",
      maxLength: 512,
      examples: ["gpt-5", "claude-*"],
    }),
    { uniqueItems: true },
  );

export const dialect = (description: string) => choice(description, ["compat", "messages"]);

export const fidelityPolicy = (description: string) => choice(description, ["reject", "allow"]);

const TRIGGERS = ["connect", "5xx", "429", "timeout"] as const;

export type Trigger = (typeof TRIGGERS)[number];

export const DEFAULT_TRIGGERS: readonly Trigger[] = ["connect", "5xx", "429"];

export const triggers = (description: string): Schema<readonly Trigger[]> =>
  example(
    list(
      description,
      choice(
        "One kind of failure. `connect` means that no connection could be made, `5xx` and `429` are statuses of the answer, and `timeout` means that no response headers arrived within `first_byte_timeout`.",
        TRIGGERS,
      ),
      { minItems: 1, uniqueItems: true },
    ),
    ["connect", "5xx", "429", "timeout"],
  );

export const score = (description: string, ...examples: readonly number[]): Schema<number> =>
  example(number(description, { minimum: 0, maximum: 1 }), ...examples);

export const faultAnswer = (description: string) => choice(description, ["fail_open", "fail_closed"]);

export const headers = (description: string): Schema<Readonly<Record<string, string>>> =>
  example(map(description, headerValue(text("The value of the header that the key names.", { examples: ["org-1"] }))), {
    "openai-organization": "org-1",
  });

/** Returns a schema of headers with credentials. */
export const secretHeaders = (description: string): Schema<Readonly<Record<string, string>>> =>
  example(
    map(
      description,
      headerValue(secret(text("The value of the header that the key names. Write a credential as a reference."))),
    ),
    { authorization: "Bearer ${secret:SERVER_TOKEN}" },
  );

export const strings = (description: string, item: string, ...examples: readonly string[]): Schema<readonly string[]> =>
  list(description, filled(item, examples.length > 0 ? { examples } : {}));

export const controls = list(
  "These identifiers name the controls of a standard that the rule implements. They are copied to every audit record that the rule decides, and have no other effect.",
  text("One control identifier without white space.", {
    pattern: "^\\S+$",
    maxLength: 256,
    examples: ["eu-ai-act.12"],
  }),
  { uniqueItems: true },
);
