/** Reads the files of a pack, and reports problems that are visible without other packs. */

import { parseDocument } from "yaml";
import { formatProblem, type Problem, type ProblemAt, type Read, readDocument, type Source } from "../config/index.ts";
import { itemTexts } from "./insert-entries.ts";
import { controlsOf, findNamed, LISTS, type Named, namedIn } from "./pack-objects.ts";
import { fragmentSchema, type PackText, packSchema } from "./pack-schema.ts";

/** Names of a pack's files within its directory; `tests` and `trial` may be absent. */
export const PACK_FILES = {
  pack: "pack.yaml",
  fragment: "fragment.yaml",
  readme: "README.md",
  tests: "tests.yaml",
  trial: "tests-deployment.yaml",
} as const;

/** Files of a pack. Their names are shown in problems. */
export interface PackFiles {
  readonly pack: Source;
  readonly fragment: Source;
  readonly readme: string;
  /** Rule suite of the pack. */
  readonly tests: Source | undefined;
  /** Deployment document for the test cases, with everything that the pack needs. */
  readonly trial: Source | undefined;
}

export interface PackObject extends Named {
  /** YAML of the entry as the pack's author wrote it, without indentation; each line ends with a newline. */
  readonly text: string;
}

export interface Pack {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly buildsOn: readonly string[];
  readonly controls: PackText["controls"];
  readonly attaches: NonNullable<PackText["attaches"]>;
  readonly mechanisms: NonNullable<PackText["mechanisms"]>;
  readonly objects: readonly PackObject[];
  readonly files: PackFiles;
}

type PackRead =
  | { readonly kind: "pack"; readonly pack: Pack }
  /** Problems, one line of text each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

const NONE = () => ({ kind: "problem", message: "references are not supported in a pack" }) as const;
const REFERENCES = { env: () => undefined, secret: NONE, file: NONE };
const RULES = { fileAllowed: false, noneAllowed: true } as const;

/** Reads only `pack.yaml`; `undefined` if it is refused. */
export const readPackText = (source: Source): PackText | undefined => packText(source).document;

const packText = (source: Source): Read<PackText> =>
  readDocument(packSchema, source, REFERENCES, {
    ...RULES,
    whenEmpty: "the file is empty; it needs `id`, `version`, `title` and `controls`",
    checks: packProblems,
  });

export function readPack(files: PackFiles): PackRead {
  const pack = packText(files.pack);
  const fragment = readFragment(files.fragment);
  const problems = [...pack.problems, ...fragment.problems].map(formatProblem);
  const { document } = pack;
  if (document === undefined || fragment.objects === undefined) return { kind: "refused", problems };
  const { id, version, title, builds_on: buildsOn = [], controls, attaches = [], mechanisms = [] } = document;
  const cited = new Set(controls.map((control) => control.id));
  const uncited = fragment.objects.flatMap(({ list, name, value }) =>
    controlsOf(value).flatMap((control) =>
      cited.has(control)
        ? []
        : [`${files.fragment.name}: the ${list} \`${name}\` carries ${control}, which \`controls\` does not cite`],
    ),
  );
  problems.push(...uncited);
  if (files.readme.trim() === "") problems.push(`${files.pack.name}: its ${PACK_FILES.readme} is empty`);
  if (problems.length > 0) return { kind: "refused", problems };
  const { objects } = fragment;
  return { kind: "pack", pack: { id, version, title, buildsOn, controls, attaches, mechanisms, objects, files } };
}

function packProblems(
  { id, builds_on: bases = [], controls, attaches = [], mechanisms = [] }: PackText,
  problem: ProblemAt,
): readonly Problem[] {
  const cited = new Map<string, number>();
  const problems: Problem[] = [];
  for (const [at, control] of controls.entries()) {
    const before = cited.get(control.id);
    if (before === undefined) cited.set(control.id, at);
    else problems.push(problem(["controls", at, "id"], `is cited twice, first in entry ${before + 1} of this list`));
  }
  const uncited = (control: string): boolean => !cited.has(control);
  if (bases.includes(id)) problems.push(problem(["builds_on", bases.indexOf(id)], "a pack cannot build on itself"));
  for (const [at, { pack, rule, controls: own }] of attaches.entries()) {
    if (!bases.includes(pack)) problems.push(problem(["attaches", at, "pack"], "is not in `builds_on`"));
    if (attaches.findIndex((it) => it.pack === pack && it.rule === rule) < at) {
      problems.push(problem(["attaches", at, "rule"], "another entry of this list is of this rule"));
    }
    for (const [index, control] of own.entries()) {
      if (uncited(control)) problems.push(problem(["attaches", at, "controls", index], "is not cited in `controls`"));
    }
  }
  for (const [at, { control }] of mechanisms.entries()) {
    if (uncited(control)) problems.push(problem(["mechanisms", at, "control"], "is not cited in `controls`"));
  }
  return problems;
}

interface Fragment {
  readonly objects: readonly PackObject[] | undefined;
  readonly problems: readonly Problem[];
}

/** Reads the fragment. It is `{}` for a pack that adds nothing but control identifiers. */
function readFragment(source: Source): Fragment {
  const read: Read<object> = readDocument(fragmentSchema, source, REFERENCES, {
    ...RULES,
    whenEmpty: "the fragment is empty; write `{}` for a pack that brings no objects",
  });
  if (read.document === undefined) return { objects: undefined, problems: read.problems };
  const document = parseDocument(source.text, { uniqueKeys: false, keepSourceTokens: true });
  const named = namedIn(document.toJS());
  const problems = named.flatMap((it) =>
    findNamed(named, it.list, it.name) === it
      ? []
      : [read.problem([...LISTS[it.list], it.at], `there is another ${it.list} of the name \`${it.name}\``)],
  );
  const texts = new Map(Object.values(LISTS).map((path) => [path.join("."), itemTexts(document, source.text, path)]));
  const objects = named.map((it) => ({ ...it, text: texts.get(LISTS[it.list].join("."))?.[it.at] ?? "" }));
  return { objects: problems.length > 0 ? undefined : objects, problems: [...read.problems, ...problems] };
}
