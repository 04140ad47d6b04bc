/** Requirements of a pack's detectors on the document: a declared model or a provider. */

import { isValues, type Named, type Values } from "./pack-objects.ts";

interface Asked {
  readonly file: string;
  readonly pack: string;
}

/** Returns a line for each requirement that the document does not meet. */
export function neededBy({ list, name, value }: Named, document: Values, { file, pack }: Asked): readonly string[] {
  if (list !== "detector") return [];
  const needs = (what: string, remedy: string): string =>
    `${file}: the detector \`${name}\` of \`${pack}\` needs ${what}, which the document does not have: ${remedy}`;
  const models = namesIn(isValues(document["models"]) ? document["models"]["models"] : undefined);
  const providers = namesIn(document["providers"]);
  const problems: string[] = [];
  for (const type of ["nlp", "classify", "embed"]) {
    const ref = textIn(value[type], "ref");
    if (ref === undefined || models.has(ref)) continue;
    const remedy = `declare one under \`models.models\`, for which \`gateway models pin -name ${ref} OWNER/NAME\` prints the entry`;
    problems.push(needs(`a model \`${ref}\``, remedy));
  }
  const provider = textIn(value["llm"], "provider");
  if (provider !== undefined && !providers.has(provider)) {
    problems.push(needs(`a provider \`${provider}\``, "add it to `providers`"));
  }
  return problems;
}

const textIn = (value: unknown, key: string): string | undefined => {
  const found = isValues(value) ? value[key] : undefined;
  return typeof found === "string" ? found : undefined;
};

const namesIn = (list: unknown): ReadonlySet<string> =>
  new Set((Array.isArray(list) ? list : []).flatMap((it) => textIn(it, "name") ?? textIn(it, "preset") ?? []));
