/** Recognizers of secrets. */

import type { Pattern, Recognizer } from "../../types.ts";
import { GENERIC_SECRET } from "./generic-secrets.ts";
import { BASIC_AUTH_URL, DATABASE_URL, JWT, PRIVATE_KEY, PUTTY_KEY } from "./structures.ts";
import { FORMS, patternOf } from "./token-recognizers.ts";

const recognizer = (entity: string, patterns: readonly Pattern[]): Recognizer => ({
  name: `${entity
    .split("_")
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join("")}Recognizer`,
  entity,
  category: "secret",
  patterns,
  context: [],
});

export const SECRETS: readonly Recognizer[] = [
  ...[...new Set(FORMS.map(({ entity }) => entity))].map((entity) =>
    recognizer(entity, FORMS.filter((form) => form.entity === entity).map(patternOf)),
  ),
  recognizer("JWT", [JWT]),
  recognizer("PRIVATE_KEY", [PRIVATE_KEY, PUTTY_KEY]),
  recognizer("DATABASE_URL", [DATABASE_URL]),
  recognizer("BASIC_AUTH_URL", [BASIC_AUTH_URL]),
  recognizer("GENERIC_SECRET", [GENERIC_SECRET]),
];
