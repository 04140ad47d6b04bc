/**
 * Preview of deleting a source: what only this source defined, and what depends on it. The gateway reports it as the change to
 * an empty source; models and keys are those that it lists now.
 */

import type { ModelRecord, ProfileRecord, SourceChange } from "../../admin-api/index.ts";
import { plural } from "../format/numbers.ts";
import { type Line, line, span } from "../model/text.ts";
import { previewPage } from "./preview.ts";
import { safeText } from "./shown-line.ts";

/** Objects that may depend on a source; a list is `undefined` if reading it is forbidden. */
interface Dependants {
  readonly models: readonly ModelRecord[] | undefined;
  readonly profiles: readonly ProfileRecord[] | undefined;
}

/** Maximum number of names that are listed. */
const MAX_NAMES = 8;

export function removalPage(change: SourceChange, { models, profiles }: Dependants): readonly Line[] {
  const gone = (list: string): ReadonlySet<string> =>
    new Set(
      change.differences.flatMap(({ path, kind }) =>
        kind === "removed" && path.startsWith(`${list}.`) ? [path.slice(list.length + 1)] : [],
      ),
    );
  const unserved = models === undefined ? [] : unservedModels(models, gone("providers"));
  const goneProfiles = gone("profiles");
  const held = (profiles ?? []).filter(({ name, keys }) => goneProfiles.has(name) && keys > 0);
  return [
    ...(unserved.length === 0 ? [] : [countLine("left with no provider", "model", unserved)]),
    ...(held.length === 0
      ? []
      : [
          countLine(
            "refused, since their profile is gone",
            "key",
            held.map(({ name, keys }) => `${keys} of ${name}`),
            held.reduce((sum, { keys }) => sum + keys, 0),
          ),
        ]),
    ...(models === undefined ? [line("Which models it leaves without a provider cannot be read here.", "warn")] : []),
    ...(profiles === undefined ? [line("Which keys depend on its profiles cannot be read here.", "warn")] : []),
    ...previewPage(change),
  ];
}

function countLine(what: string, one: string, names: readonly string[], count = names.length): Line {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return [
    span("! ", "fail"),
    span(`${plural(count, one)} ${what}: ${names.slice(0, MAX_NAMES).map(safeText).join(", ")}${more}`, "fail"),
  ];
}

/** Returns models of removed providers that no remaining provider serves. */
function unservedModels(models: readonly ModelRecord[], gone: ReadonlySet<string>): readonly string[] {
  const staying = models.filter(({ provider }) => !gone.has(provider)).map(({ model }) => model);
  const isTaken = (name: string): boolean =>
    staying.some((it) => it === name || (it.endsWith("*") && name.startsWith(it.slice(0, -1))));
  return models.flatMap(({ model, provider }) => (gone.has(provider) && !isTaken(model) ? [model] : []));
}
