/**
 * Schemas that several sections of the deployment document share: kinds of names, model patterns, triggers, scores, and what to
 * do on a fault. A description says what a key is for; the form is defined here once.
 */

import { choice, headerValue, list, map, number, type Schema, secret, type TextLimits, text } from "../schema.ts";

const MAX_NAME_LENGTH = 128;

/** Used unchanged in headers, metric labels and paths: visible ASCII without the slash. */
export const PATH_NAME = {
  pattern: "^[!-.0-~]+$",
  maxLength: MAX_NAME_LENGTH,
  examples: ["team-a"],
} as const satisfies TextLimits;

export const pathName = (description: string): Schema<string> => text(description, PATH_NAME);

/** A name that people read, in refusals and metrics: anything but control characters. */
export const label = (description: string): Schema<string> =>
  text(description, { minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: "^[^\\u0000-\\u001f\\u007f]*$" });

/** A value that must say something; empty is a mistake. */
export const filled = (description: string, limits: TextLimits = {}): Schema<string> =>
  text(description, { minLength: 1, ...limits });

/** An exact model name, or a prefix with one `*` at its end; `*` alone is every model. */
export const modelPatterns = (description: string): Schema<readonly string[]> =>
  list(
    description,
    text("An exact model name, or a prefix that ends in `*`; a `*` anywhere else is refused.", {
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
  list(
    description,
    choice(
      "`connect`: no connection could be made; `5xx` and `429`: the upstream answered so; `timeout`: no response headers within `first_byte_timeout`.",
      TRIGGERS,
    ),
    { minItems: 1, uniqueItems: true },
  );

export const score = (description: string): Schema<number> => number(description, { minimum: 0, maximum: 1 });

export const faultAnswer = (description: string) => choice(description, ["fail_open", "fail_closed"]);

export const headers = (description: string): Schema<Readonly<Record<string, string>>> =>
  map(description, headerValue(text("Value of the header named by the key.")));

/** Headers that authenticate. */
export const secretHeaders = (description: string): Schema<Readonly<Record<string, string>>> =>
  map(description, secret(text("Value of the header named by the key, normally a reference when it is a credential.")));

export const strings = (description: string, item: string): Schema<readonly string[]> =>
  list(description, filled(item));

export const controls = list(
  "Identifiers of the governance controls that this rule carries out; carried onto every audit record that the rule decides, and read by nothing else.",
  text("A control identifier: not empty, no white space.", {
    pattern: "^\\S+$",
    maxLength: 256,
    examples: ["eu-ai-act.12"],
  }),
  { uniqueItems: true },
);
