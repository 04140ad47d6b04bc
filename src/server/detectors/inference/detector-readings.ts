/** Creates the reader of each type of detector from its configuration. Source: specification document 3. */

import { closestName } from "../../../base/index.ts";
import type { DetectorConfig } from "../../core/config/index.ts";
import { CLEAN_LABELS, ENTITY_TYPES } from "./labels.ts";
import { tagsOf } from "./reading/entities.ts";
import type { ReaderSpec } from "./session/session-protocol.ts";

type Nlp = NonNullable<DetectorConfig["nlp"]>;
type Classify = NonNullable<DetectorConfig["classify"]>;
type Embed = NonNullable<DetectorConfig["embed"]>;

/** Default `threshold`. Source: guardrails reference, 3.3. */
const ONE_HALF = 0.5;

/** Problem of the configuration; its path begins at the detector. */
export interface ReadingProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export interface ReadingPlan {
  readonly reading: ReaderSpec["reading"];
  /** Labels that the detector can report. */
  readonly gives: readonly string[];
}

type Planned = ReadingPlan | readonly ReadingProblem[];

export const isPlan = (planned: Planned): planned is ReadingPlan => "reading" in planned;

type Common = Pick<DetectorConfig, "entities" | "threshold">;

export function planTokenLabels(nlp: Nlp, labels: readonly string[], { entities }: Common): Planned {
  const { aggregation, entity_map: map = ENTITY_TYPES } = nlp;
  const tags = tagsOf(labels);
  const own = aggregation === "none" ? labels.filter((label) => label !== "O") : tags.map(({ name }) => name);
  const all = new Map(own.filter((name) => name !== "").map((name) => [name, renamed(map, name)]));
  const { names, problems } = selectedLabels(all, entities);
  if (problems.length > 0) return problems;
  return { reading: { type: "nlp", labels, names: Object.fromEntries(names), aggregation }, gives: unique(names) };
}

export function planVerdicts(
  classify: Classify,
  labels: readonly string[],
  problemType: string | undefined,
  { entities, threshold }: Common,
): Planned {
  const { negative, label_map: map = {} } = classify;
  const isOne = labels.length === 1;
  const isSigmoid = problemType === "multi_label_classification" || isOne;
  const activation = classify.activation ?? (isSigmoid ? "sigmoid" : "softmax");
  if (isOne && activation === "softmax") {
    const message = "the model has a single label, whose score under softmax is always 1: use `sigmoid`";
    return [{ path: ["classify", "activation"], message }];
  }
  const problems = [
    ...unknown(negative ?? [], labels, (_, at) => ["classify", "negative", at]),
    ...unknown(Object.keys(map), labels, (label) => ["classify", "label_map", label]),
  ];
  if (problems.length > 0) return problems;
  const means = (label: string): boolean =>
    negative === undefined
      ? activation === "softmax" && CLEAN_LABELS.has(label.toUpperCase())
      : negative.includes(label);
  const all = new Map(labels.filter((label) => !means(label)).map((label) => [label, renamed(map, label)]));
  if (all.size === 0) {
    const message = "every label of the model means that nothing was found, so the detector would never find anything";
    return [{ path: negative === undefined ? ["classify"] : ["classify", "negative"], message }];
  }
  const { names, problems: unasked } = selectedLabels(all, entities);
  if (unasked.length > 0) return unasked;
  const reported = labels.map((label) => names.get(label) ?? null);
  return {
    reading: { type: "classify", names: reported, activation, floor: threshold ?? ONE_HALF },
    gives: unique(names),
  };
}

export function planTopics(embed: Embed, { entities, threshold }: Common): Planned {
  const { topics, background, temperature, pooling } = embed;
  const problems: ReadingProblem[] = topics.flatMap(({ name }, at) =>
    topics.findIndex((other) => other.name === name) < at
      ? [{ path: ["embed", "topics", at, "name"], message: `an earlier topic has the name \`${name}\` too` }]
      : [],
  );
  const { names, problems: unasked } = selectedLabels(new Map(topics.map(({ name }) => [name, name])), entities);
  if (problems.length + unasked.length > 0) return [...problems, ...unasked];
  const reported = [...names.keys()];
  const floor = threshold ?? ONE_HALF;
  return {
    reading: { type: "embed", topics, background, temperature, pooling, reported, floor },
    gives: unique(names),
  };
}

const renamed = (map: Readonly<Record<string, string>>, label: string): string =>
  Object.hasOwn(map, label) ? (map[label] as string) : label;

const unique = (names: ReadonlyMap<string, string>): readonly string[] => [...new Set(names.values())];

/** Returns the labels that `entities` selects, with their reported names. */
function selectedLabels(
  all: ReadonlyMap<string, string>,
  entities: readonly string[] | undefined,
): { readonly names: ReadonlyMap<string, string>; readonly problems: readonly ReadingProblem[] } {
  if (entities === undefined) return { names: all, problems: [] };
  const reported = new Set(all.values());
  const names = new Map([...all].filter(([, name]) => entities.includes(name)));
  const problems = unknown(entities, reported, (_, at) => ["entities", at]);
  return { names, problems };
}

function unknown(
  found: readonly string[],
  known: Iterable<string>,
  pathOf: (name: string, at: number) => ReadingProblem["path"],
): readonly ReadingProblem[] {
  const names = new Set(known);
  return found.flatMap((name, at) => {
    if (names.has(name)) return [];
    const meant = closestName(name, names);
    const hint = meant === undefined ? "" : `; did you mean \`${meant}\`?`;
    return [{ path: pathOf(name, at), message: `the model has no label \`${name}\`${hint}` }];
  });
}
