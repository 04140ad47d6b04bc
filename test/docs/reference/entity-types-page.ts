/** Page of the entity types that the `pii` detector finds. */

import { BUILT_IN } from "../../../src/server/detectors/pii/recognizers/index.ts";
import type { Recognizer } from "../../../src/server/detectors/pii/types.ts";
import { code, type Page, table } from "./page.ts";

const isChecked = ({ patterns }: Recognizer): boolean =>
  patterns.some((pattern) => pattern.kind === "search" || pattern.validate !== undefined);

const best = ({ patterns }: Recognizer): number => Math.max(...patterns.map(({ score }) => score));

export function entityTypesPage(): Page {
  const rows = [...BUILT_IN]
    .sort((a, b) => (`${a.category}/${a.entity}` < `${b.category}/${b.entity}` ? -1 : 1))
    .map((one) => [
      code(`${one.category}/${one.entity}`),
      code(one.name),
      String(best(one)),
      isChecked(one) ? "yes" : "",
    ]);
  return {
    path: "entity-types.md",
    title: "Entity types",
    order: 10,
    about: "Every entity type that the `pii` detector finds.",
    body: [
      "The `pii` detector finds these types. A score of 1 means that a check digit or the structure proves the value. If only one check digit proves a number, and the number could also belong to another country, a word of its context must be near it. Types with a check drop values that fail it.",
      'Rules name a type as it is here (`a.type == "pii/CREDIT_CARD"`), and `entities` of a detector names it without its category. `recognizers` names the recognizer.',
      table(["Type", "Recognizer", "Score unproven, at best", "Check"], rows),
    ].join("\n\n"),
  };
}
